package kuadrant

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
	statefile "github.com/coredns-kuadrant/kuadrant/state"
)

// remembering is a server that keeps its state in a directory, with what it has logged.
type remembering struct {
	*running
	e   *engine
	mu  sync.Mutex // guards log
	log []string
}

// logs returns what takes lines of a level.
func (r *remembering) logs(level string) func(string, ...any) {
	return func(format string, args ...any) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.log = append(r.log, level+": "+fmt.Sprintf(format, args...))
	}
}

// begin starts a server on feeds with its state in dir, "" for none, in the place of before,
// which may be nil. It belongs into a synctest bubble.
func begin(t *testing.T, dir string, before *remembering, feeds ...*feed) *remembering {
	t.Helper()
	return beginWith(t, dir, before, func(*engine) {}, feeds...)
}

// beginWith is begin with something to be done to the engine first.
func beginWith(t *testing.T, dir string, before *remembering, set func(*engine), feeds ...*feed) *remembering {
	t.Helper()
	r := new(remembering)
	e := newEngine()
	e.warnf, e.infof = r.logs("warning"), r.logs("info")
	e.opt = &records.Options{Zones: []records.ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	if dir != "" {
		e.keeper = newKeeper(e, dir)
	}
	set(e)
	b := &block{zones: []string{"example.com."}, zoneSet: map[string]bool{"example.com.": true}}
	var old *engine
	if before != nil {
		old = before.e
	}
	startFed(t, e, old, feeds...)
	r.e, r.running = e, &running{t: t, plugin: &Kuadrant{block: b, engine: e}}
	return r
}

// said tells whether a line of the log holds text, once.
func (r *remembering) said(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, line := range r.log {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n == 1
}

// ede returns the extended errors of the reply to a query with EDNS for a host.
func (r *remembering) ede(name string) (codes []uint16) {
	r.t.Helper()
	q := question(name+".example.com.", dns.TypeA)
	q.SetEdns0(1232, false)
	reply, _ := ask(r.t, r.plugin, context.Background(), q)
	if opt := reply.IsEdns0(); opt != nil {
		for _, o := range opt.Option {
			if e, ok := o.(*dns.EDNS0_EDE); ok {
				codes = append(codes, e.InfoCode)
			}
		}
	}
	return codes
}

// stale checks whether replies say that they come from the state, and the metric does.
func (r *remembering) stale(when string, want bool) {
	r.t.Helper()
	series, n := scraped(r.t, r.e), 0.0
	for name, value := range series {
		if strings.HasPrefix(name, "state_served{") {
			n += value
		}
	}
	if codes := r.ede("a"); (len(codes) == 1 && codes[0] == dns.ExtendedErrorCodeStaleAnswer) != want || !want && len(codes) != 0 || (n > 0) != want {
		r.t.Errorf("%s: extended errors %v, %v clusters served from the state, want any: %v", when, codes, n, want)
	}
}

// TestStartFromState: a server that starts while its source is away answers as the one before
// it did, says so, and moves on kind by kind when the source is back (issue 5, rule 7.4).
func TestStartFromState(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := &feed{name: "c", place: "api"}
		first := begin(t, dir, nil, f)
		first.expect("nothing is known", "a=SERVFAIL")
		f.show(hosts{"a": "192.0.2.1", "b": "192.0.2.2"})
		f.show(hosts{"a": "192.0.2.1", "b": "192.0.2.3"})
		first.stale("from its source", false)
		serial := first.serial()
		first.e.stop()

		time.Sleep(time.Hour)
		again := &feed{name: "c", place: "api"}
		second := begin(t, dir, nil, again)
		second.expect("from the state", "a=192.0.2.1", "b=192.0.2.3", "no=NXDOMAIN")
		second.stale("from the state", true)
		if second.serial() != serial || !second.plugin.Ready() {
			t.Errorf("serial %d, want %d; ready %v", second.serial(), serial, second.plugin.Ready())
		}
		if !second.said(`info: Answering for cluster c from the state in ` + dir + `, as it was at `) {
			t.Errorf("logged %q", second.log)
		}
		if reply, _ := ask(t, second.plugin, context.Background(), question("a.example.com.", dns.TypeA)); reply.IsEdns0() != nil {
			t.Error("a reply to a query without EDNS has some")
		}
		again.show(hosts{"a": "192.0.2.11"}, api.KindDNSPolicy)
		second.expect("policies are away", "a=192.0.2.11", "b=NXDOMAIN")
		second.stale("policies are away", true)
		again.show(hosts{"a": "192.0.2.11", "new": "192.0.2.12"})
		second.expect("all is listed", "a=192.0.2.11", "new=192.0.2.12", "no=NXDOMAIN")
		second.stale("all is listed", false)
		if !second.said("info: Answering for cluster c from what has been listed, and no longer from the state on disk") {
			t.Errorf("logged %q", second.log)
		}
		if s := second.serial(); int32(s-serial) <= 0 {
			t.Errorf("serial %d after %d", s, serial)
		}
	})
}

