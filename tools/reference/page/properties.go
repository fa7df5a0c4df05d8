package page

// Property is what the page says about a property besides its syntax. A test in the plugin's own
// package checks the defaults and bounds.
type Property struct{ What, Default, Bounds, More string }

const notWithThis = "not with `manifests`"

// Properties are by the names that Syntaxes returns.
var Properties = map[string]Property{
	"kubeconfig":         {"the API server to read", "the pod's account, else `KUBECONFIG`", notWithThis, ""},
	"cluster":            {"one more cluster; may be repeated", "none", "up to 253 of a-z, 0-9, -, and not `local`; " + notWithThis, "[clusters.md](clusters.md)"},
	"cluster.group":      {"its group", "none", "up to 63 of a-z, A-Z, 0-9, ., _ and -", "[steering.md](steering.md#groups-of-clusters)"},
	"manifests.group":    {"its group", "none", "as above", ""},
	"group":              {"the main cluster's group", "none", "as above", ""},
	"resolver":           {"follow a CNAME to the active groups", "the system's", "addresses, with a port if it is not 53", ""},
	"cluster.namespaces": {"where its objects pool with those elsewhere", "all", "", ""},
	"cluster.write-back": {"nothing is written to it", "as the main one", "", ""},
	"manifests":          {"files, a cluster each; may be repeated", "none; **CLUSTER**: the base name", "64 MiB a file, 4 MiB and 500,000 values a document", ""},
	"namespaces":         {"read only these", "all, or `WATCH_NAMESPACES`, with commas", "", ""},
	"policies":           {"read only DNSPolicies with these labels", "all", "not empty", ""},
	"kinds":              {"read only these", "all", "Gateway, DNSPolicy, DNSHealthCheckProbe, Zone, Record, DNSRecord, DNSEndpoint, Secret", ""},
	"secrets":            {"read no Secrets", "read", "", "[security.md](security.md#secrets)"},
	"publish":            {"who may publish at and below a domain without a Zone; may be repeated", "every namespace", "each domain once", "[zones.md](zones.md#without-a-zone)"},
	"zone-namespaces":    {"who may have Zones without a parent", "that of the Lease; with `manifests` all publishers", "", "[zones.md](zones.md#zones)"},
	"geoip":              {"mmdb databases, in order", "CoreDNS's *geoip*", "8 files", "[client-address.md](client-address.md)"},
	"nets":               {"networks and their geo codes, asked first", "none", "1,048,576 lines of 4 KiB", "[client-address.md](client-address.md)"},
	"override":           {"manual overrides of health", "none", "1 MiB", "[health.md](health.md#manual-overrides)"},
	"guard":              {"how long vanished names are held", "5m", "0 (off) to 24h", "[guard.md](guard.md)"},
	"state":              {"where to keep objects, serials and health", "not kept", "1 GiB", "[state.md](state.md)"},
	"console":            {"the console and its API", "off", "an IP address or `localhost`; a token of 16 to 4096 printable characters, required off loopback", "[console.md](console.md)"},
	"probes":             {"check nothing: the status of DNSHealthCheckProbes counts", "checked", "", "[health.md](health.md)"},
	"probe-deny":         {"never probe these either", "none", "CIDRs, addresses", "[health.md](health.md#where-checks-may-go)"},
	"probe-allow":        {"probe these all the same", "none", "CIDRs, addresses", "[health.md](health.md#where-checks-may-go)"},
	"fast-udp":           {"answer UDP in batches", "`on`, on Linux", "", "[performance.md](performance.md)"},
	"write-back":         {"what to write to API servers", "`all`", notWithThis, "[write-back.md](write-back.md#what-is-written)"},
	"write-rate":         {"writes a second, and at once", "50 100", "1 to 10000, each; " + notWithThis, "[write-back.md](write-back.md#how)"},
	"lease":              {"the Lease, beside its ConfigMaps", "`kuadrant-dns` in the namespace of the pod, of the kubeconfig's context, or `default`", notWithThis, "[write-back.md](write-back.md)"},
	"answer":             {"the CNAMEs too, or addresses alone", "`chain`", "", "[concepts.md](concepts.md#the-record-tree)"},
	"ttl":                {"seconds, of addresses and of upper CNAMEs", "60 300", "0 to 2147483647", ""},
	"nameserver":         {"a name server; may be repeated", "`ns.<zone>`, without an address", "each name once; in the zone with an address", "[zones.md](zones.md#name-servers)"},
	"rname":              {"the SOA's mailbox", "`hostmaster@<zone>`", "an e-mail address", ""},
	"owner-txt":          {"TXT records that show owners", "off", "letters, digits, hyphens, underscores, dots", "[zones.md](zones.md#owners-in-the-dns)"},
	"fallthrough":        {"pass names that do not exist to the next plugin", "NXDOMAIN", "domain names", ""},
}
