package records

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
)

// TestIncrementalHealth applies random changes, and whatever checks have found, and
// compares all that is said of health step by step with what is said from nothing:
// statuses, hosts that fail open, probes and overrides without effect. Cells stay
// with their targets, and Checks.Changed names what differs (rule 4.7).
func TestIncrementalHealth(t *testing.T) {
	oneGoroutine(t)
	for seed := range uint64(30) {
		opt := &Options{Zones: []ZoneOptions{
			{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300, Nameservers: []Nameserver{{Name: "ns1.example.com."}}},
			{Origin: "klb.deep.example.com.", TTL: 60, LoadBalancedTTL: 300, Flatten: true},
		}, ProbesOff: seed%4 == 1, ProbeAllow: mustPrefixes("192.0.2.3/32")}
		r := rand.New(rand.NewPCG(seed, 5))
		w := newWorld("c1", "c2")
		w.crowded = seed%3 == 0
		for range 40 {
			w.pair(r)
		}
		if seed%5 == 0 {
			w.manyProbes(r)
		}
		var snap *Snapshot
		for step := range 30 {
			for range 1 + r.IntN(3) {
				w.mutate(r)
				w.pair(r)
				w.mutateHealth(r)
			}
			before := snap
			snap = Compile(snap, w.objects(), opt, testTime)
			whole := Compile(nil, w.objects(), opt, testTime)
			if before != nil {
				checkChecks(t, before.Checks(), snap.Checks())
			}
			salt := r.Uint64()
			findAll(snap, salt)
			findAll(whole, salt)
			if got, want := dumpHealth(snap), dumpHealth(whole); got != want {
				t.Fatalf("seed %d step %d: step by step:\n%s\nfrom nothing:\n%s", seed, step, got, want)
			}
			if step%5 == 4 {
				w.checkProbeProblems(t, whole, opt, salt)
			}
			checkLosers(t, snap)
			if t.Failed() {
				t.Fatalf("seed %d step %d", seed, step)
			}
		}
	}
}

// pair puts a Gateway with a policy of its own into a cluster: there is something to
// be healthy.
func (w *world) pair(r *rand.Rand) {
	cluster, bare := r.IntN(len(w.clusters)), pick(r, someGateways)
	name := pick(r, []string{"n1", "n2"}) + "/" + bare
	g, p := w.randomGateway(r), w.randomPolicy(r)
	p.Target.Name = bare
	w.setGateway(cluster, name, g)
	w.setPolicy(cluster, name, p)
}

// manyProbes puts more probes of one address into a namespace than may join.
func (w *world) manyProbes(r *rand.Rand) {
	for i := range 3 * maxJoined {
		p := randomProbe(r)
		p.Address, p.Check.Port = "192.0.2.1", uint16(2000+i)
		w.setProbe(0, fmt.Sprintf("n1/p%02d", i), p)
	}
}

// mutateHealth changes what else bears on health, of an object that is there.
func (w *world) mutateHealth(r *rand.Rand) {
	cluster, name := r.IntN(len(w.clusters)), pick(r, []string{"n1", "n2"})+"/"+pick(r, someGateways)
	if p, ok := w.clusters[cluster].Probes.Get(name); ok {
		w.setProbe(cluster, name, otherProbe(r, p))
	} else if r.IntN(2) == 0 {
		w.setProbe(cluster, name, randomProbe(r))
	}
	words := []string{"up", "down", "drain", "what"}
	if g, ok := w.clusters[cluster].Gateways.Get(name); ok && r.IntN(3) == 0 {
		next := *g
		next.Annotations = map[string]string{annotationOverride: pick(r, words)}
		w.setGateway(cluster, name, &next)
	}
	p, ok := w.clusters[cluster].Policies.Get(name)
	if !ok || r.IntN(3) > 0 {
		return
	}
	next := *p
	next.Annotations = map[string]string{annotationOverride: pick(r, words), annotationFallback: pick(r, []string{"none", "default", "any"})}
	switch r.IntN(4) {
	case 0:
		next.CheckInvalid = "not acceptable"
	case 1:
		next.Exclude = []api.Exclusion{{Prefix: netip.MustParsePrefix("192.0.2.1/32")}}
	case 2:
		if next.HealthCheck != nil {
			check := *next.HealthCheck
			check.Host = "grpc.example.com"
			next.HealthCheck = &check
		}
	}
	w.setPolicy(cluster, name, &next)
}

