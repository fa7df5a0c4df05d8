package console

import (
	"net/http"
	"runtime"
	"testing"
	"weak"
)

// TestNoSnapshotIsKept: what nobody answers from any more goes, however long nobody looks at the overview.
func TestNoSnapshotIsKept(t *testing.T) {
	s := newServer(t)
	h := New(Options{Source: s})
	if w := ask(h, http.MethodGet, "/", nil); w.Code != http.StatusOK {
		t.Fatal(w.Code, w.Body)
	}
	old := weak.Make(s.view.Snapshot)
	s.view.Snapshot = newServer(t).view.Snapshot
	runtime.GC()
	if old.Value() != nil {
		t.Error("the snapshot of before is kept")
	}
	if w := ask(h, http.MethodGet, "/", nil); w.Code != http.StatusOK {
		t.Error(w.Code, w.Body)
	}
}
