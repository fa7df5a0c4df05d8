package controller

import (
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestWantedAgainIsNotUndone: a child is wanted and not wanted in turn, as a Gateway loses its routes and
// has them again. Nobody undoes what is written: it was deleted for its policy's sake.
func TestWantedAgainIsNotUndone(t *testing.T) {
	var children []api.Child
	s, w, look := childWriter(t, &children)
	at := time.Unix(1000, 0)
	w.now = func() time.Time { return at }
	for i := range 2 * maxSame {
		childOfA(&children)
		if err := look(); err != nil || s.child == nil {
			t.Fatalf("time %d: it is not made: %v", i+1, err)
		}
		children = nil
		if err := look(); err != nil || s.child != nil {
			t.Fatalf("time %d: it is not deleted: %v", i+1, err)
		}
	}
	// Somebody else deletes it.
	childOfA(&children)
	var err error
	for i := range 2 * maxSame {
		if err = look(); err != nil {
			if i != maxSame {
				t.Errorf("%v after %d times", err, i)
			}
			break
		}
		w.cache.Gone(api.KindDNSRecord, "ns/gw-a")
	}
	if classify(err) != undoing {
		t.Errorf("that somebody deletes it is not seen: %v", err)
	}
}
