package page

import "strings"

// Name is a label, an annotation, or another name with a group prefix that the product reads or
// writes. A test in the plugin's own package compares the table with the code.
type Name struct{ Name, Is, What, More string }

var Names = []Name{
	{"kuadrant.io/health-override", "annotation of Gateways, DNSPolicies", "`up`, `down` or `drain`, before checks", "[health.md](health.md#manual-overrides)"},
	{"kuadrant.io/priority", "annotation of DNSPolicies", "`0` (default) to `255`", "[steering.md](steering.md)"},
	{"kuadrant.io/order", "annotation of DNSPolicies", "`geo` (default) or `priority`", "[steering.md](steering.md)"},
	{"kuadrant.io/geo-fallback", "annotation of DNSPolicies", "`any` (default), `default` or `none`", "[steering.md](steering.md)"},
	{"kuadrant.io/sticky", "annotation of DNSPolicies", "`client`", "[steering.md](steering.md)"},
	{"kuadrant.io/fail", "annotation of DNSPolicies", "`open` (default) or `closed`", "[steering.md](steering.md)"},
	{"kuadrant.io/max-answers", "annotation of DNSPolicies", "`1` to `32`", "[steering.md](steering.md)"},
	{"kuadrant.io/targets", "annotation of DNSPolicies", "`annotation`: publish what the Gateway's annotation lists", "[rule 9.6](rules.md#9-steering)"},
	{"kuadrant.io/attached-routes", "annotation of DNSPolicies", "`ignore`: publish listeners whose status has zero attached routes, for controllers that never count them", "[rule 1.2](rules.md#1-from-a-gateway-to-hosts)"},
	{"kuadrant.io/probe-address", "annotation of DNSPolicies", "`status`: check the Gateway's status addresses instead", "[rule 9.6](rules.md#9-steering)"},
	{"external-dns.kubernetes.io/target", "annotation of Gateways", "addresses and hostnames, with commas", "[rule 9.6](rules.md#9-steering)"},
	{"external-dns.alpha.kubernetes.io/target", "annotation of Gateways", "the same, if the other lists nothing", "[rule 9.6](rules.md#9-steering)"},
	{"kuadrant.io/lb-attribute-geo-code", "label of Gateways", "the geo code, if the policy has none", "[rule 2.5](rules.md#2-strategies)"},
	{"kuadrant.io/lb-attribute-custom-weight", "label of Gateways", "compared with `loadBalancing.weighted.custom[].value`", "[rule 2.5](rules.md#2-strategies)"},
	{"clusters.kuadrant.io/", "label of Gateways", "`clusters.kuadrant.io/CLUSTER_ATTRIBUTE`: `kuadrant.io/ATTRIBUTE` for one cluster", "[rule 2.5](rules.md#2-strategies)"},
	{"kuadrant.io/MultiClusterIPAddress", "type of a Gateway's address", "`CLUSTER/ADDRESS`", "[rule 1.3](rules.md#1-from-a-gateway-to-hosts)"},
	{"kuadrant.io/MultiClusterHostnameAddress", "type of a Gateway's address", "`CLUSTER/HOSTNAME`", "[rule 1.3](rules.md#1-from-a-gateway-to-hosts)"},
	{"kuadrant.io/DNSPolicyAffected", "condition of Gateways, written", "which policies are attached", "[write-back.md](write-back.md#what-is-written)"},
	{"kuadrant.io/coredns-zone-name", "label of DNSRecords", "the zone that they are served in", "[zones.md](zones.md#dnsrecords-and-dnsendpoints)"},
	{"kubi.zone/parent-zone", "label of Zones, Records, written", "`NAME.NAMESPACE` of their Zone", "[write-back.md](write-back.md#what-is-written)"},
	{"app.kubernetes.io/managed-by", "label of DNSRecords, DNSHealthCheckProbes, written and read", "`kuadrant-coredns`: ours", "[write-back.md](write-back.md#what-is-written)"},
	{"kuadrant.io/dns-lease", "label of ConfigMaps, written and read", "the name of their Lease", "[write-back.md](write-back.md#who-owns-a-name)"},
	{"kuadrant.io/probe-headers", "label of Secrets", "`true`: may be sent as headers of checks", "[health.md](health.md#what-is-checked)"},
	{"kuadrant.io/default-provider", "label of Secrets", "`true`: the provider of policies that name none", "[providers.md](providers.md#references)"},
	{"kuadrant.io/coredns", "type of Secrets", "a provider for this server", "[providers.md](providers.md#secrets)"},
	{"kuadrant.io/multicluster-kubeconfig", "label of Secrets", "`true`: the key `kubeconfig` names a cluster to read", "[clusters.md](clusters.md#by-secrets-at-run-time)"},
	{"kuadrant.io/group", "annotation of such Secrets", "the cluster's group", "[steering.md](steering.md#groups-of-clusters)"},
	{"kuadrant.io/namespaces", "annotation of such Secrets", "where the cluster pools, or `*`", "[clusters.md](clusters.md#what-it-may-do)"},
}

// words writes the table.
func words(b *strings.Builder, _, _ string) error {
	b.WriteString("## Labels, annotations and types\n\nRead, unless it says written.\n\n")
	table(b, "word", "kind", "meaning")
	for _, w := range Names {
		row(b, code(w.Name), w.Is, w.What+brackets(w.More))
	}
	b.WriteString("\n")
	return nil
}
