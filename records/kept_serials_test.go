package records_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// TestKeptSerial: what a Zone's status says was published last is never fallen behind, whoever wrote it, and is kept for the same content
// (rule 6.7).
func TestKeptSerial(t *testing.T) {
	day := func(d int) time.Time { return time.Date(2026, 11, d, 0, 0, 0, 0, time.UTC) }
	w := recordstest.New(t, recordstest.Zones("example.com."))
	kept := func(hash string, serial uint32) string {
		if serial == 0 {
			return "zone dns/z example.com. delegate=*/*"
		}
		return fmt.Sprintf("zone dns/z example.com. delegate=*/* hash=%s serial=%d", hash, serial)
	}
	record := func(n int) string { return fmt.Sprintf("record dns/r a.example.com. A 192.0.2.%d", n) }
	step := func(what string, now time.Time, want uint32, texts ...string) {
		t.Helper()
		w.Apply(t, texts...)
		w.Now = now
		advance(w)
		if got := w.Snapshot.Zone("example.com.").Serial(); got != want {
			t.Fatalf("%s: serial %d, want %d", what, got, want)
		}
	}
	restart := func() { w.Snapshot, w.Whole = nil, nil }
	step("first", day(21), 2026112100, kept("", 0), record(1))
	step("changed on the same day", day(21), 2026112101, record(2))
	step("the clock is a day behind", day(20), 2026112102, record(3))
	step("the next day", day(22), 2026112200, record(4))
	hash := w.Snapshot.Zone("example.com.").Hash()
	step("another replica has published the same with a higher serial", day(22), 2026112207, kept(hash, 2026112207))
	step("or with a lower one, which was overtaken", day(22), 2026112207, kept(hash, 2026112205))
	step("other content was published with a higher serial", day(22), 2026112300, kept("other", 2026112299))
	w = recordstest.New(t, w.Options, record(4))
	step("a restart after a hundred changes of one day", day(21), 2026112200, kept("other", 2026112199))
	step("the next morning, whose first serial is taken", day(22), 2026112201, record(6))
	step("and back", day(22), 2026112202, record(4))
	restart()
	step("a restart, with the same content", day(23), 7, kept(hash, 7))
	restart()
	step("a restart, with other content", day(23), 2026112400, kept("other", 2026112399))
	restart()
	step("at the last serial there is, which that of the day follows (RFC 1982)", day(23), 2026112300, kept("other", 1<<32-1))
	step("and after it", day(23), 2026112301, record(5))
	if v := w.Snapshot.Verdict("c1", api.Ref{
		Kind: api.KindZone,
		Name: "dns/z",
	}); v.Kept != (api.Kept{Hash: w.Snapshot.Zone("example.com.").Hash(), Serial: 2026112301}) {
		t.Errorf("the verdict on the Zone has %+v", v.Kept)
	}
}

// TestSerialOfZoneThatComesBack: a Zone that comes back with content that it had once does not fall behind what was published since
// (rule 6.7).
func TestSerialOfZoneThatComesBack(t *testing.T) {
	w := recordstest.New(t, recordstest.Zones("example.org."), "zone dns/z example.org. delegate=*",
		"zone dns/sub sub.example.org. delegate=*", "record dns/r a.sub.example.org. A 192.0.2.1")
	k := w.Step(t).Verdict("c1", api.Ref{Kind: api.KindZone, Name: "dns/sub"}).Kept
	again := fmt.Sprintf("zone dns/sub sub.example.org. delegate=* hash=%s serial=%d", k.Hash, k.Serial)
	w.Apply(t, again, "record dns/r a.sub.example.org. A 192.0.2.2")
	last := w.Step(t).Zone("sub.example.org.").Serial()
	w.Apply(t, "delete zone dns/sub")
	w.Step(t)
	w.Apply(t, again, "record dns/r a.sub.example.org. A 192.0.2.1")
	if got := w.Step(t).Zone("sub.example.org.").Serial(); int32(got-last) <= 0 {
		t.Errorf("other content than that of serial %d has serial %d", last, got)
	}
}
