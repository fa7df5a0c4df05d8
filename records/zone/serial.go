package zone

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
)

// digest is the sum of record digests modulo 2^128: it does not depend on their order, and an
// update costs only what has changed (rule 6.7).
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

// packer packs one record at a time. dns.PackRR would write to the record's header, which others
// may be reading; packing a message does not.
type packer struct {
	msg dns.Msg
	one [1]dns.RR
	// buf fits a header and most records: an owner name, a fixed part and a name as data.
	buf [messageHeader + 640]byte
}

// messageHeader is the size in octets of a message without a question before its first record (RFC
// 1035 §4.1.1).
const messageHeader = 12

var packers = sync.Pool{New: func() any { return new(packer) }}

// wire returns a record in wire form, valid until the next call. If it cannot be packed, it is its
// text.
func (p *packer) wire(rr dns.RR) []byte {
	p.one[0] = rr
	p.msg.Answer = p.one[:]
	wire, err := p.msg.PackBuffer(p.buf[:])
	p.one[0] = nil
	if err != nil {
		return []byte(rr.String())
	}
	return wire[messageHeader:]
}

// digestOf returns the sum of the digests of the records.
func digestOf(rrs []dns.RR) digest {
	var sum digest
	p := packers.Get().(*packer)
	defer packers.Put(p)
	for _, rr := range rrs {
		h := sha256.Sum256(p.wire(rr))
		sum = sum.plus(digest{binary.BigEndian.Uint64(h[:8]), binary.BigEndian.Uint64(h[8:16])})
	}
	return sum
}

// sum returns the digest of everything that can be answered, or transferred, at n.
func (n *Node) sum() digest {
	sum := sumOf(&n.Steered)
	if sum != (digest{}) && n.Steered.Inner() {
		sum = sum.plus(innerMark) // in a Record, the same data would be transferred
	}
	for _, s := range n.Static {
		sum = sum.plus(digestOf(s.RRs))
	}
	if set, _ := n.Steered.Data.(*pool.Set); n.Steered.Inner() || set != nil && set.Cells == nil {
		return sum // the difference follows from the static data
	}
	for _, rrs := range n.transferred() {
		sum = sum.plus(digestOf(rrs))
	}
	return sum
}

// innerMark marks data at a name below klb, which is not transferred (rule 7.5). A sum of digests
// is this low only by chance.
var innerMark = digest{0, 1}

// sumOf returns the digest of the records that can be answered at the name; a pool's count at the
// name where its chain begins.
func sumOf(s *pool.Steered) digest {
	var sum digest
	switch data := s.Data.(type) {
	case *pool.Set:
		return digestOf(data.RRs)
	case *pool.View:
		for i := 0; data.Skip == 0 && i < len(data.Pool.Members); i++ {
			for _, rrs := range data.Pool.Members[i].Answers() {
				sum = sum.plus(digestOf(rrs))
			}
		}
	}
	return sum
}

// date returns now in UTC as YYYYMMDD00.
func date(now time.Time) uint32 {
	y, m, d := now.UTC().Date()
	return uint32(y)*1000000 + uint32(m)*10000 + uint32(d)*100
}

// firstSerial returns the serial of a zone without a known earlier serial: the date and the
// hundredth of the UTC day (rule 6.7).
func firstSerial(now time.Time) uint32 {
	const hundredth = 24 * 60 * 60 / 100
	utc := now.UTC()
	return date(now) + uint32((utc.Hour()*3600+utc.Minute()*60+utc.Second())/hundredth)
}

// nextSerial returns the serial after last: today's date, or last plus one if the date would not
// increase it (rule 6.7, RFC 1982 §3). It is never 0.
func nextSerial(last uint32, now time.Time) uint32 {
	next := last + 1
	if d := date(now); newer(d, next) {
		next = d
	}
	if next == 0 {
		return 1
	}
	return next
}

// MaxRetired bounds the last serials kept of former zones: the highest ones.
const MaxRetired = 1024

// Retire returns the last published states of zones that index lacks, by origin: retired are those of former zones, zones are those served
// until now. The MaxRetired highest serials stay.
func Retire(index map[string]int, retired map[string]Numbered, zones []*Zone) map[string]Numbered {
	all := make(map[string]Numbered)
	add := func(origin string, n Numbered) {
		if _, served := index[origin]; !served && n.Serial != 0 {
			all[origin] = n
		}
	}
	for origin, n := range retired {
		add(origin, n)
	}
	for _, z := range zones {
		add(z.Origin(), z.last())
	}
	if len(all) > MaxRetired {
		newest := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
			return cmp.Or(cmp.Compare(all[b].Serial, all[a].Serial), cmp.Compare(a, b))
		})
		for _, origin := range newest[MaxRetired:] {
			delete(all, origin)
		}
	}
	return all
}

// Hash returns the digest of the zone's content, in hexadecimal digits (rule 6.7).
func (z *Zone) Hash() string { return z.hash.String() }

func (d digest) String() string { return fmt.Sprintf("%016x%016x", d.hi, d.lo) }

// resumed returns the zone's serial, taking into account what an earlier process here published:
// the same for the same content, a later one for any other (rule 6.7). serial is what it would be
// otherwise; first is true if nothing was published here since.
func (z *Zone) resumed(serial uint32, published api.Kept, first bool, now time.Time) uint32 {
	if published.Serial == 0 {
		return serial
	}
	switch later, same := newer(published.Serial, serial), published.Hash == z.Hash(); {
	case same && (first || later):
		return published.Serial
	case !same && (first || later || published.Serial == serial):
		next := nextSerial(published.Serial, now)
		if published.Hash == "" && newer(serial, next) {
			return serial // the hour: more may have been published than is known
		}
		return next
	}
	return serial
}

// newer reports whether a comes after b (RFC 1982 §3.2).
func newer(a, b uint32) bool { return int32(a-b) > 0 }

// newest returns the newer of two serials; 0 is none.
func newest(a, b uint32) uint32 {
	if a == 0 || b != 0 && newer(b, a) {
		return b
	}
	return a
}

// PendingSince returns since when SOA records and transfers have been behind the zone's answers because a writer has not kept the new
// serial: since the first change, or their own last one. It is zero if they are not behind.
func (z *Zone) PendingSince() time.Time {
	if z.publisher == nil {
		return time.Time{}
	}
	return z.publisher.since
}
