package pool

import (
	"net/netip"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// fewPlaces is up to how many values are searched linearly.
const fewPlaces = 16

// at returns the number of a value, -1 for none.
func (p *places[V]) at(v V) int32 {
	if p.index == nil {
		return int32(slices.Index(p.list, v))
	}
	if i, ok := p.index[v]; ok {
		return i
	}
	return -1
}

// again forgets all values, and reuses the memory.
func (p *places[V]) again() { p.list, p.index = p.list[:0], nil }

// of returns the number of a value, and whether it had one.
func (p *places[V]) of(v V) (number int32, known bool) {
	if i := p.at(v); i >= 0 {
		return i, true
	}
	p.list = append(p.list, v)
	switch n := len(p.list); {
	case p.index != nil:
		p.index[v] = int32(n - 1)
	case n > fewPlaces:
		p.index = make(map[V]int32, 2*n)
		for i, v := range p.list {
			p.index[v] = int32(i)
		}
	}
	return int32(len(p.list) - 1), false
}

// addressList collects the addresses of a name, each once.
type addressList struct {
	places[netip.Addr]
	ttl   uint32 // the oldest endpoint's: its owner's (rule 5.6)
	cells []Cells
	set   bool // one of cells is set
}

// add adds the addresses of more that l lacks, and combines the cells of the others.
func (l *addressList) add(b *Builder, c *endpoint.Contender, gateway *health.Cell, more []netip.Addr) {
	probed := b.Probed(c)
	if !probed && gateway == nil && l.cells == nil { // no cells, as usual
		if len(l.list) == 0 {
			l.list = slices.Clip(more)
			return
		}
		for _, a := range more {
			l.of(a)
		}
		return
	}
	l.cells = l.all()
	for _, a := range more {
		cells := Cells{Gateway: gateway}
		if probed {
			cells = b.Cells(c, a.String(), gateway)
		}
		l.set = l.set || cells != Cells{}
		if at, known := l.of(a); known {
			l.cells[at] = l.cells[at].With(cells)
		} else {
			l.cells = append(l.cells, cells)
		}
	}
}

// all returns the cells of each address.
func (l *addressList) all() []Cells {
	if len(l.cells) == len(l.list) {
		return l.cells
	}
	return append(l.cells, make([]Cells, len(l.list)-len(l.cells))...)
}
