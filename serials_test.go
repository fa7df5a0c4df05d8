package kuadrant

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/controller"
	"github.com/coredns-kuadrant/kuadrant/corefile"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// keep tells the engine that these serials are kept, and no owners, and has it compile.
func (e *engine) keep(serials api.Serials) { e.takeKept(e.news(serials)) }

// news is that these serials are kept, beside those of Zones, and no owners.
func (e *engine) news(serials api.Serials) controller.Kept {
	kept := controller.Kept{Known: true, Serials: serials}
	before := e.keeping.newest.Serials
	kept.SerialsChanged = slices.AppendSeq(slices.Collect(maps.Keys(maps.Collect(before.All()))), maps.Keys(maps.Collect(serials.All())))
	return kept
}

// kept returns what a writer has kept that has kept all that snap proposes.
func kept(snap *records.Snapshot) api.Serials {
	edit := api.Serials{}.Edit()
	for _, p := range snap.Proposals() {
		edit.Set(p.Origin, p.Kept)
	}
	return edit.Map()
}

// TestTransferOfWhatIsKept: where a writer keeps serials, answers are the newest, and SOA,
// AXFR and IXFR show the newest version that is kept, whole (rule 6.7).
func TestTransferOfWhatIsKept(t *testing.T) {
	s := serveZones(t, toAll, "")
	s.fill()
	s.engine.keeping.expect("c")
	s.engine.keeping.put(s.engine.news(kept(s.compile())))
	first := s.compile().Zone("example.org.").Shown()
	want := contentOf(t, first)
	var second *records.Snapshot
	for i := range 3 {
		s.record("www-a", "www.example.org.", "A", fmt.Sprintf("198.51.100.%d", i))
		s.record("new", "new.example.org.", "TXT", fmt.Sprint(i))
		snap := s.compile()
		if got := exchange(t, s.addr, "new.example.org.", dns.TypeTXT).Answer; len(got) != 1 || got[0].(*dns.TXT).Txt[0] != fmt.Sprint(i) {
			t.Errorf("change %d is answered with %v", i, got)
		}
		soa, got := wholeZone(t, xfr(t, s.addr, axfrOf("example.org."), nil))
		served := exchange(t, s.addr, "example.org.", dns.TypeSOA).Answer[0]
		denial := exchange(t, s.addr, "no.example.org.", dns.TypeA).Ns[0].(*dns.SOA)
		if soa.Serial != first.Serial() || served.String() != soa.String() || denial.Serial != soa.Serial || !maps.Equal(got, want) {
			t.Errorf("change %d, which nobody has kept: SOA %v, denied with %v, transferred with %v:\n%v", i, served, denial, soa, got)
		}
		if got := xfr(t, s.addr, ixfrOf("example.org.", first.Serial()), nil).rrs; len(got) != 1 {
			t.Errorf("change %d: IXFR from what is shown has %v", i, got)
		}
		if i == 1 {
			second = snap
		}
	}
	s.engine.keeping.put(s.engine.news(kept(second))) // there is a newer one by now
	s.compile()
	if _, got := wholeZone(t, xfr(t, s.addr, axfrOf("example.org."), nil)); !maps.Equal(got, contentOf(t, second.Zone("example.org."))) {
		t.Errorf("the second change was kept, and transferred is\n%v", got)
	}
	s.engine.keeping.put(s.engine.news(kept(s.compile())))
	last := s.compile().Zone("example.org.").Shown()
	now := contentOf(t, last)
	if now["new.example.org.\t300\tIN\tTXT\t\"2\""] == false || last.Serial() == first.Serial() {
		t.Errorf("serial %d: %v", last.Serial(), now)
	}
	soa, got := wholeZone(t, xfr(t, s.addr, axfrOf("example.org."), nil))
	if soa.Serial != last.Serial() || !maps.Equal(got, now) {
		t.Errorf("transferred with %v:\n%v", soa, got)
	}
	deltas, ok := last.Since(first.Serial())
	ixfr := xfr(t, s.addr, ixfrOf("example.org.", first.Serial()), nil)
	if content := applyIXFR(t, want, ixfr.rrs, first.Serial(), len(deltas)); !ok || !maps.Equal(content, now) {
		t.Errorf("IXFR leads to %v", content)
	}
}

