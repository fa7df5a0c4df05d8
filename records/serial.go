package records

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// digest is a sum of record digests modulo 2^128: it does not depend on their
// order, and one change costs what it changes (rule 6.7).
type digest struct{ hi, lo uint64 }

func (d digest) plus(o digest) digest {
	lo, carry := bits.Add64(d.lo, o.lo, 0)
	hi, _ := bits.Add64(d.hi, o.hi, carry)
	return digest{hi, lo}
}

func (d digest) minus(o digest) digest {
	lo, borrow := bits.Sub64(d.lo, o.lo, 0)
	hi, _ := bits.Sub64(d.hi, o.hi, borrow)
	return digest{hi, lo}
}

// wireBuffers are for one record each: an owner name, a fixed part and a name as
// data.
var wireBuffers = sync.Pool{New: func() any { return new([640]byte) }}

// digestOf returns the sum of the digests of the records. It must see them
// before anybody else does: dns.PackRR writes to the header.
func digestOf(rrs []dns.RR) digest {
	var sum digest
	small := wireBuffers.Get().(*[640]byte)
	defer wireBuffers.Put(small)
	for _, rr := range rrs {
		wire := small[:]
		off, err := dns.PackRR(rr, wire, 0, nil, false)
		if err != nil {
			// What cannot be packed counts with its text.
			wire = []byte(rr.String())
			off = len(wire)
		}
		h := sha256.Sum256(wire[:off])
		sum = sum.plus(digest{binary.BigEndian.Uint64(h[:8]), binary.BigEndian.Uint64(h[8:16])})
	}
	return sum
}

// sum returns the digest of the records that can be answered at the name; those
// of a pool count at the name where its chain begins.
func (s *steered) sum() digest {
	switch {
	case s.set != nil:
		return digestOf(s.set.rrs)
	case s.view != nil && s.view.skip == 0:
		var sum digest
		for i := range s.view.pool.members {
			m := &s.view.pool.members[i]
			for _, rrs := range m.answers {
				sum = sum.plus(digestOf(rrs))
			}
		}
		return sum
	}
	return digest{}
}

// date returns YYYYMMDD00 of now in UTC.
func date(now time.Time) uint32 {
	y, m, d := now.UTC().Date()
	return uint32(y)*1000000 + uint32(m)*10000 + uint32(d)*100
}

// firstSerial returns the serial of a zone whose earlier serials nobody kept:
// the date and the hundredth of the UTC day (rule 6.7).
func firstSerial(now time.Time) uint32 {
	const hundredth = 24 * 60 * 60 / 100
	utc := now.UTC()
	return date(now) + uint32((utc.Hour()*3600+utc.Minute()*60+utc.Second())/hundredth)
}

// nextSerial returns the serial after last: today's date, or one more where
// that would not be an increase (rule 6.7, RFC 1982 §3). It is never 0.
func nextSerial(last uint32, now time.Time) uint32 {
	next := last + 1
	if d := date(now); int32(d-next) > 0 {
		next = d
	}
	if next == 0 {
		return 1
	}
	return next
}

// After returns s with serials that follow those of other, which another compiler
// has published meanwhile: equal zones have its serial, others a higher one (rule
// 6.7). It is s itself where nothing is to be changed.
func (s *Snapshot) After(other *Snapshot, now time.Time) *Snapshot {
	next := s
	for i, z := range s.zones {
		serial := z.follows(other, now)
		if int32(z.serial-serial) >= 0 {
			continue
		}
		if next == s {
			copied := *s
			copied.zones, next = slices.Clone(s.zones), &copied
		}
		raised := *z
		raised.number(serial)
		next.zones[i] = &raised
	}
	if retired := retire(s.zoneSet.index, s.retired, other); !maps.Equal(retired, s.retired) {
		if next == s {
			copied := *s
			next = &copied
		}
		next.retired = retired
	}
	return next
}

// follows returns the lowest serial that z may have once other is published.
func (z *Zone) follows(other *Snapshot, now time.Time) uint32 {
	if at, ok := other.zoneSet.index[z.origin]; ok {
		o := other.zones[at]
		if o.hash == z.hash {
			return o.serial
		}
		return nextSerial(o.serial, now)
	}
	if last, ok := other.retired[z.origin]; ok && int32(z.serial-last) <= 0 {
		return nextSerial(last, now)
	}
	return z.serial
}

// retire returns the last serials of zones that index does not have: those of
// retired, and those that other served or knew of, whichever are newer.
func retire(index map[string]int, retired map[string]uint32, other *Snapshot) map[string]uint32 {
	all := maps.Clone(retired)
	add := func(origin string, serial uint32) {
		if _, served := index[origin]; served {
			return
		}
		if all == nil {
			all = make(map[string]uint32)
		}
		if last, ok := all[origin]; !ok || int32(serial-last) > 0 {
			all[origin] = serial
		}
	}
	for origin, serial := range other.retired {
		add(origin, serial)
	}
	for _, z := range other.zones {
		add(z.origin, z.serial)
	}
	return all
}
