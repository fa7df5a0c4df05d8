package records

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// fleet is replicas that read one cluster, each at its own pace, and what is written to it.
type fleet struct {
	w        *world
	opt      *Options
	history  []api.Objects // since the start, each with what changed since the one before
	kept     []tree.Map[api.Kept]
	replicas []*replica
	// keeper is the cluster in which serials are kept: that of the Zones, or another one.
	keeper string
	// shown is what was shown of each zone under each serial, by anybody.
	shown published
	steps int
}

// replica is one compiler of a fleet.
type replica struct {
	opt  *Options
	snap *Snapshot
	// objects and kept are how much of the fleet's histories it has seen.
	objects, kept int
	clock         time.Duration
	// last are the serials that it has shown, by origin.
	last map[string]uint32
}

func newFleet(seed uint64) *fleet {
	f := &fleet{w: newWorld("c1"), opt: worldOptions(seed), kept: make([]tree.Map[api.Kept], 1), shown: make(published)}
	f.keeper = []string{"c1", "c1", "c2"}[seed%3]
	f.w.crowded = seed%4 == 3
	f.zone("dns/z", "sub.example.com.", 300, api.Kept{})
	f.write()
	for i := range 3 {
		f.replicas = append(f.replicas, &replica{opt: worldOptions(seed), last: make(map[string]uint32), clock: time.Duration(i-1) * time.Hour})
	}
	return f
}

func (f *fleet) zone(name, domain string, ttl uint32, kept api.Kept) {
	f.w.setZone(0, name, &api.Zone{
		DomainName: domain, TTL: ttl, Refresh: 1, Retry: 2, Expire: 3, Minimum: 4, Kept: kept,
		Delegations: []api.Delegation{{Zones: []string{"sub"}, Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}}},
	})
}

// write puts the world as it is into the history.
func (f *fleet) write() { f.history = append(f.history, f.w.objects()) }

// change changes an object.
func (f *fleet) change(r *rand.Rand) {
	name := fmt.Sprintf("r%d", r.IntN(8))
	switch k := r.IntN(12); {
	case k < 4:
		f.w.mutate(r)
	case k < 10:
		types := []string{"A", "192.0.2.1", "A", "192.0.2.2", "TXT", "x", "TXT", "y", "DNAME", "example.net.", "NS", "ns.example.net."}
		i := 2 * r.IntN(len(types)/2)
		f.w.setRecord(0, "dns/"+name, &api.Record{
			DomainName: pick(r, []string{"a", "b.a", "c", "x.c", "@"}), Parent: "dns/z", Type: types[i], Class: "IN", RData: types[i+1], TTL: api.NoTTL,
		})
	case k < 11:
		f.w.setRecord(0, "dns/"+name, nil)
	default:
		z, _ := f.w.clusters[0].Zones.Get("dns/z")
		f.zone("dns/z", z.DomainName, 300+uint32(r.IntN(3)), z.Kept)
	}
	f.write()
}

// top makes a Zone of the Corefile's zone, which had none.
func (f *fleet) top() {
	f.zone("dns/top", "example.com.", 200, api.Kept{})
	f.write()
}

// see has a replica compile what is there up to some place in both histories.
func (f *fleet) see(t *testing.T, p *replica, objects, kept int) {
	t.Helper()
	in := api.Objects{Overrides: f.history[objects-1].Overrides, Serials: f.kept[kept-1], Keeper: f.keeper}
	own := *f.history[objects-1].Clusters[0]
	own.Changed = nil
	if p.snap != nil {
		for _, h := range f.history[p.objects:objects] {
			own.Changed = mergeRefs(own.Changed, h.Clusters[0].Changed)
		}
		for origin, k := range in.Serials.All() {
			if was, _ := f.kept[max(p.kept, 1)-1].Get(origin); was != k {
				in.SerialsChanged = append(in.SerialsChanged, origin)
			}
		}
	}
	in.Clusters = []*api.Cluster{&own}
	p.objects, p.kept = objects, kept
	p.snap = Compile(p.snap, in, p.opt, testTime.Add(p.clock))
	f.check(t, p)
}

// some has a replica see some of what it has not seen.
func (f *fleet) some(t *testing.T, r *rand.Rand, p *replica) {
	t.Helper()
	f.see(t, p, max(1, p.objects+r.IntN(len(f.history)-p.objects+1)), max(1, p.kept+r.IntN(len(f.kept)-p.kept+1)))
}

// reload gives one of the replicas other options, which say the same.
func (f *fleet) reload(t *testing.T, r *rand.Rand, seed uint64) {
	t.Helper()
	p := pick(r, f.replicas)
	p.opt = worldOptions(seed)
	f.some(t, r, p)
}

func mergeRefs(a, b []api.Ref) []api.Ref {
	for _, ref := range b {
		if !slices.Contains(a, ref) {
			a = append(a, ref)
		}
	}
	return a
}

