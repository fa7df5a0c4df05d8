package records

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/miekg/dns"
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
