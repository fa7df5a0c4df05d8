package controller

import (
	"slices"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	v1 "github.com/coredns-kuadrant/kuadrant/api/v1"
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

// TestSettledStays: what an API server keeps otherwise than it was written is not written again, as
// long as its watch tells of nothing newer.
func TestSettledStays(t *testing.T) {
	var s Cache
	s.init()
	ref := api.Ref{Kind: api.KindRecord, Name: "ns/a"}
	for _, c := range []struct {
		stands, wrote string // versions
		want          string
	}{
		{"5", "5", "written to 5"},
		{"5", "", "written to 5"}, // the watch tells of the same once more
		{"6", "5", ""},            // the watch was faster
		{"6", "6", "written to 6"},
	} {
		s.Stands(ref.Kind, ref.Name, &object{uid: "u", version: c.stands})
		s.wrote(&write{ref: ref, uid: "u", version: c.wrote, settled: "written to " + c.wrote})
		if got := s.get(ref).settled; got != c.want {
			t.Errorf("version %s stands, %q was written to: settled is %q, want %q", c.stands, c.wrote, got, c.want)
		}
	}
}

// TestVersionsComeOnceMore: etcd is set back to an older state, and gives a version that an object
// had once more: to another object of its name, or to the same one in another state. What was
// settled of the first is not settled of that one, or its status is never written.
func TestVersionsComeOnceMore(t *testing.T) {
	status := func(observed int64) *v1.DNSPolicyStatus { return &v1.DNSPolicyStatus{ObservedGeneration: observed} }
	before := object{uid: "u", version: "7", generation: 1, status: status(1)}
	for what, c := range map[string]struct {
		after object
		want  string
	}{
		"itself":         {object{uid: "u", version: "7", generation: 1, status: status(1)}, "what was written"},
		"another object": {object{uid: "v", version: "7", generation: 1, status: status(1)}, ""},
		"another spec":   {object{uid: "u", version: "7", generation: 2, status: status(1)}, ""},
		"another status": {object{uid: "u", version: "7", generation: 1, status: status(0)}, ""},
		"a later one":    {object{uid: "u", version: "8", generation: 1, status: status(1)}, ""},
	} {
		var s Cache
		s.init()
		ref, first := api.Ref{Kind: api.KindDNSPolicy, Name: "ns/a"}, before
		s.Stands(ref.Kind, ref.Name, &first)
		s.wrote(&write{ref: ref, uid: "u", version: "7", settled: "what was written"})
		s.Stands(ref.Kind, ref.Name, &c.after)
		if got := s.get(ref).settled; got != c.want {
			t.Errorf("%s: settled is %q, want %q", what, got, c.want)
		}
		again := before
		s.Listed(ref.Kind, "", map[string]any{ref.Name: &again})
		if got := s.get(ref).settled; got != "" {
			t.Errorf("%s: after a list settled is %q", what, got)
		}
	}
}
