package kuadrant

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns/coredns/plugin/transfer"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
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
	*boottest.ZoneObjects
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
	n := &notifying{ZoneObjects: boottest.NewZoneObjects(), to: &secondaries{began: time.Now()}, opt: &records.Options{Zones: []records.ZoneOptions{
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
	edit := n.Cluster.Zones.Edit()
	edit.Delete(name)
	n.Cluster.Zones = edit.Map()
	n.Changed[api.Ref{Kind: api.KindZone, Name: name}] = true
}

// publish compiles what there is now and publishes it.
func (n *notifying) publish() {
	n.now.Store(records.Compile(n.now.Load(), api.Objects{Clusters: []*api.Cluster{n.Published()}}, n.opt, time.Now()))
	n.ring()
}

func (n *notifying) change(i int) {
	n.Record("www", "www.example.org.", "A", fmt.Sprintf("10.0.%d.%d", i>>8, i&255))
	n.publish()
}

func (n *notifying) expect(t *testing.T, when string, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := n.to.take(); !slices.Equal(got, want) {
		t.Errorf("%s: told %q, want %q", when, got, want)
	}
}

// TestNotify goes by the clock: each zone once after the start, each change at once,
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
		n.Record("bad", "bad.example.org.", "A", "nonsense")
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
		n.Zone("example.org.")
		n.Zone("sub.example.org.")
		n.Record("ns", "sub.example.org.", "NS", "ns.example.net.")
		n.publish()
		n.expect(t, "a zone below", "example.org. at 10s", "sub.example.org. at 10s")
		time.Sleep(time.Second)
		n.Record("ns", "sub.example.org.", "NS", "ns2.example.net.")
		n.publish()
		n.expect(t, "what both hold", "example.org. at 11s", "sub.example.org. at 11s")
		n.Record("ns", "sub.example.org.", "NS", "ns3.example.net.")
		n.publish()
		n.withdraw("sub.example.org.")
		n.publish()
		time.Sleep(time.Second)
		n.expect(t, "it has gone meanwhile", "example.org. at 12s")
		n.Zone("sub.example.org.")
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
		n.Cluster.Listings[api.KindRecord] = api.NotListed
		n.publish()
		n.change(1)
		time.Sleep(time.Minute)
		n.expect(t, "not all is listed")
		n.Cluster.Listings[api.KindRecord] = api.Listed
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
			n.Zone(z)
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
		n.Zone("example.org.")
		for i := range 98 {
			n.Zone(fmt.Sprintf("z%d.example.org.", i))
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

// TestNotifyOnTheWire goes through a whole CoreDNS: what `to` names is told of the
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
	s.Zone("example.org.")
	s.Zone("sub.example.org.")
	s.compile()
	expect("NOTIFY example.org.", "NOTIFY sub.example.org.")
	s.Record("a", "a.sub.example.org.", "A", "192.0.2.1")
	s.compile()
	expect("NOTIFY sub.example.org.")
}

// refuse has every NOTIFY fail for these addresses, as CoreDNS's transfer plugin says it,
// once it has taken so long.
func (s *secondaries) refuse(takes time.Duration, why string, who ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takes, s.err = takes, nil
	for _, addr := range who {
		s.err = errors.Join(s.err, fmt.Errorf("notify for zone %q was not accepted by %q: %s", "example.org.", addr, why))
	}
}

// failures returns how often the address has not taken NOTIFY, in this process.
func failures(t *testing.T, addr string) float64 {
	t.Helper()
	return gathered(t, notifyFailures)["notify_failures_total{"+addr+"}"]
}

// checkLines compares lines with what they are to begin with.
func checkLines(t *testing.T, when string, got []string, want ...string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("%s: logged\n%s\nwant\n%s", when, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, line := range got {
		if strings.ContainsAny(line, "\n\r") {
			t.Errorf("%s: %q is more than one line", when, line)
		}
	}
}

// TestNotifyOfTheDead: secondaries that do not answer hold up neither what is published,
// nor other zones, nor those of other server blocks, nor the end; and the log has one line
// for each of them when that begins, and one when it ends.
func TestNotifyOfTheDead(t *testing.T) {
	const one, two, lives = "192.0.2.1:53", "192.0.2.2:53", "192.0.2.3:53"
	synctest.Test(t, func(t *testing.T) {
		n := newNotifying(t)
		other := &secondaries{began: n.to.began}
		n.listen(map[string]bool{"example.com.": true, "example.org.": true}, other.notify)
		others := func(when string, want ...string) {
			t.Helper()
			if got := other.take(); !slices.Equal(got, want) {
				t.Errorf("%s: the other block was told %q, want %q", when, got, want)
			}
		}
		before := map[string]float64{one: failures(t, one), two: failures(t, two), lives: failures(t, lives)}
		n.to.refuse(12*time.Second, `"i/o timeout"`, one, two)
		n.publish()
		time.Sleep(notifyPause)
		n.expect(t, "start", "example.com. at 1s", "example.org. at 1s")
		others("start", "example.com. at 1s", "example.org. at 1s")
		time.Sleep(time.Second)
		n.change(0)
		synctest.Wait()
		for i := range 10 { // after the first one was told
			n.change(i + 1)
		}
		n.expect(t, "while they are being told")
		others("while the first are being told", "example.org. at 2s")
		time.Sleep(10 * time.Second)
		checkLines(t, "before all have had their time", n.logged())
		time.Sleep(time.Second)
		n.expect(t, "once more", "example.org. at 13s")
		checkLines(t, "the first failure", n.logged(), "notify ", "notify ")
		n.to.refuse(0, `"i/o timeout"`, two)
		n.change(100)
		time.Sleep(12 * time.Second)
		n.expect(t, "one of them is back", "example.org. at 25s")
		others("it has waited for nobody", "example.org. at 13s", "example.org. at 3s")
		checkLines(t, "one of them is back, for one zone", n.logged())
		n.Record("www-com", "www.example.com.", "A", "192.0.2.1")
		n.publish()
		n.expect(t, "both zones", "example.com. at 25s")
		checkLines(t, "one of them is back", n.logged(), "notify 192.0.2.1:53: accepted again (zone \"example.com.\")")
		for addr, times := range map[string]float64{one: 3, two: 5, lives: 0} {
			if got := failures(t, addr) - before[addr]; got != times {
				t.Errorf("%s: %v failures are counted, want %v", addr, got, times)
			}
		}
		n.to.refuse(time.Hour, "")
		time.Sleep(time.Minute)
		n.change(101)
		synctest.Wait()
		begin := time.Now()
		if n.stop(); time.Since(begin) > 0 {
			t.Errorf("the end takes %v", time.Since(begin))
		}
		n.change(102)
		time.Sleep(2 * time.Hour)
		n.expect(t, "after the end", "example.org. at 1m25s")
	})
}

// TestASilentSecondaryHoldsUpNoOtherBlock: with as many zones as are told of at a time too.
func TestASilentSecondaryHoldsUpNoOtherBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNotifying(t)
		n.to.refuse(6*time.Second, `"i/o timeout"`, "192.0.2.1:53")
		other := &secondaries{began: n.to.began}
		n.listen(map[string]bool{"example.com.": true, "example.org.": true}, other.notify)
		n.Zone("example.org.")
		for i := range maxNotifying {
			n.Zone(fmt.Sprintf("z%d.example.org.", i))
		}
		n.publish()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := other.take(); len(got) != maxNotifying+2 {
			t.Errorf("after 2 s the other block was told of %d zones, want %d", len(got), maxNotifying+2)
		}
		n.change(1)
		synctest.Wait()
		if got := other.take(); !slices.Equal(got, []string{"example.org. at 2s"}) {
			t.Errorf("at a change, the other block was told %q", got)
		}
		time.Sleep(time.Minute)
	})
}

