package kuadrant

import (
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/coredns/coredns/plugin/transfer"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records"
)

// The errors of a transfer that must not be made: a secondary keeps what it has, and tries
// again (rule 7.4).
var (
	errNothingKnown = errors.New("no objects are read yet")
	errNotListed    = errors.New("a source that could hold names of the zone is not listed yet")
	errNotKept      = errors.New("no elected writer has stored a serial for the zone yet")
)

// Transfer implements transfer.Transferer: the zone as it is at one moment, for a serial
// of 0, and else what has changed since that (RFC 1995). Where a writer keeps serials, that
// is the newest version that is kept (rule 6.7). For names that are not the own
// name of a zone in this block it returns transfer.ErrNotAuthoritative, and for zones that
// are not all known other errors. zone is in lower case.
func (k *Kuadrant) Transfer(zone string, serial uint32) (<-chan []dns.RR, error) {
	snap := k.engine.Snapshot()
	if !k.covers(zone) {
		return nil, transfer.ErrNotAuthoritative
	}
	if snap == nil {
		return nil, fmt.Errorf("transfer zone %q: %w", zone, errNothingKnown)
	}
	z := snap.Zone(zone)
	switch {
	case z == nil || z.Origin() != zone:
		return nil, transfer.ErrNotAuthoritative
	case !snap.Lists(z):
		return nil, fmt.Errorf("transfer zone %q: %w", zone, errNotListed)
	}
	if z = z.PublishedVersion(); z == nil {
		return nil, fmt.Errorf("transfer zone %q: %w", zone, errNotKept)
	}
	if serial == 0 {
		return sendZone(z), nil
	}
	// RFC 1982 §3.2: which of two serials is newer is not defined half a circle apart.
	if newer := z.Serial() - serial; newer == 0 || newer > 1<<31 {
		if newer != 0 && k.ahead.first(zone, k.engine.Now()) {
			log.Warningf("zone %q: a secondary has serial %d, ahead of %d here; it keeps its copy until ours is higher. "+
				"Force a full transfer there: `rndc retransfer` or `knotc zone-retransfer`", zone, serial, z.Serial())
		}
		return sendAll([]dns.RR{z.SOA()}), nil // RFC 1995 §2
	}
	if deltas, ok := z.Since(serial); ok {
		return sendAll(sequence(z, deltas)), nil
	}
	return sendZone(z), nil // RFC 1995 §4
}

// sequence returns the records of an incremental transfer (RFC 1995 §4).
func sequence(z *records.Zone, deltas []*records.Delta) []dns.RR {
	n := 2
	for _, d := range deltas {
		n += 2 + len(d.Removed) + len(d.Added)
	}
	rrs := append(make([]dns.RR, 0, n), z.SOA())
	for _, d := range deltas {
		rrs = append(append(rrs, d.Old), d.Removed...)
		rrs = append(append(rrs, d.New), d.Added...)
	}
	return append(rrs, z.SOA())
}

// sendAll returns a channel that holds rrs and nothing else: whoever reads it may stop at
// any time.
func sendAll(rrs []dns.RR) <-chan []dns.RR {
	ch := make(chan []dns.RR, 1)
	ch <- rrs
	close(ch)
	return ch
}

// Sizes of a zone's transfer. The transfer plugin makes messages of up to 63,000 octets
// out of what it gets, whatever the parts are: they are large enough for the channel to
// cost little, and small enough for memory.
const transferPart = 512 // records, and the rest of an RRset

// transferStall is how long the reader of a transfer may take for one part. It writes less
// than two messages meanwhile. CoreDNS sets no deadline for writing: a client that reads
// no further would hold the zone for ever.
const transferStall = 2 * time.Minute

// sendZone returns a channel to which all of a zone is written by a goroutine of its own,
// which ends with it or when nobody has read for transferStall.
func sendZone(z *records.Zone) <-chan []dns.RR {
	ch := make(chan []dns.RR)
	go func() {
		defer close(ch)
		stall := time.NewTimer(transferStall)
		defer stall.Stop()
		for part := range partsOf(z) {
			stall.Reset(transferStall)
			select {
			case ch <- part:
			case <-stall.C:
				log.Warningf("zone %q: transfer aborted: the client read nothing for %v; it will retry", z.Origin(), transferStall)
				return
			}
		}
	}()
	return ch
}

// partsOf yields the records of a zone's transfer, the SOA first and last.
func partsOf(z *records.Zone) iter.Seq[[]dns.RR] {
	return func(yield func([]dns.RR) bool) {
		part := append(make([]dns.RR, 0, transferPart), opening{z.SOA()})
		for set := range z.Transfer() {
			if part = append(part, set...); len(part) < transferPart {
				continue
			}
			if !yield(part) {
				return
			}
			part = make([]dns.RR, 0, transferPart)
		}
		if len(part) > 0 && !yield(part) {
			return
		}
		yield([]dns.RR{z.SOA()})
	}
}

// opening is the first SOA of a zone's transfer, in a type of its own. Where the channel
// ends and one record is left to be written, the transfer plugin writes the SOA that it
// knows in its place: for a transfer that was given up, that would be an end, and the
// secondary would take a part of the zone for all of it. So it knows of none until the end.
type opening struct{ *dns.SOA }

// Bounds of what is logged of secondaries that are ahead: whoever may have a transfer can
// ask from any serial, as often as it likes.
const (
	aheadPause = time.Hour // until a zone is named again
	maxAhead   = 20        // zones that are named in that time
)

// aheads are the zones that were named of late because somebody asked for what has changed
// since a serial that is yet to come. Any goroutine may use it.
type aheads struct {
	mu    sync.Mutex
	since time.Time
	zones map[string]struct{}
}

// first reports whether the zone is to be named now.
func (a *aheads) first(zone string, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.zones == nil || now.Sub(a.since) >= aheadPause {
		a.since, a.zones = now, make(map[string]struct{})
	}
	if _, ok := a.zones[zone]; ok || len(a.zones) == maxAhead {
		return false
	}
	a.zones[zone] = struct{}{}
	return true
}
