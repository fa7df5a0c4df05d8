package records

import (
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

// isRefused tells whether somebody is told that the object is not served.
func (p *publisher) isRefused() bool { return p.refused != nil && !p.child }

// publisherOf returns what becomes of an object; nil where there is none.
func publisherOf(zones *endpoint.Zones, opt *endpoint.Options, in *api.Cluster, kind api.Kind, name string) *target {
	o := offering{publisher: &publisher{kind: kind}, set: zones, opt: opt}
	policy := &api.DNSPolicy{}
	switch kind {
	case api.KindDNSRecord:
		rec, ok := in.DNSRecords.Get(name)
		if !ok {
			return nil
		}
		o.meta, o.endpoints = &rec.Meta, rec.Endpoints
		policy.HealthCheck, policy.CheckInvalid = rec.HealthCheck, rec.CheckInvalid
		o.record(rec)
	default:
		ep, ok := in.DNSEndpoints.Get(name)
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

// publisher is one DNSRecord or DNSEndpoint with what it publishes apart from its claims
// (rule 6.10).
type publisher struct {
	kind api.Kind
	meta *api.Meta
	// fqdn is the name that a DNSRecord is about; "" for a DNSEndpoint.
	fqdn string
	// entries are its records of types that are not steered.
	entries []*endpoint.Record
	// refused is why nothing of it is served; nil otherwise. problems say what of it is
	// not.
	refused  *endpoint.Problem
	problems []*endpoint.Problem
	// child is true for a child of a policy, of which there is nothing to be said but its
	// status: see Snapshot.RecordStatus.
	child bool
}

// parentRef returns the object of a namespace whose child one of a kind is that by controls, and
// that is our own where own is true; a Ref without a name for none. A policy has DNSRecords and
// probes, a DNSRecord probes alone.
func parentRef(kind api.Kind, namespace string, by *api.Controller, own bool) api.Ref {
	switch {
	case !own || by == nil:
	case by.Kind == api.KindDNSPolicy.String():
		return api.Ref{Kind: api.KindDNSPolicy, Name: namespace + "/" + by.Name}
	case by.Kind == api.KindDNSRecord.String() && kind == api.KindProbe:
		return api.Ref{Kind: api.KindDNSRecord, Name: namespace + "/" + by.Name}
	}
	return api.Ref{}
}

// recordParent returns the policy whose child a DNSRecord is.
func recordParent(r *api.DNSRecord) api.Ref {
	return parentRef(api.KindDNSRecord, r.Namespace(), r.Controller, r.Own())
}

// probeParent returns the policy or DNSRecord whose child a probe is.
func probeParent(p *api.HealthCheckProbe) api.Ref {
	return parentRef(api.KindProbe, p.Namespace(), p.Controller, p.Own())
}
