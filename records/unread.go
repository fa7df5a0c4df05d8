package records

import (
	"iter"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// sayOf are the kinds that tell whether an owner of a kind is there.
func sayOf(kind api.Kind) []api.Kind {
	switch kind {
	case api.KindDNSPolicy:
		return []api.Kind{api.KindGateway, api.KindDNSPolicy}
	case api.KindZone, api.KindRecord:
		return []api.Kind{api.KindZone, api.KindRecord}
	default:
		return []api.Kind{kind}
	}
}

// isUnread tells whether it is not known if an owner on record is there: its cluster is read,
// and the kinds that tell have not been listed in its namespace. Records of a Zone may be anywhere.
// What is on record of a cluster that nothing leads to has gone with it: the writer keeps such lines for ten minutes.
func isUnread(in *api.Objects, key string, o api.Owner) bool {
	kinds := sayOf(o.Kind)
	if _, zone := api.OfZoneKey(key); zone {
		kinds = []api.Kind{api.KindZone}
	} else if o.Kind == api.KindZone && slices.ContainsFunc(in.Clusters, func(c *api.Cluster) bool { return lacks(c, o, api.KindRecord) }) {
		return true
	}
	namespace, _, _ := strings.Cut(o.Name, "/")
	for _, c := range in.Clusters {
		if c.Name == o.Cluster {
			return slices.ContainsFunc(kinds, func(k api.Kind) bool { return !c.Knows(k, namespace) })
		}
	}
	return in.Expecting || in.Unsure || isNamed(in.Awaited, o.Cluster)
}

func isNamed(clusters []*api.Cluster, name string) bool {
	return slices.ContainsFunc(clusters, func(c *api.Cluster) bool { return c.Name == name })
}

// lacks tells whether a cluster may hold more objects of a kind, in any namespace, as far as that
// counts for an owner: what cannot be read of a cluster that a Secret names counts for its own
// objects alone (decision 26).
func lacks(c *api.Cluster, o api.Owner, kind api.Kind) bool {
	l := c.Listings[kind]
	return !l.Certain() && (l != api.NotCounted || c.Name == o.Cluster)
}

// unreadLines are the lines of the registry whose objects cannot be read now.
type unreadLines struct {
	// hosts are the claims that stand for the owners of hosts, zones the owners of Zones by their origins.
	hosts tree.Map[*endpoint.Claim]
	zones map[string]api.Owner
}

// findUnread finds the lines of the registry whose objects cannot be read now, and those of hosts of which that has changed.
func (c *compiler) findUnread() {
	s, before := c.next, unreadLines{}
	s.allRead = allRead(&s.in)
	if c.prev != nil {
		before = c.prev.unread
	}
	if c.prev != nil && len(s.in.AcquiredChanged) == 0 {
		s.unread = before
		return
	}
	hosts := before.hosts.Edit()
	if s.unread.zones = before.zones; c.prev == nil {
		s.unread.zones = make(map[string]api.Owner)
		for key, o := range s.in.Acquired.All() {
			if o = s.in.Current(o); !isUnread(&s.in, key, o) {
				continue
			}
			if origin, is := api.OfZoneKey(key); is {
				s.unread.zones[origin] = o
			} else {
				hosts.Set(key, unreadClaim(&s.in, key, o))
			}
		}
	} else {
		for _, key := range s.in.AcquiredChanged {
			if _, is := api.OfZoneKey(key); is {
				continue // zones are what they were: see fits
			}
			r := rereadClaim{}
			r.was, _ = hosts.Get(key)
			if o, ok := s.in.Registered(key); ok && isUnread(&s.in, key, o) {
				if r.now = unreadClaim(&s.in, key, o); r.was != nil && r.was.Kind == r.now.Kind && sameMeta(r.was.By, r.now.By) {
					continue
				}
				hosts.Set(key, r.now)
			} else {
				hosts.Delete(key)
			}
			c.reread = append(c.reread, r)
		}
	}
	s.unread.hosts = hosts.Map()
}

// rereadClaim is a claim of unreadLines.hosts that has come, gone, or changed; nil for none.
type rereadClaim struct{ was, now *endpoint.Claim }

func sameMeta(a, b *api.Meta) bool {
	return a.Cluster == b.Cluster && a.Name == b.Name && a.UID == b.UID && a.Apart == b.Apart
}

// unreadClaim returns the claim that stands for the owner of a host until it can be read: it is the owner like any
// other, and its host is SERVFAIL (rule 5.4).
func unreadClaim(in *api.Objects, host string, o api.Owner) *endpoint.Claim {
	m := in.MetaOf(o)
	return &endpoint.Claim{
		By: m, Host: host, Kind: o.Kind, Unread: true, Registered: true, Targets: &endpoint.Targets{},
		Policy: &api.DNSPolicy{Meta: *m}, Gateway: &api.Gateway{Meta: api.Meta{Cluster: o.Cluster}},
	}
}

// claimUnread adds the claims of owners that cannot be read to their groups, and takes away those of others.
func (c *compiler) claimUnread() {
	drop := func(cl *endpoint.Claim) {
		if cl != nil {
			c.change(cl).lose(cl)
		}
	}
	add := func(cl *endpoint.Claim) {
		if cl == nil || c.placeOf(cl.Host) != endpoint.InZone || c.zones[c.zoneOf(rdata.Base(cl.Host))].Unread != nil {
			return
		}
		ch := c.change(cl)
		ch.add = append(ch.add, cl)
	}
	if c.prev == nil {
		for _, cl := range c.next.unread.hosts.All() {
			add(cl)
		}
		return
	}
	for _, r := range c.reread {
		drop(r.was)
		add(r.now)
	}
}

// withoutPresent returns the claims without those that stand for owners which are among them.
func (c *compiler) withoutPresent(claims []*endpoint.Claim) []*endpoint.Claim {
	if c.next.unread.hosts.Len() == 0 {
		return claims // by far the most
	}
	present := make(map[string]bool)
	for _, cl := range claims {
		if !cl.Registered && c.holds(cl) {
			present[cl.Host] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(claims), func(cl *endpoint.Claim) bool { return cl.Registered && present[cl.Host] })
}

// unread reports whether the owner of the node cannot be read now.
func (n *node) unread() bool {
	return n.steered.data == nil && n.steered.owner != nil && n.steered.owner.Unread
}

// withholds reports whether what a search for a query has found, nil for nothing, is not the answer: the owner on the
// registry cannot be read (rule 5.4).
func (z *Zone) withholds(q *Query, n *node) bool {
	switch {
	case z.Unread != nil:
		return true
	case n == nil || !n.unread():
		return false
	}
	return ofType(n.static, q.Type) == nil && !(q.Type == dns.TypeSOA && n.name == z.Origin())
}

// UnreadOwners returns how many hosts and zones are registered for objects that cannot be read now.
func (s *Snapshot) UnreadOwners() int { return s.unread.hosts.Len() + len(s.unread.zones) }

// UnreadNames yields the names that UnreadOwners counts, without a final dot, each with its owner, in no order.
func (s *Snapshot) UnreadNames() iter.Seq2[string, Object] {
	return func(yield func(string, Object) bool) {
		for host, cl := range s.unread.hosts.All() {
			if !yield(endpoint.TrimDot(host), ownerOf(cl)) {
				return
			}
		}
		for origin, o := range s.unread.zones {
			if !yield(endpoint.TrimDot(origin), Object{o.Cluster, o.Kind.String(), o.Name}) {
				return
			}
		}
	}
}

// Waits reports whether an object that has Children, or for a policy another one of its Gateway, has hosts that wait for
// Secrets: what it should have is not known then.
func (s *Snapshot) Waits(cluster string, of api.Ref) bool {
	p := s.parentObject(cluster, of)
	return p != nil && p.target != nil && slices.ContainsFunc(p.target.Claims, func(c *endpoint.Claim) bool { return c.Unread })
}

// Gone tells whether an owner that is on record under a key, and has nothing there, is known to have
// lost that for good: it has been read, and so has everything that could still give it the name. known
// is false where there is no cluster of that name.
func (s *Snapshot) Gone(key string, o api.Owner) (gone, known bool) {
	in := &s.in
	o = in.Current(o)
	if !isNamed(in.Clusters, o.Cluster) && !isNamed(in.Awaited, o.Cluster) {
		return false, in.Expecting || in.Unsure
	}
	if isUnread(in, key, o) {
		return false, true
	}
	namespace, _, _ := strings.Cut(o.Name, "/")
	for _, c := range in.Clusters {
		if lacks(c, o, api.KindZone) && (c.Name != o.Cluster || !c.Knows(api.KindZone, namespace)) {
			return false, true // whether it may publish is not known
		}
		for k := range api.NumKinds {
			if c.Name == o.Cluster && k.HoldsNames() && !c.Knows(k, namespace) {
				return false, true
			}
		}
	}
	z := s.Zone(rdata.Base(endpoint.NameOf(key)))
	if z == nil {
		return true, true
	}
	n, _ := z.names.Get(key)
	return z.Unread == nil && (n == nil || !n.unread()), true
}

// Unserved tells whether a zone below one of the Corefile is known to be none: everything has been
// read, and no Zone has that name, or has none yet. What the Corefile itself names is another
// matter: servers with an older Corefile may serve it still.
func (s *Snapshot) Unserved(origin string) bool {
	if !s.allRead || s.Zone(origin) == nil {
		return false
	}
	if slices.ContainsFunc(s.opt.Zones, func(z endpoint.ZoneOptions) bool { return z.Origin == origin }) {
		return false
	}
	for _, admissions := range s.zoneSet.Admissions {
		for _, f := range admissions {
			mayBe := f.Problem == nil || f.Problem.Reason == endpoint.ReasonParentMissing || f.Problem.Reason == endpoint.ReasonParentPending
			if f.FQDN == "" && mayBe || f.FQDN == origin {
				return false
			}
		}
	}
	return true
}

// allRead reports whether of every cluster all objects are known that registered owners may be.
func allRead(in *api.Objects) bool {
	return !in.Expecting && !in.Unsure && len(in.Awaited) == 0 && !slices.ContainsFunc(in.Clusters, func(c *api.Cluster) bool {
		for k, l := range c.Listings {
			if api.Kind(k).HoldsNames() && !l.Certain() {
				return true
			}
		}
		return false
	})
}
