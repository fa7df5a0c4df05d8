package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	statefile "github.com/coredns-kuadrant/kuadrant/internal/state"
)

// TestStateIsWrittenSoon: the state is written a second after changes, every ten seconds
// while there are more, and survives a crash: serials do not go back (rule 6.7).
func TestStateIsWrittenSoon(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		first := begin(t, dir, nil, f)
		has := func(when, address string) {
			t.Helper()
			c, err := statefile.Read(dir)
			if err != nil {
				t.Fatalf("%s: %v", when, err)
			}
			if g, _ := c.Clusters[0].Gateways.Get("ns/a"); g.Addresses[0].Value != address {
				t.Errorf("%s: %s; want %s", when, g.Addresses[0].Value, address)
			}
		}
		f.show(hosts{"a": "192.0.2.1"})
		if _, err := os.Stat(filepath.Join(dir, statefile.Name)); err == nil {
			t.Error("written at once")
		}
		time.Sleep(writeQuiet)
		synctest.Wait()
		has("after a second", "192.0.2.1")
		if got, _ := first.e.StateWritten(); got.Unix() != time.Now().Unix() {
			t.Errorf("written at %v, %v", got, time.Now())
		}
		f.show(hosts{"a": "192.0.2.2"})
		time.Sleep(writePause - writeQuiet)
		has("in the pause", "192.0.2.1")
		time.Sleep(writeQuiet)
		synctest.Wait()
		has("after the pause", "192.0.2.2")
		time.Sleep(time.Minute)
		for i := range 20 {
			f.show(hosts{"a": fmt.Sprintf("192.0.2.%d", 100+i)})
			time.Sleep(writeQuiet / 2)
		}
		time.Sleep(writeQuiet)
		synctest.Wait()
		has("changing all the time", "192.0.2.119")
		f.show(hosts{"a": "192.0.2.120"})
		serial := first.serial()
		crashed := begin(t, dir, nil, &fakeSource{name: "c", place: "api"}) // the first one has not stopped
		crashed.expect("after a crash", "a=192.0.2.119")
		if s := crashed.serial(); int32(s-serial) <= 0 {
			t.Errorf("serial %d after a crash at %d", s, serial)
		}
	})
}

// TestStateNotUsed: a file that cannot be used is said to be so in one line, and written anew.
func TestStateNotUsed(t *testing.T) {
	for want, damage := range map[string]func([]byte) []byte{
		"damaged: checksum mismatch; starting without": func(text []byte) []byte { text[len(text)-3] ^= 1; return text },
		"damaged: ": func(text []byte) []byte { return text[:len(text)/2] },
		"written by another version of this server: format 9, while this one reads 2 and 3": func(text []byte) []byte {
			return []byte(strings.Replace(string(text), `"kuadrant-state":3`, `"kuadrant-state":9`, 1))
		},
		"not a state file of this server": func([]byte) []byte { return nil },
		"line 4: unknown member \"Gateway octets\": written by another version of this server; starting without": func([]byte) []byte {
			text, _ := os.ReadFile("../state/testdata/state-2-first.json")
			return text
		},
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			f := &fakeSource{name: "c", place: "api"}
			first := begin(t, dir, nil, f)
			f.show(hosts{"a": "192.0.2.1"})
			first.e.Stop()
			path := filepath.Join(dir, statefile.Name)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, damage(text), 0o600); err != nil {
				t.Fatal(err)
			}
			again := &fakeSource{name: "c", place: "api"}
			second := begin(t, dir, nil, again)
			second.expect("damaged", "a=SERVFAIL")
			if second.said("warning: state "+path+": ignored: "+want) != 1 || second.said("") != 1 {
				t.Errorf("logged %q, want %s", second.log, want)
			}
			again.show(hosts{"a": "192.0.2.2"})
			second.e.Stop()
			begin(t, dir, nil, &fakeSource{name: "c", place: "api"}).expect("written anew", "a=192.0.2.2")
		})
	}
}

// TestStateCannotBeWritten: that is said once, answers go on, and it is tried again.
func TestStateCannotBeWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		r := begin(t, dir, nil, f)
		f.show(hosts{"a": "192.0.2.1"})
		time.Sleep(time.Hour)
		if r.said("warning: state "+filepath.Join(dir, statefile.Name)+": cannot write: ") != 1 {
			t.Errorf("logged %q", r.log)
		}
		r.expect("no place", "a=192.0.2.1")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if _, err := statefile.Read(dir); err != nil || r.said("info: state "+filepath.Join(dir, statefile.Name)+": writable again") != 1 {
			t.Errorf("logged %q: %v", r.log, err)
		}
	})
}
