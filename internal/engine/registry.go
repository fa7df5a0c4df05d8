package engine

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/controller"
	statefile "github.com/coredns-kuadrant/kuadrant/internal/state"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// registry passes the content of the registry's ConfigMaps to the compile: who has acquired which name (rule 5.4), and the serials
// of zones without a Zone (rule 6.7). The zero registry is for an engine without a writer. Any goroutine may use it.
type registry struct {
	mu sync.Mutex // guards what follows
	// writer is the elected one that keeps it, nil for none, cluster where it does.
	writer  *controller.Writer
	cluster string
	// known is true once the kept values are known, or unreadable; newest is what was last delivered, or,
	// if borrowed, what another writer or the state on disk had.
	known, borrowed bool
	newest          controller.Kept
	// owners and serials are the keys changed since the last compile.
	owners, serials map[string]bool
	// compiled is the generation that was compiled last.
	compiled uint64
	// complete is the last snapshot made with every source listed, nil for none: whoever has a name there keeps it while the registry has no
	// line. It belongs to the holder of the engine's compiling.
	complete *records.Snapshot
	// stale are the lines that the writer found, and whose objects may have gone before that; nil before it has read them.
	stale *staleLines
	alarm alarm // rings when the guard no longer holds lines; the holder of compiling has it
}

// expect announces the writer that keeps owners and serials in a cluster from now on, "" for none. Before the first snapshot,
// nothing is published until it has reported the kept values: else names would go to other objects, and zones begin with
// higher serials. Later, the previous values stay in use until then.
func (r *registry) expect(w *controller.Writer, cluster string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writer, r.cluster, r.known, r.borrowed, r.stale = w, cluster, false, r.newest.Known, nil
	if r.newest.Generation = 0; cluster == "" { // the present values are not this writer's
		r.replace(controller.Kept{})
	}
}

// replace makes kept the newest, replacing another writer's. The caller holds mu.
func (r *registry) replace(kept controller.Kept) {
	for _, of := range []*controller.Kept{&r.newest, &kept} {
		r.note(slices.Collect(maps.Keys(maps.Collect(of.Owners.All()))), slices.Collect(maps.Keys(maps.Collect(of.Serials.All()))))
		r.note(nil, slices.Collect(maps.Keys(of.Former)))
	}
	r.newest, r.borrowed = kept, false
}

// note notes changed keys. The caller holds mu.
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

// TakeKept takes and compiles a writer's kept values, unless another writer is expected. While no API server answers,
// borrowed values stay.
func (e *Engine) TakeKept(from *controller.Writer, kept controller.Kept) {
	r := &e.registry
	r.mu.Lock()
	if from != r.writer {
		r.mu.Unlock()
		return
	}
	r.known = true
	if kept.Known && r.stale == nil {
		r.stale = newStaleLines(&kept)
	}
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

// registryUnanswered lets a first compile that waits for the kept values use those of the state on disk.
func (e *Engine) registryUnanswered() {
	r := &e.registry
	r.mu.Lock()
	r.known = r.known || r.borrowed
	r.mu.Unlock()
	e.wake.ring()
}

// waits reports whether the kept values are still unknown.
func (r *registry) waits() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cluster != "" && !r.known
}

// fill puts the kept values into in, and their changes since the last call; stale lines are left out.
func (r *registry) fill(in *api.Objects, decide func(*staleLines)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.newest.Known {
		in.SerialWriter = r.cluster
	}
	in.Acquired, in.Serials, in.Former = r.newest.Owners, r.newest.Serials, r.newest.Former
	if r.stale != nil {
		decide(r.stale)
		r.note(r.stale.endedNow, nil)
		in.Acquired = r.stale.without(in.Acquired)
	}
	in.AcquiredChanged, in.SerialsChanged = slices.Sorted(maps.Keys(r.owners)), slices.Sorted(maps.Keys(r.serials))
	r.owners, r.serials, r.compiled = nil, nil, r.newest.Generation
	r.addIncumbents(in)
}

// addIncumbents adds the owners that the registry may lack, if one is kept.
func (r *registry) addIncumbents(in *api.Objects) {
	if in.SerialWriter != "" && r.complete != nil {
		in.Incumbents = r.complete
	}
}

// lend uses the kept values of the state on disk until a writer reports them.
func (r *registry) lend(c *statefile.Contents, kept statefile.Serials) {
	owners, serials := tree.Map[api.Owner]{}.Edit(), api.Serials{}.Edit()
	for name, owner := range c.Owners {
		if !api.IsObsolete(name) {
			owners.Set(name, owner)
		}
	}
	for origin, serial := range kept {
		serials.Set(origin, serial)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.newest, r.borrowed = controller.Kept{Known: true, Owners: owners.Map(), Serials: serials.Map()}, true
}

// toRegister is a controller.Keeps: a snapshot's data for the registry.
type toRegister struct {
	snap       *records.Snapshot
	generation uint64
	fromState  []string             // the clusters with objects from the state on disk
	ended      map[string]api.Owner // the lines that end at once
	held       map[string]api.Owner // the lines that the guard holds
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
	if slices.Contains(k.fromState, o.Cluster) || k.held[key] == o {
		return false, true
	}
	return k.snap.Gone(key, o)
}

// Ended implements controller.Keeps.
func (k *toRegister) Ended(key string, o api.Owner) bool { return k.ended[key] == o }

// Contested implements controller.Keeps.
func (k *toRegister) Contested(key string) bool { return k.snap.Contested(key) }

// Zone implements controller.Keeps.
func (k *toRegister) Zone(key string) string {
	name, _ := strings.CutPrefix(key, "*.")
	if origin, zone := api.OfZoneKey(key); zone {
		name = origin
	}
	if z := k.snap.Zone(name); z != nil {
		return z.Origin()
	}
	return ""
}
