package records

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// waitingHost is a host that waits for Secrets, which could not be read yet: whether its policy, here by
// namespace/name, publishes it is not known.
type waitingHost struct{ host, policy string }

// wait counts the hosts of a target that wait for Secrets: n is 1 where it comes, -1 where it
// goes.
func (c *compiler) wait(t *target, n int) {
	for _, w := range t.waiting {
		c.rewait = append(c.rewait, w.host)
		before, _ := c.waiting.Get(w.host)
		switch {
		case before+n == 0:
			c.waiting.Delete(w.host)
			countAbove(c.waitingAbove, w.host, -1)
		case before == 0:
			countAbove(c.waitingAbove, w.host, 1)
			fallthrough
		default:
			c.waiting.Set(w.host, before+n)
		}
	}
}

// waitsFor tells whether an owner is a policy that waits for Secrets with that very host.
func waitsFor(in *api.Cluster, targets interface {
	Get(gateway string) (*target, bool)
}, host string, o api.Owner,
) bool {
	if o.Kind != api.KindDNSPolicy {
		return false
	}
	p, ok := in.Policies.Get(o.Name)
	if !ok || !o.Is(api.KindDNSPolicy, &p.Meta) {
		return false
	}
	t, ok := targets.Get(p.TargetName())
	return ok && slices.Contains(t.waiting, waitingHost{host, p.Name})
}

// findStalled finds the owners on record that wait for Secrets with their hosts, and those of which that
// has changed, once it is known who waits.
func (c *compiler) findStalled() {
	s, edit := c.next, unreadOwners{}.edit()
	if c.prev != nil {
		edit = c.prev.stalled.edit()
		for _, key := range s.in.AcquiredChanged {
			if _, waits := c.waiting.Get(key); waits {
				c.rewait = append(c.rewait, key)
			}
		}
	}
	for _, host := range c.rewait {
		o, ok := s.in.Registered(host)
		e := c.cluster(o.Cluster)
		if edit.put(host, o, ok && e != nil && waitsFor(e.in, e.targets, host, o)) && c.prev != nil {
			c.reread = append(c.reread, host)
		}
	}
	s.stalled = edit.owners()
	s.withholds = s.unread.by.Len()+s.stalled.by.Len() > 0
}

// awaits tells whether a name may come to be that of a host which waits for Secrets, or to
// lie below one.
func (s *Snapshot) awaits(name string) bool {
	if s.waiting.Len() == 0 {
		return false
	}
	for at := range rdata.Ancestors(name) {
		_, host := s.waiting.Get(at)
		if _, wild := s.waiting.Get(rdata.Wildcard + at); host || wild {
			return true
		}
	}
	return false
}

// awaitsBelow tells whether a host below a name waits for Secrets: the name exists if that does.
func (s *Snapshot) awaitsBelow(name string) bool {
	_, below := s.waitingAbove.Get(name)
	return below
}

// awaited returns the zones in which hosts lie that wait for Secrets; nil for none.
func (c *compiler) awaited() map[string]bool {
	var all map[string]bool
	for host := range c.next.waiting.All() {
		if i := c.zoneOf(rdata.Base(host)); i >= 0 {
			if all == nil {
				all = make(map[string]bool)
			}
			all[c.zones[i].origin] = true
		}
	}
	return all
}

// Waits tells whether an object that has Children, or for a policy another one of its Gateway, has hosts that wait for Secrets:
// what it should have is not known then.
func (s *Snapshot) Waits(cluster string, of api.Ref) bool {
	p := s.parentObject(cluster, of)
	return p != nil && p.target != nil && len(p.target.waiting) > 0
}

// waitsFor tells whether an owner is a policy that waits for Secrets with that very host.
func (s *Snapshot) waitsFor(host string, o api.Owner) bool {
	if _, any := s.waiting.Get(host); !any {
		return false // by far the most
	}
	i := slices.IndexFunc(s.clusters, func(c *clusterState) bool { return c.name == o.Cluster })
	return i >= 0 && waitsFor(s.in.Clusters[i], s.clusters[i].targets, host, o)
}
