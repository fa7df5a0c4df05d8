package owner

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// Loss is a contender that is not served because of another object's.
type Loss struct {
	Contender, Owner *endpoint.Contender
	// Crowded is true if Owner would share the host, but too many share it already.
	Crowded bool
	// Claim is what keeps the contender out; nil if Owner has the host itself.
	Claim *Claim
}

// Problem tells the contender's object why it is not served. The message begins with the owner; for a conflict of types it includes
// Kuadrant's text.
func (l Loss) Problem() *endpoint.Problem {
	c, o := l.Contender, l.Owner
	mine, theirs := c.RecordType(), o.RecordType()
	switch {
	case o.Unread:
		return endpoint.UnreadProblem(o.Host, o.Kind, o.By)
	case l.Claim != nil:
		return l.Claim.Problem(c.Host, c.By)
	case !o.Reserved() && l.Crowded:
		return endpoint.Problemf(endpoint.ReasonConflicted,
			"at most %d policies may share a host: serving the oldest, %s %s first",
			maxSharing, o.Kind, endpoint.InCluster(o.By, c.By))
	case !o.Reserved() && mine != theirs:
		return endpoint.Problemf(endpoint.ReasonConflicted,
			"%s: record type conflict, cannot update endpoint '%s' with record type '%s' when endpoint already exists with record type '%s'",
			o.Owns("the host", c.By), endpoint.TrimDot(c.Host), mine, theirs)
	}
	return endpoint.Problemf(endpoint.ReasonConflicted, "%s", o.Owns("the host", c.By))
}

// maxSharing bounds the contenders that share a host: a query looks at the members of each.
const maxSharing = 500

// Group is the contenders that may meet at names, with the decision on them.
type Group struct {
	Contenders []*endpoint.Contender // sorted by Contender.Older
	Lost       []Loss                // in the same order, once sorted
}

// Loses reports whether one of the contenders of g is among those that lost.
func (g *Group) Loses(c *endpoint.Contender) bool {
	_, lost := g.Loss(c)
	return lost
}

// Loss returns why one of g's contenders lost; ok is false if it did not.
func (g *Group) Loss(c *endpoint.Contender) (l Loss, ok bool) {
	i, ok := slices.BinarySearchFunc(g.Lost, c, func(l Loss, c *endpoint.Contender) int { return l.Contender.Older(c) })
	if !ok {
		return Loss{}, false
	}
	return g.Lost[i], true
}

// Resolve decides which contenders of one host, given in the order of precedence, are served. The host belongs to the namespace of the
// first, and its addresses to the first of these that has any, with those that share the host with it. The others lose as a whole (rules 5.3
// to 5.6). Contenders of records neither win nor lose. Those that are barred have the host, but cannot be served there.
func Resolve(on []*endpoint.Contender, barred map[*endpoint.Contender]*Claim) (won []*endpoint.Contender, lost []Loss) {
	won = make([]*endpoint.Contender, 0, len(on))
	sharing, aliases := 0, aliasesOf(on)
	var owner *endpoint.Contender
	for _, c := range on {
		switch own := c.By.SameNamespace(on[0].By); {
		case own && barred[c] != nil:
			lost = append(lost, Loss{Contender: c, Owner: barred[c].By, Claim: barred[c]})
			continue
		case own && owner == nil && (!c.Static || c.Addresses):
			owner = c
		case c.Static:
			continue
		case !own:
			lost = append(lost, Loss{Contender: c, Owner: on[0]})
			continue
		case !share(owner, c, aliases):
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
	return won, lost
}

// share reports whether a host's owner and another contender there may be served together. Both consent if they have one kind, namespace and
// strategy: members pool, and addresses unite. An object that is a hostname, one of aliases, shares only with itself in other clusters, if
// these pool its namespace (rule 5.6). Addresses that only the guard keeps do not stand beside those of another object (rule 8.5).
func share(owner, c *endpoint.Contender, aliases map[object]bool) bool {
	same := owner.By.Name == c.By.Name && owner.By.Cluster != c.By.Cluster
	unite := same || !aliases[objectOf(owner)] && !aliases[objectOf(c)] && (owner.Missing() || !c.Missing())
	switch {
	case owner.Kind != c.Kind || owner.Static || owner.Kind == api.KindRecord || !owner.By.SameNamespace(c.By):
		return false
	case owner.Registered || c.Registered: // unknown whether it pools
		return owner.Pools() || c.Pools() || unite
	}
	return owner.Pools() == c.Pools() && (owner.Pools() || unite)
}

// object is what counts as one object, in one cluster or several.
type object struct {
	kind        api.Kind
	realm, name string
}

func objectOf(c *endpoint.Contender) object { return object{c.Kind, c.By.Realm(), c.By.Name} }

// aliasesOf returns the simple objects among one host's contenders that are a hostname: they have no address in any cluster (rule 1.7).
func aliasesOf(on []*endpoint.Contender) (aliases map[object]bool) {
	if len(on) == 1 || !slices.ContainsFunc(on, (*endpoint.Contender).Alias) {
		return nil // almost always
	}
	aliases = make(map[object]bool)
	for _, c := range on {
		if c.Alias() {
			aliases[objectOf(c)] = true
		}
	}
	for _, c := range on {
		if !c.Alias() && !c.Empty() {
			delete(aliases, objectOf(c))
		}
	}
	return aliases
}

// ByHost groups contenders by host, in the order of each host's first; it keeps their order within a host.
func ByHost(contenders []*endpoint.Contender) [][]*endpoint.Contender {
	if len(contenders) == 0 {
		return nil
	}
	first := contenders[0].Host
	if !slices.ContainsFunc(contenders[1:], func(c *endpoint.Contender) bool { return c.Host != first }) {
		return [][]*endpoint.Contender{contenders} // almost always
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
