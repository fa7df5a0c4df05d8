package pool

import (
	"math/bits"

	"github.com/coredns-kuadrant/kuadrant/geo"
)

// strategy is one step of the order of rule 4.6: of the members that the steps before leave, those in the lowest place
// stay. Lookup, Explain, transfers, previews and metrics all go by the same steps.
type strategy interface {
	// Place returns the place of a member that is of a class, for a client at a place.
	Place(p *Pool, m *Member, is Class, at *geo.Codes) uint8
	// Verdict is what is said of a member that does not stay.
	Verdict() Verdict
}

// order is the steps of an answer, the first that decides first.
var order = [...]strategy{byUse{}, byGeo{}, byState{}}

// rank is the places of a member in the steps of order, the first in the highest octet: the lowest rank is taken.
type rank uint64

const last = ^rank(0)

// rank goes through order, written out: calls through the interface would make a query half as slow again.
func (p *Pool) rank(m *Member, is Class, at *geo.Codes) rank {
	return rank(byUse{}.Place(p, m, is, at))<<16 | rank(byGeo{}.Place(p, m, is, at))<<8 | rank(byState{}.Place(p, m, is, at))
}

// transferRank is rank for a transfer, which is for clients at all places: is says how good an address is whatever checks
// have found (rule 7.5). A simple host has neither pool nor members.
func (p *Pool) transferRank(m *Member, is Class) rank { return rank(byUse{}.Place(p, m, is, nil)) }

// verdict says why a member of rank r in order is not the one that was drawn from those of rank taken, which is as low or
// lower.
func (r rank) verdict(taken rank) Verdict {
	if r == taken {
		return VerdictNotDrawn
	}
	octet := (bits.Len64(uint64(r^taken)) - 1) / 8 // the highest that differs
	return order[len(order)-1-octet].Verdict()
}

// byUse takes usable members, then drained ones, then those that are down: the fail-open.
type byUse struct{}

var useOf = [...]uint8{WeightedUp: 0, WeightedUnknown: 0, DrainedUp: 1, DrainedUnknown: 1, WeightedDown: 2, DrainedDown: 3, ForcedDown: 4}

func (byUse) Place(_ *Pool, _ *Member, is Class, _ *geo.Codes) uint8 { return useOf[is] }

func (byUse) Verdict() Verdict { return VerdictWorse }

// byState takes members that are up before those that are not decided.
type byState struct{}

func (byState) Place(_ *Pool, _ *Member, is Class, _ *geo.Codes) uint8 {
	if is == WeightedUnknown || is == DrainedUnknown {
		return 1
	}
	return 0
}

func (byState) Verdict() Verdict { return VerdictWorse }
