package kuadrant

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// secondaries take NOTIFYs in a test: which, and when, counted from the first look at the
// clock.
type secondaries struct {
	mu    sync.Mutex
	began time.Time
	told  []string
	takes time.Duration // each one
	err   error
}

func (s *secondaries) notify(zone string) error {
	s.mu.Lock()
	s.told = append(s.told, fmt.Sprintf("%s at %v", zone, time.Since(s.began)))
	takes, err := s.takes, s.err
	s.mu.Unlock()
	time.Sleep(takes)
	return err
}

// take returns what has come since the last call.
func (s *secondaries) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	told := s.told
	s.told = nil
	slices.Sort(told)
	return told
}

// notifying is a notifier of zones that a test changes, in a synctest bubble.
type notifying struct {
	*notifier
	*zoneObjects
	opt  *records.Options
	now  atomic.Pointer[records.Snapshot]
	to   *secondaries
	stop func()

	mu   sync.Mutex // guards logs
	logs []string
}

func (n *notifying) logf(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.logs = append(n.logs, fmt.Sprintf(format, args...))
}

// logged returns what has been logged since the last call.
func (n *notifying) logged() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	logs := n.logs
	n.logs = nil
	return logs
}

// newNotifying returns one that runs, with secondaries of example.org and of example.com.
func newNotifying(t *testing.T) *notifying {
	n := &notifying{zoneObjects: newZoneObjects(), to: &secondaries{began: time.Now()}, opt: &records.Options{Zones: []records.ZoneOptions{
		{Origin: "example.org.", TTL: 60, LoadBalancedTTL: 300}, {Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300},
	}}}
	n.notifier = newNotifier(n.now.Load)
	n.warnf, n.infof = n.logf, n.logf
	n.listen(map[string]bool{"example.org.": true, "example.com.": true}, n.to.notify)
	n.start(t)
	return n
}

func (n *notifying) start(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { n.run(ctx) })
	n.stop = func() {
		cancel()
		done.Wait()
	}
	t.Cleanup(n.stop)
}

// withdraw takes the Zone of a name away.
func (n *notifying) withdraw(zone string) {
	name := "dns/" + strings.ReplaceAll(zone, ".", "-")
	edit := n.cluster.Zones.Edit()
	edit.Delete(name)
	n.cluster.Zones = edit.Map()
	n.changed[api.Ref{Kind: api.KindZone, Name: name}] = true
}

// publish compiles what there is now and publishes it.
func (n *notifying) publish() {
	n.now.Store(records.Compile(n.now.Load(), api.Objects{Clusters: []*api.Cluster{n.published()}}, n.opt, time.Now()))
	n.ring()
}

func (n *notifying) change(i int) {
	n.record("www", "www.example.org.", "A", fmt.Sprintf("10.0.%d.%d", i>>8, i&255))
	n.publish()
}

func (n *notifying) expect(t *testing.T, when string, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := n.to.take(); !slices.Equal(got, want) {
		t.Errorf("%s: told %q, want %q", when, got, want)
	}
}

// TestNotify is case F11 by the clock: each zone once after the start, each change at once,
// and many changes in a second together, the last of them too.
func TestNotify(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNotifying(t)
		n.publish()
		n.expect(t, "the servers may not listen yet")
		time.Sleep(notifyPause)
		n.expect(t, "start", "example.com. at 1s", "example.org. at 1s")
		time.Sleep(9 * time.Second)
		n.expect(t, "nothing has changed")
		n.change(0)
		n.expect(t, "one change", "example.org. at 10s")
		time.Sleep(10 * time.Second)
		for i := range 500 {
			n.change(i + 1)
			time.Sleep(2 * time.Millisecond)
		}
		n.expect(t, "500 changes in a second", "example.org. at 20s", "example.org. at 21s")
		n.change(1000)
		n.expect(t, "too soon")
		time.Sleep(time.Second)
		n.expect(t, "the last change", "example.org. at 22s")
		time.Sleep(time.Minute)
		n.record("bad", "bad.example.org.", "A", "nonsense")
		n.publish()
		n.expect(t, "what changes no serial")
		if logs := n.logged(); len(logs) > 0 {
			t.Errorf("logged: %q", logs)
		}
	})
}

