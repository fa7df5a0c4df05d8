package records

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// octetsOf returns what a TXT record says on the wire, its strings joined.
func octetsOf(t *testing.T, rr dns.RR) string {
	t.Helper()
	var p packer
	wire := p.wire(rr)
	off := 0
	for wire[off] != 0 {
		off += 1 + int(wire[off])
	}
	wire = wire[off+11:]
	var b strings.Builder
	for len(wire) > 0 {
		b.Write(wire[1 : 1+int(wire[0])])
		wire = wire[1+int(wire[0]):]
	}
	return b.String()
}

// TestReviewTextOctets: texts of endpoints, quoted or not, are served octet for octet.
func TestReviewTextOctets(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	alphabet := []string{`"`, `\`, ";", " ", "(", ")", "a", "é", "\xff", "\x00", "\t", "\n", "@", "$", "v=spf1 ", "123", `\065`, "\r"}
	fails := 0
	for i := range 3000 {
		var b strings.Builder
		n := r.IntN(12)
		if i%10 == 0 {
			n = 200 + r.IntN(400)
		}
		for range n {
			b.WriteString(pick(r, alphabet))
		}
		text := b.String()
		if strings.TrimSpace(text) != text || text == "" {
			continue
		}
		target := text
		if strings.HasPrefix(text, `"`) || i%2 == 1 { // in quotes, as a master file
			var q strings.Builder
			rest := text
			for {
				k := min(len(rest), 1+r.IntN(400))
				q.WriteString(` "` + strings.ReplaceAll(strings.ReplaceAll(rest[:k], `\`, `\\`), `"`, `\"`) + `"`)
				if rest = rest[k:]; rest == "" {
					break
				}
			}
			target = q.String()[1:]
		}
		w := newWorld("c1")
		e := &api.DNSEndpoint{Endpoints: []api.Endpoint{{DNSName: "a.example.com.", Type: "TXT", Targets: []string{target}, Weight: api.NoWeight}}}
		w.setDNSEndpoint(0, "ns1/x", e)
		snap := Compile(nil, w.objects(), openZone(), testTime)
		n0 := snap.zones[0].find("a.example.com.")
		if n0 == nil || len(n0.static) != 1 {
			t.Errorf("%q: not served: %v", target, snap.Verdict("c1", api.Ref{Kind: api.KindDNSEndpoint, Name: "ns1/x"}))
			fails++
		} else if got := octetsOf(t, n0.static[0].rrs[0]); got != text {
			t.Errorf("%q is served as\n%q, want\n%q", target, got, text)
			fails++
		}
		if fails > 6 {
			t.FailNow()
		}
	}
}
