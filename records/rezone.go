package records

import (
	"iter"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// rezoning is a change of the zones that are served. What lies in zones that come, go or
// change is placed anew, and nothing else.
type rezoning struct {
	// origins are those of zones that are not what they were.
	origins map[string]struct{}
	// zones are the Zones with other names, or another fate, by cluster and namespace/name:
	// Records may be named after them.
	zones map[[2]string]struct{}
}

// rezone makes the zones of the next snapshot out of those of the one before.
func (c *compiler) rezone() {
	before, set := c.prev.zoneSet, c.next.zoneSet
	c.rezoning = &rezoning{origins: make(map[string]struct{}), zones: make(map[[2]string]struct{})}
	for i, fates := range set.fates {
		c.rezoning.compare(c.next.in.Clusters[i].Name, before.fates[i], fates)
	}
	c.next.retired = retire(set.index, c.prev.retired, c.prev)
	c.zones, c.edits = make([]*Zone, len(set.sites)), make([]*zoneEdit, len(set.sites))
	cuts := set.cuts()
	for i, at := range set.sites {
		if j, ok := before.index[at.origin]; ok && before.sites[j].same(&at) {
			c.zones[i] = c.prev.zones[j]
			if c.zones[i].object != at.object { // another version with the same content
				z := *c.zones[i]
				z.site = at
				c.zones[i] = &z
				c.edit(i) // its serial may be another one
			}
			continue
		}
		c.rezoning.origins[at.origin] = struct{}{}
		c.zones[i] = newZone(at, cuts[i])
		c.edit(i)
	}
	for _, at := range before.sites {
		if _, ok := set.index[at.origin]; !ok {
			c.rezoning.origins[at.origin] = struct{}{}
			c.uncut(at.origin)
		}
	}
	for i, at := range set.sites {
		up, was := set.above(at.origin), before.above(at.origin)
		_, known := before.index[at.origin]
		switch {
		case up == nil:
		case c.rezoning.has(up.origin):
			c.edit(i) // the zone above holds nothing of it yet
		case !known || was == nil || was.origin != up.origin:
			n := c.edit(set.index[up.origin])
			node := n.make(at.origin)
			n.setCut(node, true)
			n.renew(node)
			c.edit(i)
		}
		if known && was != nil && (up == nil || was.origin != up.origin) {
			c.uncut(at.origin)
		}
	}
}

// uncut ends what the zone that was above origin held of a zone there.
func (c *compiler) uncut(origin string) {
	was := c.prev.zoneSet.above(origin)
	if was == nil || c.rezoning.has(was.origin) {
		return
	}
	i, ok := c.next.zoneSet.index[was.origin]
	if !ok {
		return
	}
	e := c.edit(i)
	e.delegate(origin, nil)
	n := e.make(origin)
	e.setCut(n, false)
	e.renew(n)
}

// same tells whether two versions of a served zone have the same content apart from what
// is published in them.
func (at *site) same(o *site) bool {
	sameLine := (at.unread == nil) == (o.unread == nil) && (at.unread == nil || *at.unread == *o.unread)
	return at.origin == o.origin && at.corefile == o.corefile && sameZone(at.object, o.object) && sameLine
}

// cuts returns, for each zone, the origins of those that begin below it.
func (s *zoneSet) cuts() [][]string {
	cuts := make([][]string, len(s.sites))
	for _, at := range s.sites {
		if up := s.above(at.origin); up != nil {
			above := s.index[up.origin]
			cuts[above] = append(cuts[above], at.origin)
		}
	}
	return cuts
}

// compare adds the Zones of a cluster that have another name or fate.
func (r *rezoning) compare(cluster string, before, now map[string]*zoneFate) {
	for name, f := range now {
		if was := before[name]; was == nil || was.fqdn != f.fqdn || !was.problem.equal(f.problem) {
			r.zones[[2]string{cluster, name}] = struct{}{}
		}
	}
	for name := range before {
		if now[name] == nil {
			r.zones[[2]string{cluster, name}] = struct{}{}
		}
	}
}

// has tells whether the zone of that origin is not what it was.
func (r *rezoning) has(origin string) bool {
	_, ok := r.origins[origin]
	return ok
}

// concerns tells whether a name lies in a zone that is not what it was, or that came or
// went.
func (r *rezoning) concerns(name string) bool {
	for at := range rdata.Ancestors(name) {
		if r.has(at) {
			return true
		}
	}
	return false
}

// gateways returns those of the targets with a listener whose host is concerned.
func (r *rezoning) gateways(targets iter.Seq2[string, *target]) (names []string) {
	for name, t := range targets {
		if t.gateway == nil || t.publisher != nil {
			continue
		}
		if slices.ContainsFunc(t.gateway.Listeners, func(l api.Listener) bool {
			host, err := rdata.Host(l.Hostname)
			return err == nil && r.concerns(host)
		}) {
			names = append(names, name)
		}
	}
	return names
}

// publishers returns the DNSRecords and DNSEndpoints of a cluster that are concerned.
func (r *rezoning) publishers(in *api.Cluster) (refs []api.Ref) {
	concerns := func(endpoints []api.Endpoint) bool {
		return slices.ContainsFunc(endpoints, func(ep api.Endpoint) bool {
			name, err := rdata.Canonical(ep.DNSName)
			return err == nil && r.concerns(name)
		})
	}
	for name, rec := range in.DNSRecords.All() {
		label, _ := rdata.Canonical(absolute(rec.Labels[api.LabelZoneName]))
		zoneID, _ := rdata.Canonical(absolute(rec.ZoneID))
		root, _ := rdata.Canonical(rec.RootHost)
		if r.has(label) || r.has(zoneID) || root != "" && r.concerns(root) || concerns(rec.Endpoints) {
			refs = append(refs, api.Ref{Kind: api.KindDNSRecord, Name: name})
		}
	}
	for name, ep := range in.DNSEndpoints.All() {
		if concerns(ep.Endpoints) {
			refs = append(refs, api.Ref{Kind: api.KindDNSEndpoint, Name: name})
		}
	}
	return refs
}

// records returns the Records of a cluster that are concerned.
func (r *rezoning) records(cluster string, entries iter.Seq2[string, *entry]) (refs []api.Ref) {
	for name, e := range entries {
		_, renamed := r.zones[[2]string{cluster, e.record.Parent}]
		if e.rr == nil || renamed || r.concerns(e.name) {
			refs = append(refs, api.Ref{Kind: api.KindRecord, Name: name})
		}
	}
	return refs
}

// zoneBefore returns the place of the zone that a name lay in before, where that is still
// what it was; -1 otherwise.
func (c *compiler) zoneBefore(name string) int {
	if c.rezoning == nil {
		return c.zoneOf(name)
	}
	at := c.prev.zoneSet.closest(name)
	return c.keptZone(at.origin)
}

// keptZone returns the place of the zone of that origin, where it is still what it was;
// -1 otherwise.
func (c *compiler) keptZone(origin string) int {
	i, ok := c.next.zoneSet.index[origin]
	if !ok || c.rezoning != nil && c.rezoning.has(origin) {
		return -1
	}
	return i
}
