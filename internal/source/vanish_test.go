package source

import (
	"os"
	"path/filepath"
	"testing"
)

// TestDirectoryVanishes takes the directory away in two ways, and brings it
// back.
func TestDirectoryVanishes(t *testing.T) {
	f := newFolder(t)
	f.write("a.yaml", manifest("ns", "a"))
	f.start()
	before := f.objects("g ns/a")

	away := f.dir + ".away"
	if err := os.Rename(f.dir, away); err != nil {
		t.Fatal(err)
	}
	f.log("cannot read the directory", `cluster "east"`, "count as missing until")
	eventually(t, "not synced", func() bool { return !f.stats.Synced() })
	if err := os.Rename(away, f.dir); err != nil {
		t.Fatal(err)
	}
	f.goodNews("can be read again")
	f.write("b.yaml", manifest("ns", "b"))
	c := f.objects("g ns/a", "g ns/b")
	if gatewayOf(t, c, "ns/a") != gatewayOf(t, before, "ns/a") {
		t.Error("the object lost its pointer")
	}

	// Another directory takes its place at once.
	other := f.dir + ".other"
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "o.yaml"), []byte(manifest("ns", "o")), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(f.dir, away); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, f.dir); err != nil {
		t.Fatal(err)
	}
	f.objects("g ns/o")
	f.write("p.yaml", manifest("ns", "p"))
	f.objects("g ns/o", "g ns/p")
}

func TestDirectoryMissingAtFirst(t *testing.T) {
	f := newFolder(t)
	if err := os.Remove(f.dir); err != nil {
		t.Fatal(err)
	}
	f.start()
	f.log("cannot read the directory")
	if err := os.Mkdir(f.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f.objects()
	f.write("a.yaml", manifest("ns", "a"))
	f.objects("g ns/a")
	if n := f.logged("cannot read"); n != 1 {
		t.Errorf("said %d times", n)
	}
}
