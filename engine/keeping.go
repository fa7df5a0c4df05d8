package engine

import (
	"maps"
	"slices"
	"sync"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/controller"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records"
	statefile "github.com/coredns-kuadrant/kuadrant/state"
)

// keeping is what is kept in ConfigMaps on its way to what is compiled: who has acquired
// which name (rule 5.4), and the serials of zones without a Zone (rule 6.7). The zero keeping
// is that of an engine for which nobody keeps anything. Any goroutine may use it.
type keeping struct {
	mu sync.Mutex // guards what follows
	// expected is true where an elected writer keeps something, in the cluster of that name.
	expected bool
	cluster  string
	// told is true once it is known what is kept, or that it cannot be read; newest is what
	// was told last, or, where borrowed is true, what the engine before or the state on disk had.
	told, borrowed bool
	newest         controller.Kept
	// owners and serials are the keys that have changed since the last compile.
	owners, serials map[string]struct{}
	// compiled is the generation that was compiled last.
	compiled uint64
}

// expect says that an elected writer that is new keeps owners and serials in a cluster; "" is that nobody does. Before the
// first snapshot nothing is published until takeKept has been called, as names
// would go to other objects, and zones begin with serials that are higher than what is kept. Afterwards what another one has
// told goes on until then.
func (k *keeping) expect(cluster string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.expected, k.cluster, k.told = cluster != "", cluster, false
	k.newest.Generation = 0 // it is none of this keeper's
	if k.borrowed = k.newest.Known; k.borrowed && !k.expected {
		k.noteAll()
		k.borrowed, k.newest = false, controller.Kept{}
	}
}

// TakeKept takes in what is kept now, and has it compiled.
func (e *Engine) TakeKept(kept controller.Kept) {
	e.keeping.put(kept)
	e.wake.ring()
}

// put takes in what is kept now. While nobody answers who would know, what is known from
// elsewhere goes on.
func (k *keeping) put(kept controller.Kept) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if kept.Away && k.borrowed {
		k.told = true
		return
	}
	for _, key := range kept.OwnersChanged {
		note(&k.owners, key)
	}
	for _, key := range kept.SerialsChanged {
		note(&k.serials, key)
	}
	if k.borrowed { // from another keeper
		k.noteAll()
	}
	k.told, k.borrowed, k.newest = true, false, kept
}

// noteAll notes that everything may have changed. The caller holds mu.
func (k *keeping) noteAll() {
	for key := range k.newest.Owners.All() {
		note(&k.owners, key)
	}
	for key := range k.newest.Serials.All() {
		note(&k.serials, key)
	}
}

func note(set *map[string]struct{}, key string) {
	if *set == nil {
		*set = make(map[string]struct{})
	}
	(*set)[key] = struct{}{}
}

// goOn has the first compile go by what is known from elsewhere, where it waits and there is
// such; ok is false where not.
func (k *keeping) goOn() (ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	ok = k.expected && !k.told && k.borrowed
	k.told = k.told || ok
	return ok
}

// waits tells whether it is still to be said what is kept.
func (k *keeping) waits() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.expected && !k.told
}

// fill puts what is kept into in, and what has changed of it since the last call.
func (k *keeping) fill(in *api.Objects) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.expected && k.newest.Known {
		in.Keeper = k.cluster
	}
	in.Acquired, in.Serials = k.newest.Owners, k.newest.Serials
	if k.owners != nil {
		in.AcquiredChanged, k.owners = slices.Sorted(maps.Keys(k.owners)), nil
	}
	if k.serials != nil {
		in.SerialsChanged, k.serials = slices.Sorted(maps.Keys(k.serials)), nil
	}
	k.compiled = k.newest.Generation
}

// recall goes by what the state on disk has, until somebody tells what is kept.
func (k *keeping) recall(c *statefile.Contents) {
	var owners tree.Map[api.Owner]
	var serials api.Serials
	edit, kept := owners.Edit(), serials.Edit()
	for name, owner := range c.Owners {
		if !api.IsObsolete(name) {
			edit.Set(name, owner)
		}
	}
	for origin, serial := range c.Serials {
		kept.Set(origin, serial)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.newest, k.borrowed = controller.Kept{Known: true, Owners: edit.Map(), Serials: kept.Map()}, true
}

// generation returns which Kept was compiled last.
func (k *keeping) generation() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.compiled
}

// keeps is a controller.Keeps: what a snapshot has to be kept.
type keeps struct {
	snap       *records.Snapshot
	generation uint64
	recalled   []string // the clusters of which something comes from the state on disk
}

// Kept implements controller.Keeps.
func (k *keeps) Kept() uint64 { return k.generation }

// Holdings implements controller.Keeps.
func (k *keeps) Holdings() map[string]api.Owner {
	all := maps.Collect(k.snap.SiteHoldings())
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
	return len(k.recalled) == 0 && k.snap.Unserved(origin)
}

// Gone implements controller.Keeps.
func (k *keeps) Gone(key string, o api.Owner) (gone, is bool) {
	if slices.Contains(k.recalled, o.Cluster) {
		return false, true
	}
	return k.snap.Gone(key, o)
}
