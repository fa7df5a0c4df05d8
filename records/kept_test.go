package records

import (
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestKeptSerial: what a Zone's status says was published last is never fallen behind,
// whoever wrote it, and is kept for the same content (rule 6.7, cases C4 to C8).
func TestKeptSerial(t *testing.T) {
	day := func(d int) time.Time { return time.Date(2026, 11, d, 0, 0, 0, 0, time.UTC) }
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60}}}
	w := newWorld("c")
	zone := func(kept api.Kept) {
		w.setZone(0, "dns/z", &api.Zone{DomainName: "example.com.", TTL: 360, Kept: kept, Delegations: []api.Delegation{{Records: []api.RecordDelegation{{Pattern: "*"}}}}})
	}
	record := func(data string) {
		w.setRecord(0, "dns/r", &api.Record{DomainName: "a.example.com.", Type: "A", Class: "IN", TTL: api.NoTTL, RData: data})
	}
	var snap *Snapshot
	step := func(what string, now time.Time, want uint32) {
		t.Helper()
		snap = Compile(snap, w.objects(), opt, now)
		if got := snap.zones[0].Serial(); got != want {
			t.Fatalf("%s: serial %d, want %d", what, got, want)
		}
	}
	zone(api.Kept{})
	record("192.0.2.1")
	step("first", day(21), 2026112100)
	record("192.0.2.2")
	step("changed on the same day", day(21), 2026112101)
	record("192.0.2.3")
	step("the clock is a day behind", day(20), 2026112102)
	record("192.0.2.4")
	step("the next day", day(22), 2026112200)
	hash := snap.zones[0].Hash()

	zone(api.Kept{Hash: hash, Serial: 2026112207})
	step("another replica has published the same with a higher serial", day(22), 2026112207)
	zone(api.Kept{Hash: hash, Serial: 2026112205})
	step("or with a lower one, which was overtaken", day(22), 2026112207)
	zone(api.Kept{Hash: "other", Serial: 2026112299})
	step("other content was published with a higher serial", day(22), 2026112300)

	snap = nil
	zone(api.Kept{Hash: "other", Serial: 2026112199})
	step("a restart after a hundred changes of one day", day(21), 2026112200)
	record("192.0.2.6")
	step("the next morning, whose first serial is taken", day(22), 2026112201)
	record("192.0.2.4")
	step("and back", day(22), 2026112202)

	snap = nil
	zone(api.Kept{Hash: hash, Serial: 7})
	step("a restart, with the same content", day(23), 7)
	snap = nil
	zone(api.Kept{Hash: "other", Serial: 2026112399})
	step("a restart, with other content", day(23), 2026112400)
	snap = nil
	zone(api.Kept{Hash: "other", Serial: 1<<32 - 1})
	step("at the last serial there is, which that of the day follows (RFC 1982)", day(23), 2026112300)
	record("192.0.2.5")
	step("and after it", day(23), 2026112301)
	if snap.Verdict("c", api.Ref{Kind: api.KindZone, Name: "dns/z"}).Kept != (api.Kept{Hash: snap.zones[0].Hash(), Serial: 2026112301}) {
		t.Error("the verdict on the Zone has another serial or hash")
	}
}
