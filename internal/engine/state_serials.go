package engine

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	statefile "github.com/coredns-kuadrant/kuadrant/internal/state"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// A serial is on disk before anybody sees it (rule 6.7). To write less often, a zone that changes again and again reserves serials: a
// crash then costs it those that it had reserved.
const (
	// mostReserved is the maximum number of serials that a zone reserves: a third of a day.
	mostReserved = 31
	// diskPatience is how long answers wait for the disk.
	diskPatience = time.Second
)

// stateSerials are the serials on disk.
type stateSerials struct {
	mu    sync.Mutex // held while they are written
	known atomic.Pointer[map[string]reservation]
	late  atomic.Bool // the disk took longer than diskPatience, and is not done
}

// reservation is the line of a zone on disk.
type reservation struct {
	kept api.Kept // up to this serial, the zone may be published
	at   uint32   // the last serial when that was written
	more uint32   // how many serials were reserved then
}

// begin takes in what is on disk.
func (k *stateWriter) begin(serials statefile.Serials) {
	all := make(map[string]reservation)
	for zone, kept := range serials {
		all[zone] = reservation{kept: kept, at: kept.Serial}
	}
	k.numbers.known.Store(&all)
}

// reserved returns what is on disk, by zone.
func (k *stateWriter) reserved() map[string]reservation {
	if all := k.numbers.known.Load(); all != nil {
		return *all
	}
	return nil
}

// reserve writes serials of snap that are not on disk, before it replaces before. k may be nil. Only the goroutine that publishes calls
// it. It does not wait for a disk that hangs.
func (k *stateWriter) reserve(before, snap *records.Snapshot) {
	if k == nil || !k.lacks(before, snap) || !k.numbers.late.CompareAndSwap(false, true) {
		return
	}
	done := make(chan struct{})
	go func() {
		k.saveSerials(snap, false)
		k.numbers.late.Store(false)
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(diskPatience):
	}
}

// lacks reports whether a zone of snap, new since before, has a serial that is not on disk.
func (k *stateWriter) lacks(before, snap *records.Snapshot) bool {
	reserved, zones := k.reserved(), snap.Zones()
	for i, z := range zones {
		if before != nil && i < len(before.Zones()) && before.Zones()[i] == z {
			continue
		}
		if serial := z.LastSerial(); serial != 0 {
			if r, ok := reserved[z.Origin()]; !ok || int32(serial-r.kept.Serial) > 0 {
				return true
			}
		}
	}
	return false
}

// saveSerials writes the serials of snap if they are not on disk; exactly, or with some reserved for zones whose reservation is used
// up. It reports whether they are on disk.
func (k *stateWriter) saveSerials(snap *records.Snapshot, exactly bool) bool {
	k.numbers.mu.Lock()
	defer k.numbers.mu.Unlock()
	counted := make(map[string]bool)
	for _, z := range snap.Zones() {
		counted[z.Origin()] = z.Counted()
	}
	old, all, lines := k.reserved(), make(map[string]reservation), make(statefile.Serials)
	for zone, kept := range snap.Published() {
		r, ok := old[zone]
		switch {
		case ok && int32(r.at-kept.Serial) > 0: // written for a newer snapshot
		case exactly, !counted[zone]:
			r = reservation{kept: kept, at: kept.Serial}
		case !ok || int32(kept.Serial-r.kept.Serial) > 0:
			r.more = min(2*r.more+1, mostReserved)
			r.at, r.kept = kept.Serial, api.Kept{Serial: max(kept.Serial+r.more, 1)}
		}
		all[zone], lines[zone] = r, r.kept
	}
	if old != nil && maps.Equal(old, all) {
		return true
	}
	err := statefile.WriteSerials(k.dir, k.of.Now(), lines)
	if err == nil {
		k.numbers.known.Store(&all)
	}
	return k.report(statefile.SerialsName, err, "serials may go back after a crash")
}
