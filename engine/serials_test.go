package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// TestStartWithWriter: where a writer keeps serials nothing is published before it is known
// which; then queries are answered, and what nobody has kept is not shown to
// secondaries. A reload goes on from there.
func TestStartWithWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := func(before *Engine) (*running, *fakeSource) {
			f := &fakeSource{name: "c", place: "api"}
			e := before
			if before == nil {
				e = New(log, nil)
			}
			b := &served{Zones: []string{"example.com."}, ZoneSet: map[string]bool{"example.com.": true}}
			keeps := fed(f)
			keeps.keeps = true
			apply(t, e, &settings{opt: simpleOptions(60), feeds: []*feed{keeps}})
			return &running{t: t, plugin: &answerer{block: b, engine: e}}, f
		}
		keep := func(r *running) {
			r.plugin.engine.keep(kept(r.plugin.engine.Snapshot()))
			synctest.Wait()
		}
		first, f := start(nil)
		f.show(hosts{"a": "192.0.2.1"})
		first.expect("nothing is known of serials", "a=SERVFAIL", "no=SERVFAIL")
		first.plugin.engine.keep(api.Serials{})
		synctest.Wait()
		first.expect("nothing is kept", "a=192.0.2.1", "no=NXDOMAIN")
		time.Sleep(time.Minute)
		shown := func(r *running) *records.Zone { return r.plugin.engine.Snapshot().Zone("example.com.").Shown() }
		if shown(first) != nil {
			t.Error("nothing is kept, and something is shown to secondaries")
		}
		keep(first)
		time.Sleep(time.Minute)
		serial := first.plugin.engine.Snapshot().Zone("example.com.").Serial()
		if shown(first) == nil {
			t.Error("it was kept, and nothing is shown to secondaries")
		}
		f.show(hosts{"a": "192.0.2.1", "b": "192.0.2.2"})
		time.Sleep(time.Minute)
		if z := first.plugin.engine.Snapshot().Zone("example.com."); z.Serial() != serial {
			t.Errorf("a change that nobody has kept: serial %d after %d", z.Serial(), serial)
		}
		second, g := start(first.plugin.engine)
		second.expect("after a reload", "a=192.0.2.1", "b=192.0.2.2")
		before := shown(second).Names()
		if z := second.plugin.engine.Snapshot().Zone("example.com."); z.Serial() != serial {
			t.Errorf("after a reload the serial is %d, and was %d", z.Serial(), serial)
		}
		g.show(hosts{"a": "192.0.2.1", "b": "192.0.2.2"})
		keep(second)
		if z := second.plugin.engine.Snapshot().Zone("example.com."); z.Serial() == serial || shown(second).Names() != before+1 {
			t.Errorf("kept after a reload: serial %d after %d, %d names", z.Serial(), serial, shown(second).Names())
		}
	})
}
