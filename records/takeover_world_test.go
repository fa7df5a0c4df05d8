package records

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
	"sigs.k8s.io/yaml"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// manifest is one object as somebody writes it.
type manifest struct {
	kind    api.Kind
	name    string // namespace/name
	day     int    // of its creation, in January
	cluster int
	meta    string // more of its metadata, in YAML
	body    string // spec and status, in YAML
}

// text returns the object in YAML.
func (m manifest) text() string {
	namespace, name, _ := strings.Cut(m.name, "/")
	meta := fmt.Sprintf("namespace: %s, name: %s, uid: u-%s, creationTimestamp: \"2026-01-%02dT00:00:00Z\"", namespace, name, name, m.day)
	if m.meta != "" {
		meta += ", " + m.meta
	}
	return fmt.Sprintf("kind: %s\nmetadata: {%s}\n%s\n", m.kind, meta, m.body)
}

// manifests reads objects as a source does, each text once.
type manifests map[string]func(w *world)

// apply puts the objects into a world.
func (r manifests) apply(t testing.TB, w *world, list ...manifest) {
	t.Helper()
	for _, m := range list {
		key := fmt.Sprint(m.cluster, m.text())
		if r[key] == nil {
			r[key] = m.read(t, w.clusters[m.cluster].Name)
		}
		r[key](w)
	}
}

// read returns what puts the object into a world.
func (m manifest) read(t testing.TB, cluster string) func(w *world) {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte(m.text()))
	if err != nil {
		t.Fatalf("%v\n%s", err, m.text())
	}
	switch m.kind {
	case api.KindGateway:
		return decoded(t, m, text, cluster, api.DecodeGateway, (*world).setGateway)
	case api.KindDNSPolicy:
		return decoded(t, m, text, cluster, api.DecodePolicy, (*world).setPolicy)
	case api.KindZone:
		return decoded(t, m, text, cluster, api.DecodeZone, (*world).setZone)
	case api.KindRecord:
		return decoded(t, m, text, cluster, api.DecodeRecord, (*world).setRecord)
	case api.KindDNSRecord:
		return decoded(t, m, text, cluster, api.DecodeDNSRecord, (*world).setDNSRecord)
	case api.KindDNSEndpoint:
		return decoded(t, m, text, cluster, api.DecodeDNSEndpoint, (*world).setDNSEndpoint)
	}
	t.Fatalf("no %s can be read", m.kind)
	return nil
}

func decoded[T any](t testing.TB, m manifest, text []byte, cluster string, decode func(string, []byte) (*T, error), set func(*world, int, string, *T)) func(*world) {
	t.Helper()
	o, err := decode(cluster, text)
	if err != nil {
		t.Fatalf("%v\n%s", err, m.text())
	}
	return func(w *world) { set(w, m.cluster, m.name, o) }
}

// gatewayWith returns a Gateway of one host and its policy: simple, or with geo one
// member of a weightedGeo host.
func gatewayWith(name string, day int, host, address, geo string) []manifest {
	kind := "IPAddress"
	if _, err := netip.ParseAddr(address); err != nil {
		kind = "Hostname"
	}
	_, bare, _ := strings.Cut(name, "/")
	balancing := ""
	if geo != "" {
		balancing = fmt.Sprintf(", loadBalancing: {weight: 100, geo: %s, defaultGeo: %v}", geo, geo == "IE")
	}
	return []manifest{
		{kind: api.KindGateway, name: name, day: day, body: fmt.Sprintf(
			"spec: {listeners: [{name: l, hostname: '%s', port: 80, protocol: HTTP}]}\nstatus: {addresses: [{type: %s, value: %s}]}", host, kind, address)},
		{kind: api.KindDNSPolicy, name: name, day: day, body: fmt.Sprintf(
			"spec: {targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: %s}%s}", bare, balancing)},
	}
}

// recordOf returns a Record; place is its domainName, and zoneRef where there is one.
func recordOf(name string, day int, place, rtype, data string) manifest {
	return manifest{kind: api.KindRecord, name: name, day: day, body: fmt.Sprintf("spec: {%s, type: %s, rdata: '%s'}", place, rtype, data)}
}

// zoneOf returns a Zone whose delegations let all of the namespaces have everything in it.
func zoneOf(name string, day int, place string, namespaces ...string) manifest {
	return manifest{kind: api.KindZone, name: name, day: day, body: fmt.Sprintf(
		"spec: {%s, delegations: [{namespaces: [%s], zones: ['*'], records: [{pattern: '*'}, {pattern: '@'}]}]}", place, strings.Join(namespaces, ", "))}
}

// at names an object by the whole name, without a zoneRef.
func at(name string) string { return "domainName: '" + name + "'" }

