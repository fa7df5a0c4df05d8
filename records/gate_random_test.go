package records

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// showing is what one server should show of its zones, by origin, worked out from all that it
// has ever had.
type showing struct {
	zones map[string]*showingZone
	// last is the newest that was seen of zones that are not served now.
	last map[string]numbered
}

type showingZone struct {
	seen     numbered
	shown    *heldVersion // nil for nothing
	serial   uint32       // of shown
	versions []heldVersion
}

type heldVersion struct {
	hash    digest
	content map[string]bool
}

// follow takes in the next snapshot, and checks what it shows.
func (o *showing) follow(t *testing.T, s *Snapshot) {
	t.Helper()
	for origin, z := range o.zones {
		if _, served := s.zoneSet.index[origin]; !served {
			if last, ok := o.last[origin]; z.seen.serial != 0 && (!ok || z.seen.serial > last.serial) {
				o.last[origin] = z.seen
			}
			delete(o.zones, origin)
		}
	}
	for _, z := range s.zones {
		held := o.zones[z.origin]
		if held == nil {
			held = &showingZone{seen: o.last[z.origin]}
			o.zones[z.origin] = held
		}
		now := heldVersion{z.hash, contentOf(t, z)}
		if s.in.Keeper == "" {
			*held = showingZone{seen: numbered{z.serial, z.hash}, shown: &now, serial: z.serial, versions: []heldVersion{now}}
		} else {
			held.gate(now, keptIn(s.in, z))
		}
		held.check(t, s, z)
	}
}

// keptIn returns what is kept of a zone; the serials of these tests never wrap.
func keptIn(in api.Objects, z *Zone) (k api.Kept) {
	if z.object != nil {
		for _, c := range in.Clusters {
			if c.Name == z.object.Cluster {
				object, _ := c.Zones.Get(z.object.Name)
				k = complete(object.Kept)
			}
		}
	}
	other, _ := in.Serials.Get(z.origin)
	if other = complete(other); other.Serial > k.Serial {
		k = other
	}
	return k
}

// complete returns k, or nothing where a part of it is missing.
func complete(k api.Kept) api.Kept {
	if k.Hash == "" || k.Serial == 0 {
		return api.Kept{}
	}
	return k
}

// gate is rule 6.7: of the versions since the one that is shown, the one that is kept.
func (z *showingZone) gate(now heldVersion, kept api.Kept) {
	if n := len(z.versions); n == 0 || z.versions[n-1].hash != now.hash {
		z.versions = append(z.versions, now)
	}
	hash, _ := parseHash(kept.Hash)
	n := numbered{kept.Serial, hash}
	if n.serial > z.seen.serial {
		z.seen = n
	}
	if n != z.seen || n.serial == 0 || z.shown != nil && n.serial <= z.serial {
		return
	}
	for i := len(z.versions) - 1; i >= 0; i-- {
		if v := z.versions[i]; v.hash == hash {
			z.shown, z.serial, z.versions = &v, n.serial, z.versions[i:]
			return
		}
	}
	if z.shown != nil && z.shown.hash == hash {
		z.serial = n.serial
	}
}

func (z *showingZone) check(t *testing.T, s *Snapshot, is *Zone) {
	t.Helper()
	v := is.Shown()
	if (v == nil) != (z.shown == nil) {
		t.Fatalf("zone %s shows %v, and should show %v", is.origin, v, z.shown)
	}
	if v != nil && (v.serial != z.serial || is.serial != z.serial || is.SOA() != v.SOA() || !maps.Equal(contentOf(t, v), z.shown.content)) {
		t.Fatalf("zone %s shows %d and %v, and should show %d and %v", is.origin, is.serial, contentOf(t, v), z.serial, z.shown.content)
	}
	want, ok := is.Proposed()
	if ok != (s.in.Keeper != "" && s.complete) {
		t.Fatalf("zone %s is proposed: %v", is.origin, ok)
	}
	if same := v != nil && v.hash == is.hash && v.serial == z.seen.serial; ok && (want.Kept.Hash != is.Hash() || !same && !newer(want.Kept.Serial, z.seen.serial)) {
		t.Fatalf("zone %s: %+v is proposed after %+v", is.origin, want, z.seen)
	}
}

