package source

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

func TestDirectoryBroken(t *testing.T) {
	f := newFolder(t)
	f.write("a.yaml", manifest("ns", "a")+manifest("ns", "b"))
	f.start()
	before := f.objects("g ns/a", "g ns/b")

	f.replace("a.yaml", manifest("ns", "c")+"---\nkind: [\n")
	f.log("a.yaml", "line 11", "stay until")
	eventually(t, "not synced", func() bool { return !f.stats.Synced() })
	f.write("b.yaml", manifest("ns", "d"))
	c := f.objects("g ns/a", "g ns/b", "g ns/d")
	if gatewayOf(t, c, "ns/a") != gatewayOf(t, before, "ns/a") || !c.Complete() {
		t.Error("a broken file changed what it gave before")
	}
	f.replace("a.yaml", manifest("ns", "c"))
	f.objects("g ns/c", "g ns/d")
	f.goodNews("a.yaml: read again")
	eventually(t, "synced", f.stats.Synced)
	if n := f.logged("stay until"); n != 1 {
		t.Errorf("said %d times", n)
	}

	// A new file that is broken does not take back what is listed.
	f.write("n.yaml", manifest("ns", "new")+"---\n]")
	c = f.objects("g ns/c", "g ns/d", "g ns/new")
	if !c.Complete() {
		t.Errorf("listings %v", c.Listings)
	}
	f.log("n.yaml", "only its other documents count")

	// A broken file that goes.
	f.remove("n.yaml")
	f.objects("g ns/c", "g ns/d")
}

func TestDirectoryBrokenAtFirst(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(f *folder)
		mend func(f *folder)
		want []string // at first
		log  string
	}{
		{
			"syntax", func(f *folder) { f.write("x.yaml", "a: [\n---\n"+manifest("ns", "x")) },
			func(f *folder) { f.write("x.yaml", manifest("ns", "y")) },
			[]string{"g ns/x"},
			"line 1",
		},
		{
			"removed", func(f *folder) { f.write("x.yaml", "\ta: 1") },
			func(f *folder) { f.remove("x.yaml") }, nil, "line 1",
		},
		{
			"json", func(f *folder) { f.write("x.json", `{"kind":`) },
			func(f *folder) { f.write("x.json", `{"kind":"x"}`) }, nil, "line 1",
		},
		{
			"utf-16", func(f *folder) { f.write("x.yaml", "\xff\xfea\x00:\x00") },
			func(f *folder) { f.write("x.yaml", "\xef\xbb\xbf"+manifest("ns", "x")) }, nil, "UTF-8; nothing of it counts, and",
		},
		{
			"dangling link", func(f *folder) { f.link("nowhere", "x.yaml") },
			func(f *folder) { f.remove("x.yaml") }, nil, "leads nowhere; nothing of it counts, and",
		},
		{
			"link loop", func(f *folder) { f.link("x.yaml", "x.yaml") },
			func(f *folder) { f.remove("x.yaml") }, nil, "cannot read",
		},
		{
			"too large", func(f *folder) { f.sparse("x.yaml", maxFileSize+1) },
			func(f *folder) { f.write("x.yaml", "") }, nil, "larger than 64 MiB: split it; nothing of it counts, and",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFolder(t)
			f.write("good.yaml", manifest("ns", "good")+policyManifest("ns", "p", "v1"))
			tt.make(f)
			f.start()
			f.objects(append(tt.want, "g ns/good", "p ns/p")...)
			c := f.listed(api.NotListed, api.NotListed)
			if f.published() != 1 {
				t.Errorf("%d publishes", f.published())
			}
			f.log(f.dir, tt.log, "SERVFAIL", "until")
			good := gatewayOf(t, c, "ns/good")
			tt.mend(f)
			c = f.listed(api.Listed, api.Listed)
			if gatewayOf(t, c, "ns/good") != good {
				t.Error("the good object lost its pointer")
			}
		})
	}
}

func (f *folder) link(target, name string) {
	f.t.Helper()
	if err := os.Symlink(target, f.path(name)); err != nil {
		f.t.Fatal(err)
	}
}

// sparse makes a file of the given size that takes no space.
func (f *folder) sparse(name string, size int64) {
	f.t.Helper()
	file, err := os.Create(f.path(name))
	if err == nil {
		err = file.Truncate(size)
		_ = file.Close()
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

func TestDirectoryNotFiles(t *testing.T) {
	f := newFolder(t)
	if err := syscall.Mkfifo(f.path("fifo.yaml"), 0o644); err != nil {
		t.Skip("no FIFOs here:", err)
	}
	f.link(os.DevNull, "null.yaml")
	f.link("/dev/zero", "zero.yaml")
	f.link(".", "here.yaml")
	f.write("a.yaml", manifest("ns", "a"))
	f.start()
	c := f.objects("g ns/a")
	if !c.Complete() {
		t.Errorf("listings %v", c.Listings)
	}
	for _, name := range []string{"fifo.yaml", "null.yaml", "zero.yaml", "here.yaml"} {
		f.log(name, "ignoring it: not a regular file")
	}
	// A file that turns into something else, and back.
	f.remove("a.yaml")
	if err := syscall.Mkfifo(f.path("a.yaml"), 0o644); err != nil {
		t.Fatal(err)
	}
	f.objects()
	f.remove("a.yaml")
	f.write("a.yaml", manifest("ns", "a"))
	f.objects("g ns/a")
	eventually(t, "synced", f.stats.Synced)
	if n := f.logged("fifo.yaml"); n != 1 {
		t.Errorf("said %d times", n)
	}
}

// TestOpenFIFO opens a FIFO that took a file's place after the look at it.
func TestOpenFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Skip("no FIFOs here:", err)
	}
	if _, _, err := openRegular(path); err != errNotAFile {
		t.Errorf("openRegular: %v", err)
	}
}

func TestDirectorySkipsObjects(t *testing.T) {
	f := newFolder(t)
	bad := strings.Replace(manifest("ns", "bad"), "name: bad", "nam: bad", 1)
	f.write("a.yaml", manifest("ns", "a")+bad+"---\n- 1\n"+manifest("ns", "c")+
		"---\napiVersion: v1\nkind: Service\n---\napiVersion: v1\nkind: Service\n---\napiVersion: v1\nkind: ConfigMap\n")
	f.start()
	c := f.objects("g ns/a", "g ns/c")
	if !c.Complete() {
		t.Errorf("listings %v", c.Listings)
	}
	f.log("a.yaml", "document at line 10", "skipped", "metadata.name")
	f.log("a.yaml", "document at line 19", "skipped")
	f.log("a.yaml", "ignoring", `2 "Service" of "v1"`, `1 "ConfigMap" of "v1"`)
	lines := f.logged("a.yaml")

	// What did not change is not said again.
	f.write("b.yaml", manifest("ns", "b"))
	f.objects("g ns/a", "g ns/b", "g ns/c")
	if n := f.logged("a.yaml"); n != lines {
		t.Errorf("%d lines, then %d", lines, n)
	}
}

func TestDirectoryFaultsAreBounded(t *testing.T) {
	f := newFolder(t)
	f.write("a.yaml", strings.Repeat("---\n1\n", 1000))
	f.start()
	f.objects()
	f.log("a.yaml", "and 990 more")
	if n := f.logged("a.yaml"); n != maxFaults+1 {
		t.Errorf("%d lines", n)
	}
}
