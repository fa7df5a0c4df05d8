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
	for what, ends := range map[string]func(*Standing){
		"the watch is faster":  func(s *Standing) { s.Gone(child.Kind, child.Name); s.forget(child, "u") },
		"the answer is faster": func(s *Standing) { s.forget(child, "u"); s.Gone(child.Kind, child.Name) },
	} {
		var s Standing
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

// TestAnswerAfterTheEnd: the answer to a write is read after the watch has told that the object is
// gone, or another one. An object that is not there any more does not stand there again: nothing
// would be made in its place, for no watch tells of its end a second time.
func TestAnswerAfterTheEnd(t *testing.T) {
	ref := api.Ref{Kind: api.KindDNSRecord, Name: "ns/gw-a"}
	of := func(uid, version string) *object { return &object{uid: uid, version: version} }
	for what, c := range map[string]struct {
		meanwhile func(*Standing)
		want      string // the UID and version of what stands there
	}{
		"nothing is heard":     {func(*Standing) {}, "u 5"},
		"it is made":           {func(s *Standing) { s.Stands(ref.Kind, ref.Name, of("u", "5")) }, "u 5"},
		"it has changed since": {func(s *Standing) { s.Stands(ref.Kind, ref.Name, of("u", "6")) }, "u 6"},
		"another one has gone": {func(s *Standing) { s.Gone(ref.Kind, "ns/gw-b") }, "u 5"},
		"its kind has gone":    {func(s *Standing) { s.Serves(ref.Kind, "") }, ""},
		"another is listed":    {func(s *Standing) { s.Listed(ref.Kind, "", map[string]any{ref.Name: of("v", "3")}) }, "v 3"},
		"set back, and listed": {func(s *Standing) { s.Listed(ref.Kind, "", map[string]any{ref.Name: of("u", "3")}) }, "u 3"},
		"listed elsewhere":     {func(s *Standing) { s.Listed(ref.Kind, "other", nil) }, "u 5"},
		"it has gone":          {func(s *Standing) { s.Stands(ref.Kind, ref.Name, of("u", "5")); s.Gone(ref.Kind, ref.Name) }, ""},
		"another one is there": {func(s *Standing) {
			s.Stands(ref.Kind, ref.Name, of("u", "5"))
			s.Gone(ref.Kind, ref.Name)
			s.Stands(ref.Kind, ref.Name, of("v", "7"))
		}, "v 7"},
	} {
		var s Standing
		s.init()
		on := s.send(ref)
		c.meanwhile(&s)
		s.written(on, of("u", "5"), "what was written")
		s.answered(on)
		got := ""
		if o := s.get(ref); o != nil {
			got = o.uid + " " + o.version
		}
		if got != c.want || len(s.sent) > 0 {
			t.Errorf("%s: %q stands there, want %q; %d writes are on their way", what, got, c.want, len(s.sent))
		}
	}
}
