package records

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// openZone says one zone of the Corefile in which everybody may publish.
func openZone() *Options {
	return &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300, Nameservers: []Nameserver{{Name: "ns1.example.net."}}}}}
}

func weight(target string) string {
	return fmt.Sprintf("setIdentifier: %s, providerSpecific: [{name: weight, value: '10'}]", target)
}

// TestWildcardStarvesHost has a namespace publish a wildcard with very many ways below a host
// of another namespace: the host is answered as before (rules 8.1 and 5.5).
func TestWildcardStarvesHost(t *testing.T) {
	w, files := newWorld("c1"), make(manifests)
	victim := endpointOf("victim/x", 1, row("a.example.com", "A", "192.0.2.1", ""))
	files.apply(t, w, victim)
	opt := openZone()
	snap := Compile(nil, w.objects(), opt, testTime)
	want := told(snap, "a.example.com.", dns.TypeA, "10.1.0.1", 0)
	if !strings.Contains(want, "192.0.2.1") {
		t.Fatalf("before: %s", want)
	}
	const n = 40
	var rows []string
	for i := range n {
		rows = append(rows, row("*.a.example.com", "CNAME", "klb.a.example.com", weight(fmt.Sprintf("w%d", i))))
		leaf := fmt.Sprintf("l%d.klb.a.example.com", i)
		rows = append(rows, row("klb.a.example.com", "CNAME", leaf, weight(fmt.Sprintf("k%d", i))), row(leaf, "A", fmt.Sprintf("198.51.100.%d", i), ""))
	}
	files.apply(t, w, endpointOf("evil/x", 9, rows...))
	snap = Compile(snap, w.objects(), opt, testTime)
	if got := told(snap, "a.example.com.", dns.TypeA, "10.1.0.1", 0); got != want {
		t.Errorf("with the wildcard of another namespace:\n%s\nwant\n%s", got, want)
	}
}

// TestChainNameOfDefaultWithoutCode asks for klb.H' by itself, where the default is a row of
// its own and no twin of another (a member without a geography, rule 2.3): the client's own
// geography answers, as it does through the host (rule 2.4).
func TestChainNameOfDefaultWithoutCode(t *testing.T) {
	for _, host := range []string{"a.example.com", "z.example.com"} { // klb.H' comes after the one, and before the other
		klb := "klb." + host
		w, files := newWorld("c1"), make(manifests)
		files.apply(t, w, dnsRecordOf("ns1/x", 1, host,
			row(host, "CNAME", klb, "recordTTL: 300"),
			row(klb, "CNAME", "ie."+klb, "recordTTL: 300, setIdentifier: IE, "+geoCode("IE")),
			row(klb, "CNAME", "default."+klb, "recordTTL: 300, setIdentifier: default, "+geoCode("*")),
			row("ie."+klb, "CNAME", "one."+klb, weight("one")),
			row("default."+klb, "CNAME", "two."+klb, weight("two")),
			row("one."+klb, "A", "192.0.2.1", ""),
			row("two."+klb, "A", "192.0.2.2", "")))
		snap := Compile(nil, w.objects(), openZone(), testTime)
		for _, name := range []string{host, klb} {
			if got := addressesIn(told(snap, name+".", dns.TypeA, "10.1.0.1", 0)); !strings.Contains(got, "192.0.2.1") {
				t.Errorf("%s from Ireland: %s, want 192.0.2.1", name, got)
			}
			if got := addressesIn(told(snap, name+".", dns.TypeA, "10.9.0.1", 0)); !strings.Contains(got, "192.0.2.2") {
				t.Errorf("%s from elsewhere: %s, want 192.0.2.2", name, got)
			}
		}
	}
}

// TestJournalOfLeafThatIsARecord has a chain go whose leaf has the data of a Record that had
// to wait for its name: the journal adds what a transfer has at that name now (rule 7.5: it
// had no klb names, RFC 1995 §4).
func TestJournalOfLeafThatIsARecord(t *testing.T) {
	w, files := newWorld("c1"), make(manifests)
	files.apply(t, w, gatewayWith("ns1/g", 2, "a.example.com", "192.0.2.1", "IE")...)
	opt := openZone()
	before := Compile(nil, w.objects(), opt, testTime)
	leaf := ""
	for name, n := range before.zones[0].names.All() {
		if n.steered.set != nil && n.steered.set.leaf {
			leaf = name
		}
	}
	if leaf == "" {
		t.Fatal("no leaf")
	}
	files.apply(t, w, recordOf("ns2/r", 9, at(leaf), "A", "192.0.2.1"))
	before = Compile(before, w.objects(), opt, testTime)
	content := contentOf(t, before.zones[0])
	w.setPolicy(0, "ns1/g", nil)
	after := Compile(before, w.objects(), opt, testTime)
	deltas, ok := after.zones[0].Since(before.zones[0].serial)
	if !ok {
		t.Fatal("the journal does not reach back")
	}
	if got, want := apply(t, content, deltas), contentOf(t, after.zones[0]); !maps.Equal(got, want) {
		t.Errorf("by the journal %v, want %v", got, want)
	}
}

