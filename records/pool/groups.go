package pool

import (
	"maps"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// ReasonInactive is the reason of a note on a contender whose cluster's group is not active (rule 9.5).
const ReasonInactive = "GroupInactive"

// standing splits the contenders of a host into those of active groups and the others (rule 9.5). All stay if the active ones have no
// address.
func (b *Builder) standing(on []*endpoint.Contender) (stay, away []*endpoint.Contender) {
	active := b.Active(on[0].Host)
	isAway := func(c *endpoint.Contender) bool { return !active.Has(b.Group(c.By.Cluster)) }
	if !slices.ContainsFunc(on, isAway) {
		return on, nil // by far the most
	}
	for _, c := range on {
		if isAway(c) {
			away = append(away, c)
		} else {
			stay = append(stay, c)
		}
	}
	all := !slices.ContainsFunc(stay, func(c *endpoint.Contender) bool { return !c.Empty() })
	for _, c := range away {
		if c.Empty() {
			continue
		}
		group, says := b.Group(c.By.Cluster), "its targets are not answered"
		if all {
			says = "its targets are answered all the same, as no active cluster has any"
		}
		b.tell(c, api.Condition{
			Type: endpoint.ConditionReady, Status: api.ConditionTrue, Reason: ReasonInactive,
			Message: endpoint.TrimDot(c.Host) + ": group " + group + " of cluster " + c.By.Cluster + " is not active: " + says,
		})
	}
	if all {
		return on, nil
	}
	return stay, away
}

// withdraw returns the names of a chain that away contenders would have, without notes. Their targets are checked: it is known what is up
// when their group becomes active.
func (b *Builder) withdraw(at *host, away []*endpoint.Contender) (left map[string]Steered) {
	if len(away) == 0 {
		return nil
	}
	aside := *b
	aside.tree, aside.options, aside.hops = hostTree{}, nil, nil
	aside.Names, aside.Notes, aside.Dropped = make(map[string]Steered), nil, nil
	aside.name(at, away)
	maps.DeleteFunc(aside.Names, func(name string, _ Steered) bool { return rdata.Base(name) == at.name })
	return aside.Names
}

// leave adds the names that withdrawn members leave behind, since resolvers hold CNAMEs that lead there: a member's name has its targets,
// and that of a geo group answers as the host does, like one without a usable member (rule 2.4). c is the chain of those that stay; nil
// for none.
func (b *Builder) leave(left map[string]Steered, c *chain) {
	for _, name := range slices.Sorted(maps.Keys(left)) {
		if _, known := b.Names[name]; known {
			continue
		}
		data := left[name]
		if v, is := data.Data.(*View); is && v.Group != None && c != nil {
			if host, stays := b.Names[c.groups[0].name].Data.(*View); stays {
				g := v.Pool.Groups[v.Group]
				data.Data = &View{Pool: host.Pool, Skip: host.Skip, Group: int32(len(host.Pool.Groups)), part: true}
				host.Pool.Groups = append(host.Pool.Groups, g)
			}
		}
		b.Names[name] = data
	}
}

// watchAway has the targets of a contender checked that no answer holds.
func (b *Builder) watchAway(c *endpoint.Contender) {
	gateway := b.OverrideOf(c)
	for address := range c.Targets.All() {
		b.Cells(c, address, gateway)
	}
}
