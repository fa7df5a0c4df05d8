package engine

import (
	"maps"
	"slices"
	"sync"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/controller"
	statefile "github.com/coredns-kuadrant/kuadrant/internal/state"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// keeping is what is kept in ConfigMaps on its way to what is compiled: who has acquired
// which name (rule 5.4), and the serials of zones without a Zone (rule 6.7). The zero keeping
// is that of an engine for which nobody keeps anything. Any goroutine may use it.
type keeping struct {
	mu sync.Mutex // guards what follows
	// writer is the elected one that keeps it, nil where nobody does, and cluster the one in which it does.
	writer  *controller.Writer
	cluster string
	// told is true once it is known what is kept, or that it cannot be read; newest is what
	// was told last, or, where borrowed is true, what another writer or the state on disk had.
	told, borrowed bool
	newest         controller.Kept
	// owners and serials are the keys that have changed since the last compile.
	owners, serials map[string]bool
	// compiled is the generation that was compiled last.
	compiled uint64
}

// expect announces the writer that keeps owners and serials in a cluster from now on, "" for none. Before the first snapshot
// nothing is published until it has told what is kept: names would go to other objects, and zones begin with serials that are
// higher. Later, what was told before stays in use until then.
func (k *keeping) expect(w *controller.Writer, cluster string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.writer, k.cluster, k.told, k.borrowed = w, cluster, false, k.newest.Known
	if k.newest.Generation = 0; cluster == "" { // what there is, is none of this writer's
		k.replace(controller.Kept{})
	}
}

// replace makes kept the newest, in place of another writer's. The caller holds mu.
func (k *keeping) replace(kept controller.Kept) {
	for _, of := range []*controller.Kept{&k.newest, &kept} {
		k.note(slices.Collect(maps.Keys(maps.Collect(of.Owners.All()))), slices.Collect(maps.Keys(maps.Collect(of.Serials.All()))))
	}
	k.newest, k.borrowed = kept, false
}

// note notes what has changed. The caller holds mu.
func (k *keeping) note(owners, serials []string) {
	if k.owners == nil {
		k.owners, k.serials = make(map[string]bool), make(map[string]bool)
	}
	for _, key := range owners {
		k.owners[key] = true
	}
	for _, key := range serials {
		k.serials[key] = true
	}
}

// TakeKept takes in what a writer keeps now, and has it compiled, unless another one is expected to. While nobody answers who
// would know, what is known from elsewhere goes on.
func (e *Engine) TakeKept(from *controller.Writer, kept controller.Kept) {
	k := &e.keeping
	k.mu.Lock()
	if from != k.writer {
		k.mu.Unlock()
		return
	}
	k.told = true
	switch {
	case !k.borrowed:
		k.note(kept.OwnersChanged, kept.SerialsChanged)
		k.newest = kept
	case !kept.Away:
		k.replace(kept)
	}
	k.mu.Unlock()
	e.wake.ring()
}

// keptUnanswered has the first compile go by what the state on disk has of what is kept, where it waits for somebody to say
// what that is.
func (e *Engine) keptUnanswered() {
	k := &e.keeping
	k.mu.Lock()
	k.told = k.told || k.borrowed
	k.mu.Unlock()
	e.wake.ring()
}

// waits reports whether it is still to be said what is kept.
func (k *keeping) waits() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.cluster != "" && !k.told
}

// fill puts what is kept into in, and what has changed of it since the last call.
func (k *keeping) fill(in *api.Objects) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.newest.Known {
		in.Keeper = k.cluster
	}
	in.Acquired, in.Serials = k.newest.Owners, k.newest.Serials
	in.AcquiredChanged, in.SerialsChanged = slices.Sorted(maps.Keys(k.owners)), slices.Sorted(maps.Keys(k.serials))
	k.owners, k.serials, k.compiled = nil, nil, k.newest.Generation
}

// lend goes by what the state on disk has, until somebody tells what is kept.
func (k *keeping) lend(c *statefile.Contents) {
	owners, serials := tree.Map[api.Owner]{}.Edit(), api.Serials{}.Edit()
	for name, owner := range c.Owners {
		if !api.IsObsolete(name) {
			owners.Set(name, owner)
		}
	}
	for origin, serial := range c.Serials {
		serials.Set(origin, serial)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.newest, k.borrowed = controller.Kept{Known: true, Owners: owners.Map(), Serials: serials.Map()}, true
}

// keeps is a controller.Keeps: what a snapshot has to be kept.
type keeps struct {
	snap       *records.Snapshot
	generation uint64
	fromState  []string // the clusters of which something comes from the state on disk
}

// Kept implements controller.Keeps.
func (k *keeps) Kept() uint64 { return k.generation }

// Holdings implements controller.Keeps.
func (k *keeps) Holdings() map[string]api.Owner {
	all := maps.Collect(k.snap.ZoneHoldings())
	for group := range k.snap.Groups() {
		maps.Insert(all, k.snap.Holdings(group))
	}
	return all
}

// Serials implements controller.Keeps.
func (k *keeps) Serials() map[string]api.Kept {
	all := make(map[string]api.Kept)
	for _, p := range k.snap.Proposals() {
		all[p.Origin] = p.Kept
	}
	return all
}

// Unserved implements controller.Keeps.
func (k *keeps) Unserved(origin string) bool {
	return len(k.fromState) == 0 && k.snap.Unserved(origin)
}

// Gone implements controller.Keeps.
func (k *keeps) Gone(key string, o api.Owner) (gone, known bool) {
	if slices.Contains(k.fromState, o.Cluster) {
		return false, true
	}
	return k.snap.Gone(key, o)
}
