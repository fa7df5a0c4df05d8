package owner

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// Loss is a contender that another object's contender keeps from being served.
type Loss struct {
	Contender, Owner *endpoint.Contender
	// Crowded is set where Owner would share the host, but too many do already.
	Crowded bool
}

// Problem tells the contender's object why it is not served. The message begins with the owner; of a conflict of types it has
// Kuadrant's words, too.
func (l Loss) Problem() *endpoint.Problem {
	c, o := l.Contender, l.Owner
	mine, theirs := c.RecordType(), o.RecordType()
	switch {
	case o.Unread:
		return endpoint.UnreadProblem(o.Host, o.Kind, o.By)
	case !o.Vacant() && l.Crowded:
		return endpoint.Problemf(endpoint.ReasonConflicted,
			"at most %d policies may share a host: serving the oldest, %s %s first",
			maxSharing, o.Kind, endpoint.InCluster(o.By, c.By))
	case !o.Vacant() && endpoint.Underscored(c.Host) && c.Host != o.Host:
		return NotBelow(o, c.By)
	case !o.Vacant() && mine != theirs:
		return endpoint.Problemf(endpoint.ReasonConflicted,
			"%s: record type conflict, cannot update endpoint '%s' with record type '%s' when endpoint already exists with record type '%s'",
			o.Owns("the host", c.By), endpoint.TrimDot(c.Host), mine, theirs)
	}
	return endpoint.Problemf(endpoint.ReasonConflicted, "%s", o.Owns("the host", c.By))
}

// maxSharing is how many contenders share a host at most: a query looks at the members of each.
const maxSharing = 500

// Group is the contenders that may meet at names, and what was decided on them.
type Group struct {
	Contenders []*endpoint.Contender // sorted by Contender.Older
	Lost       []Loss                // in the same order, once sorted
}

// Loses reports whether one of the contenders of g is among those that lost.
func (g *Group) Loses(c *endpoint.Contender) bool {
	_, lost := g.Loss(c)
	return lost
}

// Loss returns how one of the contenders of g has lost; ok is false if it has not.
func (g *Group) Loss(c *endpoint.Contender) (l Loss, ok bool) {
	i, ok := slices.BinarySearchFunc(g.Lost, c, func(l Loss, c *endpoint.Contender) int { return l.Contender.Older(c) })
	if !ok {
		return Loss{}, false
	}
	return g.Lost[i], true
}

// Resolve decides which contenders, in the order of precedence, are served: a host belongs to the namespace of the first contender
// on it, and its addresses to the first one of these that has any, with those that share the host with it. The others lose
// as a whole (rules 5.3 to 5.6). Contenders of records neither win nor lose.
func Resolve(contenders []*endpoint.Contender) (won []*endpoint.Contender, lost []Loss) {
	won = make([]*endpoint.Contender, 0, len(contenders))
	for _, on := range ByHost(contenders) {
		first, sharing := on[0], 0
		var owner *endpoint.Contender
		for _, c := range on {
			switch own := c.By.SameNamespace(first.By); {
			case own && owner == nil && (!c.Static || c.Addresses):
				owner = c
			case c.Static:
				continue
			case !own:
				lost = append(lost, Loss{Contender: c, Owner: first})
				continue
			case !share(owner, c):
				lost = append(lost, Loss{Contender: c, Owner: owner})
				continue
			case sharing == maxSharing:
				lost = append(lost, Loss{Contender: c, Owner: owner, Crowded: true})
				continue
			}
			if !c.Static {
				sharing++
				won = append(won, c)
			}
		}
	}
	return won, lost
}

// share reports whether two contenders on one host may be served together: consent is the same namespace for weightedGeo, and
// the same namespace and name in another cluster for either strategy, as far as the clusters pool in it (rule 5.6).
func share(a, b *endpoint.Contender) bool {
	switch {
	case a.Kind != b.Kind || a.Static || a.Kind == api.KindRecord:
		return false
	case !a.By.SameNamespace(b.By):
		return false
	case a.Registered || b.Registered: // whether it pools is not known
		return a.Pools() || b.Pools() || a.By.Name == b.By.Name && a.By.Cluster != b.By.Cluster
	case a.Pools() != b.Pools():
		return false
	}
	return a.Pools() || a.By.Name == b.By.Name && a.By.Cluster != b.By.Cluster
}

// ByHost returns the contenders on one host together; the order is that of the first of each, and of the contenders.
func ByHost(contenders []*endpoint.Contender) [][]*endpoint.Contender {
	if len(contenders) == 0 {
		return nil
	}
	first := contenders[0].Host
	if !slices.ContainsFunc(contenders[1:], func(c *endpoint.Contender) bool { return c.Host != first }) {
		return [][]*endpoint.Contender{contenders} // by far the most
	}
	var lists [][]*endpoint.Contender
	at := make(map[string]int, len(contenders))
	for _, c := range contenders {
		i, ok := at[c.Host]
		if !ok {
			i = len(lists)
			at[c.Host], lists = i, append(lists, nil)
		}
		lists[i] = append(lists[i], c)
	}
	return lists
}