// mutateSerials keeps what a snapshot has proposed, or did some time ago, or something else;
// a writer comes, or goes.
func (w *world) mutateSerials(r *rand.Rand, s *Snapshot, o *showing, old *[]Proposal) {
	k := r.IntN(24)
	if k == 0 {
		w.keep(w.keeper == "")
		return
	}
	z := pick(r, s.zones)
	p, ok := z.Proposed()
	if ok {
		*old = append(*old, p)
	}
	switch {
	case k < 4 && len(*old) > 0:
		p.Kept = pick(r, *old).Kept
	case k < 6:
		p.Kept = api.Kept{Hash: pick(r, []string{"other", z.Hash(), ""}), Serial: pick(r, []uint32{0, z.serial - 1, z.serial, z.serial + 2})}
	case k < 18 && z.gate != nil: // by another replica, which lags behind
		v := pick(r, o.zones[z.origin].versions)
		p.Kept = api.Kept{Hash: (&Zone{hash: v.hash}).Hash(), Serial: nextSerial(z.gate.seen.serial, testTime)}
	case !ok:
		return
	}
	if z.object == nil || r.IntN(4) == 0 {
		edit := w.serials.Edit()
		edit.Set(z.origin, p.Kept)
		if r.IntN(20) == 0 {
			edit.Delete(z.origin)
		}
		w.serials, w.serialsChanged = edit.Map(), append(w.serialsChanged, z.origin)
		return
	}
	for i, c := range w.clusters {
		if object, ok := c.Zones.Get(z.object.Name); ok && c.Name == z.object.Cluster {
			next := *object
			next.Kept = p.Kept
			w.setZone(i, object.Name, &next)
		}
	}
}

// TestIncrementalSerials: with serials that are kept, or not, or that mean something else
// here, what is compiled step by step is what is compiled from nothing, and shows what all
// that was ever compiled says it should. One serial never means two things, and journals
// lead from one to the next.
func TestIncrementalSerials(t *testing.T) {
	oneGoroutine(t)
	steps, held := 0, 0
	for seed := range seeds(t, 40) {
		r := rand.New(rand.NewPCG(seed, 27))
		w := newWorld("c1", "c2")
		w.zoned, w.crowded = seed%3 != 0, seed%5 == 0
		w.keep(seed%4 != 3)
		opt := worldOptions(seed)
		o := &showing{make(map[string]*showingZone), make(map[string]numbered)}
		var old []Proposal
		p := make(published)
		snap := Compile(nil, w.objects(), opt, testTime)
		o.follow(t, snap)
		for step := range 60 {
			for range 1 + r.IntN(3) {
				w.mutate(r)
				w.listSecrets()
			}
			if r.IntN(2) == 0 {
				w.mutateSerials(r, snap, o, &old)
			}
			if r.IntN(10) == 0 {
				w.clusters[0].Listings[api.KindRecord] = pick(r, []api.Listing{api.Listed, api.NotListed})
			}
			if r.IntN(15) == 0 {
				opt = worldOptions(seed)
			}
			in := w.objects()
			before := snap
			snap = Compile(snap, in, opt, testTime)
			if got, want := dump(snap), dump(Compile(nil, in, opt, testTime)); got != want {
				t.Fatalf("seed %d step %d: %s", seed, step, differing(got, want))
			}
			o.follow(t, snap)
			shown := &Snapshot{}
			for _, z := range snap.zones {
				if v := z.Shown(); v != nil {
					shown.zones = append(shown.zones, v)
					held += btoi(v.hash != z.hash)
				}
			}
			p.note(t, shown, 1)
			steps += p.check(t, shown)
			checkReported(t, before, snap, in)
		}
	}
	if steps < 1_000 || held < 100 {
		t.Errorf("%d steps of journals were checked, %d times something else was shown than the newest", steps, held)
	}
}

// listSecrets undoes what other tests are about.
func (w *world) listSecrets() {
	for i, c := range w.clusters {
		if c.Listings[api.KindSecret] != api.Listed {
			next := *c
			next.Listings[api.KindSecret], next.ListedIn[api.KindSecret] = api.Listed, nil
			w.clusters[i] = &next
		}
	}
}

// checkReported checks that the Zones whose verdicts differ are reported, and no others.
func checkReported(t *testing.T, before, snap *Snapshot, in api.Objects) {
	t.Helper()
	for _, c := range in.Clusters {
		for name := range c.Zones.All() {
			ref := api.Ref{Kind: api.KindZone, Name: name}
			was, is := before.Verdict(c.Name, ref), snap.Verdict(c.Name, ref)
			reported := slices.ContainsFunc(snap.Changed(), func(r Reported) bool { return r.Cluster == c.Name && r.Ref == ref && r.Verdict.Equal(is) })
			if differs := was == nil || !was.Equal(is); differs != reported {
				t.Fatalf("Zone %s is reported: %v\nwas %+v\nis %+v", name, reported, was, is)
			}
		}
	}
}
