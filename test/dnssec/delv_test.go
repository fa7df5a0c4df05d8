package dnssec

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// These are parts of delv's output.
const (
	validated   = "; fully validated\n"
	noSuchData  = ";; resolution failed: ncache nxrrset\n" // before a denial
	denialHolds = "; negative response, fully validated\n"
	provenPlain = "; unsigned answer\n" // after the proof that the zone has no key
)

// TestDelv has BIND's own validator query a server with signed zones. It knows only the key of
// example.com. It finds the key of signed.example.com through the DS record in its parent, and the
// proof that plain.example.com has none.
func TestDelv(t *testing.T) {
	if _, err := exec.LookPath("delv"); err != nil {
		t.Skip("delv is not installed: it is in Debian's package bind9-dnsutils")
	}
	w := newSignedWorld(t, "")
	key := w.keys["example.com."]
	anchors := filepath.Join(t.TempDir(), "anchors")
	boottest.WriteFile(t, anchors, fmt.Sprintf("trust-anchors { example.com. static-key %d %d %d %q; };\n", key.Flags, key.Protocol, key.Algorithm, key.PublicKey))
	host, port, _ := strings.Cut(w.addr, ":")
	for _, c := range []struct {
		name  string
		qtype uint16
		says  []string // in this order
	}{
		{"www.example.com.", dns.TypeA, []string{validated, "192.0.2.80", "192.0.2.81"}},
		{"example.com.", dns.TypeNS, []string{validated, "ns.example.com."}},
		{"example.com.", dns.TypeDNSKEY, []string{validated, "DNSKEY"}},
		{"mx.example.com.", dns.TypeMX, []string{validated, "mail.example.com."}},
		{"host.example.com.", dns.TypeA, []string{validated, "192.0.2.1", "192.0.2.2"}},
		{"shop.example.com.", dns.TypeA, []string{validated, "klb.shop.example.com.", "192.0.2.10"}},
		{"x.wild.example.com.", dns.TypeA, []string{validated, "x.wild.example.com.", "192.0.2.9"}},
		{"a.b.gw.example.com.", dns.TypeA, []string{validated, "192.0.2.1"}},
		{"x.wc.example.com.", dns.TypeA, []string{validated, "www.example.com.", "192.0.2.80"}},
		{"h.dn.example.com.", dns.TypeA, []string{validated, "DNAME", "h.tree.example.com.", "192.0.2.12"}},
		{"nope.example.com.", dns.TypeA, []string{noSuchData, denialHolds, "; nope.example.com."}},
		{"ent.example.com.", dns.TypeA, []string{noSuchData, denialHolds, "; ent.example.com."}},
		{"www.example.com.", dns.TypeMX, []string{noSuchData, denialHolds, "; www.example.com."}},
		{"shop.example.com.", dns.TypeAAAA, []string{noSuchData, validated, "; " + shopLeaf, "; " + shopLeaf + " RRSIG NSEC"}},
		{"tonope.example.com.", dns.TypeA, []string{noSuchData, validated, "; nope.example.com.", "; nope.example.com. RRSIG NSEC"}},
		{"x.wn.example.com.", dns.TypeA, []string{noSuchData, validated, "; nope.example.com.", "; nope.example.com. RRSIG NSEC"}},
		{"alias.example.com.", dns.TypeMX, []string{noSuchData, validated, "; www.example.com.", "; www.example.com. RRSIG NSEC"}},
		{"toshop.example.com.", dns.TypeAAAA, []string{noSuchData, validated, "; " + shopLeaf, "; " + shopLeaf + " RRSIG NSEC"}},
		{"nope.dn.example.com.", dns.TypeA, []string{noSuchData, validated, "DNAME", "; nope.tree.example.com.", "; nope.tree.example.com. RRSIG NSEC"}},
		{"signed.example.com.", dns.TypeDS, []string{validated, "DS"}},
		{"www.signed.example.com.", dns.TypeA, []string{validated, "192.0.2.91"}},
		{"tosigned.example.com.", dns.TypeA, []string{validated, "www.signed.example.com.", "192.0.2.91"}},
		{"up.signed.example.com.", dns.TypeA, []string{validated, "www.example.com.", "192.0.2.80"}},
		{"nope.signed.example.com.", dns.TypeA, []string{noSuchData, denialHolds, "; signed.example.com. SOA"}},
		{"www.signed.example.com.", dns.TypeDS, []string{noSuchData, denialHolds, "; signed.example.com. SOA"}},
		{"plain.example.com.", dns.TypeDS, []string{noSuchData, denialHolds, "; example.com. SOA"}},
		{"www.plain.example.com.", dns.TypeA, []string{provenPlain, "192.0.2.92"}},
		{"toplain.example.com.", dns.TypeA, []string{validated, "CNAME", provenPlain, "192.0.2.92"}},
		{"up.plain.example.com.", dns.TypeA, []string{provenPlain, "CNAME", validated, "192.0.2.80"}},
	} {
		t.Run(c.name+dns.TypeToString[c.qtype], func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			// It exits with an error if the answer is a denial.
			out, _ := exec.CommandContext(ctx, "delv", "@"+host, "-p", port, "-a", anchors, "+root=example.com.",
				c.name, dns.TypeToString[c.qtype]).CombinedOutput()
			rest := string(out)
			for _, want := range c.says {
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Fatalf("delv does not say %q, or not in the order of %q:\n%s", want, c.says, out)
				}
				rest = after
			}
		})
	}
}