// in names an object by its name in a Zone.
func in(relative, zone string) string {
	namespace, name, _ := strings.Cut(zone, "/")
	return fmt.Sprintf("domainName: '%s', zoneRef: {name: %s, namespace: %s}", relative, name, namespace)
}

// row returns an endpoint: more is what it has beside name, type and target, in YAML.
func row(name, rtype, target, more string) string {
	if more != "" {
		more = ", " + more
	}
	return fmt.Sprintf("{dnsName: '%s', recordType: %s, targets: ['%s']%s}", name, rtype, target, more)
}

func geoCode(code string) string {
	return fmt.Sprintf("providerSpecific: [{name: geo-code, value: '%s'}]", code)
}

// chainRows returns what Kuadrant's operators write for a host with two members (rule
// 2.3): of Ireland, which is the default, and of the United States.
func chainRows(host, prefix string) []string {
	h := rdata.Base(host)
	klb := "klb." + h
	return []string{
		row(host, "CNAME", klb, "recordTTL: 300"),
		row(klb, "CNAME", "ie."+klb, "recordTTL: 300, setIdentifier: IE, "+geoCode("IE")),
		row(klb, "CNAME", "ie."+klb, "recordTTL: 300, setIdentifier: default, "+geoCode("*")),
		row(klb, "CNAME", "us."+klb, "recordTTL: 300, setIdentifier: US, "+geoCode("US")),
		row("ie."+klb, "CNAME", "one."+klb, "recordTTL: 60, setIdentifier: one, providerSpecific: [{name: weight, value: '100'}]"),
		row("us."+klb, "CNAME", "two."+klb, "recordTTL: 60, setIdentifier: two, providerSpecific: [{name: weight, value: '100'}]"),
		row("one."+klb, "A", prefix+".1", "recordTTL: 60"),
		row("two."+klb, "A", prefix+".2", "recordTTL: 60"),
	}
}

func endpointOf(name string, day int, rows ...string) manifest {
	return manifest{kind: api.KindDNSEndpoint, name: name, day: day, body: "spec: {endpoints: [" + strings.Join(rows, ", ") + "]}"}
}

// dnsRecordOf returns a DNSRecord in the zone example.com.
func dnsRecordOf(name string, day int, rootHost string, rows ...string) manifest {
	return manifest{
		kind: api.KindDNSRecord, name: name, day: day, meta: "labels: {kuadrant.io/coredns-zone-name: example.com}",
		body: fmt.Sprintf("spec: {rootHost: '%s', endpoints: [%s]}", rootHost, strings.Join(rows, ", ")),
	}
}

// byNetwork places clients by the second number of their addresses.
type byNetwork struct{}

var (
	inIreland = geo.FromCodes("", "", "IE", "EU")
	inStates  = geo.FromCodes("", "", "US", "NA")
	nowhere   = new(geo.Codes)
)

func (byNetwork) Locate(addr netip.Addr, _ geo.Need) (*geo.Codes, int) {
	switch addr.As4()[1] {
	case 1:
		return inIreland, 16
	case 2:
		return inStates, 16
	}
	return nowhere, 16
}

// told returns the answer to a question as a client from the given network sees it. A
// serial is left out: others may publish in the zone.
func told(s *Snapshot, name string, qtype uint16, client string, random uint64) string {
	z := s.Zone(name)
	if z == nil {
		return "not served"
	}
	if up, ok := rdata.Parent(name); ok && qtype == dns.TypeDS && z.origin == name && s.Zone(up) != nil {
		z = s.Zone(up)
	}
	var a Answer
	s.Lookup(z, &Query{Name: name, Owner: name, Type: qtype, Client: netip.MustParseAddr(client), Locator: byNetwork{}, Random: random}, &a)
	lines := []string{fmt.Sprintf("%s referral=%v", dns.RcodeToString[a.Rcode], a.Referral)}
	for i, rrs := range [...][]dns.RR{a.Answer, a.Ns} {
		first := len(lines)
		for _, rr := range rrs {
			if soa, ok := rr.(*dns.SOA); ok {
				c := *soa
				c.Serial, rr = 0, &c
			}
			lines = append(lines, [...]string{"", "auth "}[i]+strings.ReplaceAll(rr.String(), "\t", " "))
		}
		if len(rrs) > 0 && !isCNAME(rrs[0]) {
			slices.Sort(lines[first:])
		}
	}
	return strings.Join(lines, "\n")
}

// addressesIn returns the addresses in an answer of told, and nothing else.
func addressesIn(answer string) string {
	var all []string
	for line := range strings.Lines(answer) {
		if words := strings.Fields(line); len(words) == 5 && (words[3] == "A" || words[3] == "AAAA") {
			all = append(all, words[4])
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}