// TestASecondaryThatDiesLaterIsLogged: one that has been dead for long, such as one that was
// taken down, or one that refuses a zone, does not hide that another one has died since.
func TestASecondaryThatDiesLaterIsLogged(t *testing.T) {
	const one, two = "192.0.2.1:53", "192.0.2.2:53"
	synctest.Test(t, func(t *testing.T) {
		n := newNotifying(t)
		delete(n.listeners[0].zones, "example.com.")
		step := func(i int, want ...string) {
			t.Helper()
			n.change(i)
			time.Sleep(2 * time.Second)
			synctest.Wait()
			checkLines(t, fmt.Sprint("step ", i), n.logged(), want...)
		}
		n.to.refuse(0, `rcode was "REFUSED"`, one)
		step(0, "notify 192.0.2.1:53: not accepted (zone \"example.org.\"): rcode was \"REFUSED\"; ")
		n.to.refuse(0, `rcode was "REFUSED"`, one, two)
		step(1, "notify 192.0.2.2:53: not accepted (zone \"example.org.\"): rcode was \"REFUSED\"; ")
		step(2)
		n.to.refuse(0, `"read udp: i/o timeout"`, one, two)
		step(3, "notify 192.0.2.1:53: not accepted (zone \"example.org.\"): \"read udp: i/o timeout\"; ",
			"notify 192.0.2.2:53: not accepted (zone \"example.org.\"): \"read udp: i/o timeout\"; ")
		n.to.refuse(0, `rcode was "REFUSED"`, one, two)
		step(4)
		n.to.refuse(0, `"read udp: i/o timeout"`, two)
		step(5, "notify 192.0.2.1:53: accepted again (zone \"example.org.\")")
		n.to.refuse(0, "")
		step(6, "notify 192.0.2.2:53: accepted again (zone \"example.org.\")")
		n.to.refuse(0, "", one)
		step(7, "notify 192.0.2.1:53: not accepted (zone \"example.org.\"): no reason given; ")
	})
}