// otherProbe returns a probe that differs from p in one thing.
func otherProbe(r *rand.Rand, p *api.HealthCheckProbe) *api.HealthCheckProbe {
	next, random := *p, randomProbe(r)
	switch r.IntN(6) {
	case 0:
		next.Healthy = random.Healthy
	case 1:
		next.ObservedGeneration = int64(r.IntN(2))
	case 2:
		next.Check = random.Check
		next.Check.Host = next.Host
	case 3:
		next.Controlled = random.Controlled
	case 4:
		next.Address = pick(r, someMulti).Value
		next.Address = next.Address[strings.Index(next.Address, "/")+1:]
	case 5:
		next.Host = pick(r, []string{"", "a.example.com", "b.a.example.com", "*.a.example.com", "x.deep.example.com", "grpc.example.com", "no.example.org"})
		next.Check.Host = next.Host
	}
	return &next
}

// findAll sets what checks have found: the same of the same target, other things with
// another salt.
func findAll(s *Snapshot, salt uint64) {
	for key, target := range s.Checks().All() {
		h := fnv.New64a()
		fmt.Fprint(h, key, salt)
		target.Cell.Set(health.State(h.Sum64() % 3))
	}
}

// dumpHealth writes down all that a snapshot says about health.
func dumpHealth(s *Snapshot) string {
	var b strings.Builder
	b.WriteString(dump(s))
	for i, c := range s.clusters {
		for name := range s.in.Clusters[i].Policies.All() {
			if v := s.StatusNow(c.name, name); v != nil {
				fmt.Fprintf(&b, "status of %s %s: %+v\n", c.name, name, *v)
			}
		}
		for _, p := range s.in.Clusters[i].Probes.All() {
			fmt.Fprintf(&b, "probe %s %s: %s\n", c.name, p.Name, s.ProbeProblem(p))
		}
	}
	for group := range s.Groups() {
		for host, failing := range s.Hosts(group) {
			fmt.Fprintf(&b, "%s in %s fails open for %q\n", host, group, failing)
		}
	}
	fmt.Fprintln(&b, "unmet:", s.Unmet())
	for _, z := range s.zones {
		for name, n := range z.names.All() {
			if v := n.steered.view; v != nil {
				fmt.Fprintf(&b, "%s: fallback %v, chained %v\n", name, v.pool.fallback, v.pool.chained)
			}
		}
	}
	return b.String()
}

// checkChecks checks that targets keep their cells, and that Changed names what is
// another one than before.
func checkChecks(t *testing.T, before, after *Checks) {
	t.Helper()
	keys := make(map[string]bool)
	for key := range before.All() {
		keys[key] = true
	}
	for key := range after.All() {
		keys[key] = true
	}
	for key := range keys {
		old, _ := before.Get(key)
		now, _ := after.Get(key)
		if changed := slices.Contains(after.Changed(), key); changed != (old != now) {
			t.Errorf("%s: Changed says %v", key, changed)
		}
		if old != nil && now != nil && old.Cell != now.Cell {
			t.Errorf("%s: another cell", key)
		}
	}
}

// checkLosers checks that a group finds those of its claims that lost.
func checkLosers(t *testing.T, s *Snapshot) {
	t.Helper()
	for key, g := range s.groups.All() {
		for _, c := range g.claims {
			lost := slices.ContainsFunc(g.lost, func(l loss) bool { return l.claim == c })
			if g.loses(c) != lost {
				t.Errorf("%s: %s of %s lost %v", key, c.host, c.policy.Name, lost)
			}
		}
	}
}

// checkProbeProblems checks that nothing is answered otherwise without the probes
// that are said to have no effect, and that the others are checked. s is compiled from
// w.
func (w *world) checkProbeProblems(t *testing.T, s *Snapshot, opt *Options, salt uint64) {
	t.Helper()
	var useless []api.Ref
	without := &world{clusters: slices.Clone(w.clusters), overrides: w.overrides, acquired: w.acquired}
	for i, c := range w.clusters {
		without.changed = append(without.changed, make(map[api.Ref]bool))
		for name, p := range c.Probes.All() {
			problem := s.ProbeProblem(p)
			if problem == "" {
				if _, ok := s.Checks().Get(s.reader().probeTarget(p).Key()); !ok && !opt.ProbesOff && !byProgram(p) && !p.Deleting {
					t.Errorf("%s is not checked, and nothing is said of it", name)
				}
				continue
			}
			useless = append(useless, api.Ref{Kind: api.KindProbe, Name: name})
			without.setProbe(i, name, nil)
		}
	}
	less := Compile(nil, without.objects(), opt, testTime)
	findAll(less, salt)
	for _, z := range s.zones {
		for name := range z.names.All() {
			if got, want := answered(less, name), answered(s, name); got != want {
				t.Errorf("%s is answered with %s, and without the probes %v with %s", name, want, useless, got)
			}
		}
	}
}
