package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// remembering is a server that keeps its state in a directory, with what it has logged.
type remembering struct {
	*running
	e *Engine
	*book
}

// book is what an engine has logged.
type book struct {
	mu  sync.Mutex // guards log
	log []string
}

// add takes a line of a level.
func (r *book) add(level, format string, args []any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, level+": "+fmt.Sprintf(format, args...))
}

func (r *book) Infof(format string, args ...any)    { r.add("info", format, args) }
func (r *book) Warningf(format string, args ...any) { r.add("warning", format, args) }
func (r *book) Errorf(format string, args ...any)   { r.add("error", format, args) }

// warnings returns how many lines are warnings.
func (r *book) warnings() (n int) {
	for _, line := range r.log {
		if strings.HasPrefix(line, "warning: ") {
			n++
		}
	}
	return n
}

// noted returns what an engine logs from now on.
func noted(e *Engine) *book {
	b := new(book)
	e.log, e.guard.log = b, b
	return b
}

// begin starts a server on feeds with its state in dir, "" for none, in the place of before,
// which may be nil. It belongs into a synctest bubble.
func begin(t *testing.T, dir string, before *remembering, feeds ...*fakeSource) *remembering {
	t.Helper()
	return beginWith(t, dir, before, func(*Engine, *settings) {}, feeds...)
}

// beginWith is begin with something to be done to the engine first.
func beginWith(t *testing.T, dir string, before *remembering, set func(*Engine, *settings), feeds ...*fakeSource) *remembering {
	t.Helper()
	r := &remembering{book: new(book)}
	e := New(r.book, nil)
	if before != nil {
		e, r.book = before.e, before.book
		r.mu.Lock()
		r.log = nil
		r.mu.Unlock()
	}
	s := &settings{opt: simpleOptions(60)}
	if was := e.settings().state; was != nil && was.dir == dir {
		s.state = was
	} else if dir != "" {
		s.state = &stateWriter{of: e, dir: dir, wake: newBell()}
	}
	for _, f := range feeds {
		s.feeds = append(s.feeds, fed(f))
	}
	set(e, s)
	b := &served{Zones: []string{"example.com."}, ZoneSet: map[string]bool{"example.com.": true}}
	apply(t, e, s)
	r.e, r.running = e, &running{t: t, plugin: &answerer{block: b, engine: e}}
	return r
}

// keepsFirst lets the first feed keep owners and serials.
func keepsFirst(_ *Engine, s *settings) { s.feeds[0].keeps = true }

// said tells whether a line of the log holds text, once.
func (r *book) said(text string) bool {
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
	n := len(r.e.Current().FromState)
	if codes := r.ede("a"); (len(codes) == 1 && codes[0] == dns.ExtendedErrorCodeStaleAnswer) != want || !want && len(codes) != 0 || (n > 0) != want {
		r.t.Errorf("%s: extended errors %v, %v clusters served from the state, want any: %v", when, codes, n, want)
	}
}

// TestStartFromState: a server that starts while its source is away answers as the one before
// it did, says so, and moves on kind by kind when the source is back (issue 5, rule 7.4).
func TestStartFromState(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		first := begin(t, dir, nil, f)
		first.expect("nothing is known", "a=SERVFAIL")
		f.show(hosts{"a": "192.0.2.1", "b": "192.0.2.2"})
		f.show(hosts{"a": "192.0.2.1", "b": "192.0.2.3"})
		first.stale("from its source", false)
		serial := first.serial()
		first.e.Stop()

		time.Sleep(time.Hour)
		again := &fakeSource{name: "c", place: "api"}
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
		second.expect("what the first list lacks", "a=192.0.2.11", "b=192.0.2.3") // rule 8.5
		wait(gatherTime)
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

// told is a Listener that is told of snapshots.
type told func()

func (f told) Published(_, _ *records.Snapshot, _ time.Duration)   { f() }
func (told) FailOpen(_, _ string)                                  {}
func (told) Checked(*health.Target, health.Outcome, time.Duration) {}
func (told) Found(*health.Target, health.Word, health.Word)        {}

// TestStaleFromTheFirstAnswer: whoever asks as soon as there is an answer from the state is told
// that it comes from there; so is who is told of the first snapshot.
func TestStaleFromTheFirstAnswer(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		first := begin(t, dir, nil, f)
		f.show(hosts{"a": "192.0.2.1"})
		first.e.Stop()
		asked := 0
		beginWith(t, dir, nil, func(e *Engine, _ *settings) {
			b := &served{Zones: []string{"example.com."}, ZoneSet: map[string]bool{"example.com.": true}}
			r := &remembering{e: e, running: &running{t: t, plugin: &answerer{block: b, engine: e}}}
			e.tell = told(func() {
				asked++
				if codes := r.ede("a"); !slices.Equal(codes, []uint16{dns.ExtendedErrorCodeStaleAnswer}) {
					t.Errorf("extended errors %v when the snapshot is published", codes)
				}
			})
		}, &fakeSource{name: "c", place: "api"})
		if asked == 0 {
			t.Error("nothing was told of the first snapshot")
		}
	})
}