// TestTextOfEndpoints has texts as sources of external-dns write them, without quotes: each
// is one text, and nothing of it is lost (rule 6.10; cases F14).
func TestTextOfEndpoints(t *testing.T) {
	for _, text := range []string{
		"v=DMARC1; p=none; rua=mailto:a@example.com",
		"v=spf1 include:_spf.example.net ~all",
		"a(b)c",
		"k=rsa;p=MIGf",
	} {
		w, files := newWorld("c1"), make(manifests)
		files.apply(t, w, endpointOf("ns1/x", 1, row("a.example.com", "TXT", text, "")))
		snap := Compile(nil, w.objects(), openZone(), testTime)
		n := snap.zones[0].find("a.example.com.")
		if n == nil || len(n.static) != 1 {
			t.Errorf("%q: not served", text)
			continue
		}
		if got := strings.Join(n.static[0].rrs[0].(*dns.TXT).Txt, ""); got != text {
			t.Errorf("%q is served as %q", text, got)
		}
	}
}

// TestFirstTargetOfCNAME has a CNAME with several targets: the first in order is served
// (rule 1.7; the design document of several targets: "using first target in the targets list").
func TestFirstTargetOfCNAME(t *testing.T) {
	w, files := newWorld("c1"), make(manifests)
	m := endpointOf("ns1/x", 1, "{dnsName: a.example.com, recordType: CNAME, targets: [b.example.net, a.example.net]}")
	files.apply(t, w, m)
	snap := Compile(nil, w.objects(), openZone(), testTime)
	if got := told(snap, "a.example.com.", dns.TypeA, "10.1.0.1", 0); !strings.Contains(got, "CNAME b.example.net.") {
		t.Errorf("%s\nwant a CNAME to b.example.net", got)
	}
}

// twoClusters puts one simple DNSRecord, the same object (rule 5.6), into two clusters, with
// an address and more of its spec for each.
func twoClusters(t *testing.T, more ...string) *world {
	w, files := newWorld("c1", "c2"), make(manifests)
	for i, m := range more {
		o := dnsRecordOf("ns1/x", 1, "a.example.com", row("a.example.com", "A", fmt.Sprintf("192.0.2.%d", i+1), ""))
		o.cluster, o.body = i, strings.TrimSuffix(o.body, "}")+m+"}"
		files.apply(t, w, o)
	}
	return w
}

