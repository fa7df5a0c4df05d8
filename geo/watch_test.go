package geo

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/internal/geotest"
)

// journal collects what a DB logs; the good news begin with "info: ".
type journal struct {
	mu    sync.Mutex
	lines []string
}

var _ Logger = (*journal)(nil)

func (j *journal) Infof(format string, args ...any) { j.Warningf("info: "+format, args...) }

func (j *journal) Warningf(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

// take returns the lines so far, and forgets them.
func (j *journal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := j.lines
	j.lines = nil
	return lines
}

// has reports whether a line holds text.
func (j *journal) has(text string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.ContainsFunc(j.lines, func(line string) bool { return strings.Contains(line, text) })
}

// oneCountry returns a database that says so of 192.0.2.0/24.
func oneCountry(t testing.TB, code string) []byte {
	return encode(t, geotest.Flat4, []geotest.Network{{Prefix: netip.MustParsePrefix("192.0.2.0/24"), Country: code}})
}

func at(d *DB) string {
	codes, _ := d.Locate(netip.MustParseAddr("192.0.2.1"), NeedPlace)
	return codes[CodeCountry]
}

// refreshAll looks at the files until they rest.
func refreshAll(t *testing.T, d *DB) {
	t.Helper()
	for range 10 {
		if !d.refresh() {
			return
		}
	}
	t.Fatal("the files do not come to rest")
}

func put(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// replace renames a new file into place.
func replace(t *testing.T, path string, content []byte) {
	t.Helper()
	put(t, path+".new", content)
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// TestRefresh goes through what can become of the files, without any watching:
// what is loaded, what stays, and that each change is logged once.
func TestRefresh(t *testing.T) {
	dir := t.TempDir()
	path, nets := filepath.Join(dir, "geo.mmdb"), filepath.Join(dir, "nets")
	put(t, path, oneCountry(t, "IE"))
	put(t, nets, []byte("10.0.0.0/8 DE\n"))
	var log journal
	d, err := Open([]string{path}, nets, &log)
	if err != nil {
		t.Fatal(err)
	}
	office := func() string {
		codes, _ := d.Locate(netip.MustParseAddr("10.0.0.1"), NeedPlace)
		return codes[CodeCountry]
	}
	for _, step := range []struct {
		name         string
		do           func()
		want, office string
		log          []string // parts of the lines
	}{
		{"nothing", func() {}, "IE", "DE", nil},
		{
			"renamed into place", func() { replace(t, path, oneCountry(t, "US")) }, "US", "DE",
			[]string{`info: geo database "` + path + `" reloaded`},
		},
		{"not a database", func() { replace(t, path, []byte("<html>")) }, "US", "DE", []string{"stays in use: not a complete MaxMind DB file"}},
		{"not one either", func() { replace(t, path, []byte("<html><p>")) }, "US", "DE", []string{"not a complete MaxMind DB file"}},
		{"truncated in place", func() {
			put(t, path, oneCountry(t, "IE"))
			if err := os.Truncate(path, 200); err != nil {
				t.Fatal(err)
			}
		}, "US", "DE", []string{"not a complete MaxMind DB file"}},
		{"empty", func() { put(t, path, nil) }, "US", "DE", []string{"the file is empty"}},
		{
			"of no use", func() { replace(t, path, encode(t, geotest.Other, geotest.Places())) }, "US", "DE",
			[]string{"holds neither countries nor AS numbers"},
		},
		{"whole again", func() { put(t, path, oneCountry(t, "JP")) }, "JP", "DE", []string{"info: "}},
		{
			"gone", func() { os.Remove(path) }, "JP", "DE",
			[]string{`geo database "` + path + `" cannot be read, what was loaded before stays in use: no such file`},
		},
		{"a directory instead", func() { os.Mkdir(path, 0o755) }, "JP", "DE", []string{"not a file but a directory"}},
		{"back", func() { os.Remove(path); put(t, path, oneCountry(t, "FR")) }, "FR", "DE", []string{"info: "}},
		{
			"networks changed", func() { replace(t, nets, []byte("10.0.0.0/9 FR\n")) }, "FR", "FR",
			[]string{`info: networks file "` + nets + `" reloaded`},
		},
		{
			"networks wrong", func() { replace(t, nets, []byte("10.0.0.0/9 UK\n")) }, "FR", "FR",
			[]string{"nets:1: geo code \"UK\" matches no client: write GB"},
		},
		{"networks empty", func() { put(t, nets, nil) }, "FR", "FR", []string{"the file is empty"}},
		{"no networks", func() { put(t, nets, []byte("# none\n")) }, "FR", "", []string{"info: "}},
		{"both", func() {
			replace(t, nets, []byte("10.0.0.0/9 IE\n"))
			replace(t, path, oneCountry(t, "IE"))
		}, "IE", "IE", []string{"info: geo database", "info: networks file"}},
	} {
		step.do()
		refreshAll(t, d)
		if got := at(d); got != step.want {
			t.Errorf("%s: the database says %q, want %q", step.name, got, step.want)
		}
		if got := office(); got != step.office {
			t.Errorf("%s: the networks say %q, want %q", step.name, got, step.office)
		}
		refreshAll(t, d)
		lines := log.take()
		if len(lines) != len(step.log) {
			t.Errorf("%s: logged %q, want %d lines", step.name, lines, len(step.log))
			continue
		}
		for i, want := range step.log {
			if !strings.Contains(lines[i], want) || strings.HasPrefix(lines[i], "info: ") != strings.HasPrefix(want, "info: ") {
				t.Errorf("%s: logged %q, want %q in it", step.name, lines[i], want)
			}
		}
	}
}

// A file that is still being written is not read.
func TestRefreshWaits(t *testing.T) {
	path := writeFile(t, "geo.mmdb", oneCountry(t, "IE"))
	var log journal
	d, err := Open([]string{path}, "", &log)
	if err != nil {
		t.Fatal(err)
	}
	next := oneCountry(t, "US")
	for n := 0; n < len(next); n += 100 {
		put(t, path, next[:n])
		if !d.refresh() {
			t.Fatalf("after %d octets, the file counts as complete", n)
		}
	}
	put(t, path, next)
	refreshAll(t, d)
	if lines := log.take(); at(d) != "US" || len(lines) != 1 {
		t.Errorf("at the end, the country is %q, and the log %q", at(d), lines)
	}
}

// until waits for a condition that other goroutines bring about.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("no %s after a minute", what)
		case <-tick.C:
		}
	}
}

