package endpoint

import (
	"iter"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// Publisher is a kind of objects that have endpoints.
type Publisher struct {
	Kind api.Kind
	// read reads an object of a cluster; ok is false if there is none of that name.
	read func(o *object, in *api.Cluster, name string) (ok bool)
	// From yields the objects that depend on another one, of any kind, which has changed or gone; nil if they depend on none.
	From func(in *api.Cluster, changed api.Ref) iter.Seq[string]
}

// Publishers are all kinds of objects that have endpoints.
var Publishers = [...]Publisher{
	{Kind: api.KindDNSRecord, read: (*object).readRecord, From: recordsOf},
	{Kind: api.KindDNSEndpoint, read: (*object).readEndpoint},
}

// Publishing returns the Publisher of a kind of objects that have endpoints; nil for other kinds.
func Publishing(kind api.Kind) *Publisher {
	for i := range Publishers {
		if Publishers[i].Kind == kind {
			return &Publishers[i]
		}
	}
	return nil
}

// PublicationKey returns the key of an object's publication among those of a cluster; it begins with the namespace and a slash.
func PublicationKey(kind api.Kind, name string) string {
	m := api.Meta{Name: name}
	return m.Namespace() + "/" + kind.String() + "/" + m.BareName()
}

// IsRefused reports whether the object counts as not served: a policy's child never does.
func (p *Publication) IsRefused() bool { return p.Refused != nil && !p.Child }

// PublicationOf returns what an object with endpoints publishes; nil for none.
func PublicationOf(zones *Zones, opt *Options, in *api.Cluster, kind api.Kind, name string) *Publication {
	o := object{Publication: &Publication{kind: kind}, set: zones, opt: opt, within: func(string, *Zone) *Problem { return nil }}
	if !Publishing(kind).read(&o, in, name) {
		return nil
	}
	if o.Refused == nil && o.meta.Deleting {
		o.Refused = &Problem{Reason: ReasonNotServed, Message: "the object is being deleted"}
	}
	if o.meta.Fault != "" {
		o.refuse(ReasonInvalid, "%s", o.meta.Fault)
	}
	if o.Refused != nil {
		return o.Publication
	}
	for x := range api.NumAttributes {
		if _, ok := o.meta.Annotations[x.Annotation()]; ok {
			o.refuse(ReasonAnnotation, "annotation %s is not read: write %s into the providerSpecific of an endpoint", x.Annotation(), x)
		}
	}
	o.read()
	o.contenders()
	if o.check != nil && o.checkInvalid != "" {
		o.refuse(ReasonCheck, "the health check is invalid, so all targets count as up: %s", o.checkInvalid)
	}
	return o.Publication
}

// readRecord reads a DNSRecord.
func (o *object) readRecord(in *api.Cluster, name string) (ok bool) {
	rec, ok := in.DNSRecords.Get(name)
	if ok {
		o.meta, o.endpoints = &rec.Meta, rec.Endpoints
		o.check, o.checkInvalid = rec.HealthCheck, rec.CheckInvalid
		if o.record(rec); o.Refused == nil {
			o.Refused = narrowed(in, rec, o.FQDN)
		}
	}
	return ok
}

// recordsOf yields the DNSRecords whose provider, or whose checks' headers, are in a Secret.
func recordsOf(in *api.Cluster, changed api.Ref) iter.Seq[string] {
	return func(yield func(string) bool) {
		if changed.Kind != api.KindSecret {
			return
		}
		namespace, secret, _ := strings.Cut(changed.Name, "/")
		for name, rec := range in.DNSRecords.Beginning(namespace + "/") {
			counts := rec.Provider.Name == secret || rec.HealthCheck != nil && rec.HealthCheck.HeadersSecret == secret
			if counts && !yield(name) {
				return
			}
		}
	}
}

// readEndpoint reads a DNSEndpoint.
func (o *object) readEndpoint(in *api.Cluster, name string) (ok bool) {
	ep, ok := in.DNSEndpoints.Get(name)
	if ok {
		o.meta, o.endpoints = &ep.Meta, ep.Endpoints
		if ep.Invalid != "" {
			o.Refused = &Problem{Reason: ReasonInvalid, Message: ep.Invalid}
		}
	}
	return ok
}

// record decides whether a DNSRecord is served here, and in which zone (rule 6.10).
func (o *object) record(rec *api.DNSRecord) {
	zone, named := ZoneNameOf(rec)
	origin, err := rdata.Canonical(zone)
	root, rootErr := rdata.Canonical(rec.RootHost)
	o.FQDN = root // "" if there is an error
	o.Child = RecordParent(rec).Name != ""
	at := o.set.closest(rdata.Base(root))
	switch {
	case rec.Invalid != "":
		o.Refused = &Problem{Reason: ReasonInvalid, Message: rec.Invalid}
	case rec.Own():
		o.Refused = &Problem{Reason: ReasonNotServed, Message: "this server has written it, and serves its source instead"}
	case !named:
		o.Refused = Problemf(ReasonNotServed, "it is not for this server: add the label %s: ZONE, or a zoneID with a provider Secret", api.LabelZoneName)
	case err != nil || o.set.closest(origin) == nil || o.set.closest(origin).Origin != origin:
		o.Refused = Problemf(ReasonNotServed, "zone %q is not served here; served zones: %s", zone, o.opt.ZoneNames())
	case rootErr != nil:
		o.Refused = Problemf(reasonInvalidName, "spec.rootHost %q: %v", rec.RootHost, rootErr)
	case at == nil || at.Origin != origin:
		o.Refused = Problemf(ReasonNotServed, "spec.rootHost %s is not in zone %s", TrimDot(root), TrimDot(origin))
	}
	o.within = func(name string, at *Zone) *Problem {
		switch {
		case !rdata.IsSubdomain(rdata.Base(root), rdata.Base(name)):
			return Problemf(ReasonNotServed, "%s is not at or below spec.rootHost %s", TrimDot(name), TrimDot(root))
		case at.Origin != origin:
			return Problemf(ReasonNotServed, "%s is in zone %s, not in %s", TrimDot(name), TrimDot(at.Origin), TrimDot(origin))
		}
		return nil
	}
}

// ZoneNameOf returns a DNSRecord's zone as it names it; named is false if the record is for another server.
func ZoneNameOf(rec *api.DNSRecord) (zone string, named bool) {
	zone, named = rec.Labels[api.LabelZoneName]
	if !named && rec.ZoneID != "" && rec.Provider.ServedHere() {
		return rec.ZoneID, true
	}
	return zone, named
}

// Publication is one object with endpoints, and what it publishes (rule
// 6.10).
type Publication struct {
	kind api.Kind
	meta *api.Meta
	// FQDN is the name that a DNSRecord is about; "" for other kinds.
	FQDN string
	// Contenders are those of its steered endpoints, one for each host.
	Contenders []*Contender
	// Records are its endpoints that are not steered.
	Records []*Record
	// Refused is why none of it is served; nil otherwise. Problems are those of its parts.
	Refused  *Problem
	Problems []*Problem
	// Child is true for a policy's child, which has no verdict: see status.View.RecordStatus.
	Child bool
}

// ParentRef returns the parent of an object of a kind and a namespace: by controls the object, and
// own is true if this server wrote it. It is a Ref without a name for none. Policies have
// DNSRecords and probes, DNSRecords only probes.
func ParentRef(kind api.Kind, namespace string, by *api.Controller, own bool) api.Ref {
	switch {
	case !own || by == nil:
	case by.Kind == api.KindDNSPolicy.String():
		return api.Ref{Kind: api.KindDNSPolicy, Name: namespace + "/" + by.Name}
	case by.Kind == api.KindDNSRecord.String() && kind == api.KindProbe:
		return api.Ref{Kind: api.KindDNSRecord, Name: namespace + "/" + by.Name}
	}
	return api.Ref{}
}

// RecordParent returns the policy that is a DNSRecord's parent.
func RecordParent(r *api.DNSRecord) api.Ref {
	return ParentRef(api.KindDNSRecord, r.Namespace(), r.Controller, r.Own())
}

// ProbeParent returns the policy or DNSRecord that is a probe's parent.
func ProbeParent(p *api.HealthCheckProbe) api.Ref {
	return ParentRef(api.KindProbe, p.Namespace(), p.Controller, p.Own())
}
