package records

import (
	"iter"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/owner"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/coredns-kuadrant/kuadrant/records/status"
)

// contendUnread adds the contenders of owners that cannot be read to their groups, and removes those that can be read: reread, or all of
// lines if everything is made anew.
func contendUnread(lines owner.Lines, reread []owner.Reread, zones *zoneSet, dirty *dirty, anew bool) {
	add := func(who *endpoint.Contender) {
		if who != nil && zones.placeOf(who.Host) == endpoint.InZone && zones.served[zones.indexOf(rdata.Base(who.Host))].Unread == nil {
			dirty.gain(who)
		}
	}
	if anew {
		for _, who := range lines.Hosts.All() {
			add(who)
		}
		return
	}
	for _, r := range reread {
		if r.Was != nil {
			dirty.lose(r.Was)
		}
		add(r.Now)
	}
}

// UnreadOwners returns how many hosts and zones are registered for objects that cannot be read now.
func (s *Snapshot) UnreadOwners() int { return s.unread.Hosts.Len() + len(s.unread.Zones) }

// UnreadNames yields the names that UnreadOwners counts, without a final dot, each with its owner, in no order.
func (s *Snapshot) UnreadNames() iter.Seq2[string, status.Object] {
	return func(yield func(string, status.Object) bool) {
		for host, who := range s.unread.Hosts.All() {
			if !yield(endpoint.TrimDot(host), status.OwnerOf(who)) {
				return
			}
		}
		for origin, o := range s.unread.Zones {
			if !yield(endpoint.TrimDot(origin), status.Object{Cluster: o.Cluster, Kind: o.Kind.String(), Name: o.Name}) {
				return
			}
		}
	}
}

// Gone reports whether a registered owner that has nothing under its key is known to have lost it for good: the owner has been read, and so
// has everything that could still give it the name. known is false if there is no cluster of that name.
func (s *Snapshot) Gone(key string, o api.Owner) (gone, known bool) {
	if gone, known = owner.Gone(&s.In, key, s.In.Current(o)); !gone {
		return gone, known
	}
	z := s.Zone(rdata.Base(endpoint.NameOf(key)))
	if z == nil {
		return true, true
	}
	n := z.Node(key)
	return z.Unread == nil && (n == nil || !n.Unread()), true
}

// Unserved reports whether nobody can serve a zone of that origin below one of the Corefile:
// everything has been read, and no Zone has the name, or may still get it. The Corefile's own zones
// are another matter: servers with an older Corefile may still serve them.
func (s *Snapshot) Unserved(origin string) bool {
	if !s.allRead || s.Zone(origin) == nil {
		return false
	}
	if slices.ContainsFunc(s.Opt.Zones, func(z endpoint.ZoneOptions) bool { return z.Origin == origin }) {
		return false
	}
	for _, admissions := range s.Table.Admissions {
		for _, a := range admissions {
			mayBe := a.Problem == nil || a.Problem.Reason == endpoint.ReasonParentMissing || a.Problem.Reason == endpoint.ReasonParentPending
			if a.FQDN == "" && mayBe || a.FQDN == origin {
				return false
			}
		}
	}
	return true
}
