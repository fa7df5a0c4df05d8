package records

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// publisherKinds are the kinds of objects that have endpoints.
var publisherKinds = [...]api.Kind{api.KindDNSRecord, api.KindDNSEndpoint}

// publisherKey is where clusterState.targets has a DNSRecord or DNSEndpoint: in its
// namespace, where no Gateway can be.
func publisherKey(kind api.Kind, name string) string {
	m := api.Meta{Name: name}
	return m.Namespace() + "/\x00" + kind.String() + "/" + m.BareName()
}

// publish renews the DNSRecords and DNSEndpoints that have changed.
func (c *compiler) publish() {
	for _, e := range c.clusters {
		for _, kind := range publisherKinds {
			if c.prev == nil {
				for name := range e.in.Names(kind, "") {
					c.renewPublisher(e, kind, name)
				}
			}
		}
		if c.prev == nil {
			continue
		}
		for _, ref := range e.in.Changed {
			if slices.Contains(publisherKinds[:], ref.Kind) {
				c.renewPublisher(e, ref.Kind, ref.Name)
			}
		}
	}
}

// renewPublisher makes what one object publishes anew, and marks what depends on it.
func (c *compiler) renewPublisher(e *clusterEdit, kind api.Kind, name string) {
	key := publisherKey(kind, name)
	if c.prev != nil {
		if old, ok := e.targets.Get(key); ok {
			e.state.refusedPublishers[kind] -= btoi(old.publisher.isRefused())
			for _, cl := range old.claims {
				c.change(cl).lose(cl)
			}
			for _, r := range old.publisher.entries {
				c.dropEntry(r)
			}
		}
	}
	c.restateObject(e.in.Name, kind, name)
	if c.prev != nil && kind == api.KindDNSRecord {
		e.renewed = append(e.renewed, name)
	}
	t := c.publisherOf(e, kind, name)
	if t == nil {
		e.targets.Delete(key)
		return
	}
	e.targets.Set(key, t)
	e.state.refusedPublishers[kind] += btoi(t.publisher.isRefused())
	for _, cl := range t.claims {
		ch := c.change(cl)
		ch.add = append(ch.add, cl)
	}
	for _, r := range t.publisher.entries {
		c.edit(c.zoneOfEntry(r)).add(r)
		c.touch(r, 1)
	}
}

// isRefused tells whether somebody is told that the object is not served.
func (p *publisher) isRefused() bool { return p.refused != nil && !p.child }

// publisherOf returns what becomes of an object; nil where there is none.
func (c *compiler) publisherOf(e *clusterEdit, kind api.Kind, name string) *target {
	o := offering{publisher: &publisher{kind: kind}, set: c.next.zoneSet, opt: c.next.opt}
	policy := &api.DNSPolicy{}
	switch kind {
	case api.KindDNSRecord:
		rec, ok := e.in.DNSRecords.Get(name)
		if !ok {
			return nil
		}
		o.meta, o.endpoints = &rec.Meta, rec.Endpoints
		policy.HealthCheck, policy.CheckInvalid = rec.HealthCheck, rec.CheckInvalid
		o.record(rec)
	default:
		ep, ok := e.in.DNSEndpoints.Get(name)
		if !ok {
			return nil
		}
		o.meta, o.endpoints = &ep.Meta, ep.Endpoints
		if ep.Invalid != "" {
			o.refused = &endpoint.Problem{Reason: endpoint.ReasonInvalid, Message: ep.Invalid}
		}
		o.within = func(string, *endpoint.Zone) *endpoint.Problem { return nil }
	}
	t := &target{publisher: o.publisher}
	if o.refused == nil && o.meta.Deleting {
		o.refused = &endpoint.Problem{Reason: endpoint.ReasonNotServed, Message: "the object is being deleted"}
	}
	if o.meta.Fault != "" {
		o.refuse(endpoint.ReasonInvalid, "%s", o.meta.Fault)
	}
	if o.refused != nil {
		return t
	}
	o.read()
	policy.Meta = *o.meta
	gateway := &api.Gateway{Meta: api.Meta{Name: publisherKey(kind, name), Cluster: o.meta.Cluster}}
	t.gateway = gateway
	t.claims = o.claims(policy, gateway)
	if policy.HealthCheck != nil && policy.CheckInvalid != "" {
		o.refuse(endpoint.ReasonCheck, "the health check is not used, and all targets count as up: %s", policy.CheckInvalid)
	}
	return t
}

// record decides whether a DNSRecord is served here, and in which zone (rule 6.10).
func (o *offering) record(rec *api.DNSRecord) {
	zone, named := zoneNameOf(rec)
	origin, err := rdata.Canonical(absolute(zone))
	root, rootErr := rdata.Canonical(rec.RootHost)
	o.fqdn = root // "" where that is no name
	o.child = recordParent(rec).Name != ""
	at := o.set.Closest(rdata.Base(root))
	switch {
	case rec.Invalid != "":
		o.refused = &endpoint.Problem{Reason: endpoint.ReasonInvalid, Message: rec.Invalid}
	case rec.Own():
		o.refused = &endpoint.Problem{Reason: endpoint.ReasonNotServed, Message: "this server has written it, and serves what it was made from"}
	case !named:
		o.refused = endpoint.Problemf(endpoint.ReasonNotServed, "it is another server's: it has no label %s, and no zoneID with a Secret as provider", api.LabelZoneName)
	case err != nil || o.set.Closest(origin) == nil || o.set.Closest(origin).Origin != origin:
		o.refused = endpoint.Problemf(endpoint.ReasonNotServed, "the zone %q is not served here; these are: %s", zone, o.opt.ZoneNames())
	case rootErr != nil:
		o.refused = endpoint.Problemf(endpoint.ReasonInvalidName, "spec.rootHost %q: %v", rec.RootHost, rootErr)
	case at == nil || at.Origin != origin:
		o.refused = endpoint.Problemf(endpoint.ReasonNotServed, "spec.rootHost %s does not lie in the zone %s", endpoint.TrimDot(root), endpoint.TrimDot(origin))
	}
	o.within = func(name string, at *endpoint.Zone) *endpoint.Problem {
		switch {
		case !rdata.IsSubdomain(rdata.Base(root), rdata.Base(name)):
			return endpoint.Problemf(endpoint.ReasonNotServed, "%s does not lie at or below spec.rootHost %s", endpoint.TrimDot(name), endpoint.TrimDot(root))
		case at.Origin != origin:
			return endpoint.Problemf(endpoint.ReasonNotServed, "%s lies in the zone %s, and not in %s", endpoint.TrimDot(name), endpoint.TrimDot(at.Origin), endpoint.TrimDot(origin))
		}
		return nil
	}
}

// zoneNameOf returns the zone that a DNSRecord is for, as it is written there; named is
// false where it is another server's.
func zoneNameOf(rec *api.DNSRecord) (zone string, named bool) {
	zone, named = rec.Labels[api.LabelZoneName]
	if !named && rec.ZoneID != "" && rec.Provider.ServedHere() {
		return rec.ZoneID, true
	}
	return zone, named
}

// absolute returns a name with its final dot.
func absolute(name string) string {
	if name == "" || name[len(name)-1] == '.' {
		return name
	}
	return name + "."
}
