package records

import (
	"fmt"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// standingIn tells what is there instead of an owner on record that cannot be read.
type standingIn struct {
	in      *api.Objects
	unread  tree.Map[api.Owner]
	waiting func(host string) bool // whether claims on the host wait for Secrets
	waits   func(cluster string, of api.Ref) bool
	zoneSet *zoneSet
	// has tells whether the owner on record under a key has that now.
	has func(key string, o api.Owner) bool
}

// absentee returns the owner on record under a key, where it is not known what it has there.
func (a *standingIn) absentee(key string) (o api.Owner, ok bool) {
	if o, ok = a.unread.Get(key); ok {
		return o, !a.has(key, o)
	}
	if !a.waiting(key) {
		return api.Owner{}, false
	}
	o, ok = a.in.Acquired.Get(key)
	return o, ok && o.Kind == api.KindDNSPolicy && a.waits(o.Cluster, api.Ref{Kind: o.Kind, Name: o.Name}) && !a.has(key, o)
}

// finding is what a search has come to.
type finding struct {
	// by is the claim whose data are at the name, nil for others, and for none.
	by *claim
	// steered tells whether the owner of the name decides on the data.
	steered bool
	// within is the deepest name above which nothing else decides: the name itself where it has
	// data, what a wildcard lies in, which is true then, what leads elsewhere; "" for nothing.
	within   string
	wildcard bool
}

// keeper returns the owner on record that keeps a name from being answered with what is there:
// it cannot be read, so what it says of the name is not known (rules 5.4 and 7.4). key is that
// which the owner is on record under.
func (a *standingIn) keeper(name string, f finding) (key string, o api.Owner, kept bool) {
	own := "" // it is on record that the data may be there, and at which names
	if f.by != nil {
		kind, m := f.by.object()
		if o, ok := a.in.Acquired.Get(f.by.host); ok && (o.Is(kind, m) || a.shares(f.by, base(f.by.host), o)) {
			if own = base(f.by.host); o.Chain && IsSubdomain(klbLabel+own, name) {
				own = name
			}
		}
	}
	for at, ok := name, true; ok; at, ok = parent(at) {
		below := len(at) > len(f.within)
		if own != "" && !below && len(at) <= len(own) {
			break
		}
		if o, ok := a.absentee(at); ok && !a.shares(f.by, at, o) {
			chain := o.Chain && IsSubdomain(klbLabel+at, name)
			if chain || at == name && (f.steered || below) || at != name && f.wildcard && below {
				return at, o, true
			}
		}
		if o, ok := a.absentee(wildcardPrefix + at); ok && !a.shares(f.by, at, o) {
			chain := o.Chain && IsSubdomain(klbLabel+at, name)
			if chain || below || f.wildcard && at == f.within {
				return wildcardPrefix + at, o, true
			}
		}
		for _, key := range [...]string{api.CutKey(at), api.ZoneKey(at)} {
			if o, ok := a.absentee(key); ok {
				return key, o, true
			}
		}
		if i, ok := a.zoneSet.index[at]; ok && a.zoneSet.sites[i].object != nil {
			break // the closest Zone decides on what lies in it (rule 5.1)
		}
	}
	return "", api.Owner{}, false
}

// shares tells whether an owner that is on record for a host would share it with a claim, which
// may be nil (rule 5.6). h is the host less any `*.`.
func (a *standingIn) shares(by *claim, h string, o api.Owner) bool {
	if by == nil || base(by.host) != h {
		return false
	}
	owner := api.Meta{Cluster: o.Cluster, Name: o.Name}
	for _, c := range slices.Concat(a.in.Clusters, a.in.Awaited) {
		if c.Name == o.Cluster {
			owner.Apart = !c.Pools.Has(owner.Namespace())
		}
	}
	return by.kind == o.Kind && by.kind != api.KindRecord && owner.SameNamespace(by.by) &&
		(by.pools() || owner.Name == by.by.Name && owner.Cluster != by.by.Cluster)
}

// standingIn returns what is there instead of owners that cannot be read.
func (s *Snapshot) standingIn() *standingIn {
	return &standingIn{
		in: &s.in, unread: s.unread, zoneSet: s.zoneSet, waits: s.Waits,
		waiting: func(host string) bool { _, ok := s.waiting.Get(host); return ok },
		has: func(key string, o api.Owner) bool {
			now, ok := s.Owner(key)
			return ok && now.Kind == o.Kind && now.Cluster == o.Cluster && now.Name == o.Name
		},
	}
}

// withheld tells whether what has been found for a query, n or turn, is not the answer, as it is
// not known what the owner on record says of the name.
func (s *Snapshot) withheld(q *Query, n, turn *node) bool {
	return s.withholds && s.withheldNow(q, n, turn) // mostly false, and told without a call
}

func (s *Snapshot) withheldNow(q *Query, n, turn *node) bool {
	f := finding{steered: steeredType(q.Type) || q.Type == dns.TypeANY}
	switch {
	case turn != nil:
		if o, ok := s.in.Acquired.Get(api.CutKey(turn.name)); ok && s.standingIn().has(api.CutKey(turn.name), o) {
			return false
		}
		f.within, f.steered = turn.name, true
	case n != nil:
		f.by, f.within = n.steered.owner, n.name
		if n.name != q.Name {
			f.within, f.wildcard = base(n.name), true
		}
	}
	return s.keepsBack(q.Name, f)
}

// keepsBack tells whether an owner on record that cannot be read keeps a name from being answered
// with what has been found there.
func (s *Snapshot) keepsBack(name string, f finding) bool {
	if !s.withholds {
		return false // by far the most
	}
	_, _, kept := s.standingIn().keeper(name, f)
	return kept
}

// withholds tells whether there may be owners on record that cannot be read, or that wait.
func (c *compiler) withholds() bool {
	return c.next.unread.Len() > 0 || c.waiting.Len() > 0 && c.next.in.Acquired.Len() > 0
}

// keptBy says why a claim that has its host is not answered with there; nil where it is.
// holders is by host.
func (c *compiler) keptBy(cl *claim, holders map[string]*claim) *problem {
	a := standingIn{
		in: &c.next.in, unread: c.next.unread, zoneSet: c.next.zoneSet,
		waiting: func(host string) bool { _, ok := c.waiting.Get(host); return ok },
		waits: func(cluster string, of api.Ref) bool {
			e := c.cluster(cluster)
			return e != nil && e.waits(of.Name)
		},
		has: func(key string, o api.Owner) bool {
			if origin, is := api.OfZoneKey(key); is {
				i, ok := c.next.zoneSet.index[origin]
				return ok && c.next.zoneSet.sites[i].object != nil && o.Is(api.KindZone, &c.next.zoneSet.sites[i].object.Meta)
			}
			return holders[key] != nil
		},
	}
	key, o, kept := a.keeper(cl.host, finding{by: cl, steered: true, within: cl.host})
	if !kept {
		return nil
	}
	return &problem{reasonOwnerUnread, unreadMessage(trimDot(cl.host), key, o)}
}

// waits tells whether a policy has hosts that wait for Secrets.
func (e *clusterEdit) waits(policy string) bool {
	p, ok := e.in.Policies.Get(policy)
	if !ok {
		return false
	}
	t, ok := e.targets.Get(p.TargetName())
	return ok && len(t.waiting) > 0
}

// keptRecord says why a Record is not answered with; nil where it is, as far as this goes.
func (s *Snapshot) keptRecord(e *entry) *problem {
	if !s.withholds {
		return nil // by far the most
	}
	key, o, kept := s.standingIn().keeper(e.name, finding{steered: steeredType(e.rr.Header().Rrtype), within: e.name})
	if !kept {
		return nil
	}
	return &problem{reasonOwnerUnread, unreadMessage(trimDot(e.name), key, o)}
}

// unreadMessage says whose a name is by a key on record.
func unreadMessage(name, key string, o api.Owner) string {
	owner := fmt.Sprintf("%s %s of cluster %q", o.Kind, o.Name, o.Cluster)
	whose := name + " belongs to " + owner
	if origin, is := api.OfZoneKey(key); is {
		whose = name + " lies in the zone " + trimDot(origin) + " of " + owner
	} else if cut, is := api.OfCutKey(key); is {
		whose = trimDot(cut) + " is delegated, or redirected, by " + owner
	} else if trimDot(key) != name {
		whose = "names of " + trimDot(key) + " belong to " + owner
	}
	return "it is on record that " + whose + ", which cannot be read now: queries are answered with SERVFAIL until it can"
}
