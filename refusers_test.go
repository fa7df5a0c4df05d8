package kuadrant

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns/coredns/plugin/transfer"
)

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
		checkLines(t, "the first failure", n.logged(), "NOTIFY of zone example.", "NOTIFY of zone example.")
		n.to.refuse(0, `"i/o timeout"`, two)
		n.change(100)
		time.Sleep(12 * time.Second)
		n.expect(t, "one of them is back", "example.org. at 25s")
		others("it has waited for nobody", "example.org. at 13s", "example.org. at 3s")
		checkLines(t, "one of them is back, for one zone", n.logged())
		n.record("www-com", "www.example.com.", "A", "192.0.2.1")
		n.publish()
		n.expect(t, "both zones", "example.com. at 25s")
		checkLines(t, "one of them is back", n.logged(), "NOTIFY is taken again by 192.0.2.1:53, that of zone example.com. too")
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
		n.zone("example.org.")
		for i := range maxNotifying {
			n.zone(fmt.Sprintf("z%d.example.org.", i))
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

// TestASecondaryThatDiesLaterIsTold: one that has been dead for long, such as one that was
// taken down, or one that refuses a zone, does not hide that another one has died since.
func TestASecondaryThatDiesLaterIsTold(t *testing.T) {
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
		step(0, "NOTIFY of zone example.org. is not taken by 192.0.2.1:53: rcode was \"REFUSED\": ")
		n.to.refuse(0, `rcode was "REFUSED"`, one, two)
		step(1, "NOTIFY of zone example.org. is not taken by 192.0.2.2:53: rcode was \"REFUSED\": ")
		step(2)
		n.to.refuse(0, `"read udp: i/o timeout"`, one, two)
		step(3, "NOTIFY of zone example.org. is not taken by 192.0.2.1:53: \"read udp: i/o timeout\": ",
			"NOTIFY of zone example.org. is not taken by 192.0.2.2:53: \"read udp: i/o timeout\": ")
		n.to.refuse(0, `rcode was "REFUSED"`, one, two)
		step(4)
		n.to.refuse(0, `"read udp: i/o timeout"`, two)
		step(5, "NOTIFY is taken again by 192.0.2.1:53, that of zone example.org. too")
		n.to.refuse(0, "")
		step(6, "NOTIFY is taken again by 192.0.2.2:53, that of zone example.org. too")
		n.to.refuse(0, "", one)
		step(7, "NOTIFY of zone example.org. is not taken by 192.0.2.1:53: no reason is known: ")
	})
}

// TestRefusersOfZonesThatGo: of a zone that is gone nobody is told again, so its failures
// are forgotten, and nothing of them is left in memory.
func TestRefusersOfZonesThatGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNotifying(t)
		n.zone("example.org.")
		n.zone("sub.example.org.")
		n.to.refuse(0, `rcode was "NOTAUTH"`, "192.0.2.1:53")
		n.publish()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		checkLines(t, "start", n.logged(), "NOTIFY of zone ") // one for all three
		n.withdraw("sub.example.org.")
		n.publish()
		time.Sleep(time.Second)
		synctest.Wait()
		n.notifier.mu.Lock()
		at, told := n.refusers["192.0.2.1:53"], len(n.listeners[0].told)
		n.notifier.mu.Unlock()
		if at == nil || len(at.zones) != 2 || told != 2 {
			t.Errorf("%d zones told of, refused are %v, want two", told, at)
		}
		n.zone("sub.example.org.")
		n.to.refuse(6*time.Second, `rcode was "NOTAUTH"`, "192.0.2.1:53")
		n.publish()
		time.Sleep(2 * time.Second)
		n.withdraw("sub.example.org.") // while its secondary thinks it over
		n.publish()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		n.notifier.mu.Lock()
		defer n.notifier.mu.Unlock()
		if told := len(n.listeners[0].told); len(at.zones) != 2 || told != 2 {
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
		errors.New(""):               {to: unnamed, why: "no reason is known"},
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
