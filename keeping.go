package kuadrant

import (
	"maps"
	"slices"
	"sync"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/controller"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// keeping is what is kept in ConfigMaps on its way to what is compiled: who has acquired
// which name (rule 5.4).
type keeping struct {
	// awaited is true where nothing is compiled before it is known what is kept. It is set
	// before the engine starts.
	awaited bool

	mu      sync.Mutex // guards what follows
	told    bool
	newest  controller.Kept
	changed map[string]struct{} // the owners that have changed since the last compile
	// inherited is what was compiled before this keeping knew anything, nil for nothing.
	inherited *tree.Map[api.Owner]
	// compiled is the generation that was compiled last; the compiling goroutine's own.
	compiled uint64
}

// takeKept takes in what is kept now, and has it compiled.
func (e *engine) takeKept(kept controller.Kept) {
	k := &e.keeping
	k.mu.Lock()
	k.note(kept.OwnersChanged)
	if k.inherited != nil && !k.told {
		for name := range k.inherited.All() {
			k.note([]string{name})
		}
	}
	k.told, k.newest = true, kept
	k.mu.Unlock()
	e.ring()
}

func (k *keeping) note(names []string) {
	if k.changed == nil {
		k.changed = make(map[string]struct{})
	}
	for _, name := range names {
		k.changed[name] = struct{}{}
	}
}

// known tells whether it is known what is kept, as far as that is waited for.
func (k *keeping) known() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !k.awaited || k.told || k.inherited != nil
}

// fill puts what is kept into what is compiled.
func (k *keeping) fill(in *api.Objects) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.told {
		if k.inherited != nil {
			in.Acquired = *k.inherited
		}
		return
	}
	in.Acquired, in.AcquiredChanged = k.newest.Owners, slices.Sorted(maps.Keys(k.changed))
	k.changed, k.compiled = nil, k.newest.Generation
}

// inherit goes by what the keeping before has compiled until something is known.
func (k *keeping) inherit(before *keeping) {
	before.mu.Lock()
	defer before.mu.Unlock()
	switch {
	case !k.awaited: // nothing is kept any more
	case before.told:
		owners := before.newest.Owners
		k.inherited = &owners
	case before.inherited != nil:
		k.inherited = before.inherited
	}
}

// keeps is a controller.Keeps: what a snapshot has to be kept.
type keeps struct {
	snap       *records.Snapshot
	generation uint64
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
func (k *keeps) Serials() map[string]api.Kept { return nil }

// Complete implements controller.Keeps.
func (k *keeps) Complete(cluster string) (complete, is bool) {
	for _, c := range k.snap.Objects().Clusters {
		if c.Name == cluster && known(c) {
			return c.Complete(), true
		}
	}
	return false, false
}
