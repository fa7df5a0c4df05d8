package geo

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns-kuadrant/kuadrant/internal/geotest"
	"github.com/coredns-kuadrant/kuadrant/internal/watchfile"
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

// oneCountry returns a database that says so of 192.0.2.0/24.
func oneCountry(t testing.TB, code string) []byte {
	return encode(t, geotest.Flat4, []geotest.Network{{Prefix: netip.MustParsePrefix("192.0.2.0/24"), Country: code}})
}

func at(d *DB) string {
	codes, _ := d.Locate(netip.MustParseAddr("192.0.2.1"), NeedPlace)
	return codes[CodeCountry]
}

// refreshAll looks at the files until a new version counts as complete, and once more.
func refreshAll(d *DB) {
	for range 3 {
		d.refresh()
	}
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
			[]string{`info: geo database "` + path + `": reloaded`},
		},
		{"not a database", func() { replace(t, path, []byte("<html>")) }, "US", "DE", []string{"cannot read: not a complete MaxMind DB file"}},
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
			[]string{"has neither countries nor AS numbers"},
		},
		{"whole again", func() { put(t, path, oneCountry(t, "JP")) }, "JP", "DE", []string{"info: "}},
		{
			"gone", func() { os.Remove(path) }, "JP", "DE",
			[]string{`geo database "` + path + `": cannot read: no such file`},
		},
		{"a directory instead", func() { os.Mkdir(path, 0o755) }, "JP", "DE", []string{"not a regular file"}},
		{"back", func() { os.Remove(path); put(t, path, oneCountry(t, "FR")) }, "FR", "DE", []string{"info: "}},
		{
			"networks changed", func() { replace(t, nets, []byte("10.0.0.0/9 FR\n")) }, "FR", "FR",
			[]string{`info: networks file "` + nets + `": reloaded`},
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
		refreshAll(d)
		if got := at(d); got != step.want {
			t.Errorf("%s: the database says %q, want %q", step.name, got, step.want)
		}
		if got := office(); got != step.office {
			t.Errorf("%s: the networks say %q, want %q", step.name, got, step.office)
		}
		refreshAll(d)
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
		if d.refresh(); at(d) != "IE" {
			t.Fatalf("after %d octets, the file counts as complete", n)
		}
	}
	put(t, path, next)
	refreshAll(d)
	if lines := log.take(); at(d) != "US" || len(lines) != 1 {
		t.Errorf("at the end, the country is %q, and the log %q", at(d), lines)
	}
}

// TestWatch: changes since the database was opened are seen, those behind a link that is swapped as Kubernetes does
// later.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	version := func(name, code string) {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, name, "geo.mmdb"), oneCountry(t, code))
		if err := errors.Join(os.Symlink(name, filepath.Join(dir, "tmp")), os.Rename(filepath.Join(dir, "tmp"), filepath.Join(dir, "..data"))); err != nil {
			t.Fatal(err)
		}
	}
	version("..1", "IE")
	synctest.Test(t, func(t *testing.T) {
		var log journal
		d, err := Open([]string{filepath.Join(dir, "..data", "geo.mmdb")}, "", &log)
		if err != nil {
			t.Fatal(err)
		}
		version("..2", "US")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go d.Watch(ctx)
		becomes := func(want string) {
			t.Helper()
			time.Sleep(4 * watchfile.Every)
			if got := at(d); got != want {
				t.Errorf("the country is %q, want %q", got, want)
			}
		}
		becomes("US")
		version("..3", "JP")
		becomes("JP")
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
		refreshAll(d)
	}
	close(done)
	readers.Wait()
}
