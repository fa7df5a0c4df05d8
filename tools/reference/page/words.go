package page

import "strings"

// Word is a label, an annotation, or another word with a group in front, that is read or written. A test of the plugin's own
// package compares the table with the code.
type Word struct{ Name, Is, What, More string }

// Words are all of them.
var Words = []Word{
	{"kuadrant.io/health-override", "annotation of Gateways and DNSPolicies, read", "`up`, `down` or `drain`: goes before checks", "[health.md](health.md#manual-overrides)"},
	{"kuadrant.io/geo-fallback", "annotation of DNSPolicies, read", "`any` (the default), `default` or `none`: how far answers go beyond the client's geography", "[health.md](health.md#what-an-answer-holds)"},
	{"kuadrant.io/lb-attribute-geo-code", "label of Gateways, read", "the geo code of the Gateway's members, where the policy has none of its own", "[m_multicluster](../testdata/m_multicluster.txtar)"},
	{"kuadrant.io/lb-attribute-custom-weight", "label of Gateways, read", "what `loadBalancing.weighted.custom[].value` is compared with", "[DNSPolicy](#dnspolicy)"},
	{"clusters.kuadrant.io/", "label of Gateways of several clusters, read", "`clusters.kuadrant.io/CLUSTER_ATTRIBUTE`: a label `kuadrant.io/ATTRIBUTE` for the members of one cluster", "[m_multicluster](../testdata/m_multicluster.txtar)"},
	{"kuadrant.io/MultiClusterIPAddress", "type of a Gateway's status address, read", "`CLUSTER/ADDRESS`: an address of one cluster; without a cluster, one of the cluster that the Gateway is in", "[m_multicluster](../testdata/m_multicluster.txtar)"},
	{"kuadrant.io/MultiClusterHostnameAddress", "type of a Gateway's status address, read", "`CLUSTER/HOSTNAME`: the same", "[m_multicluster](../testdata/m_multicluster.txtar)"},
	{"kuadrant.io/DNSPolicyAffected", "condition of Gateways, written", "which policies are attached", "[write-back.md](write-back.md#what-is-written)"},
	{"kuadrant.io/coredns-zone-name", "label of DNSRecords, read", "the zone that they are served in", "[zones.md](zones.md#dnsrecords-and-dnsendpoints)"},
	{"kubi.zone/parent-zone", "label of Zones and Records, written", "`NAME.NAMESPACE` of the Zone that they lie in", "[write-back.md](write-back.md#what-is-written)"},
	{"app.kubernetes.io/managed-by", "label of DNSRecords and DNSHealthCheckProbes, written and read", "`kuadrant-coredns`: ours, and never read back as names", "[write-back.md](write-back.md#what-is-written)"},
	{"kuadrant.io/dns-lease", "label of ConfigMaps, written and read", "the name of the Lease that they belong to", "[write-back.md](write-back.md#who-owns-a-name)"},
	{"kuadrant.io/probe-headers", "label of Secrets, read", "`true`: may be sent as headers of checks", "[README](../README.md#secrets)"},
	{"kuadrant.io/default-provider", "label of Secrets, read", "`true`: the DNS provider of policies that name none", "[providers.md](providers.md#references)"},
	{"kuadrant.io/coredns", "type of Secrets, read", "a DNS provider for this server; others that begin with `kuadrant.io/` are for others", "[providers.md](providers.md#secrets)"},
	{"kuadrant.io/multicluster-kubeconfig", "label of Secrets, read", "`true`: the key `kubeconfig` names a cluster to read", "[clusters.md](clusters.md#by-secrets-at-run-time)"},
	{"kuadrant.io/namespaces", "annotation of such Secrets, read", "namespaces in which the cluster pools, with commas, or `*`; none without it", "[clusters.md](clusters.md#what-it-may-do)"},
}

// words writes the table.
func words(b *strings.Builder, _, _ string) error {
	b.WriteString("## Labels, annotations and types\n\n")
	table(b, "word", "what it is", "what it says", "more")
	for _, w := range Words {
		row(b, code(w.Name), w.Is, w.What, w.More)
	}
	b.WriteString("\n")
	return nil
}