// TestStateIsWrittenSoon: the state is written a second after changes, every ten seconds
// while there are more, and survives a crash: serials do not go back (rule 6.7).
func TestStateIsWrittenSoon(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := &feed{name: "c", place: "api"}
		first := begin(t, dir, nil, f)
		has := func(when, address string) {
			t.Helper()
			c, err := statefile.Read(dir)
			if err != nil {
				t.Fatalf("%s: %v", when, err)
			}
			if g, _ := c.Clusters[0].Gateways.Get("ns/a"); g.Addresses[0].Value != address || c.Runs != 1 {
				t.Errorf("%s: %s, %d runs; want %s", when, g.Addresses[0].Value, c.Runs, address)
			}
		}
		f.show(hosts{"a": "192.0.2.1"})
		if _, err := os.Stat(filepath.Join(dir, statefile.Name)); err == nil {
			t.Error("written at once")
		}
		time.Sleep(keeperQuiet)
		synctest.Wait()
		has("after a second", "192.0.2.1")
		if got := scraped(t, first.e)["state_written_timestamp_seconds{}"]; got != float64(time.Now().Unix()) {
			t.Errorf("written at %v, %v", got, time.Now().Unix())
		}
		f.show(hosts{"a": "192.0.2.2"})
		time.Sleep(keeperPause - keeperQuiet)
		has("in the pause", "192.0.2.1")
		time.Sleep(keeperQuiet)
		synctest.Wait()
		has("after the pause", "192.0.2.2")
		time.Sleep(time.Minute)
		for i := range 20 {
			f.show(hosts{"a": fmt.Sprintf("192.0.2.%d", 100+i)})
			time.Sleep(keeperQuiet / 2)
		}
		synctest.Wait()
		has("changing all the time", "192.0.2.119")
		f.show(hosts{"a": "192.0.2.120"})
		serial := first.serial()
		crashed := begin(t, dir, nil, &feed{name: "c", place: "api"}) // the first one has not stopped
		crashed.expect("after a crash", "a=192.0.2.119")
		if s := crashed.serial(); int32(s-serial) <= 0 {
			t.Errorf("serial %d after a crash at %d", s, serial)
		}
	})
}