// TestWordOnOneClustersRecord drains or takes down one of two clusters: its addresses leave
// the answer, and those of the other stay (rules 4.5 and 4.6).
func TestWordOnOneClustersRecord(t *testing.T) {
	for word, want := range map[string]string{"cluster c1 down": "192.0.2.2", "cluster c2 down": "192.0.2.1", "cluster c2 drain": "192.0.2.1"} {
		w := twoClusters(t, "", "")
		w.overrides = overridesOf(t, word)
		snap := Compile(nil, w.objects(), openZone(), testTime)
		if got := addressesIn(told(snap, "a.example.com.", dns.TypeA, "10.1.0.1", 0)); got != want {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
	}
}

// TestCheckOfOneClustersRecord has one of two clusters' DNSRecords ask for a check: its own
// address is checked, and the other's is not (rule 4.1).
func TestCheckOfOneClustersRecord(t *testing.T) {
	const check = ", healthCheck: {path: /healthz, port: 80, protocol: HTTP}"
	for i, more := range [][]string{{check, ""}, {"", check}} {
		snap := Compile(nil, twoClusters(t, more...).objects(), openZone(), testTime)
		var got []string
		for _, target := range snap.Checks().All() {
			got = append(got, target.Address)
		}
		if want := fmt.Sprintf("192.0.2.%d", i+1); len(got) != 1 || got[0] != want {
			t.Errorf("%q: %q is checked, want %s", more, got, want)
		}
	}
}

// TestNotesOfOwnNames has a wildcard whose CNAME cannot be served for a TXT of the same object
// beside it: its owner is told so, whoever has the host without the star (rule 2.7).
func TestNotesOfOwnNames(t *testing.T) {
	wild := endpointOf("ns2/x", 5, row("*.a.example.com", "CNAME", "lb.example.net", ""), row("*.a.example.com", "TXT", "hi", ""))
	var want string
	for _, more := range [][]manifest{nil, {endpointOf("ns1/x", 1, row("a.example.com", "A", "192.0.2.1", ""))}} {
		w, files := newWorld("c1"), make(manifests)
		files.apply(t, w, append(more, wild)...)
		snap := Compile(nil, w.objects(), openZone(), testTime)
		got := snap.Verdict("c1", api.Ref{Kind: api.KindDNSEndpoint, Name: "ns2/x"}).Conditions[0].Message
		switch {
		case more == nil && got == "served":
			t.Fatal("the owner of the wildcard is told of nothing")
		case more == nil:
			want = got
		case got != want:
			t.Errorf("beside another object's host: %q\nwant %q", got, want)
		}
	}
}

// TestTwoAliasesOfOneName has two endpoints for one name that nothing tells apart: the first
// CNAME is served, for everybody, and the other reported (rule 1.7).
func TestTwoAliasesOfOneName(t *testing.T) {
	w, files := newWorld("c1"), make(manifests)
	files.apply(t, w, endpointOf("ns1/x", 1, row("a.example.com", "CNAME", "a.example.net", ""), row("a.example.com", "CNAME", "b.example.net", "")))
	snap := Compile(nil, w.objects(), openZone(), testTime)
	for i := range uint64(64) {
		if got := told(snap, "a.example.com.", dns.TypeA, "10.1.0.1", i<<58); !strings.Contains(got, "CNAME a.example.net.") {
			t.Errorf("%s\nwant a CNAME to a.example.net", got)
			break
		}
	}
	if got := snap.Verdict("c1", api.Ref{Kind: api.KindDNSEndpoint, Name: "ns1/x"}).Conditions[0].Message; !strings.Contains(got, "b.example.net") {
		t.Errorf("its owner is told %q, and nothing of b.example.net", got)
	}
}

// TestManyRecordsInOnePool pools 60 objects of one namespace, each written as Kuadrant's
// operators do for one member of a host: every one is a member of the host (rules 2.3 and 5.6).
func TestManyRecordsInOnePool(t *testing.T) {
	const objects, host, klb = 60, "a.example.com", "klb.a.example.com"
	w, files := newWorld("c1"), make(manifests)
	for i := range objects {
		leaf := fmt.Sprintf("c%d-gw.%s", i, klb)
		files.apply(t, w, dnsRecordOf(fmt.Sprintf("ns1/x%d", i), 1, host,
			row(host, "CNAME", klb, "recordTTL: 300"),
			row(klb, "CNAME", "ie."+klb, "setIdentifier: IE, "+geoCode("IE")),
			row(klb, "CNAME", "ie."+klb, "setIdentifier: default, "+geoCode("*")),
			row("ie."+klb, "CNAME", leaf, weight(leaf)),
			row(leaf, "A", fmt.Sprintf("192.0.2.%d", i+1), "")))
	}
	snap := Compile(nil, w.objects(), openZone(), testTime)
	if got := snap.Verdict("c1", api.Ref{Kind: api.KindDNSRecord, Name: "ns1/x0"}).Conditions[0].Message; got != "served" {
		t.Errorf("all is served, and the owner is told %q", got)
	}
	for _, name := range []string{host, klb} {
		if n := len(snap.zones[0].find(name + ".").steered.view.pool.members); n != objects {
			t.Errorf("%s has %d members, want %d", name, n, objects)
		}
	}
}

// TestTransferOfPlainChain has a chain without set identifiers that leads to a hostname: a
// transfer has none of its names below klb.H' (rule 7.5).
func TestTransferOfPlainChain(t *testing.T) {
	w, files := newWorld("c1"), make(manifests)
	files.apply(t, w, dnsRecordOf("ns1/x", 1, "a.example.com",
		row("a.example.com", "CNAME", "klb.a.example.com", ""),
		row("klb.a.example.com", "CNAME", "lb.example.net", "")))
	snap := Compile(nil, w.objects(), openZone(), testTime)
	for line := range contentOf(t, snap.zones[0]) {
		if strings.HasPrefix(line, "klb.") {
			t.Errorf("a transfer has %s", line)
		}
	}
}

// BenchmarkGeoRowsAtOneName compiles endpoints of one namespace that share a name, each for
// clients of another network: what one more object costs must not grow with those before it
// (rule 8.4).
func BenchmarkGeoRowsAtOneName(b *testing.B) {
	for _, objects := range []int{2, 4, 8, 16} {
		b.Run(fmt.Sprint(objects), func(b *testing.B) {
			w := newWorld("c1")
			for o := range objects {
				e := new(api.DNSEndpoint)
				for i := range 1000 {
					id := o*1000 + i
					e.Endpoints = append(e.Endpoints, api.Endpoint{
						DNSName: "a.example.com.", Type: "CNAME", Targets: []string{fmt.Sprintf("l%d.example.net", id)},
						SetID: fmt.Sprint(id), Weight: api.NoWeight, Geo: fmt.Sprintf("AS%d", id+1),
					})
				}
				w.setDNSEndpoint(0, fmt.Sprintf("ns1/x%d", o), e)
			}
			for b.Loop() {
				Compile(nil, w.objects(), openZone(), testTime)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*objects), "µs/object")
		})
	}
}