// TestStartWithWriter: where a writer keeps serials nothing is published before it is known
// which; then queries are answered, and what nobody has kept is neither transferred nor told
// of. A reload goes on from there.
func TestStartWithWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n *notifier
		start := func(before *engine) (*running, *fakeSource, *atomic.Int32) {
			f, told := &fakeSource{name: "c", place: "api"}, new(atomic.Int32)
			e := before
			if before == nil {
				e = newEngine(log)
				n = notifierOf(e)
			}
			b := &corefile.Block{Zones: []string{"example.com."}, ZoneSet: map[string]bool{"example.com.": true}}
			keeps := fed(f)
			keeps.keeps = true
			apply(t, e, &settings{opt: simpleOptions(60), feeds: []*feed{keeps}})
			n.use(nil)
			n.listen(b.ZoneSet, func(string) error { told.Add(1); return nil })
			return &running{t: t, plugin: &Kuadrant{block: b, engine: e}}, f, told
		}
		keep := func(r *running) {
			r.plugin.engine.keep(kept(r.plugin.engine.snap.Load()))
			synctest.Wait()
		}
		first, f, told := start(nil)
		f.show(hosts{"a": "192.0.2.1"})
		first.expect("nothing is known of serials", "a=SERVFAIL", "no=SERVFAIL")
		first.plugin.engine.keep(api.Serials{})
		synctest.Wait()
		first.expect("nothing is kept", "a=192.0.2.1", "no=NXDOMAIN")
		time.Sleep(time.Minute)
		if _, err := first.plugin.Transfer("example.com.", 0); !errors.Is(err, errNotKept) || told.Load() != 0 {
			t.Errorf("nothing is kept, and a transfer ends with %v, NOTIFYs %d", err, told.Load())
		}
		keep(first)
		time.Sleep(time.Minute)
		serial := first.plugin.engine.snap.Load().Zone("example.com.").Serial()
		if n := countTransferred(t, first); n == 0 || told.Load() != 1 {
			t.Errorf("after it was kept %d records are transferred, NOTIFYs %d", n, told.Load())
		}
		f.show(hosts{"a": "192.0.2.1", "b": "192.0.2.2"})
		time.Sleep(time.Minute)
		if z := first.plugin.engine.snap.Load().Zone("example.com."); z.Serial() != serial || told.Load() != 1 {
			t.Errorf("a change that nobody has kept: serial %d after %d, NOTIFYs %d", z.Serial(), serial, told.Load())
		}
		second, g, _ := start(first.plugin.engine)
		second.expect("after a reload", "a=192.0.2.1", "b=192.0.2.2")
		before := countTransferred(t, second)
		if z := second.plugin.engine.snap.Load().Zone("example.com."); z.Serial() != serial {
			t.Errorf("after a reload the serial is %d, and was %d", z.Serial(), serial)
		}
		g.show(hosts{"a": "192.0.2.1", "b": "192.0.2.2"})
		keep(second)
		if z := second.plugin.engine.snap.Load().Zone("example.com."); z.Serial() == serial || countTransferred(t, second) != before+1 {
			t.Errorf("kept after a reload: serial %d after %d, %d records", z.Serial(), serial, countTransferred(t, second))
		}
	})
}

// notifierOf lets a notifier of e run, which is new.
func notifierOf(e *engine) *notifier {
	n := newNotifier(e.snap.Load)
	e.published = n.ring
	e.done.Go(func() { n.run(e.ctx) })
	return n
}

// countTransferred returns how many records an AXFR of example.com has.
func countTransferred(t *testing.T, r *running) (n int) {
	t.Helper()
	ch, err := r.plugin.Transfer("example.com.", 0)
	if err != nil {
		t.Fatal(err)
	}
	for part := range ch {
		n += len(part)
	}
	return n
}
