package page

// Property is what the page says of a property, beside its syntax. A test of the plugin's own package tries the defaults and bounds.
type Property struct{ What, Default, Bounds, More string }

const (
	manySyntax  = "[README](../README.md#syntax)"
	notWithThis = "not with `manifests`"
	aNamespace  = "names of up to 63 of a-z, 0-9 and -"
)

// Properties is by the names that Syntaxes has.
var Properties = map[string]Property{
	"kubeconfig":         {"the API server to read", "the pod's account; else the variable `KUBECONFIG`", notWithThis, manySyntax},
	"cluster":            {"one more cluster to read; may be repeated", "none", "a name of up to 253 of a-z, 0-9, - and ., and not `local`; " + notWithThis, "[clusters.md](clusters.md#in-the-corefile)"},
	"cluster.namespaces": {"where its objects are those of the same namespace/name elsewhere", "all", aNamespace, "[clusters.md](clusters.md#in-the-corefile)"},
	"cluster.write-back": {"nothing is written to it", "as for the main one", "`off`", "[clusters.md](clusters.md#in-the-corefile)"},
	"manifests":          {"files in place of an API server; may be repeated, each a cluster", "none; **CLUSTER** is the directory's base name", "a directory that is there; 64 MiB in a file, 4 MiB and 500,000 values in a YAML document; not with `kubeconfig`, `cluster`, `write-back`, `write-rate`, `lease`", manySyntax},
	"namespaces":         {"only these are read", "all; the variable `WATCH_NAMESPACES`", aNamespace, "[README](../README.md#rights)"},
	"policies":           {"only DNSPolicies with such labels are read", "all", "a selector as kubectl takes it, not empty", manySyntax},
	"kinds":              {"only these kinds are read", "all", "Gateway, DNSPolicy, DNSHealthCheckProbe, Zone, Record, DNSRecord, DNSEndpoint, Secret", manySyntax},
	"secrets":            {"no Secrets are read", "read", "`off`", "[security.md](security.md#secrets)"},
	"publish":            {"who may publish at and below a domain, where no Zone says so; may be repeated", "every namespace", "each domain once; `*`, or " + aNamespace, "[README](../README.md#sharing-names)"},
	"zone-namespaces":    {"who may have Zones that no other Zone delegates", "the namespace of the Lease; with `manifests` whoever may publish there", aNamespace, "[zones.md](zones.md#who-may-publish)"},
	"geoip":              {"mmdb databases, asked in this order", "none: CoreDNS's *geoip* where it runs", "8 files", "[client-address.md](client-address.md)"},
	"nets":               {"networks and their geo codes, asked first", "none", "one file; 1,048,576 lines of up to 4 KiB", "[client-address.md](client-address.md)"},
	"override":           {"manual overrides for clusters, Gateways and targets", "none", "one file; 1 MiB", "[health.md](health.md#manual-overrides)"},
	"guard":              {"how long names stay that would go by mistake", "5m", "0, which turns it off, to 24h", "[guard.md](guard.md)"},
	"state":              {"where the last good objects, serials and health are kept", "not kept", "a directory; 1 GiB in it", "[state.md](state.md)"},
	"console":            {"the page that shows what is answered, and its JSON API", "off", "an IP address or `localhost`, and a port; a token of 16 to 4096 printable characters, which is required off loopback", "[console.md](console.md)"},
	"probes":             {"no target is checked: the status of DNSHealthCheckProbes counts", "checked", "`off`", "[health.md](health.md)"},
	"probe-deny":         {"what is not to be probed, beside what never is", "none", "CIDRs and addresses", "[health.md](health.md#where-checks-may-go)"},
	"probe-allow":        {"what may be probed all the same", "none", "CIDRs and addresses", "[health.md](health.md#where-checks-may-go)"},
	"write-back":         {"what is written to API servers", "`all`", notWithThis, "[write-back.md](write-back.md#what-is-written)"},
	"write-rate":         {"requests that write, in a second and at once", "50 100", "1 to 10000, each; " + notWithThis, "[write-back.md](write-back.md#how)"},
	"lease":              {"the Lease, which the ConfigMaps lie beside", "`kuadrant-dns` in the namespace of the pod, else of the kubeconfig's context, else `default`", "names as Kubernetes has them; " + notWithThis, "[write-back.md](write-back.md)"},
	"answer":             {"CNAMEs down to the addresses, or these alone", "`chain`", "`chain` or `flatten`", "[concepts.md](concepts.md#the-record-tree)"},
	"ttl":                {"seconds: of hosts and addresses, and of the upper CNAMEs of a chain", "60 300", "0 to 2147483647, each", manySyntax},
	"nameserver":         {"a name server of the zone, and its addresses; may be repeated", "`ns.<zone>`, without an address", "each name once; an address where it lies in the zone; no addresses that nobody can send a query to", "[zones.md](zones.md#name-servers)"},
	"rname":              {"the SOA's mailbox", "`hostmaster@<zone>`", "an e-mail address; what has no `@` counts for nothing", manySyntax},
	"owner-txt":          {"TXT records that tell who owns a host", "off", "letters, digits, hyphens, underscores and dots", "[zones.md](zones.md#owners-in-the-dns)"},
	"fallthrough":        {"names that do not exist go to the next plugin", "NXDOMAIN", "domain names; all zones where none is written", manySyntax},
}
