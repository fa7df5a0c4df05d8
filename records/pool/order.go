package pool

import (
	"math/bits"

	"github.com/coredns-kuadrant/kuadrant/api"
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

// orders are the steps of an answer by the attribute api.Order, the first that decides first.
var orders = [...][4]strategy{
	api.OrderGeo:      {byUse{}, byGeo{}, byPriority{}, byState{}},
	api.OrderPriority: {byUse{}, byPriority{}, byGeo{}, byState{}},
}

// rank is a member's places in the steps of its order, the first step in the highest octet: the lowest rank wins.
type rank uint64

const last = ^rank(0)

// rank is orders, written out: interface calls would make a query half as slow again.
func (p *Pool) rank(m *Member, is Class, at *geo.Codes) rank {
	near, priority := byGeo{}.Place(p, m, is, at), byPriority{}.Place(p, m, is, at)
	if p.Attributes.Of(api.Order) == api.OrderPriority {
		near, priority = priority, near
	}
	return rank(byUse{}.Place(p, m, is, at))<<24 | rank(near)<<16 | rank(priority)<<8 | rank(byState{}.Place(p, m, is, at))
}

// transferRank is the rank for a transfer, which serves clients everywhere; is ignores checks (rule 7.5).
// A simple host has neither pool nor members.
func (p *Pool) transferRank(m *Member, is Class) rank {
	r := rank(byUse{}.Place(p, m, is, nil)) << 8
	if m != nil {
		r |= rank(byPriority{}.Place(p, m, is, nil))
	}
	return r
}

// verdict says why a member of rank r is not the one that was drawn from those of rank taken, which is as low or lower.
func (p *Pool) verdict(r, taken rank) Verdict {
	if r == taken {
		return VerdictNotDrawn
	}
	order := &orders[p.Attributes.Of(api.Order)]
	octet := (bits.Len64(uint64(r^taken)) - 1) / 8 // the highest octet that differs
	return order[len(order)-1-octet].Verdict()
}

// byUse prefers usable members, then drained ones, then those that are down: failing open.
type byUse struct{}

var useOf = [...]uint8{WeightedUp: 0, WeightedUnknown: 0, DrainedUp: 1, DrainedUnknown: 1, WeightedDown: 2, DrainedDown: 3, ForcedDown: 4}

func (byUse) Place(_ *Pool, _ *Member, is Class, _ *geo.Codes) uint8 { return useOf[is] }

func (byUse) Verdict() Verdict { return VerdictWorse }

// byPriority takes members of the lowest priority (rule 9.1).
type byPriority struct{}

func (byPriority) Place(_ *Pool, m *Member, _ Class, _ *geo.Codes) uint8 { return m.Priority }

func (byPriority) Verdict() Verdict { return VerdictStandby }

// byState prefers members that are up to those that are not decided.
type byState struct{}

func (byState) Place(_ *Pool, _ *Member, is Class, _ *geo.Codes) uint8 {
	if is == WeightedUnknown || is == DrainedUnknown {
		return 1
	}
	return 0
}

func (byState) Verdict() Verdict { return VerdictWorse }
