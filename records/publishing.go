package records

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
)

// publish renews the DNSRecords and DNSEndpoints that have changed, and those whose headers may have.
func (c *compiler) publish() {
	for _, e := range c.clusters {
		for _, kind := range endpoint.PublisherKinds {
			if c.prev == nil {
				for name := range e.in.Names(kind, "") {
					c.renewPublisher(e, kind, name)
				}
			}
		}
		if c.prev == nil {
			continue
		}
		renewed := make(map[api.Ref]bool)
		for _, ref := range e.in.Changed {
			if slices.Contains(endpoint.PublisherKinds[:], ref.Kind) {
				renewed[ref] = true
				c.renewPublisher(e, ref.Kind, ref.Name)
			}
		}
		for _, namespace := range e.again {
			for name, r := range e.in.DNSRecords.Beginning(namespace + "/") {
				if pool.HeadersOf(r.HealthCheck, &r.Meta) != "" && !renewed[api.Ref{Kind: api.KindDNSRecord, Name: name}] {
					c.renewPublisher(e, api.KindDNSRecord, name)
				}
			}
		}
	}
}

// renewPublisher makes what one object publishes anew, and marks what depends on it.
func (c *compiler) renewPublisher(e *clusterEdit, kind api.Kind, name string) {
	key := endpoint.PublisherKey(kind, name)
	if c.prev != nil {
		if old, ok := e.targets.Get(key); ok {
			e.state.RefusedPublishers[kind] -= btoi(old.Publisher.IsRefused())
			for _, who := range old.Contenders {
				c.change(who).lose(who)
			}
			for _, r := range old.Publisher.Records {
				c.dropRecord(r)
			}
		}
	}
	c.look(e.in.Name, kind, name)
	if c.prev != nil && kind == api.KindDNSRecord {
		e.renewed = append(e.renewed, name)
	}
	t := endpoint.PublisherOf(c.next.Table, c.next.Opt, e.in, kind, name)
	if t == nil {
		e.targets.Delete(key)
		return
	}
	e.targets.Set(key, t)
	e.state.RefusedPublishers[kind] += btoi(t.Publisher.IsRefused())
	for _, who := range t.Contenders {
		ch := c.change(who)
		ch.add = append(ch.add, who)
	}
	for _, r := range t.Publisher.Records {
		c.edit(c.zoneOfRecord(r)).Add(r)
		c.touch(r, 1)
	}
}