// TestRefusersOfZonesThatGo: of a zone that is gone nobody is told again, so its failures
// are forgotten, and nothing of them is left in memory.
func TestRefusersOfZonesThatGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNotifying(t)
		n.Zone("example.org.")
		n.Zone("sub.example.org.")
		n.to.refuse(0, `rcode was "NOTAUTH"`, "192.0.2.1:53")
		n.publish()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		checkLines(t, "start", n.logged(), "notify ") // one for all three
		n.withdraw("sub.example.org.")
		n.publish()
		time.Sleep(time.Second)
		synctest.Wait()
		n.notifier.mu.Lock()
		at, told := n.refusers["192.0.2.1:53"], len(n.listeners[0].notified)
		n.notifier.mu.Unlock()
		if at == nil || len(at.zones) != 2 || told != 2 {
			t.Errorf("%d zones told of, refused are %v, want two", told, at)
		}
		n.Zone("sub.example.org.")
		n.to.refuse(6*time.Second, `rcode was "NOTAUTH"`, "192.0.2.1:53")
		n.publish()
		time.Sleep(2 * time.Second)
		n.withdraw("sub.example.org.") // while its secondary thinks it over
		n.publish()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		n.notifier.mu.Lock()
		defer n.notifier.mu.Unlock()
		if told := len(n.listeners[0].notified); len(at.zones) != 2 || told != 2 {
			t.Errorf("%d zones told of, refused are %v, want two", told, at)
		}
	})
}

// TestRefusersApart reads what CoreDNS's own plugin says of two addresses that nobody
// listens at, and errors of other forms.
func TestRefusersApart(t *testing.T) {
	inst, _ := boot(t, fmt.Sprintf("example.org:%d {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\n}\ntransfer {\nto * 127.0.0.1:%d 127.0.0.1:%d\n}\n}",
		freePort(t), t.TempDir(), 1, 2))
	defer func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}()
	told := answering.Load().notifier.listeners
	if len(told) != 1 {
		t.Fatalf("%d transfer plugins", len(told))
	}
	got := takenApart(told[0].notify("example.org."))
	if len(got) != 2 || got[0].to != "127.0.0.1:1" || got[1].to != "127.0.0.1:2" || got[0].why == "" || got[0].answer {
		t.Errorf("two addresses that nobody listens at: %+v", got)
	}
	for err, want := range map[error]notTaken{
		errors.New("a\nb"):           {to: unnamed, why: "a b"},
		errors.New(""):               {to: unnamed, why: "no reason given"},
		transfer.ErrNotAuthoritative: {to: unnamed, why: "not authoritative for zone"},
		errors.New(`notify for zone "a\"b.\n" was not accepted by "[::1]:53": rcode was "SERVFAIL"`): {to: "[::1]:53", why: `rcode was "SERVFAIL"`, answer: true},
	} {
		if got := takenApart(err); len(got) != 1 || got[0] != want {
			t.Errorf("%q: %+v, want %+v", err, got, want)
		}
	}
}

// TestNotifyAfterReloadOfOneThatLags: where the secondaries of one server block know less
// than those of another, those of the next Corefile are told both.
func TestNotifyAfterReloadOfOneThatLags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := newNotifying(t)
		other := &secondaries{began: old.to.began}
		both := map[string]bool{"example.com.": true, "example.org.": true}
		old.listen(both, other.notify)
		old.to.refuse(6*time.Second, `"i/o timeout"`, "192.0.2.1:53")
		old.publish()
		time.Sleep(2 * time.Second)
		old.change(1)
		synctest.Wait()
		old.to.take()
		other.take()
		old.use(nil)
		old.listen(both, old.to.notify)
		old.listen(both, other.notify)
		time.Sleep(time.Minute)
		old.expect(t, "the one that lags", "example.org. at 3s")
		if got := other.take(); !slices.Equal(got, []string{"example.org. at 3s"}) {
			t.Errorf("the other one was told %q", got)
		}
	})
}