// TestStateOfMany: what is not listed stays in the state: a cluster that is away, one that a
// mistake in the Corefile has left out, and everything while nothing is known.
func TestStateOfMany(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		c, d := &feed{name: "c", place: "api"}, &feed{name: "d", place: "api"}
		first := begin(t, dir, nil, c, d)
		c.show(hosts{"a": "192.0.2.1"})
		d.show(hosts{"b": "192.0.2.2"})
		first.e.stop()

		mistaken := begin(t, dir, nil, &feed{name: "c", place: "mistaken"})
		mended := begin(t, dir, mistaken, &feed{name: "c", place: "api"})
		mistaken.e.stop()
		mended.expect("after a reload that mends it", "a=192.0.2.1")
		mended.stale("after a reload that mends it", true)
		mended.e.stop()
		begin(t, dir, nil).e.stop()
		c, d = &feed{name: "c", place: "api"}, &feed{name: "d", place: "api"}
		second := begin(t, dir, nil, c, d)
		second.expect("after mistakes", "a=192.0.2.1", "b=192.0.2.2", "no=NXDOMAIN")
		c.show(hosts{"a": "192.0.2.11"})
		second.expect("d is away", "a=192.0.2.11", "b=192.0.2.2", "no=NXDOMAIN")
		second.stale("d is away", true)
		second.e.stop()

		c, other := &feed{name: "c", place: "api"}, &feed{name: "d", place: "other"}
		third := begin(t, dir, nil, c, other)
		third.expect("another is named d", "a=192.0.2.11", "b=SERVFAIL", "no=SERVFAIL")
		if a, b := third.ede("a"), third.ede("b"); !slices.Equal(a, []uint16{dns.ExtendedErrorCodeStaleAnswer}) || !slices.Equal(b, []uint16{dns.ExtendedErrorCodeNotReady}) {
			t.Errorf("extended errors %v of an answer, %v of SERVFAIL", a, b)
		}
		c.show(hosts{"a": "192.0.2.12"})
		third.e.stop()

		d = &feed{name: "d", place: "api"}
		fourth := begin(t, dir, nil, &feed{name: "c", place: "api"}, d)
		fourth.expect("and d is back", "a=192.0.2.12", "b=192.0.2.2")
		d.show(nil)
		fourth.e.stop()
		fifth := begin(t, dir, nil, &feed{name: "c", place: "api"}, &feed{name: "d", place: "api"})
		fifth.expect("all of it listed", "a=192.0.2.12", "b=NXDOMAIN")
	})
}

// TestStateOfAnotherCluster: where another cluster has been set up in the place of the one
// that the state is of, its UID counts once it is known (rule 2.3).
func TestStateOfAnotherCluster(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := &feed{name: "c", place: "api", uid: "one"}
		first := begin(t, dir, nil, f)
		f.show(hosts{"a": "192.0.2.1"})
		first.e.stop()
		uid := func(r *remembering) string { return r.e.snap.Load().Objects().Clusters[0].UID }
		same := &feed{name: "c", place: "api", uid: "c"} // may not read it
		second := begin(t, dir, nil, same)
		same.show(hosts{"a": "192.0.2.1"})
		if got := uid(second); got != "one" {
			t.Errorf("UID %s where it cannot be read", got)
		}
		second.e.stop()
		other := &feed{name: "c", place: "api", uid: "two"}
		third := begin(t, dir, nil, other)
		if got := uid(third); got != "one" {
			t.Errorf("UID %s from the state", got)
		}
		other.show(hosts{"b": "192.0.2.2"})
		third.expect("another cluster", "a=NXDOMAIN", "b=192.0.2.2")
		if got := uid(third); got != "two" {
			t.Errorf("UID %s of another cluster", got)
		}
	})
}

// TestReloadOfState: what is served from the state goes on to be after a reload, and says so;
// what was listed does not. The old server's end does not undo what the new one has written.
func TestReloadOfState(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := &feed{name: "c", place: "api"}
		first := begin(t, dir, nil, f)
		f.show(hosts{"a": "192.0.2.1"})
		second := begin(t, dir, first, &feed{name: "c", place: "api"})
		second.stale("after a reload", false)
		first.e.stop()
		second.e.ring()
		synctest.Wait()
		second.e.stop()

		third := begin(t, dir, nil, &feed{name: "c", place: "api"})
		third.stale("from the state", true)
		last := &feed{name: "c", place: "api"}
		fourth := begin(t, dir, third, last)
		fourth.expect("reloaded with the source away", "a=192.0.2.1", "no=NXDOMAIN")
		fourth.stale("reloaded with the source away", true)
		last.show(hosts{"a": "192.0.2.2"})
		fourth.stale("listed before the old one has ended", false)
		time.Sleep(time.Minute)
		third.e.stop()
		fourth.e.ring()
		time.Sleep(time.Minute)
		serial := fourth.serial()
		fourth.e.stop()
		fifth := begin(t, dir, nil, &feed{name: "c", place: "api"})
		fifth.expect("what the new one has listed", "a=192.0.2.2")
		if fifth.serial() != serial {
			t.Errorf("serial %d, want %d", fifth.serial(), serial)
		}

		// A reload that fails: the new one ends, the old one goes on to keep the state.
		failed := &feed{name: "c", place: "api"}
		sixth := begin(t, dir, fifth, failed)
		failed.show(hosts{"a": "192.0.2.66"})
		time.Sleep(time.Minute)
		sixth.e.stop()
		fifth.e.stop()
		begin(t, dir, nil, &feed{name: "c", place: "api"}).expect("after a reload that failed", "a=192.0.2.2")
	})
}