// check checks what a replica shows: no serial with two contents, whoever shows it, and
// none that is lower than one before it.
func (f *fleet) check(t *testing.T, p *replica) {
	t.Helper()
	shown := &Snapshot{}
	for _, z := range p.snap.zones {
		if last, ok := p.last[z.origin]; ok && newer(last, z.serial) {
			t.Fatalf("zone %s goes back from %d to %d", z.origin, last, z.serial)
		}
		v := z.Shown()
		if v == nil {
			continue
		}
		if v.SOA() != z.SOA() || v.serial != z.serial || v.serial != v.SOA().Serial || z.negative[0].Header().Ttl > v.SOA().Minttl {
			t.Fatalf("zone %s: transfers have %v, and queries %v", z.origin, v.SOA(), z.SOA())
		}
		p.last[z.origin] = z.serial
		shown.zones = append(shown.zones, v)
	}
	f.shown.note(t, shown, 1)
	f.steps += f.shown.check(t, shown)
}

// keep has a replica write what it proposes, as far as what it knows is still the case.
func (f *fleet) keep(p *replica) (written bool) {
	if p.snap == nil {
		return false
	}
	edit := f.kept[len(f.kept)-1].Edit()
	for _, z := range p.snap.zones {
		want, ok := z.Proposed()
		if !ok {
			continue
		}
		var object *api.Zone
		if z.object != nil {
			object, _ = f.w.clusters[0].Zones.Get(z.object.Name)
		}
		beside, _ := edit.Get(z.origin)
		if want.Beside && want.Kept != want.After && (object == nil && beside == want.After || object != nil && object.Kept.Newer(beside) == want.After) {
			edit.Set(z.origin, want.Kept)
			written = true
		}
		// A copy is written whatever stands there, by those who lag behind too.
		if said := z.keep(); object != nil && said != object.Kept && (want.Beside || object.Kept == want.After) {
			f.zone(z.object.Name, object.DomainName, object.TTL, said)
			f.write()
			written = true
		}
	}
	if next := edit.Map(); written {
		f.kept = append(f.kept, next)
	}
	return written
}

// settle delivers everything, has one replica lead, and checks that all show the newest.
func (f *fleet) settle(t *testing.T, leader *replica) {
	t.Helper()
	f.w.listSecrets() // a zone with hosts that wait for them is not shown
	f.write()
	for round := 0; ; round++ {
		for _, p := range f.replicas {
			f.see(t, p, len(f.history), len(f.kept))
		}
		if !f.keep(leader) {
			break
		}
		if round == 5 {
			t.Fatal("what is kept does not come to rest")
		}
	}
	for _, p := range f.replicas {
		for i, z := range p.snap.zones {
			v, first := z.Shown(), f.replicas[0].snap.zones[i]
			if v == nil || v.serial != first.serial || v.SOA().String() != first.SOA().String() || !maps.Equal(contentOf(t, v), contentOf(t, z)) {
				t.Fatalf("zone %s is at rest with serial %d here, %d there, its content %v", z.origin, z.serial, first.serial, v)
			}
			if want, ok := z.Proposed(); !ok || want.Kept != want.After {
				t.Fatalf("zone %s: %+v is proposed at rest", z.origin, want)
			}
		}
	}
}

// TestReplicasAgree has three replicas see random changes at their own pace, with clocks an
// hour apart, while now this one and now that one writes what it proposes, some of them in
// the belief that they still lead; some start anew, or are reloaded. At no time do two contents have one
// serial, no replica shows a lower serial than before, journals lead from each shown version
// to the present one, and at rest all show the same (rule 6.7).
func TestReplicasAgree(t *testing.T) {
	oneGoroutine(t)
	steps := 0
	for seed := range seeds(t, 200) {
		r := rand.New(rand.NewPCG(seed, 67))
		f := newFleet(seed)
		leader := 0
		for step := range 60 {
			for range r.IntN(4) {
				f.change(r)
			}
			if step == 30 && seed%3 == 0 {
				f.top()
			}
			if step == 45 && seed%6 == 0 {
				f.w.setZone(0, "dns/top", nil)
				f.write()
			}
			p := pick(r, f.replicas)
			switch k := r.IntN(16); {
			case k == 0:
				p.snap = nil // it starts anew, and reads all there is
				f.see(t, p, len(f.history), len(f.kept))
			case k == 1:
				f.reload(t, r, seed)
			default:
				f.some(t, r, p)
			}
			if r.IntN(8) == 0 {
				leader = r.IntN(len(f.replicas))
			}
			if r.IntN(3) == 0 {
				f.keep(f.replicas[leader])
			}
			if r.IntN(10) == 0 {
				f.keep(pick(r, f.replicas))
			}
		}
		f.settle(t, f.replicas[leader])
		for range 3 {
			f.change(r)
		}
		f.settle(t, pick(r, f.replicas))
		steps += f.steps
	}
	if steps < 10_000 {
		t.Errorf("only %d steps of journals were checked", steps)
	}
}
