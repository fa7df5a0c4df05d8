package records

import (
	"net/netip"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/health"
)

// places numbers values in the order in which they are first asked for.
type places[V comparable] struct {
	list  []V
	index map[V]int32 // nil while there are few
}

// fewPlaces is how many are looked at one after the other.
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

// addressList gathers the addresses of a name, each once.
type addressList struct {
	places[netip.Addr]
	vitals []vital
	said   bool // one of vitals says something
}

// add adds those of more that l lacks, and what is said of the others.
func (l *addressList) add(b *builder, c *claim, word *health.Cell, more []netip.Addr) {
	probed := b.probed(c)
	if !probed && word == nil && l.vitals == nil { // nothing is said, by far the most
		if len(l.list) == 0 {
			l.list = slices.Clip(more)
			return
		}
		for _, a := range more {
			l.of(a)
		}
		return
	}
	l.vitals = l.all()
	for _, a := range more {
		v := vital{gateway: word}
		if probed {
			v = b.vital(c, a.String(), word)
		}
		l.said = l.said || v != vital{}
		if at, known := l.of(a); known {
			l.vitals[at] = l.vitals[at].with(v)
		} else {
			l.vitals = append(l.vitals, v)
		}
	}
}

// all returns what is said of each address.
func (l *addressList) all() []vital {
	if len(l.vitals) == len(l.list) {
		return l.vitals
	}
	return append(l.vitals, make([]vital, len(l.list)-len(l.vitals))...)
}
