package controller

import (
	"slices"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestReplacedWhileNobodyHears: an object that has a child's name is deleted, and its owner is to be
// looked at again, or nothing is made in its place: what has become of it may be no news to a
// compile, which has not seen it.
func TestReplacedWhileNobodyHears(t *testing.T) {
	child, owner := api.Ref{Kind: api.KindDNSRecord, Name: "ns/gw-a"}, api.Ref{Kind: api.KindDNSPolicy, Name: "ns/a"}
	for what, ends := range map[string]func(*Cache){
		"the watch is faster":  func(s *Cache) { s.Gone(child.Kind, child.Name); s.removed(child, "u") },
		"the answer is faster": func(s *Cache) { s.removed(child, "u"); s.Gone(child.Kind, child.Name) },
	} {
		var s Cache
		s.init()
		s.Stands(child.Kind, child.Name, &object{uid: "u", version: "5", owner: owner, ownerUID: "before"})
		var changed []api.Ref
		s.changed = func(ref api.Ref) { changed = append(changed, ref) }
		ends(&s)
		if !slices.Contains(changed, owner) {
			t.Errorf("%s: these are looked at: %v", what, changed)
		}
	}
}

// TestMadeOnce: an object that was made is not made again until a watch tells of its kind. Then it is
// made anew where it has gone: nothing would tell of that a second time.
func TestMadeOnce(t *testing.T) {
	p := &write{ref: api.Ref{Kind: api.KindDNSRecord, Name: "ns/gw-a"}, settled: "what was written"}
	kind, name := p.ref.Kind, p.ref.Name
	for what, c := range map[string]struct {
		meanwhile func(*Cache)
		again     bool
	}{
		"nothing is heard":     {func(*Cache) {}, false},
		"it is refused":        {func(s *Cache) { s.notMade(p.ref) }, true},
		"another one has gone": {func(s *Cache) { s.Gone(kind, "ns/gw-b") }, false},
		"it has gone":          {func(s *Cache) { s.Stands(kind, name, &object{uid: "u"}); s.Gone(kind, name) }, true},
		"its kind has gone":    {func(s *Cache) { s.Serves(kind, "") }, true},
		"set back, and listed": {func(s *Cache) { s.Listed(kind, "", nil) }, true},
		"listed elsewhere":     {func(s *Cache) { s.Listed(kind, "other", nil) }, false},
	} {
		var s Cache
		s.init()
		s.make(p)
		c.meanwhile(&s)
		if got := s.make(p); got != c.again {
			t.Errorf("%s: made again: %v", what, got)
		}
	}
}
