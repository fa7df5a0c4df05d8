package kuadrant

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/coredns/coredns/plugin/transfer"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records"
)

// The errors that refuse a transfer: a secondary keeps its data, and tries again (rule 7.4).
var (
	errNothingKnown = errors.New("no objects are read yet")
	errNotListed    = errors.New("a source that could hold names of the zone is not listed yet")
	errNotKept      = errors.New("no elected writer has stored a serial for the zone yet")
)

// Transfer implements transfer.Transferer. It sends the zone as it is now for serial 0, else the
// changes since that serial (RFC 1995). If a writer keeps serials, it sends the newest saved
// version (rule 6.7). It returns transfer.ErrNotAuthoritative if the name is not a zone's own in
// this block, and other errors for zones that are not known in full. zone is in lower case.
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
	// RFC 1982 §3.2: serials half a circle apart have no order.
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

// sendAll returns a channel that holds rrs and nothing else: a reader may stop at any time.
func sendAll(rrs []dns.RR) <-chan []dns.RR {
	ch := make(chan []dns.RR, 1)
	ch <- rrs
	close(ch)
	return ch
}

// The size of a part of a zone's transfer. The transfer plugin makes messages of up to 63,000
// octets from the parts, whatever their size: large enough that the channel costs little, small
// enough to save memory.
const transferPart = 512 // records, and the rest of an RRset

// transferStall is how long a transfer's reader may take for one part, in which it writes less than
// two messages. CoreDNS sets no write deadline: a client that stops reading would hold the zone for
// ever.
const transferStall = 2 * time.Minute

// sendZone returns a channel with the whole zone. Its own goroutine writes to it, and ends after
// the last record, or once nobody has read for transferStall.
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

// partsOf yields the records of a zone transfer, the SOA first and last.
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

// opening is the first SOA of a zone transfer, as a type of its own. If the channel closes with one
// record left to write, the transfer plugin writes the SOA that it knows instead. An aborted
// transfer would then look complete, and the secondary would take part of the zone for all of it.
// With this type, the plugin knows no SOA until the end.
type opening struct{ *dns.SOA }

// Bounds of the log lines about secondaries that are ahead: anyone allowed to transfer can ask from
// any serial, as often as they like.
const (
	aheadPause = time.Hour // until a zone is logged again
	maxAhead   = 20        // zones logged in that time
)

// first reports whether to log the zone now.
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
