package records_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// fleet is replicas that read one cluster, each at its own pace, and what is written to it.
type fleet struct {
	*testing.T
	*rand.Rand
	w            *recordstest.World
	m            recordstest.Mutator
	serialWriter string
	history      []api.Objects // each with what changed since the one before
	kept         []tree.Map[api.Kept]
	replicas     []*replica
	shown        map[string]map[uint32]content // by zone and serial, by anybody
	steps        int
}

// content is what is transferred of a zone, and its SOA.
type content struct {
	soa string
	rrs map[string]bool
}

func contentOf(z *records.Zone) content {
	c := content{z.SOA().String(), make(map[string]bool)}
	for set := range z.Transfer() {
		for _, rr := range set {
			c.rrs[rr.String()] = true
		}
	}
	return c
}

func (c content) equal(o content) bool { return c.soa == o.soa && maps.Equal(c.rrs, o.rrs) }

// replica is one compiler of a fleet.
type replica struct {
	opt           *records.Options
	snap          *records.Snapshot
	objects, kept int // how much of the histories it has seen
	clock         time.Duration
	last          map[string]uint32     // the serials that it has shown
	had           map[string][]api.Kept // what each zone had since what is shown, with the serial under which it was shown
}

func newFleet(t *testing.T, seed uint64) *fleet {
	f := &fleet{T: t, Rand: rand.New(rand.NewPCG(seed, 67)), w: recordstest.New(t, nil), kept: make([]tree.Map[api.Kept], 1), shown: make(map[string]map[uint32]content)}
	f.serialWriter = []string{"c1", "c1", "c2"}[seed%3]
	f.m = recordstest.Mutator{Rand: f.Rand, Clusters: 1, Gateways: true, Endpoints: seed%2 == 0, Crowded: seed%4 == 3}
	f.apply("zone dns/z sub.example.com. ttl=300 delegate=*")
	for i := range 3 {
		f.replicas = append(f.replicas, &replica{opt: fleetOptions(), last: make(map[string]uint32), clock: time.Duration(i-1) * time.Hour})
	}
	return f
}

func fleetOptions() *records.Options {
	return recordstest.Zones("example.com.", "klb.deep.example.com.:flatten")
}

// apply puts what lines make of the world into the history.
func (f *fleet) apply(line string) {
	f.w.Apply(f, line)
	f.history = append(f.history, f.w.Objects())
}

func (f *fleet) change() {
	name := fmt.Sprintf("dns/r%d", f.IntN(8))
	one := func(from ...string) string { return from[f.IntN(len(from))] }
	switch k := f.IntN(12); {
	case k < 4:
		f.m.Mutate(f, f.w)
		f.apply("")
	case k < 10:
		f.apply("record " + name + " " + one("a", "b.a", "c", "x.c", "@") + " in=z " + one("A 192.0.2.1", "A 192.0.2.2", "TXT x", "TXT y", "DNAME example.net.", "NS ns.example.net."))
	case k < 11:
		f.apply("delete record " + name)
	default:
		f.apply(fmt.Sprintf("zone dns/z sub.example.com. ttl=%d delegate=*", 300+f.IntN(3)))
	}
}

// see has a replica compile what is there up to some place in both histories.
func (f *fleet) see(p *replica, objects, kept int) {
	f.Helper()
	in := api.Objects{Serials: f.kept[kept-1], SerialWriter: f.serialWriter}
	own := *f.history[objects-1].Clusters[0]
	own.Changed = nil
	if p.snap != nil {
		for _, h := range f.history[p.objects:objects] {
			own.Changed = append(own.Changed, h.Clusters[0].Changed...)
		}
		for origin, k := range in.Serials.All() {
			if was, _ := f.kept[max(p.kept, 1)-1].Get(origin); was != k {
				in.SerialsChanged = append(in.SerialsChanged, origin)
			}
		}
	}
	in.Clusters = []*api.Cluster{&own}
	p.objects, p.kept = objects, kept
	p.snap = records.Compile(p.snap, in, p.opt, f.w.Now.Add(p.clock))
	f.check(p)
}

func (f *fleet) some(p *replica) {
	f.see(p, max(1, p.objects+f.IntN(len(f.history)-p.objects+1)), max(1, p.kept+f.IntN(len(f.kept)-p.kept+1)))
}

// check checks what a replica shows: no serial with two contents, whoever shows it, none that is lower than one before it, and a journal that
// leads from each generation to the present one.
func (f *fleet) check(p *replica) {
	f.Helper()
	for _, z := range p.snap.Zones() {
		origin, serial := z.Origin(), z.Serial()
		if last, ok := p.last[origin]; ok && int32(serial-last) < 0 {
			f.Fatalf("zone %s goes back from %d to %d", origin, last, serial)
		}
		v := z.PublishedVersion()
		if p.due(z) {
			f.Fatalf("zone %s: what it had since %d is kept, and it is not shown: %v", origin, serial, p.had[origin])
		}
		if v == nil {
			continue
		}
		if v.SOA() != z.SOA() || v.Serial() != serial || v.SOA().Serial != serial {
			f.Fatalf("zone %s: transfers have %v, and queries %v", origin, v.SOA(), z.SOA())
		}
		p.last[origin] = serial
		if f.shown[origin] == nil {
			f.shown[origin] = make(map[uint32]content)
		}
		all, now := f.shown[origin], contentOf(v)
		if was, ok := all[serial]; ok && !was.equal(now) {
			f.Fatalf("zone %s: serial %d was %v, and is %v", origin, serial, was, now)
		}
		all[serial] = now
		for from, was := range all {
			deltas, ok := v.Since(from)
			if !ok {
				continue
			}
			way := content{was.soa, maps.Clone(was.rrs)}
			for _, d := range deltas {
				if f.steps++; d.Old.String() != way.soa {
					f.Fatalf("zone %s: a step from %s after %s", origin, d.Old, way.soa)
				}
				way.soa = d.New.String()
				for _, rr := range d.Removed {
					delete(way.rrs, rr.String())
				}
				for _, rr := range d.Added {
					way.rrs[rr.String()] = true
				}
			}
			if !way.equal(now) {
				f.Fatalf("zone %s from %d: %v\nwant %v", origin, from, way, now)
			}
		}
	}
}

