package engine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/watchfile"
)

// TestOverrideFileComesAndGoes: a file that cannot be looked at is not one that is
// gone, and one that is gone for a moment is being replaced.
func TestOverrideFileComesAndGoes(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "override"), filepath.Join(dir, "other")
	boottest.WriteFile(t, path, "cluster a down\n")
	var inForce string
	f, err := openOverrides(path, log, func(o *api.Overrides) { inForce = listOverrides(o) })
	if err != nil {
		t.Fatal(err)
	}
	said := new(book)
	f.log = said
	looks := func(n int) {
		t.Helper()
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
	const down, nothing = "cluster a down", "nothing is overridden"
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
		{"a link to itself", func() {
			must(os.Remove(path))
			must(os.Symlink(path, path))
			looks(20)
		}, down, 1},
		{"a file again", func() {
			must(os.Remove(path))
			boottest.WriteFile(t, path, "cluster b down\n")
			looks(3)
		}, "cluster b down", 1},
		{"gone between a look and a read", func() {
			boottest.WriteFile(t, path, "cluster c down\n")
			looks(1)
			must(os.Remove(path))
			f.note(watchfile.Changed, f.load())
			looks(20)
		}, nothing, 2},
	} {
		step.do()
		if inForce != step.want || said.warnings() != step.said {
			t.Errorf("%s: %s, want %s; said %q", step.name, inForce, step.want, said.log)
		}
	}
}

// TestOverrideFileGoneAfterItCouldNotBeRead: a file that is gone says nothing, also
// where it could not be looked at for some time before.
func TestOverrideFileGoneAfterItCouldNotBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "override")
	boottest.WriteFile(t, path, "cluster a down\n")
	var inForce string
	f, err := openOverrides(path, log, func(o *api.Overrides) { inForce = listOverrides(o) })
	if err != nil {
		t.Fatal(err)
	}
	f.log = new(book)
	looks := func() {
		for range 20 {
			f.refresh()
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, path); err != nil { // a look fails, and does not say that nothing is there
		t.Fatal(err)
	}
	looks()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	looks()
	if inForce != "nothing is overridden" {
		t.Errorf("without the file: %s", inForce)
	}
}
