package records

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestWeightsOfTwoNames has a host that leads to two names with equal weights, and weights of
// another magnitude at one of those: each name is drawn by its own weights alone (rules 6.10
// and 2.3), whether it lies below klb or not.
func TestWeightsOfTwoNames(t *testing.T) {
	for _, below := range []string{"a.example.com", "klb.a.example.com"} {
		weighted := func(id string, n int) string {
			return fmt.Sprintf("setIdentifier: %s, providerSpecific: [{name: weight, value: '%d'}]", id, n)
		}
		w, files := newWorld("c1"), make(manifests)
		files.apply(t, w, dnsRecordOf("ns1/x", 1, "a.example.com",
			row("a.example.com", "CNAME", "blue."+below, weighted("blue", 10)),
			row("a.example.com", "CNAME", "green."+below, weighted("green", 10)),
			row("blue."+below, "CNAME", "b1."+below, weighted("b1", 120)),
			row("blue."+below, "CNAME", "b2."+below, weighted("b2", 120)),
			row("green."+below, "CNAME", "g1."+below, weighted("g1", 1)),
			row("b1."+below, "A", "192.0.2.1", ""), row("b2."+below, "A", "192.0.2.2", ""), row("g1."+below, "A", "192.0.2.3", "")))
		snap := Compile(nil, w.objects(), openZone(), testTime)
		r, green := rand.New(rand.NewPCG(1, 2)), 0
		const n = 2000
		for range n {
			green += strings.Count(addressesIn(told(snap, "a.example.com.", dns.TypeA, "10.1.0.1", r.Uint64())), "192.0.2.3")
		}
		if green < n*4/10 || green > n*6/10 {
			t.Errorf("below %s: %d of %d draws are green, want a half", below, green, n)
		}
	}
}

// TestTextBehindQuotes has texts that are served in part: their owner is told so (rule 8.1),
// of whatever kind the object is.
func TestTextBehindQuotes(t *testing.T) {
	for _, text := range []string{`"v=DKIM1"; p=abc`, `"v=DMARC1" ; "p=none"`} {
		w, files := newWorld("c1"), make(manifests)
		files.apply(t, w, endpointOf("ns1/x", 1, row("a.example.com", "TXT", text, "")), recordOf("ns1/r", 1, at("b.example.com."), "TXT", text))
		snap := Compile(nil, w.objects(), openZone(), testTime)
		for kind, name := range map[api.Kind][2]string{api.KindDNSEndpoint: {"ns1/x", "a.example.com."}, api.KindRecord: {"ns1/r", "b.example.com."}} {
			n := snap.zones[0].find(name[1])
			if n == nil || len(n.static) == 0 {
				continue
			}
			got := strings.Join(n.static[0].rrs[0].(*dns.TXT).Txt, "")
			if told := messageOf(snap, kind, name[0]); !strings.Contains(got, "p=") && told == "served" {
				t.Errorf("%s: %s is served as %q, and its owner is told %q", kind, text, got, told)
			}
		}
	}
}
