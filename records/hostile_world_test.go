package records

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
)

// TestHostileWorlds: whatever stands in objects, in names below klb, geo codes and probes, nothing panics (rule 8.4), and
// what is compiled step by step is what is compiled from nothing.
func TestHostileWorlds(t *testing.T) {
	const n = 10
	for seed := range uint64(n) {
		opt := &Options{Zones: []ZoneOptions{
			{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300, Nameservers: []Nameserver{{Name: "ns1.example.com."}}},
			{Origin: "klb.deep.example.com.", TTL: 60, LoadBalancedTTL: 300, Flatten: true},
		}, ProbesOff: seed%4 == 0}
		r := rand.New(rand.NewPCG(seed, 77))
		w := newWorld("c1", "c2")
		w.crowded = seed%2 == 0
		var snap *Snapshot
		for step := range 60 {
			for range 1 + r.IntN(5) {
				w.mutate(r)
				if r.IntN(3) == 0 { // hostile extras
					c := r.IntN(2)
					bare := pick(r, someGateways)
					switch r.IntN(3) {
					case 0:
						g := w.randomGateway(r)
						for len(g.Listeners) < 5 {
							g.Listeners = append(g.Listeners, api.Listener{Name: fmt.Sprintf("x%d", len(g.Listeners)), Hostname: pick(r, []string{
								"klb.example.com", "a.klb.example.com", "*.klb.example.com", "klb.klb.example.com", "*.a.example.com", "a.example.com", "geo-eu.klb.a.example.com", "*.klb.a.example.com", "klb.klb.klb.deep.example.com",
							}), AttachedRoutes: 1})
						}
						g.Labels = map[string]string{labelGeoCode: pick(r, []string{"X_1", "ABCDEF-GHIJKL", "default", "KLB", "..", "a.b", "ſ", "IE"})}
						g.Addresses = append(g.Addresses, api.Address{Type: api.HostnameAddress, Value: pick(r, []string{"klb.a.example.com", "b.a.example.com", "a.example.com", "*.x", "x.klb.a.example.com"})})
						w.setGateway(c, "n1/"+bare, g)
					case 1:
						p := randomProbe(r)
						p.Host = pick(r, []string{"", "*", "a/b.example.com", "\\.example.com", ".", "..", "a\x00b.example.com", "example.com"})
						p.Check.Host = p.Host
						w.setProbe(c, "n1/"+bare, p)
					case 2:
						p := w.randomPolicy(r)
						p.Target.Section = ""
						p.Target.Name = bare
						p.Annotations = map[string]string{annotationFallback: pick(r, []string{"any", "none", "default"}), annotationOverride: pick(r, []string{"", "up", "down", "drain"})}
						w.setPolicy(c, "n1/p"+bare, p)
					}
				}
			}
			snap = Compile(snap, w.objects(), opt, testTime)
			whole := Compile(nil, w.objects(), opt, testTime)
			if got, want := dump(snap), dump(whole); seed%3 > 0 && got != want {
				t.Fatalf("seed %d step %d: step by step:\n%s\nfrom nothing:\n%s", seed, step, got, want)
			}
			for _, target := range snap.Checks().All() {
				if seed%3 > 0 { // a compile from nothing knows no states
					break
				}
				target.Cell.Set([]health.State{health.Up, health.Down, health.Unknown}[r.IntN(3)])
			}
			for _, z := range snap.zones {
				for name := range z.names.All() {
					askAll(t, snap, name)
					snap.FailsOpen(trimDot(name))
				}
			}
			for g := range snap.Groups() {
				for range snap.Hosts(g) {
				}
			}
			for _, c := range snap.in.Clusters {
				for name := range c.Policies.All() {
					snap.StatusNow(c.Name, name)
				}
				for _, p := range c.Probes.All() {
					snap.ProbeProblem(p)
				}
			}
		}
	}
}
