package records

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/pool"
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

// packer packs one record after the other. dns.PackRR would write to the record's
// header, which others may read; packing a message does not.
type packer struct {
	msg dns.Msg
	one [1]dns.RR
	// buf is for a header and most records: an owner name, a fixed part and a name as
	// data.
	buf [messageHeader + 640]byte
}

// messageHeader is how many octets precede the first record of a message that has no
// question (RFC 1035 §4.1.1).
const messageHeader = 12

var packers = sync.Pool{New: func() any { return new(packer) }}

// wire returns a record as it is in a message, until the next call. What cannot be packed
// stands as its text.
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

// sum returns the digest of all that can be answered at n, and of what a transfer has
// there.
func (n *node) sum() digest {
	sum := n.steered.sum()
	if sum != (digest{}) && n.steered.inner() {
		sum = sum.plus(innerMark) // the same data in a Record are transferred
	}
	for _, s := range n.static {
		sum = sum.plus(digestOf(s.rrs))
	}
	if set, _ := n.steered.data.(*pool.Set); n.steered.inner() || set != nil && set.Cells == nil {
		return sum // what differs follows from the static data
	}
	for _, rrs := range n.transferred() {
		sum = sum.plus(digestOf(rrs))
	}
	return sum
}

// innerMark stands for data at a name below klb, which no transfer has (rule 7.5). No sum
// of digests is as low, but by chance.
var innerMark = digest{0, 1}

// sum returns the digest of the records that can be answered at the name; those
// of a pool count at the name where its chain begins.
func (s *steered) sum() digest {
	var sum digest
	switch data := s.data.(type) {
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

// maxRetired is how many zones' last serials are kept after them: the highest ones.
const maxRetired = 1024

// retire returns what zones that index does not have were shown with last: those of
// retired, and those that other served or knew of, whichever are newer.
func retire(index map[string]int, retired map[string]numbered, other *Snapshot) map[string]numbered {
	all := maps.Clone(retired)
	add := func(origin string, n numbered) {
		if _, served := index[origin]; served || n.serial == 0 {
			return
		}
		if all == nil {
			all = make(map[string]numbered)
		}
		if last, ok := all[origin]; !ok || newer(n.serial, last.serial) {
			all[origin] = n
		}
	}
	for origin, n := range other.retired {
		add(origin, n)
	}
	for _, z := range other.zones {
		add(z.Origin(), z.last())
	}
	if len(all) > maxRetired {
		newest := slices.SortedFunc(maps.Keys(all), func(a, b string) int { return cmp.Or(cmp.Compare(all[b].serial, all[a].serial), cmp.Compare(a, b)) })
		for _, origin := range newest[maxRetired:] {
			delete(all, origin)
		}
	}
	return all
}