// due notes what a zone has, and reports whether it should show something newer: a content that it had since what is shown, and that is kept
// with a serial that nobody has shown yet (rule 6.7).
func (p *replica) due(z *records.Zone) bool {
	if p.had == nil {
		p.had = make(map[string][]api.Kept)
	}
	want, ok := z.Proposed()
	all := append(p.had[z.Origin()], api.Kept{Hash: z.Hash()})
	is := want.After
	if v := z.PublishedVersion(); v != nil {
		for i := len(all) - 1; i >= 0; i-- {
			if all[i].Hash == v.Hash() {
				all = all[i:]
				break
			}
		}
	}
	p.had[z.Origin()] = all
	return ok && is.Serial != 0 && int32(is.Serial-z.Serial()) > 0 && len(all) < 20 && slices.Contains(all, api.Kept{Hash: is.Hash})
}

// keep has a replica write what it proposes, as far as what it knows is still the case.
func (f *fleet) keep(p *replica) (written bool) {
	if p.snap == nil {
		return false
	}
	now := *f.history[len(f.history)-1].Clusters[0]
	edit := f.kept[len(f.kept)-1].Edit()
	for _, z := range p.snap.Zones() {
		want, ok := z.Proposed()
		if !ok {
			continue
		}
		name, said := p.zone(z)
		object, there := now.Zones.Get(name)
		beside, _ := edit.Get(z.Origin())
		if want.Beside && want.Kept != want.After && (!there && beside == want.After || there && object.Kept.Newer(beside) == want.After) {
			edit.Set(z.Origin(), want.Kept)
			written = true
		}
		// A copy is written whatever stands there, by those who lag behind too.
		if there && said.Serial != 0 && said != object.Kept && (want.Beside || object.Kept == want.After) {
			f.apply(fmt.Sprintf("kept %s %s %d", name, said.Hash, said.Serial))
			written = true
		}
	}
	if written {
		f.kept = append(f.kept, edit.Map())
	}
	return written
}

// zone returns the name of the Zone object that is served as a zone, and what its status should keep.
func (p *replica) zone(z *records.Zone) (name string, said api.Kept) {
	for name := range p.snap.Objects().Clusters[0].Zones.All() {
		v := p.snap.Verdict("c1", api.Ref{Kind: api.KindZone, Name: name})
		if z.Origin() == v.FQDN && v.TotalRecords > 0 {
			return name, v.Kept
		}
	}
	return "", api.Kept{}
}

// settle delivers everything, has one replica lead, and checks that all show the newest.
func (f *fleet) settle(leader *replica) {
	f.Helper()
	for round := 0; ; round++ {
		for _, p := range f.replicas {
			f.see(p, len(f.history), len(f.kept))
		}
		if !f.keep(leader) {
			break
		}
		if round == 5 {
			f.Fatal("what is kept does not come to rest")
		}
	}
	for _, p := range f.replicas {
		for i, z := range p.snap.Zones() {
			v, first := z.PublishedVersion(), f.replicas[0].snap.Zones()[i]
			if v == nil || v.Serial() != first.Serial() || v.SOA().String() != first.SOA().String() || v.Hash() != z.Hash() {
				f.Fatalf("zone %s is at rest with serial %d here, %d there, its content %v", z.Origin(), z.Serial(), first.Serial(), v)
			}
			if want, ok := z.Proposed(); !ok || want.Kept != want.After {
				f.Fatalf("zone %s: %+v is proposed at rest", z.Origin(), want)
			}
		}
	}
}

// TestReplicasAgree has three replicas see random changes at their own pace, with clocks an hour apart, while now this one and now that one
// writes what it proposes, some of them in the belief that they still lead; some start anew, or are reloaded. At no time do two contents have
// one serial, no replica shows a lower serial than before, journals lead from each shown version to the present one, and at rest all show the
// same (rule 6.7).
func TestReplicasAgree(t *testing.T) {
	all := 0
	for seed := range recordstest.Seeds(t, 30) {
		f := newFleet(t, seed)
		leader := 0
		for step := range 60 {
			for range f.IntN(4) {
				f.change()
			}
			switch {
			case step == 30 && seed%3 == 0: // a Zone of the Corefile's zone, which had none
				f.apply("zone dns/top example.com. ttl=200 delegate=*")
			case step == 45 && seed%6 == 0:
				f.apply("delete zone dns/top")
			}
			p := f.replicas[f.IntN(3)]
			switch k := f.IntN(16); {
			case k == 0: // it starts anew, and reads all there is
				p.snap, p.had = nil, nil
				f.see(p, len(f.history), len(f.kept))
			case k == 1: // a reload
				p.opt = fleetOptions()
				f.some(p)
			default:
				f.some(p)
			}
			if f.IntN(8) == 0 {
				leader = f.IntN(3)
			}
			if f.IntN(3) == 0 {
				f.keep(f.replicas[leader])
			}
			if f.IntN(10) == 0 {
				f.keep(f.replicas[f.IntN(3)])
			}
		}
		f.settle(f.replicas[leader])
		for range 3 {
			f.change()
		}
		f.settle(f.replicas[f.IntN(3)])
		all += f.steps
	}
	if all < 1_000 {
		t.Errorf("only %d steps of journals were checked", all)
	}
}