// watch runs d.Watch until the test ends.
func watch(t *testing.T, d *DB) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { d.Watch(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
}

// symlink puts a link into place at once, as Kubernetes does.
func symlink(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path+"_tmp"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+"_tmp", path); err != nil {
		t.Fatal(err)
	}
}

func TestWatch(t *testing.T) {
	var log journal
	start := func(t *testing.T, path string) *DB {
		t.Helper()
		d, err := Open([]string{path}, "", &log)
		if err != nil {
			t.Fatal(err)
		}
		if at(d) != "IE" {
			t.Fatalf("at first, the country is %q", at(d))
		}
		return d
	}
	becomes := func(t *testing.T, d *DB, want string) {
		t.Helper()
		until(t, "the country "+want, func() bool { return at(d) == want })
	}
	t.Run("renamed into place", func(t *testing.T) {
		path := writeFile(t, "geo.mmdb", oneCountry(t, "IE"))
		d := start(t, path)
		replace(t, path, oneCountry(t, "US")) // before it is watched
		watch(t, d)
		becomes(t, d, "US")
		replace(t, path, oneCountry(t, "JP"))
		becomes(t, d, "JP")
		log.take()
		replace(t, path, []byte("broken"))
		until(t, "a line in the log", func() bool { return log.has("stays in use") })
		if at(d) != "JP" {
			t.Errorf("after a broken file, the country is %q", at(d))
		}
		put(t, path, oneCountry(t, "DE"))
		becomes(t, d, "DE")
	})
	t.Run("as Kubernetes mounts a ConfigMap", func(t *testing.T) {
		dir := t.TempDir()
		version := func(name, code string) {
			if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
				t.Fatal(err)
			}
			put(t, filepath.Join(dir, name, "geo.mmdb"), oneCountry(t, code))
			symlink(t, name, filepath.Join(dir, "..data"))
		}
		version("..1", "IE")
		path := filepath.Join(dir, "geo.mmdb")
		symlink(t, filepath.Join("..data", "geo.mmdb"), path)
		d := start(t, path)
		watch(t, d)
		for i, code := range []string{"US", "JP", "DE"} {
			version(fmt.Sprintf("..%d", i+2), code)
			if err := os.RemoveAll(filepath.Join(dir, fmt.Sprintf("..%d", i+1))); err != nil {
				t.Fatal(err)
			}
			becomes(t, d, code)
		}
	})
	t.Run("links elsewhere", func(t *testing.T) {
		etc, lib := t.TempDir(), t.TempDir()
		for name, code := range map[string]string{"one": "IE", "two": "US"} {
			if err := os.Mkdir(filepath.Join(lib, name), 0o755); err != nil {
				t.Fatal(err)
			}
			put(t, filepath.Join(lib, name, "geo.mmdb"), oneCountry(t, code))
		}
		symlink(t, "one", filepath.Join(lib, "current"))
		path := filepath.Join(etc, "geo.mmdb")
		symlink(t, filepath.Join(lib, "current", "..", "current", "geo.mmdb"), path)
		d := start(t, path)
		watch(t, d)
		symlink(t, "two", filepath.Join(lib, "current"))
		becomes(t, d, "US")
		replace(t, filepath.Join(lib, "two", "geo.mmdb"), oneCountry(t, "JP")) // where the link leads now
		becomes(t, d, "JP")
	})
	t.Run("the directory goes and comes", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "geo")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "geo.mmdb")
		put(t, path, oneCountry(t, "IE"))
		d := start(t, path)
		watch(t, d)
		log.take()
		if err := os.Rename(dir, dir+".old"); err != nil {
			t.Fatal(err)
		}
		until(t, "a line in the log", func() bool { return log.has("no such file") })
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		put(t, path, oneCountry(t, "US"))
		becomes(t, d, "US")
		replace(t, path, oneCountry(t, "JP"))
		becomes(t, d, "JP")
	})
}

// Look-ups go on while files are replaced, and see one version or the other.
func TestLocateWhileReloading(t *testing.T) {
	files := geotest.Write(t, t.TempDir())
	path := writeFile(t, "geo.mmdb", oneCountry(t, "IE"))
	d, err := Open([]string{path, files.City, files.ASN}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				codes, bits := d.Locate(netip.MustParseAddr("192.0.2.1"), NeedPlace|NeedAS)
				ie, us := Codes{"AS64500", "", "IE", "GEO-EU"}, Codes{"AS64500", "", "US", "GEO-NA"}
				if bits != 25 || *codes != ie && *codes != us {
					t.Errorf("Locate = %q, %d", *codes, bits)
					return
				}
			}
		})
	}
	for i := range 100 {
		replace(t, path, oneCountry(t, []string{"US", "IE"}[i%2]))
		refreshAll(t, d)
	}
	close(done)
	readers.Wait()
}
