package kuadrant

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestOverrideFileGoneAfterItCouldNotBeRead: a file that is gone says nothing, also
// where it could not be looked at for some time before.
func TestOverrideFileGoneAfterItCouldNotBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "override")
	writeFile(t, path, "cluster a down\n")
	var inForce string
	f, err := openOverrides(path, func(o *api.Overrides) { inForce = listOverrides(o) })
	if err != nil {
		t.Fatal(err)
	}
	f.warnf = func(string, ...any) {}
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