// TestNotifyOfZonesBelow: a zone that comes is told of, and not where it has gone before.
func TestNotifyOfZonesBelow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNotifying(t)
		n.publish()
		time.Sleep(notifyPause)
		n.expect(t, "start", "example.com. at 1s", "example.org. at 1s")
		time.Sleep(9 * time.Second)
		n.zone("example.org.")
		n.zone("sub.example.org.")
		n.record("ns", "sub.example.org.", "NS", "ns.example.net.")
		n.publish()
		n.expect(t, "a zone below", "example.org. at 10s", "sub.example.org. at 10s")
		time.Sleep(time.Second)
		n.record("ns", "sub.example.org.", "NS", "ns2.example.net.")
		n.publish()
		n.expect(t, "what both hold", "example.org. at 11s", "sub.example.org. at 11s")
		n.record("ns", "sub.example.org.", "NS", "ns3.example.net.")
		n.publish()
		n.withdraw("sub.example.org.")
		n.publish()
		time.Sleep(time.Second)
		n.expect(t, "it has gone meanwhile", "example.org. at 12s")
		n.zone("sub.example.org.")
		n.publish()
		time.Sleep(time.Second)
		n.expect(t, "it is back", "sub.example.org. at 12s") // the zone above has had the NS record all the time
	})
}

// TestNotifyOfWhatIsKnown: a zone that is not transferred, because names may be missing, is
// not told of until they are not (rule 7.4).
func TestNotifyOfWhatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNotifying(t)
		n.cluster.Listings[api.KindRecord] = api.NotListed
		n.publish()
		n.change(1)
		time.Sleep(time.Minute)
		n.expect(t, "not all is listed")
		n.cluster.Listings[api.KindRecord] = api.Listed
		n.publish()
		n.expect(t, "all is", "example.com. at 1m0s", "example.org. at 1m0s")
	})
}

// TestNotifyBlocks: a server block's secondaries are told of its zones, and of those below
// that no other zone of the Corefile is closer to.
func TestNotifyBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNotifying(t)
		n.opt.Zones = append(n.opt.Zones, records.ZoneOptions{Origin: "own.example.org.", TTL: 60, LoadBalancedTTL: 300})
		other := &secondaries{began: n.to.began}
		n.listen(map[string]bool{"own.example.org.": true, "example.com.": true}, other.notify)
		for _, z := range []string{"example.org.", "sub.example.org.", "own.example.org.", "x.own.example.org."} {
			n.zone(z)
		}
		n.publish()
		time.Sleep(notifyPause)
		n.expect(t, "the first block", "example.com. at 1s", "example.org. at 1s", "sub.example.org. at 1s")
		if got, want := other.take(), []string{"example.com. at 1s", "own.example.org. at 1s", "x.own.example.org. at 1s"}; !slices.Equal(got, want) {
			t.Errorf("the second block: %q", got)
		}
	})
}

// TestNotifyManyZones: so many at a time, and all in the end.
func TestNotifyManyZones(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNotifying(t)
		n.to.takes = 2 * time.Second
		n.zone("example.org.")
		for i := range 98 {
			n.zone(fmt.Sprintf("z%d.example.org.", i))
		}
		n.publish()
		time.Sleep(notifyPause)
		synctest.Wait()
		if got := n.to.take(); len(got) != maxNotifying {
			t.Errorf("%d at a time", len(got))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := n.to.take(); len(got) != 100-maxNotifying {
			t.Errorf("%d afterwards", len(got))
		}
	})
}

// TestNotifyAfterReload: the transfer plugins of the next Corefile go on from what those before were told: nothing is told
// twice, and no change is lost.
func TestNotifyAfterReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNotifying(t)
		n.publish()
		time.Sleep(notifyPause)
		n.expect(t, "start", "example.com. at 1s", "example.org. at 1s")
		n.change(1)
		n.expect(t, "too soon")
		n.use(nil)
		n.use(nil)
		next := n.listen(map[string]bool{"example.org.": true, "example.com.": true}, n.to.notify)
		time.Sleep(time.Minute)
		n.expect(t, "what those before owed", "example.org. at 2s")
		n.change(2)
		n.expect(t, "another change", "example.org. at 1m1s")
		n.use([]*listening{next}) // as where a reload fails
		time.Sleep(time.Minute)
		n.expect(t, "taken back")
	})
}

// TestNotifyOnTheWire is case F11 through a whole CoreDNS: what `to` names is told of the
// zones of the block, over UDP, and of a zone below that comes.
func TestNotifyOnTheWire(t *testing.T) {
	to, got := notified(t)
	s := serveZones(t, fmt.Sprintf("transfer example.org {\nto %s\n}", to), "")
	expect := func(want ...string) {
		t.Helper()
		if now := take(t, got, len(want)); !slices.Equal(now, want) {
			t.Errorf("told %q, want %q", now, want)
		}
	}
	expect("NOTIFY example.org.")
	s.zone("example.org.")
	s.zone("sub.example.org.")
	s.compile()
	expect("NOTIFY example.org.", "NOTIFY sub.example.org.")
	s.record("a", "a.sub.example.org.", "A", "192.0.2.1")
	s.compile()
	expect("NOTIFY sub.example.org.")
}
