package kuadrant

import (
	"maps"
	"slices"
	"sync"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// keeping is what is kept of zones beside their Zones (rule 6.7). The zero keeping is that of
// an engine for which nobody keeps anything. Any goroutine may use it.
type keeping struct {
	mu sync.Mutex // guards what follows
	// writer is true where an elected writer keeps serials. It is set before the engine starts.
	writer bool
	// known is true once somebody has said what is kept.
	known   bool
	serials api.Serials
	// changed are the origins that no compile has been told of.
	changed map[string]struct{}
}

// expect says that an elected writer keeps serials. It is called before the engine starts:
// nothing is published until keep has been called for the first time, as zones would begin
// with serials that are higher than what is kept.
func (k *keeping) expect() {
	k.mu.Lock()
	k.writer = true
	k.mu.Unlock()
}

// keep takes in all that is kept now of zones beside their Zones, by origin, and compiles
// it. Where that cannot be read it is called with nothing: the engine must not wait for
// ever. serials is read-only.
func (e *engine) keep(serials api.Serials) {
	e.keeping.put(serials)
	e.ring()
}

func (k *keeping) put(serials api.Serials) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.changed == nil {
		k.changed = make(map[string]struct{})
	}
	for origin, now := range serials.All() { // as many as the Corefile has zones
		if was, _ := k.serials.Get(origin); was != now {
			k.changed[origin] = struct{}{}
		}
	}
	for origin := range k.serials.All() {
		if _, ok := serials.Get(origin); !ok {
			k.changed[origin] = struct{}{}
		}
	}
	k.serials, k.known = serials, true
}

// waits tells whether it is still to be said what is kept.
func (k *keeping) waits() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.writer && !k.known
}

// fill puts into in what is kept, and what has changed of it since the last call.
func (k *keeping) fill(in *api.Objects) {
	k.mu.Lock()
	defer k.mu.Unlock()
	in.Writer, in.Serials = k.writer, k.serials
	if len(k.changed) > 0 {
		in.SerialsChanged = slices.Sorted(maps.Keys(k.changed))
		k.changed = nil
	}
}

// inherit has k begin with what before has, unless it has been told itself.
func (k *keeping) inherit(before *keeping) {
	before.mu.Lock()
	serials, known := before.serials, before.known
	before.mu.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.known {
		k.serials, k.known = serials, known
	}
}
