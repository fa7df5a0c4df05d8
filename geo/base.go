package geo

import (
	"fmt"
	"net/netip"

	"github.com/oschwald/maxminddb-golang/v2"
)

// base is one database. It is immutable.
//
// It lives in memory instead of mapping its file: truncating a mapped file would end the process
// with SIGBUS, and a reload would have to know that nobody reads the old mapping. So a City
// database costs its 60 to 130 MB, and twice that during a reload.
//
// All records are decoded once, when the database is loaded. A look-up then finds the codes by the
// record's offset, and faults show before the database is used. maxminddb's own Verify would refuse
// databases that are fine for us: the free country databases have no description.
type base struct {
	path    string // of the file that it was loaded from, for messages
	reader  *maxminddb.Reader
	only4   bool              // has no IPv6 addresses
	gives   Need              // what its records can answer
	offsets map[uint32]uint32 // offset of a record → index of its codes
	codes   []Codes           // each once; the first is none
}

// unlisted is the index of codes that no base has.
const unlisted = 1<<32 - 1

// newBase reads a database through. It keeps data.
func newBase(data []byte) (*base, error) {
	r, err := maxminddb.OpenBytes(data, maxminddb.DisableStringCache())
	if err != nil {
		return nil, fmt.Errorf("not a complete MaxMind DB file: %w", err)
	}
	m := &r.Metadata
	if m.BinaryFormatMajorVersion != 2 || m.IPVersion != 4 && m.IPVersion != 6 {
		return nil, fmt.Errorf("format version %d for IPv%d addresses is unknown; want version 2 for IPv4 or IPv6",
			m.BinaryFormatMajorVersion, m.IPVersion)
	}
	b := &base{reader: r, only4: m.IPVersion == 4}
	if err := b.readAll(); err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	if b.gives == 0 {
		return nil, fmt.Errorf("type %.40q has neither countries nor AS numbers; want a City, Country or ASN database",
			m.DatabaseType)
	}
	return b, nil
}

// readAll decodes each record once.
//
// A tree has one network more than it has nodes, or a few times that if it shares nodes. A damaged
// or hostile one can have any number, so readAll stops there; look-ups decode the rest.
func (b *base) readAll() error {
	b.offsets = make(map[uint32]uint32)
	b.codes = []Codes{none}
	index := map[Codes]uint32{none: 0}
	left := 8 * (b.reader.Metadata.NodeCount + 1)
	for net := range b.reader.Networks(maxminddb.IncludeNetworksWithoutData()) {
		if err := net.Err(); err != nil {
			return err
		}
		if left--; left == 0 {
			return nil
		}
		if !net.Found() {
			continue
		}
		offset := uint32(net.Offset()) // fits: a pointer has 32 bits at most
		if _, ok := b.offsets[offset]; ok {
			continue
		}
		c, err := decode(net)
		if err != nil {
			return fmt.Errorf("network %s: %w", net.Prefix(), err)
		}
		i, ok := index[*c]
		if !ok {
			i = uint32(len(b.codes))
			b.codes = append(b.codes, *c)
			index[*c] = i
			b.note(c)
		}
		b.offsets[offset] = i
	}
	return nil
}

// note adds what c can answer to what the base can.
func (b *base) note(c *Codes) {
	if c[CodeAS] != "" {
		b.gives |= NeedAS
	}
	if c[CodeSubdivision] != "" || c[CodeCountry] != "" || c[CodeContinent] != "" {
		b.gives |= NeedPlace
	}
}

func decode(res maxminddb.Result) (*Codes, error) {
	var r record
	if err := res.Decode(&r); err != nil {
		return nil, err
	}
	return r.codes(), nil
}

// lookup returns the codes of addr, their index, and the length of the network in the search tree
// that holds addr. addr is valid and unmapped. If the database turns out to be damaged, it returns
// no codes, for addr alone.
func (b *base) lookup(addr netip.Addr) (codes *Codes, index uint32, bits int) {
	if b.only4 && addr.Is6() {
		return &none, 0, 0 // no IPv6 address is in it
	}
	res := b.reader.Lookup(addr)
	if res.Err() != nil {
		return &none, 0, addr.BitLen()
	}
	net := res.Prefix()
	if addr.Is6() || net.Addr().Is4() {
		bits = net.Bits()
	} // else the tree ends above the IPv4 addresses: they share one result
	if !res.Found() {
		return &none, 0, bits
	}
	if i, ok := b.offsets[uint32(res.Offset())]; ok {
		return &b.codes[i], i, bits
	}
	c, err := decode(res)
	if err != nil {
		return &none, 0, bits
	}
	return c, unlisted, bits
}
