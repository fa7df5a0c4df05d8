package records

import (
	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/boolean"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// publishEndpoints makes the objects with endpoints anew that changed, or depend on an object that did: DNSRecords and DNSEndpoints →
// contenders and Records.
func publishEndpoints(clusters clusterSet, at *placer) {
	for _, e := range clusters {
		if e.before == nil {
			for _, p := range endpoint.Publishers {
				for name := range e.in.Names(p.Kind, "") {
					e.publish(api.Ref{Kind: p.Kind, Name: name}, at)
				}
			}
			continue
		}
		published := make(map[api.Ref]bool)
		publish := func(ref api.Ref) {
			if !published[ref] {
				published[ref] = true
				e.publish(ref, at)
			}
		}
		for _, ref := range e.in.Changed {
			if endpoint.Publishing(ref.Kind) != nil {
				publish(ref)
			}
		}
		for _, p := range endpoint.Publishers {
			if p.From == nil {
				continue
			}
			for _, changed := range e.in.Changed {
				for name := range p.From(e.in, changed) {
					publish(api.Ref{Kind: p.Kind, Name: name})
				}
			}
		}
	}
}

// publish makes one object's publication anew.
func (e *clusterEdit) publish(ref api.Ref, at *placer) {
	key := endpoint.PublicationKey(ref.Kind, ref.Name)
	if e.before != nil {
		if old, ok := e.published.Get(key); ok {
			e.state.RefusedPublishers[ref.Kind] -= boolean.Int(old.IsRefused())
			for _, who := range old.Contenders {
				at.dirty.lose(who)
			}
			for _, r := range old.Records {
				at.drop(r)
			}
		}
	}
	at.dirty.object(e.in.Name, ref.Kind, ref.Name)
	p := endpoint.PublicationOf(at.zones.table, at.zones.opt, e.in, ref.Kind, ref.Name)
	if p == nil {
		e.published.Delete(key)
		return
	}
	e.published.Set(key, p)
	e.state.RefusedPublishers[ref.Kind] += boolean.Int(p.IsRefused())
	for _, who := range p.Contenders {
		at.dirty.gain(who)
	}
	for _, r := range p.Records {
		at.add(r)
	}
}
