package source

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// folder is a directory source under test.
type folder struct {
	subject
	dir string
	src *directory
}

// newFolder prepares a source on an empty directory.
func newFolder(t *testing.T) *folder {
	f := &folder{subject: newSubject(t), dir: filepath.Join(t.TempDir(), "m")}
	if err := os.Mkdir(f.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f.src = Directory(DirectoryOptions{Cluster: "east", Dir: f.dir, Logf: f.logf, Infof: f.infof, Stats: f.stats}).(*directory)
	f.src.every = 5 * time.Millisecond
	f.source = f.src
	return f
}

func (f *folder) path(name string) string { return filepath.Join(f.dir, name) }

// write writes a file in place, as an editor might.
func (f *folder) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(f.path(name), []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

// hasAddress reports whether a Gateway exists and has that address. It may be missing while its
// file is written.
func hasAddress(c *api.Cluster, name, address string) bool {
	g, ok := c.Gateways.Get(name)
	return ok && len(g.Addresses) > 0 && g.Addresses[0].Value == address
}

// TestDirectoryRereadsOnlyWhatChanged checks that files with old times are not read again. It uses
// a file whose times do not show its change.
func TestDirectoryRereadsOnlyWhatChanged(t *testing.T) {
	f := newFolder(t)
	f.write("a.yaml", manifest("ns", "a"))
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(f.path("a.yaml"), old, old); err != nil {
		t.Fatal(err)
	}
	one := &file{path: f.path("a.yaml")}
	if data, err := one.content(false); err != nil || data == nil {
		t.Fatalf("first read: %d bytes, %v", len(data), err)
	}
	if data, err := one.content(false); err != nil || data != nil {
		t.Errorf("unchanged: %d bytes, %v", len(data), err)
	}
	soon := time.Now().Add(time.Hour) // far enough, however long the test takes
	if err := os.Chtimes(f.path("a.yaml"), soon, soon); err != nil {
		t.Fatal(err)
	}
	for range 2 { // new times are not trusted
		if data, err := one.content(false); err != nil || data == nil {
			t.Errorf("new times: %d bytes, %v", len(data), err)
		}
	}
}

func TestDirectoryIdentity(t *testing.T) {
	t.Chdir(t.TempDir())
	one := Directory(DirectoryOptions{Cluster: "c", Dir: "m"})
	abs, err := filepath.Abs("m")
	if err != nil {
		t.Fatal(err)
	}
	same := Directory(DirectoryOptions{Cluster: "c", Dir: abs})
	if one.Name() != "c" || one.Identity() != same.Identity() {
		t.Errorf("%q and %q", one.Identity(), same.Identity())
	}
	for _, other := range []DirectoryOptions{
		{Cluster: "d", Dir: abs},
		{Cluster: "c", Dir: abs + "2"},
	} {
		if id := Directory(other).Identity(); id == one.Identity() {
			t.Errorf("%+v has the identity %q too", other, id)
		}
	}
	selects := Directory(DirectoryOptions{Cluster: "c", Dir: abs, Selection: Selection{Namespaces: []string{"a"}}})
	if one.Identity() != selects.Identity() {
		t.Errorf("%q and %q", one.Identity(), selects.Identity())
	}
}

// TestOpenFIFO opens a FIFO that replaced a file after it was checked.
func TestOpenFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Skip("no FIFOs here:", err)
	}
	if _, _, err := openRegular(path); err != errNotAFile {
		t.Errorf("openRegular: %v", err)
	}
}
