package records

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/owner"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// MissingOwner reports whether the object of a registry line does not exist. read is false while that is unknown, or its cluster has not been
// listed (rule 5.4); a kind that is not installed counts as listed, also for the time in which it may be a mistake of the API server's.
func MissingOwner(in *api.Objects, key string, line api.Owner) (missing, read bool) {
	o := in.Current(line)
	c := in.Cluster(o.Cluster)
	if c == nil || !c.Complete() || owner.IsUnread(in, key, o) {
		return false, false
	}
	return c.MetaOf(api.Ref{Kind: o.Kind, Name: o.Name}) == nil, true
}

// LineLosses counts the registry lines of each zone, and those that are among missing. Zones are the Corefile's, and those with a line.
func LineLosses(in *api.Objects, opt *Options, missing map[string]api.Owner) map[string]Loss {
	origins := make(map[string]int)
	for i := range opt.Zones {
		origins[opt.Zones[i].Origin] = len(origins)
	}
	for key := range in.Acquired.All() {
		if origin, zone := api.OfZoneKey(key); zone {
			origins[origin] = len(origins)
		}
	}
	losses := make(map[int]Loss)
	for key := range in.Acquired.All() {
		at := endpoint.ClosestOrigin(origins, rdata.Base(endpoint.NameOf(key)))
		l := losses[at]
		l.Names++
		if _, is := missing[key]; is {
			l.Gone++
		}
		losses[at] = l
	}
	all := make(map[string]Loss)
	for origin, at := range origins {
		if l := losses[at]; l.Gone > 0 {
			all[origin] = l
		}
	}
	return all
}

// Contested reports whether objects of several namespaces want a name, which has a final dot.
func (s *Snapshot) Contested(name string) bool {
	if g, ok := s.NameGroups.Get(endpoint.GroupKey(name)); ok {
		if slices.ContainsFunc(g.Lost, func(l owner.Loss) bool { return l.Contender.Host == name && !l.Contender.By.SameNamespace(l.Owner.By) }) {
			return true
		}
	}
	z := s.Zone(rdata.Base(name))
	if z == nil {
		return false
	}
	n := z.Node(name)
	return n != nil && slices.ContainsFunc(n.Records, func(r *endpoint.Record) bool { return owner.Meets(n.Records, r) })
}
