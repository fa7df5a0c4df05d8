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

// registry is what the ConfigMaps of the registry hold, on its way to the compile: who has acquired which name (rule 5.4), and the
// serials of zones without a Zone (rule 6.7). The zero registry is that of an engine without a writer. Any goroutine may use it.
type registry struct {
	mu sync.Mutex // guards what follows
	// writer is the elected one that keeps it, nil if nobody does, and cluster the one in which it does.
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
func (r *registry) expect(w *controller.Writer, cluster string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writer, r.cluster, r.told, r.borrowed = w, cluster, false, r.newest.Known
	if r.newest.Generation = 0; cluster == "" { // what there is, is none of this writer's
		r.replace(controller.Kept{})
	}
}

// replace makes kept the newest, in place of another writer's. The caller holds mu.
func (r *registry) replace(kept controller.Kept) {
	for _, of := range []*controller.Kept{&r.newest, &kept} {
		r.note(slices.Collect(maps.Keys(maps.Collect(of.Owners.All()))), slices.Collect(maps.Keys(maps.Collect(of.Serials.All()))))
	}
	r.newest, r.borrowed = kept, false
}

// note notes what has changed. The caller holds mu.
func (r *registry) note(owners, serials []string) {
	if r.owners == nil {
		r.owners, r.serials = make(map[string]bool), make(map[string]bool)
	}
	for _, key := range owners {
		r.owners[key] = true
	}
	for _, key := range serials {
		r.serials[key] = true
	}
}

// TakeKept takes what a writer keeps now, and has it compiled, unless other values are expected. While no API server answers
// that would know them, values from elsewhere stay.
func (e *Engine) TakeKept(from *controller.Writer, kept controller.Kept) {
	r := &e.registry
	r.mu.Lock()
	if from != r.writer {
		r.mu.Unlock()
		return
	}
	r.told = true
	switch {
	case !r.borrowed:
		r.note(kept.OwnersChanged, kept.SerialsChanged)
		r.newest = kept
	case !kept.Away:
		r.replace(kept)
	}
	r.mu.Unlock()
	e.wake.ring()
}

// registryUnanswered has the first compile go by what the state on disk has of what is kept, where it waits for somebody to say
// what that is.
func (e *Engine) registryUnanswered() {
	r := &e.registry
	r.mu.Lock()
	r.told = r.told || r.borrowed
	r.mu.Unlock()
	e.wake.ring()
}

// waits reports whether the kept values are still unknown.
func (r *registry) waits() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cluster != "" && !r.told
}

// fill puts what is kept into in, and what has changed of it since the last call.
func (r *registry) fill(in *api.Objects) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.newest.Known {
		in.Keeper = r.cluster
	}
	in.Acquired, in.Serials = r.newest.Owners, r.newest.Serials
	in.AcquiredChanged, in.SerialsChanged = slices.Sorted(maps.Keys(r.owners)), slices.Sorted(maps.Keys(r.serials))
	r.owners, r.serials, r.compiled = nil, nil, r.newest.Generation
}

// lend goes by what the state on disk has, until somebody tells what is kept.
func (r *registry) lend(c *statefile.Contents) {
	owners, serials := tree.Map[api.Owner]{}.Edit(), api.Serials{}.Edit()
	for name, owner := range c.Owners {
		if !api.IsObsolete(name) {
			owners.Set(name, owner)
		}
	}
	for origin, serial := range c.Serials {
		serials.Set(origin, serial)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.newest, r.borrowed = controller.Kept{Known: true, Owners: owners.Map(), Serials: serials.Map()}, true
}

// toRegister is a controller.Keeps: what a snapshot has for the registry.
type toRegister struct {
	snap       *records.Snapshot
	generation uint64
	fromState  []string // the clusters of which something comes from the state on disk
}

// Kept implements controller.Keeps.
func (k *toRegister) Kept() uint64 { return k.generation }

// Owners implements controller.Keeps.
func (k *toRegister) Owners() map[string]api.Owner {
	all := maps.Collect(k.snap.ZoneOwners())
	for group := range k.snap.Groups() {
		maps.Insert(all, k.snap.Owners(group))
	}
	return all
}

// Serials implements controller.Keeps.
func (k *toRegister) Serials() map[string]api.Kept {
	all := make(map[string]api.Kept)
	for _, p := range k.snap.Proposals() {
		all[p.Origin] = p.Kept
	}
	return all
}

// Unserved implements controller.Keeps.
func (k *toRegister) Unserved(origin string) bool {
	return len(k.fromState) == 0 && k.snap.Unserved(origin)
}

// Gone implements controller.Keeps.
func (k *toRegister) Gone(key string, o api.Owner) (gone, known bool) {
	if slices.Contains(k.fromState, o.Cluster) {
		return false, true
	}
	return k.snap.Gone(key, o)
}
