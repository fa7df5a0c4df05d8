package zone

import (
	"iter"
	"slices"

	"github.com/miekg/dns"
)

// Delta is the difference between one generation of a zone and the one before (RFC 1995 §4). It is immutable, and so are its
// records.
type Delta struct {
	Old, New       *dns.SOA
	Removed, Added []dns.RR
}

func (d *Delta) len() int { return len(d.Removed) + len(d.Added) }

// The bounds of a journal: older generations, or those behind more changed records, are transferred
// whole.
const (
	maxGenerations    = 100
	maxJournalRecords = 10_000
)

// journal is the last generations of a zone, the oldest first. It is immutable.
type journal struct {
	deltas  []*Delta
	records int // changed records in all of them
}

// with returns the journal with one more generation; nil is one too large for a journal. It copies
// at most a hundred pointers, so that two compiles from one snapshot have two journals.
func (j journal) with(d *Delta) journal {
	if d == nil {
		return journal{}
	}
	old, n := j.deltas, j.records+d.len()
	for len(old) == maxGenerations || n > maxJournalRecords {
		n -= old[0].len()
		old = old[1:]
	}
	deltas := make([]*Delta, len(old)+1)
	copy(deltas, old)
	deltas[len(old)] = d
	return journal{deltas: deltas, records: n}
}

// Since returns the changes since the generation with a serial, oldest first; none if that is the
// zone's own. ok is false if the journal does not reach that far back. The caller must not change
// the slice.
func (z *Zone) Since(serial uint32) (deltas []*Delta, ok bool) {
	if serial == z.serial {
		return nil, true
	}
	for i, d := range z.journal.deltas {
		if d.Old.Serial == serial {
			return slices.Clip(z.journal.deltas[i:]), true
		}
	}
	return nil, false
}

// deltaOf returns the changes from before to next, which are only at the given names, sorted; nil
// means any name. It returns nil if that is too much for a journal.
func deltaOf(before, next *Zone, names []string) *Delta {
	d := &Delta{Old: before.SOA(), New: next.SOA()}
	if names == nil {
		d.compareAll(before, next)
	}
	for _, name := range names {
		was, _ := before.Nodes.Get(name)
		is, _ := next.Nodes.Get(name)
		if !d.compare(before, was, next, is) {
			break
		}
	}
	if d.len() > maxJournalRecords {
		return nil
	}
	d.Removed, d.Added = slices.Clip(d.Removed), slices.Clip(d.Added)
	return d
}

// compareAll adds the changes between two versions of a zone that share no nodes, until that is too
// much for a journal.
func (d *Delta) compareAll(before, next *Zone) {
	more, stop := iter.Pull2(before.Nodes.All())
	defer stop()
	name, was, ok := more()
	for at, is := range next.Nodes.All() {
		for ; ok && name < at; name, was, ok = more() {
			if !d.compare(before, was, next, nil) {
				return
			}
		}
		var same *Node
		if ok && name == at {
			same = was
			name, was, ok = more()
		}
		if !d.compare(before, same, next, is) {
			return
		}
	}
	for ; ok && d.compare(before, was, next, nil); name, was, ok = more() {
	}
}

// compare adds the transferred records at one name that only one of the two versions has; a nil
// node is no such name. It returns false once there are too many for a journal.
func (d *Delta) compare(before *Zone, was *Node, next *Zone, is *Node) bool {
	if was != nil && before.redirects(was.Name) {
		was = nil
	}
	if is != nil && next.redirects(is.Name) {
		is = nil
	}
	if was != nil && is != nil && was.digest == is.digest {
		return true
	}
	d.compareRRs(was.transferredRRs(), is.transferredRRs())
	return d.len() <= maxJournalRecords
}

// compareRRs adds the changes in the records of one name.
func (d *Delta) compareRRs(removed, added []dns.RR) {
	same := 0
	for same < min(len(removed), len(added)) && removed[same] == added[same] {
		same++
	}
	removed, added = removed[same:], added[same:]
	if len(removed) == 0 || len(added) == 0 {
		d.Removed, d.Added = append(d.Removed, removed...), append(d.Added, added...)
		return
	}
	p := packers.Get().(*packer)
	defer packers.Put(p)
	gone := make(map[string]struct{}, len(removed))
	for _, rr := range removed {
		gone[string(p.wire(rr))] = struct{}{}
	}
	for _, rr := range added {
		wire := p.wire(rr)
		if _, stays := gone[string(wire)]; stays {
			delete(gone, string(wire))
		} else {
			d.Added = append(d.Added, rr)
		}
	}
	for _, rr := range removed {
		if _, ok := gone[string(p.wire(rr))]; ok {
			d.Removed = append(d.Removed, rr)
		}
	}
}

// transferredRRs returns a transfer's records at n; none if n is nil.
func (n *Node) transferredRRs() (rrs []dns.RR) {
	n.transfer(func(set []dns.RR) bool {
		rrs = append(rrs, set...)
		return true
	})
	return rrs
}
