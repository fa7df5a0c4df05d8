package pool

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// ReasonInactive is the reason of a note on a contender whose cluster's group is not active (rule 9.5).
const ReasonInactive = "GroupInactive"

// standing returns the contenders of a host that clusters of active groups have, or all if there is nothing else to answer with (rule
// 9.5). The targets of the others are checked on: it is known what is up when their group becomes active.
func (b *Builder) standing(on []*endpoint.Contender) []*endpoint.Contender {
	active := b.Active(on[0].Host)
	away := func(c *endpoint.Contender) bool { return !active.Has(b.Group(c.By.Cluster)) }
	if !slices.ContainsFunc(on, away) {
		return on // by far the most
	}
	stay := slices.DeleteFunc(slices.Clone(on), away)
	all := !slices.ContainsFunc(stay, func(c *endpoint.Contender) bool { return !c.Empty() })
	for _, c := range on {
		if !away(c) || c.Empty() {
			continue
		}
		group, says := b.Group(c.By.Cluster), "its targets are not answered"
		if all {
			says = "its targets are answered all the same, as no other cluster has any"
		} else {
			b.watchAway(c)
		}
		b.tell(c, api.Condition{
			Type: endpoint.ConditionReady, Status: api.ConditionTrue, Reason: ReasonInactive,
			Message: endpoint.TrimDot(c.Host) + ": group " + group + " of cluster " + c.By.Cluster + " is not active: " + says,
		})
	}
	if all {
		return on
	}
	return stay
}

// watchAway has the targets of a contender checked that no answer holds.
func (b *Builder) watchAway(c *endpoint.Contender) {
	word := b.Word(c)
	for address := range c.Targets.All() {
		b.Cells(c, address, word)
	}
}