// TestStateOfMany: what is not listed stays in the state: a cluster that is away, one that a
// mistake in the Corefile has left out, and everything while nothing is known.
func TestStateOfMany(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		c, d := &fakeSource{name: "c", place: "api"}, &fakeSource{name: "d", place: "api", uid: "d"}
		first := begin(t, dir, nil, c, d)
		c.show(hosts{"a": "192.0.2.1"})
		d.show(hosts{"b": "192.0.2.2"})
		first.e.Stop()

		mistaken := begin(t, dir, nil, &fakeSource{name: "c", place: "mistaken"})
		mended := begin(t, dir, mistaken, &fakeSource{name: "c", place: "api"})
		mended.expect("after a reload that mends it", "a=192.0.2.1")
		mended.stale("after a reload that mends it", true)
		mended.e.Stop()
		begin(t, dir, nil).e.Stop()
		c, d = &fakeSource{name: "c", place: "api"}, &fakeSource{name: "d", place: "api", uid: "d"}
		second := begin(t, dir, nil, c, d)
		second.expect("after mistakes", "a=192.0.2.1", "b=192.0.2.2", "no=NXDOMAIN")
		c.show(hosts{"a": "192.0.2.11"})
		second.expect("d is away", "a=192.0.2.11", "b=192.0.2.2", "no=NXDOMAIN")
		second.stale("d is away", true)
		second.e.Stop()

		c, other := &fakeSource{name: "c", place: "api"}, &fakeSource{name: "d", place: "other", uid: "o"}
		third := begin(t, dir, nil, c, other)
		third.expect("another is named d", "a=192.0.2.11", "b=SERVFAIL", "no=SERVFAIL")
		if a, b := third.ede("a"), third.ede("b"); !slices.Equal(a, []uint16{dns.ExtendedErrorCodeStaleAnswer}) || !slices.Equal(b, []uint16{dns.ExtendedErrorCodeNotReady}) {
			t.Errorf("extended errors %v of an answer, %v of SERVFAIL", a, b)
		}
		c.show(hosts{"a": "192.0.2.12"})
		third.e.Stop()

		d = &fakeSource{name: "d", place: "api", uid: "d"}
		fourth := begin(t, dir, nil, &fakeSource{name: "c", place: "api"}, d)
		fourth.expect("and d is back", "a=192.0.2.12", "b=192.0.2.2")
		d.show(nil)
		wait(gatherTime)
		fourth.e.Stop()
		fifth := begin(t, dir, nil, &fakeSource{name: "c", place: "api"}, &fakeSource{name: "d", place: "api", uid: "d"})
		fifth.expect("all of it listed", "a=192.0.2.12", "b=NXDOMAIN")
	})
}

// TestStateOfAnotherCluster: where another cluster has been set up in the place of the one
// that the state is of, its UID counts once it is known (rule 2.3).
func TestStateOfAnotherCluster(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api", uid: "one"}
		first := begin(t, dir, nil, f)
		f.show(hosts{"a": "192.0.2.1"})
		first.e.Stop()
		uid := func(r *remembering) string { return r.e.Snapshot().Objects().Clusters[0].UID }
		same := &fakeSource{name: "c", place: "api", uid: "c"} // may not read it
		second := begin(t, dir, nil, same)
		same.show(hosts{"a": "192.0.2.1"})
		if got := uid(second); got != "one" {
			t.Errorf("UID %s where it cannot be read", got)
		}
		second.e.Stop()
		other := &fakeSource{name: "c", place: "api", uid: "two"}
		third := begin(t, dir, nil, other)
		if got := uid(third); got != "one" {
			t.Errorf("UID %s from the state", got)
		}
		other.show(hosts{"b": "192.0.2.2"})
		wait(gatherTime)
		third.expect("another cluster", "a=NXDOMAIN", "b=192.0.2.2")
		if got := uid(third); got != "two" {
			t.Errorf("UID %s of another cluster", got)
		}
	})
}
