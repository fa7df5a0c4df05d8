package geo

import (
	"net/netip"
	"sync/atomic"
)

// maxFiles is how many databases a DB can have.
const maxFiles = 8

// state is everything that a Locate reads: networks and databases at one time.
// Only the contents of its caches change.
type state struct {
	nets  *Nets   // nil if there is no such file
	lists [4]list // by Need
}

// list is the databases consulted for one Need, in the order of the files.
type list struct {
	bases []*base
	cache *cache // where there are several bases
}

func newState(nets *Nets, bases []*base) *state {
	s := &state{}
	if nets.Len() > 0 {
		s.nets = nets
	}
	for need := range Need(len(s.lists)) {
		l := &s.lists[need]
		for _, b := range bases {
			if b.gives&need != 0 {
				l.bases = append(l.bases, b)
			}
		}
		if len(l.bases) > 1 {
			l.cache = new(cache)
		}
	}
	return s
}

// locate is Locate.
func (s *state) locate(addr netip.Addr, need Need) (codes *Codes, bits int) {
	addr = addr.Unmap()
	need &= NeedPlace | NeedAS
	if !addr.IsValid() || need == 0 {
		return &none, 0
	}
	l := &s.lists[need]
	if s.nets != nil {
		codes, bits = s.nets.lookup(addr)
	} else if len(l.bases) == 0 {
		return &none, 0
	}
	if codes == nil {
		var n int
		codes, n = l.locate(addr)
		bits = max(bits, n)
	}
	return codes, max(bits, familyBits(addr))
}

// locate asks every database of l: together they determine the codes.
func (l *list) locate(addr netip.Addr) (codes *Codes, bits int) {
	switch len(l.bases) {
	case 0:
		return &none, 0
	case 1:
		codes, _, bits = l.bases[0].lookup(addr)
		return codes, bits
	}
	var found [maxFiles]*Codes
	var k cacheKey
	for i, b := range l.bases {
		c, index, n := b.lookup(addr)
		found[i], k[i] = c, index
		bits = max(bits, n)
	}
	return l.cache.get(&k, found[:len(l.bases)]), bits
}

// combine returns the combined codes of several databases: for each code, the first one that has it
// counts. But only a database that agrees with what is known so far completes a place, so that no
// subdivision lies outside its country and no country outside its continent.
func combine(all []*Codes) *Codes {
	c := new(Codes)
	for _, next := range all {
		if c[CodeAS] == "" {
			c[CodeAS] = next[CodeAS]
		}
		if c[CodeContinent] == "" {
			c[CodeContinent] = next[CodeContinent]
		}
		if c[CodeCountry] == "" && c[CodeContinent] == next[CodeContinent] {
			c[CodeCountry] = next[CodeCountry]
		}
		if c[CodeSubdivision] == "" && c[CodeCountry] == next[CodeCountry] {
			c[CodeSubdivision] = next[CodeSubdivision]
		}
	}
	return c
}

// cacheKey identifies the codes of the databases that were combined.
type cacheKey [maxFiles]uint32

// combined is one entry of a cache. It is immutable.
type combined struct {
	key   cacheKey
	codes Codes
}

// cacheBits sets the number of entries of a cache: 16,384, which take 2 MB when
// all are in use. A miss costs one small allocation, so a cache need not hold
// everything.
const cacheBits = 14

// cache remembers combined codes. It is a table of a fixed size without locks: a key has two slots,
// and the older entry goes.
type cache [1 << cacheBits]atomic.Pointer[combined]

// get returns the combination of all, whose key is k.
func (c *cache) get(k *cacheKey, all []*Codes) *Codes {
	i := k.hash() &^ 1
	newer, older := &c[i], &c[i|1]
	was := newer.Load()
	if was != nil && was.key == *k {
		return &was.codes
	}
	if e := older.Load(); e != nil && e.key == *k {
		return &e.codes
	}
	e := &combined{key: *k, codes: *combine(all)}
	for _, index := range k {
		if index == unlisted {
			return &e.codes // the key does not say which codes these are
		}
	}
	older.Store(was)
	newer.Store(e)
	return &e.codes
}

// hash mixes by multiplying with 2^64 divided by the golden ratio, whose highest
// bits depend on all bits of k.
func (k *cacheKey) hash() uint32 {
	var h uint64
	for _, index := range k {
		h = (h ^ uint64(index)) * 0x9e3779b97f4a7c15
	}
	return uint32(h >> (64 - cacheBits))
}
