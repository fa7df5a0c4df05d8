package source

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// folder is a directory source under test.
type folder struct {
	*recorder
	dir   string
	src   *directory
	stats *Stats
	stop  func()
}

// newFolder prepares a source on an empty directory.
func newFolder(t *testing.T) *folder {
	f := &folder{recorder: newRecorder(t), dir: filepath.Join(t.TempDir(), "m"), stats: new(Stats)}
	if err := os.Mkdir(f.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f.src = Directory(DirectoryOptions{Cluster: "east", Dir: f.dir, Logf: f.logf, Infof: f.infof, Stats: f.stats}).(*directory)
	f.src.every = 5 * time.Millisecond
	return f
}

func (f *folder) start() { f.stop = f.run(f.src) }

func (f *folder) path(name string) string { return filepath.Join(f.dir, name) }

// write writes a file in place, as an editor may do.
func (f *folder) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(f.path(name), []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

// replace puts a file in place at once: nobody sees half of it.
func (f *folder) replace(name, text string) {
	f.t.Helper()
	f.write(name+".tmp", text)
	if err := os.Rename(f.path(name+".tmp"), f.path(name)); err != nil {
		f.t.Fatal(err)
	}
}

// hasAddress reports whether a Gateway is there and has that address: while its file is being written it may not be.
func hasAddress(c *api.Cluster, name, address string) bool {
	g, ok := c.Gateways.Get(name)
	return ok && len(g.Addresses) > 0 && g.Addresses[0].Value == address
}

func (f *folder) remove(name string) {
	f.t.Helper()
	if err := os.Remove(f.path(name)); err != nil {
		f.t.Fatal(err)
	}
}

func TestDirectoryReads(t *testing.T) {
	f := newFolder(t)
	f.write("a.yaml", manifest("ns", "a")+policyManifest("ns", "a", "v1")+policyManifest("ns", "b", "v1alpha2"))
	f.write("b.yml", strings.Replace(manifest("ns", "b"), "/v1", "/v1beta1", 1))
	f.write("d.yaml", strings.Replace(manifest("ns", "d"), "name: d}", "name: d, creationTimestamp: 2026-01-01T00:00:00Z}", 1))
	f.write("c.json",
		`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"c","uid":"u"}}]}`)
	f.write(".hidden.yaml", manifest("ns", "hidden"))
	f.write("notes.txt", manifest("ns", "text"))
	f.write("empty.yaml", "")
	f.write("comment.yaml", "# nothing yet\n")
	if err := os.Mkdir(f.path("sub.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	f.write("sub.yaml/d.yaml", manifest("ns", "d"))
	f.start()
	c := f.objects("g ns/a", "g ns/b", "g default/c", "g ns/d", "p ns/a", "p ns/b")
	if c.Name != "east" || c.UID != "east" {
		t.Errorf("name %q, UID %q", c.Name, c.UID)
	}
	if !c.Complete() || c.Listings != allListed(nil) {
		t.Errorf("listings %v", c.Listings)
	}
	g := gatewayOf(t, c, "ns/a")
	if g.Created != 0 || g.Cluster != "east" || len(g.Addresses) != 1 || g.Addresses[0].Value != "192.0.2.1" {
		t.Errorf("gateway %+v", g)
	}
	if g := gatewayOf(t, c, "default/c"); g.UID != "u" {
		t.Errorf("gateway %+v", g)
	}
	if g := gatewayOf(t, c, "ns/d"); g.Created != time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix() {
		t.Errorf("gateway %+v", g)
	}
	if f.published() != 1 {
		t.Errorf("%d publishes for the first content", f.published())
	}
	eventually(t, "synced", f.stats.Synced)
	if f.stats.LastEvent().IsZero() {
		t.Error("no last event")
	}
}

func TestDirectoryEmpty(t *testing.T) {
	f := newFolder(t)
	f.start()
	c := f.objects()
	if !c.Complete() || len(c.Changed) != 0 {
		t.Errorf("listings %v, changed %v", c.Listings, c.Changed)
	}
}

func TestDirectoryChanges(t *testing.T) {
	f := newFolder(t)
	f.write("a.yaml", manifest("ns", "a")+manifest("ns", "b"))
	f.write("z.yaml", policyManifest("ns", "z", "v1"))
	f.start()
	before := f.objects("g ns/a", "g ns/b", "p ns/z")

	f.write("c.yaml", manifest("ns", "c"))
	c := f.objects("g ns/a", "g ns/b", "g ns/c", "p ns/z")
	if len(c.Changed) != 1 {
		t.Errorf("changed %v", c.Changed)
	}

	// One object of two changes, and the file gets a comment.
	f.replace("a.yaml", "# new\n"+manifest("ns", "a")+strings.Replace(manifest("ns", "b"), "192.0.2.1", "192.0.2.9", 1))
	f.wait("the new address", func() bool { return hasAddress(f.newest(), "ns/b", "192.0.2.9") })
	c = f.latest()
	if gatewayOf(t, c, "ns/a") != gatewayOf(t, before, "ns/a") || policyOf(t, c, "ns/z") != policyOf(t, before, "ns/z") {
		t.Error("an unchanged object lost its pointer")
	}

	// The same objects in another form and another file.
	f.write("d.yaml", strings.ReplaceAll(manifest("ns", "c"), "192.0.2.1", `"192.0.2.1"`))
	f.remove("c.yaml")
	f.remove("a.yaml")
	after := f.objects("g ns/c", "p ns/z")
	if gatewayOf(t, after, "ns/c") != gatewayOf(t, c, "ns/c") {
		t.Error("an object that moved to another file lost its pointer")
	}

	// Renamed onto another, as careful writers do.
	f.replace("d.yaml", manifest("ns", "new"))
	f.objects("g ns/new", "p ns/z")
}

// TestDirectoryTwiceInOneFile: of an object that stands twice in one file the first counts, and
// the log says where both stand.
func TestDirectoryTwiceInOneFile(t *testing.T) {
	f := newFolder(t)
	one := manifest("ns", "x")
	f.write("a.yaml", one+strings.ReplaceAll(one, "192.0.2.1", "192.0.2.2"))
	f.write("b.json", strings.Repeat(string(mustJSON(t, manifest("ns", "b"))), 2))
	f.start()
	if c := f.objects("g ns/b", "g ns/x"); gatewayOf(t, c, "ns/x").Addresses[0].Value != "192.0.2.1" {
		t.Error("the second one counts")
	}
	f.log("a.yaml: ignoring Gateway ns/x in the document at line "+fmt.Sprint(strings.Count(one, "\n")+1), "twice",
		"a.yaml, in the document at line 1, counts")
	f.log("b.json: ignoring Gateway ns/b in the document at line 1", "twice", "b.json, in the document at line 1, counts")
}

// mustJSON returns a YAML document as JSON.
func mustJSON(t *testing.T, text string) []byte {
	t.Helper()
	json, err := yamlToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return json
}

func TestDirectoryTwice(t *testing.T) {
	f := newFolder(t)
	f.write("b.yaml", manifest("ns", "x"))
	f.write("c.yaml", manifest("ns", "x")+policyManifest("ns", "p", "v1"))
	f.start()
	c := f.objects("g ns/x", "p ns/p")
	f.log("c.yaml: ignoring Gateway ns/x", "b.yaml, in")
	first := gatewayOf(t, c, "ns/x")

	// One that comes before takes over, and gives back when it goes.
	f.write("a.yaml", strings.ReplaceAll(manifest("ns", "x"), "192.0.2.1", "192.0.2.2"))
	f.wait("a.yaml's", func() bool { return hasAddress(f.newest(), "ns/x", "192.0.2.2") })
	f.log("b.yaml: ignoring", "a.yaml, in")
	f.remove("a.yaml")
	f.wait("b.yaml's", func() bool { return hasAddress(f.newest(), "ns/x", "192.0.2.1") })
	f.remove("b.yaml")
	f.write("d.yaml", manifest("ns", "d"))
	c = f.objects("g ns/x", "g ns/d", "p ns/p")
	if gatewayOf(t, c, "ns/x").Addresses[0] != first.Addresses[0] {
		t.Error("the last one does not count")
	}
	if n := f.logged("c.yaml: ignoring"); n != 1 {
		t.Errorf("said %d times", n)
	}
}

func TestDirectoryTwiceIsBounded(t *testing.T) {
	f := newFolder(t)
	var all strings.Builder
	for i := range 3 * maxTwice {
		all.WriteString(manifest("ns", "x"+string(rune('a'+i%26))+string(rune('a'+i/26))))
	}
	f.write("a.yaml", all.String())
	f.write("b.yaml", all.String())
	f.start()
	f.wait("the objects", func() bool { return f.newest() != nil })
	if n := f.logged("ignoring"); n != maxTwice {
		t.Errorf("%d lines", n)
	}
}

// TestDirectoryRereadsOnlyWhatChanged checks, through a file whose times do not
// tell of its change, that files whose times are old are not read again.
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
	soon := time.Now().Add(time.Hour) // however long what follows takes
	if err := os.Chtimes(f.path("a.yaml"), soon, soon); err != nil {
		t.Fatal(err)
	}
	for range 2 { // times that are new are not trusted
		if data, err := one.content(false); err != nil || data == nil {
			t.Errorf("new times: %d bytes, %v", len(data), err)
		}
	}
}

func TestDirectorySelection(t *testing.T) {
	f := newFolder(t)
	labelled := strings.Replace(policyManifest("a", "p", "v1"), "name: p}", "name: p, labels: {dns: public}}", 1)
	f.write("a.yaml", manifest("a", "g")+manifest("b", "g")+labelled+policyManifest("a", "q", "v1")+
		strings.Replace(labelled, "namespace: a", "namespace: b", 1))
	for _, tt := range []struct {
		name     string
		sel      Selection
		want     []string
		listings [api.NumKinds]api.Listing
	}{
		{"all", Selection{}, []string{"g a/g", "g b/g", "p a/p", "p a/q", "p b/p"}, allListed(nil)},
		{"namespace", Selection{Namespaces: []string{"a"}}, []string{"g a/g", "p a/p", "p a/q"}, allListed(nil)},
		{
			"policies",
			Selection{Policies: labels.SelectorFromSet(labels.Set{"dns": "public"})},
			[]string{"g a/g", "g b/g", "p a/p", "p b/p"},
			allListed(nil),
		},
		{"kinds", Selection{Kinds: []api.Kind{api.KindGateway}}, []string{"g a/g", "g b/g"}, onlyListed(api.KindGateway)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRecorder(t)
			stop := r.run(Directory(DirectoryOptions{Cluster: "c", Dir: f.dir, Selection: tt.sel, Logf: r.logf}))
			c := r.objects(tt.want...)
			if c.Listings != tt.listings {
				t.Errorf("listings %v", c.Listings)
			}
			stop()
		})
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

// TestDirectoryEnds leaves neither goroutines nor file descriptors behind, and
// can run again.
func TestDirectoryEnds(t *testing.T) {
	f := newFolder(t)
	f.write("a.yaml", manifest("ns", "a"))
	before, open := runtime.NumGoroutine(), openFiles()
	for range 10 {
		f.start()
		f.objects("g ns/a")
		f.stop()
		f.mu.Lock()
		f.clusters = nil
		f.mu.Unlock()
	}
	eventually(t, "goroutines to end", func() bool { return runtime.NumGoroutine() <= before })
	eventually(t, "files to be closed", func() bool { return openFiles() <= open })
}

// openFiles counts the file descriptors of the process, where that can be seen.
func openFiles() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}

func TestDirectoryEndsWithoutDirectory(t *testing.T) {
	f := newFolder(t)
	f.remove(".")
	f.start()
	f.log("cannot read the directory")
	f.stop()
	if f.published() != 0 {
		t.Error("published without a directory")
	}
}

func TestIsManifest(t *testing.T) {
	all := []string{"a.yaml", "a.yml", "a.json", ".a.yaml", "a.yaml~", "a.yaml.swp", "yaml", "a.YAML", "..data", ".yaml", "a.b.yaml"}
	got := slices.DeleteFunc(slices.Clone(all), func(n string) bool { return !isManifest(n) })
	if want := []string{"a.yaml", "a.yml", "a.json", "a.b.yaml"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
