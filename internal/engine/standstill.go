package engine

import (
	"time"

	"github.com/coredns-kuadrant/kuadrant/records"
)

// standstill reports zones whose SOA records and transfers stand still: a writer keeps their serials, and has not kept the newest (rule
// 6.7). It belongs to the holder of the engine's compiling.
type standstill struct {
	alarm    alarm           // rings when the next zone's patience is over
	reported map[string]bool // the reported zones, by origin
}

// patience is how long SOA records and transfers may be behind without a log line.
const patience = time.Minute

// tellStandstill logs what begins and ends with snap. now is the time of its compile.
func (e *Engine) tellStandstill(snap *records.Snapshot, now time.Time) {
	s := &e.standing
	s.alarm.stop()
	reported, next := make(map[string]bool), time.Duration(0)
	for _, z := range snap.Zones() {
		since, origin := z.PendingSince(), z.Origin()
		wait := since.Add(patience).Sub(now)
		switch {
		case since.IsZero():
			if s.reported[origin] {
				e.log.Infof("zone %q: SOA and transfers are current again, serial %d", origin, z.Serial())
			}
		case wait > 0:
			if next == 0 || wait < next {
				next = wait
			}
		default:
			if reported[origin] = true; !s.reported[origin] {
				e.log.Warningf("zone %q: SOA and transfers stuck since %s at serial %d: no writer has stored a newer serial. "+
					"Answers are not affected. Check the leader and the API server of cluster %q",
					origin, since.UTC().Format(time.RFC3339), z.Serial(), snap.Objects().SerialWriter)
			}
		}
	}
	if s.reported = reported; next > 0 {
		s.alarm.set(next, e.wake.ring)
	}
}