// TestReloadFindsState: a reload that brings the property takes serials of the file as they
// are, and its objects only where nothing was known.
func TestReloadFindsState(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := &feed{name: "c", place: "api"}
		first := beginWith(t, dir, nil, func(e *engine) {
			e.opt.Published = map[string]api.Kept{"example.com.": {Serial: 2099010100}}
		}, f)
		f.show(hosts{"a": "192.0.2.1"})
		first.e.stop()
		f = &feed{name: "c", place: "api"}
		second := begin(t, "", nil, f)
		third := begin(t, dir, second, &feed{name: "c", place: "api"})
		third.expect("nothing was known", "a=192.0.2.1")
		f = &feed{name: "c", place: "api"}
		fourth := begin(t, "", nil, f)
		f.show(hosts{"a": "192.0.2.2"})
		fifth := begin(t, dir, fourth, &feed{name: "c", place: "api"})
		fifth.expect("more was known", "a=192.0.2.2")
		fifth.stale("more was known", false)
		if s := fifth.serial(); s <= 2099020101 {
			t.Errorf("serial %d", s)
		}
	})
}

// TestStateNotUsed: a file that cannot be used is said to be so in one line, and written anew.
func TestStateNotUsed(t *testing.T) {
	for want, damage := range map[string]func([]byte) []byte{
		"it is damaged: its checksum is another one; starting without": func(text []byte) []byte { text[len(text)-3] ^= 1; return text },
		"it is damaged: ": func(text []byte) []byte { return text[:len(text)/2] },
		"it has the form of a newer version of this server: 9, and this one reads up to 1": func(text []byte) []byte {
			return []byte(strings.Replace(string(text), `"kuadrant-state":1`, `"kuadrant-state":9`, 1))
		},
		"it is no state of this server": func([]byte) []byte { return nil },
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			f := &feed{name: "c", place: "api"}
			first := begin(t, dir, nil, f)
			f.show(hosts{"a": "192.0.2.1"})
			first.e.stop()
			path := filepath.Join(dir, statefile.Name)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, damage(text), 0o600); err != nil {
				t.Fatal(err)
			}
			again := &feed{name: "c", place: "api"}
			second := begin(t, dir, nil, again)
			second.expect("damaged", "a=SERVFAIL")
			if !second.said("warning: The state in "+path+" is not used: "+want) || len(second.log) != 1 {
				t.Errorf("logged %q, want %s", second.log, want)
			}
			again.show(hosts{"a": "192.0.2.2"})
			second.e.stop()
			begin(t, dir, nil, &feed{name: "c", place: "api"}).expect("written anew", "a=192.0.2.2")
		})
	}
}

// TestStateCannotBeWritten: that is said once, answers go on, and it is tried again.
func TestStateCannotBeWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	synctest.Test(t, func(t *testing.T) {
		f := &feed{name: "c", place: "api"}
		r := begin(t, dir, nil, f)
		f.show(hosts{"a": "192.0.2.1"})
		time.Sleep(time.Hour)
		if !r.said("warning: The state cannot be written to " + filepath.Join(dir, statefile.Name)) {
			t.Errorf("logged %q", r.log)
		}
		r.expect("no place", "a=192.0.2.1")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if _, err := statefile.Read(dir); err != nil || !r.said("info: The state is written to ") {
			t.Errorf("logged %q: %v", r.log, err)
		}
	})
}
