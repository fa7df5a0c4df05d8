package records

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// nestedNames are names of Zones that lie in each other, also more than one label apart.
var nestedNames = []string{
	"a.example.org.", "b.a.example.org.", "c.b.a.example.org.", "d.c.b.a.example.org.", "e.d.c.b.a.example.org.", "b.example.org.", "c.a.example.org.", "d.c.a.example.org.",
	"klb.a.example.org.", "x.klb.a.example.org.", "y.x.klb.a.example.org.",
}

// nestedZone makes or changes a Zone of a namespace that lets everybody, or some, have all in it.
func (w *world) nestedZone(r *rand.Rand, namespace string, created int64) {
	z := &api.Zone{Meta: api.Meta{Created: created}, DomainName: pick(r, nestedNames), TTL: 60, Minimum: 30}
	if r.IntN(4) == 0 {
		z.DomainName, z.Parent = pick(r, []string{"a", "b", "c.b", "d", "d.c"}), pick(r, []string{"v1/p", "v2/p", "v2/q", "evil/p", "eve/q", "dns/z"})
	}
	d := api.Delegation{Zones: []string{"*"}, Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}}
	if namespace[0] == 'v' || r.IntN(3) == 0 {
		d.Namespaces = []string{namespace, pick(r, []string{"v1", "v2"})}
	}
	z.Delegations = []api.Delegation{d}
	w.setZone(r.IntN(2), namespace+"/"+pick(r, []string{"p", "q"}), z)
}

// heldBy returns the Zones that are served, by their names, of namespaces other than those of the attackers, and the
// answers at names of the namespace host.
func heldBy(s *Snapshot) map[string]string {
	all := make(map[string]string)
	for _, name := range nestedNames {
		if o, ok := s.Owner(api.ZoneKey(name)); ok && !strings.HasPrefix(o.Name, "ev") {
			all["zone "+name] = fmt.Sprint(o.Cluster, " ", o.Name)
		}
		for _, host := range []string{name, "h." + name} {
			if o, ok := s.Owner(host); ok && strings.HasPrefix(o.Name, "host/") {
				all[host] = ask(s, host, dns.TypeA)
			}
		}
	}
	return all
}

// TestZonesTakeNoRegisteredNames: whatever Zones others make later, younger or older, the Zones in the registry stay, and so do hosts in
// them of namespaces that have no Zone (rules 5.4 and 6.5).
func TestZonesTakeNoRegisteredNames(t *testing.T) {
	oneGoroutine(t)
	for seed := range seeds(t, 400) {
		r := rand.New(rand.NewPCG(seed, 31))
		w, opt := newWorld("c1", "c2"), dnsHasZones
		w.zone("dns/z", "example.org.", 0, everything...)
		for range 1 + r.IntN(5) {
			w.nestedZone(r, pick(r, []string{"v1", "v2"}), 3+r.Int64N(3)) // that of the Zone above consents (rule 6.5)
		}
		for i := range r.IntN(3) {
			w.endpoints(fmt.Sprint("host/", i), 3+r.Int64N(3), apiEndpoint(pick(r, []string{"", "h."})+pick(r, nestedNames), "A", "192.0.2.1"))
		}
		s := Compile(nil, w.objects(), opt, testTime)
		was := heldBy(s)
		for _, name := range nestedNames {
			w.acquireKeys(s, name, "h."+name, api.ZoneKey(name))
		}
		s = Compile(s, w.objects(), opt, testTime)
		for step := range 8 {
			w.nestedZone(r, pick(r, []string{"evil", "eve"}), pick(r, []int64{1, 9}))
			in := w.objects()
			s = Compile(s, in, opt, testTime)
			if got, want := dump(s), dump(Compile(nil, in, opt, testTime)); got != want {
				t.Fatalf("seed %d step %d: step by step it is not what it is from nothing: %s", seed, step, differing(got, want))
			}
			is := heldBy(s)
			for what, before := range was {
				if is[what] != before {
					t.Fatalf("seed %d step %d: %s was %q and is %q\n%s", seed, step, what, before, is[what], zonesText(w, s))
				}
			}
		}
	}
}

// zonesText lists the Zones and what became of them, for failures.
func zonesText(w *world, s *Snapshot) string {
	var b strings.Builder
	for _, c := range w.clusters {
		for name, z := range c.Zones.All() {
			fmt.Fprintf(&b, "%s %s of day %d, %q in %q: %s\n", c.Name, name, z.Created, z.DomainName, z.Parent, s.Verdict(c.Name, api.Ref{Kind: api.KindZone, Name: name}).Conditions[0].Message)
		}
		for name, e := range c.DNSEndpoints.All() {
			fmt.Fprintf(&b, "%s %s of day %d, %s\n", c.Name, name, e.Created, e.Endpoints[0].DNSName)
		}
	}
	return b.String()
}
