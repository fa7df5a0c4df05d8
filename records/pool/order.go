package pool

import (
	"math/bits"

	"github.com/coredns-kuadrant/kuadrant/geo"
)

// strategy is one step of the order of rule 4.6: of the members left by earlier steps, those with the lowest place stay. Lookup, Explain,
// transfers, previews and metrics all follow the same steps.
type strategy interface {
	// Place returns the place of a member of a class, for a client at a location.
	Place(p *Pool, m *Member, is Class, at *geo.Codes) uint8
	// Verdict is the reason of a member that does not stay.
	Verdict() Verdict
}

// order is the steps of an answer, in order of importance.
var order = [...]strategy{byUse{}, byGeo{}, byState{}}

// rank is a member's places in the steps of order, the first step in the highest octet: the lowest rank wins.
type rank uint64

const last = ^rank(0)

// rank is order, written out: interface calls would make a query half as slow again.
func (p *Pool) rank(m *Member, is Class, at *geo.Codes) rank {
	return rank(byUse{}.Place(p, m, is, at))<<16 | rank(byGeo{}.Place(p, m, is, at))<<8 | rank(byState{}.Place(p, m, is, at))
}

// transferRank is the rank for a transfer, which serves clients everywhere: is is the class of an address regardless of checks (rule 7.5).
// A simple host has neither pool nor members.
func (p *Pool) transferRank(m *Member, is Class) rank { return rank(byUse{}.Place(p, m, is, nil)) }

// verdict says why a member of rank r was not the one drawn from those of rank taken, which is not higher.
func (r rank) verdict(taken rank) Verdict {
	if r == taken {
		return VerdictNotDrawn
	}
	octet := (bits.Len64(uint64(r^taken)) - 1) / 8 // the highest octet that differs
	return order[len(order)-1-octet].Verdict()
}

// byUse prefers usable members, then drained ones, then those that are down: failing open.
type byUse struct{}

var useOf = [...]uint8{WeightedUp: 0, WeightedUnknown: 0, DrainedUp: 1, DrainedUnknown: 1, WeightedDown: 2, DrainedDown: 3, ForcedDown: 4}

func (byUse) Place(_ *Pool, _ *Member, is Class, _ *geo.Codes) uint8 { return useOf[is] }

func (byUse) Verdict() Verdict { return VerdictWorse }

// byState prefers members that are up to those that are not decided.
type byState struct{}

func (byState) Place(_ *Pool, _ *Member, is Class, _ *geo.Codes) uint8 {
	if is == WeightedUnknown || is == DrainedUnknown {
		return 1
	}
	return 0
}

func (byState) Verdict() Verdict { return VerdictWorse }
