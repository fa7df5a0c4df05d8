package records

import (
	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// publish renews the objects with endpoints that changed, or depend on an object that did.
func (c *compiler) publish() {
	for _, e := range c.clusters {
		if c.prev == nil {
			for _, p := range endpoint.Publishers {
				for name := range e.in.Names(p.Kind, "") {
					c.renewPublisher(e, p.Kind, name)
				}
			}
			continue
		}
		renewed := make(map[api.Ref]bool)
		for _, ref := range e.in.Changed {
			if endpoint.Publishing(ref.Kind) != nil {
				renewed[ref] = true
				c.renewPublisher(e, ref.Kind, ref.Name)
			}
		}
		for _, p := range endpoint.Publishers {
			if p.From != nil {
				c.renewFrom(e, p, renewed)
			}
		}
	}
}

// renewFrom renews the objects of a kind that depend on changed ones, except for those already renewed.
func (c *compiler) renewFrom(e *clusterEdit, p endpoint.Publisher, renewed map[api.Ref]bool) {
	for _, changed := range e.in.Changed {
		for name := range p.From(e.in, changed) {
			if ref := (api.Ref{Kind: p.Kind, Name: name}); !renewed[ref] {
				renewed[ref] = true
				c.renewPublisher(e, p.Kind, name)
			}
		}
	}
}

// renewPublisher makes one object's publication anew, and marks what depends on it.
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
		c.touch(r)
	}
}
