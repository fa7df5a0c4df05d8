package engine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// TestOverrideFileComesAndGoes: a file that cannot be looked at is not one that is
// gone, and one that is gone for a moment is being replaced.
func TestOverrideFileComesAndGoes(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "override"), filepath.Join(dir, "other")
	boottest.WriteFile(t, path, "cluster a down\n")
	said := new(book)
	f, err := openOverrides(path, said, func() {})
	if err != nil {
		t.Fatal(err)
	}
	looks := func(n int) {
		for range n {
			f.refresh()
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	linked := func() { // to itself: a look fails, and does not say that nothing is there
		must(os.Remove(path))
		must(os.Symlink(path, path))
		looks(20)
	}
	const down, nothing = "cluster a down", "no overrides"
	for _, step := range []struct {
		name string
		do   func()
		want string
		said int
	}{
		{"gone for a moment", func() {
			must(os.Rename(path, other))
			looks(2)
			must(os.Rename(other, path))
			looks(3)
		}, down, 0},
		{"a link to itself", linked, down, 1},
		{"a file again", func() {
			must(os.Remove(path))
			boottest.WriteFile(t, path, "cluster b down\n")
			looks(3)
		}, "cluster b down", 1},
		{"gone after it could not be looked at", func() {
			linked()
			must(os.Remove(path))
			looks(20)
		}, nothing, 3},
	} {
		step.do()
		if got := listOverrides(f.overrides()); got != step.want || said.said("warning: ") != step.said {
			t.Errorf("%s: %s, want %s; said %q", step.name, got, step.want, said.log)
		}
	}
}
