package records

import (
	"cmp"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// entry is a Record where it lies. It is immutable.
type entry struct {
	record *api.Record
	// name is its owner name; "" where that is not known.
	name string
	// origin is where in name the origin of its zone begins.
	origin uint16
	// kind is that of the object, where it is no Record: a DNSEndpoint's data of types
	// that are not steered are entries too.
	kind api.Kind
	// beside is true for data of the administering namespace that stand beside any owner, and own nothing (rule 5.3). bound is
	// true where it may stand only below a name of its own namespace (rule 5.9).
	beside, bound bool
	// rr is what it says, with its own TTL; nil where it has a problem.
	rr      dns.RR
	problem *endpoint.Problem
}

// placeRecord decides where a Record lies and what it says (rules 5.1, 6.2, 6.3 and
// 6.9). What other objects there are at its name does not matter here.
func placeRecord(s *endpoint.Zones, rec *api.Record, opt *endpoint.Options) *entry {
	e := &entry{record: rec}
	if e.problem = e.findName(s); e.problem != nil {
		return e
	}
	at, problem := e.findZone(s)
	if problem == nil {
		problem = at.InChain(e.name)
	}
	if problem == nil {
		problem = opt.MayPublish(at, &rec.Meta, e.name, rdata.TypeName(rec.Type))
	}
	if problem == nil {
		problem = e.parse(at, writing{origin: at.Origin, typeAt: "spec.type", dataAt: "spec.rdata"})
	}
	if problem != nil {
		e.problem = problem
		return e
	}
	e.setOrigin(at.Origin)
	e.bind(opt, at)
	return e
}

// zone returns the origin of the zone that e is in; "" for none.
func (e *entry) zone() string {
	if e.rr == nil {
		return ""
	}
	return e.name[e.origin:]
}

// setOrigin notes the origin of e's zone. A name has 1,024 characters at the most, where
// all are escaped.
func (e *entry) setOrigin(origin string) { e.origin = uint16(len(e.name) - len(origin)) }

// findName finds the owner name of a Record (rule 6.2).
func (e *entry) findName(s *endpoint.Zones) *endpoint.Problem {
	rec := e.record
	switch {
	case rec.Deleting:
		return &endpoint.Problem{Reason: endpoint.ReasonNotServed, Message: "the Record is being deleted"}
	case rec.Invalid != "" || rec.Fault != "":
		// A field that could not be read may be the one that matters.
		return endpoint.Unusable(&rec.Meta, rec.Invalid)
	}
	var err error
	if rec.Parent == "" {
		e.name, err = rdata.Canonical(rec.DomainName)
	} else {
		over := s.Admission(rec.Cluster, rec.Parent)
		switch {
		case over == nil:
			return endpoint.Problemf(endpoint.ReasonParentMissing, "the Zone %s of zoneRef does not exist", rec.Parent)
		case over.Fqdn == "":
			return over.Pending(rec.Parent)
		}
		e.name, err = rdata.Below(over.Fqdn, rec.DomainName)
	}
	if err != nil {
		return endpoint.Problemf(endpoint.ReasonInvalidName, "spec.domainName %q: %v", rec.DomainName, err)
	}
	return nil
}

// findZone returns the zone that a Record lies in (rule 6.3): the closest one, which is
// that of its zoneRef where it has one. What is at a zone cut and belongs to the zone
// above it lies there: DS always (RFC 4035 §2.4), NS where zoneRef says so.
func (e *entry) findZone(s *endpoint.Zones) (*endpoint.Zone, *endpoint.Problem) {
	rec := e.record
	at := s.Closest(e.name)
	if at != nil && at.Origin == e.name && (rdata.TypeName(rec.Type) == "DS" || rdata.TypeName(rec.Type) == "NS" && delegates(s, rec, e.name)) {
		at = s.Above(e.name)
		if at == nil {
			return nil, endpoint.Problemf(endpoint.ReasonParentMismatch, "a DS record belongs to the zone above %s, which is not served here", endpoint.TrimDot(e.name))
		}
	}
	switch {
	case at != nil && at.Origin != e.name && isForeignCut(s, rec, e.name, at):
		return nil, endpoint.Problemf(endpoint.ReasonNotAllowed, "%s begins a zone that belongs to another namespace: its own and that of the zone above may say what is at the cut", endpoint.TrimDot(e.name))
	case at == nil:
		return nil, &endpoint.Problem{Reason: endpoint.ReasonNotServed}
	case at.Unread != nil:
		return nil, at.UnreadZone()
	case rec.Parent != "" && (at.Object == nil || at.Object.Name != rec.Parent):
		return nil, s.Strayed(&rec.Meta, rec.Parent, at)
	}
	return at, nil
}

// isForeignCut tells whether name is the origin of a Zone below at, and the Record is in
// the namespace of neither.
func isForeignCut(s *endpoint.Zones, rec *api.Record, name string, at *endpoint.Zone) bool {
	i, ok := s.Index[name]
	if !ok || s.Served[i].Object == nil || rec.SameNamespace(&s.Served[i].Object.Meta) {
		return false
	}
	return at.Object == nil || !rec.SameNamespace(&at.Object.Meta)
}

// delegates tells whether an NS Record at the origin of a zone is the delegation to it:
// its zoneRef names the Zone above.
func delegates(s *endpoint.Zones, rec *api.Record, origin string) bool {
	up := s.Above(origin)
	return up != nil && up.Object != nil && up.Object.Name == rec.Parent
}

// speaks tells whether there may be something to say of a Record that is served, whatever
// else there is at its name.
func (e *entry) speaks() bool {
	switch e.rr.(type) {
	case *dns.TXT:
		return e.unquoted() != nil
	case *dns.NS:
		return true // its server may have no address
	}
	return false
}

// older orders entries by the age of their objects, then by kind, as claim.older does; 0
// means that they are of one object.
func (e *entry) older(o *entry) int {
	return cmp.Or(e.record.Older(&o.record.Meta), cmp.Compare(e.objectKind(), o.objectKind()))
}

// object names the object that e comes from to the owner of another one.
func (e *entry) object(to *entry) string {
	return e.objectKind().String() + " " + endpoint.InCluster(&e.record.Meta, &to.record.Meta)
}

// objectKind returns the kind of the object that e comes from.
func (e *entry) objectKind() api.Kind {
	if e.kind != 0 {
		return e.kind
	}
	return api.KindRecord
}

func (e *entry) missing() bool { return e.record.Missing }

func (e *entry) contention() string { return endpoint.NamespaceKey(&e.record.Meta) }
