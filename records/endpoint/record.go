package endpoint

import (
	"cmp"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// Record is a record of an object where it lies. It is immutable.
type Record struct {
	Record *api.Record
	// Name is its owner name; "" where that is not known.
	Name string
	// Origin is where in name the origin of its zone begins.
	Origin uint16
	// Kind is that of the object, where it is no Record: a DNSEndpoint's data of types
	// that are not steered are records too.
	Kind api.Kind
	// Beside is true for data of the administering namespace that stand beside any owner, and own nothing (rule 5.3). Bound is
	// true where it may stand only below a name of its own namespace (rule 5.9).
	Beside, Bound bool
	// RR is what it says, with its own TTL; nil where it has a problem.
	RR      dns.RR
	Problem *Problem
}

// PlaceRecord decides where a Record lies and what it says (rules 5.1, 6.2, 6.3 and
// 6.9). What other objects there are at its name does not matter here.
func PlaceRecord(s *Zones, rec *api.Record, opt *Options) *Record {
	e := &Record{Record: rec}
	if e.Problem = e.findName(s); e.Problem != nil {
		return e
	}
	at, problem := e.findZone(s)
	if problem == nil {
		problem = at.InChain(e.Name)
	}
	if problem == nil {
		problem = opt.MayPublish(at, &rec.Meta, e.Name, rdata.TypeName(rec.Type))
	}
	if problem == nil {
		problem = e.Parse(at, Writing{Origin: at.Origin, TypeAt: "spec.type", DataAt: "spec.rdata"})
	}
	if problem != nil {
		e.Problem = problem
		return e
	}
	e.SetOrigin(at.Origin)
	e.Bind(opt, at)
	return e
}

// Zone returns the origin of the zone that e is in; "" for none.
func (e *Record) Zone() string {
	if e.RR == nil {
		return ""
	}
	return e.Name[e.Origin:]
}

// SetOrigin notes the origin of e's zone. A name has 1,024 characters at the most, where
// all are escaped.
func (e *Record) SetOrigin(origin string) { e.Origin = uint16(len(e.Name) - len(origin)) }

// findName finds the owner name of a Record (rule 6.2).
func (e *Record) findName(s *Zones) *Problem {
	rec := e.Record
	switch {
	case rec.Deleting:
		return &Problem{Reason: ReasonNotServed, Message: "the Record is being deleted"}
	case rec.Invalid != "" || rec.Fault != "":
		// A field that could not be read may be the one that matters.
		return Unusable(&rec.Meta, rec.Invalid)
	}
	var err error
	if rec.Parent == "" {
		e.Name, err = rdata.Canonical(rec.DomainName)
	} else {
		over := s.Admission(rec.Cluster, rec.Parent)
		switch {
		case over == nil:
			return Problemf(ReasonParentMissing, "the Zone %s of zoneRef does not exist", rec.Parent)
		case over.FQDN == "":
			return over.Pending(rec.Parent)
		}
		e.Name, err = rdata.Below(over.FQDN, rec.DomainName)
	}
	if err != nil {
		return Problemf(ReasonInvalidName, "spec.domainName %q: %v", rec.DomainName, err)
	}
	return nil
}

// findZone returns the zone that a Record lies in (rule 6.3): the closest one, which is
// that of its zoneRef where it has one. What is at a zone cut and belongs to the zone
// above it lies there: DS always (RFC 4035 §2.4), NS where zoneRef says so.
func (e *Record) findZone(s *Zones) (*Zone, *Problem) {
	rec := e.Record
	at := s.Closest(e.Name)
	if at != nil && at.Origin == e.Name && (rdata.TypeName(rec.Type) == "DS" || rdata.TypeName(rec.Type) == "NS" && delegates(s, rec, e.Name)) {
		at = s.Above(e.Name)
		if at == nil {
			return nil, Problemf(ReasonParentMismatch, "a DS record belongs to the zone above %s, which is not served here", TrimDot(e.Name))
		}
	}
	switch {
	case at != nil && at.Origin != e.Name && isForeignCut(s, rec, e.Name, at):
		return nil, Problemf(ReasonNotAllowed, "%s begins a zone that belongs to another namespace: its own and that of the zone above may say what is at the cut", TrimDot(e.Name))
	case at == nil:
		return nil, &Problem{Reason: ReasonNotServed}
	case at.Unread != nil:
		return nil, at.UnreadZone()
	case rec.Parent != "" && (at.Object == nil || at.Object.Name != rec.Parent):
		return nil, s.Strayed(&rec.Meta, rec.Parent, at)
	}
	return at, nil
}

// isForeignCut tells whether name is the origin of a Zone below at, and the Record is in
// the namespace of neither.
func isForeignCut(s *Zones, rec *api.Record, name string, at *Zone) bool {
	i, ok := s.Index[name]
	if !ok || s.Served[i].Object == nil || rec.SameNamespace(&s.Served[i].Object.Meta) {
		return false
	}
	return at.Object == nil || !rec.SameNamespace(&at.Object.Meta)
}

// delegates tells whether an NS Record at the origin of a zone is the delegation to it:
// its zoneRef names the Zone above.
func delegates(s *Zones, rec *api.Record, origin string) bool {
	up := s.Above(origin)
	return up != nil && up.Object != nil && up.Object.Name == rec.Parent
}

// Speaks tells whether there may be something to say of a Record that is served, whatever
// else there is at its name.
func (e *Record) Speaks() bool {
	switch e.RR.(type) {
	case *dns.TXT:
		return e.Unquoted() != nil
	case *dns.NS:
		return true // its server may have no address
	}
	return false
}

// Older orders records by the age of their objects, then by kind, as contender.older does; 0
// means that they are of one object.
func (e *Record) Older(o *Record) int {
	return cmp.Or(e.Record.Older(&o.Record.Meta), cmp.Compare(e.ObjectKind(), o.ObjectKind()))
}

// Object names the object that e comes from to the owner of another one.
func (e *Record) Object(to *Record) string {
	return e.ObjectKind().String() + " " + InCluster(&e.Record.Meta, &to.Record.Meta)
}

// ObjectKind returns the kind of the object that e comes from.
func (e *Record) ObjectKind() api.Kind {
	if e.Kind != 0 {
		return e.Kind
	}
	return api.KindRecord
}

// Missing reports whether the record is there only because the guard keeps its object.
func (e *Record) Missing() bool { return e.Record.Missing }

// Contention is what LiveFirst goes by: the namespace of the object.
func (e *Record) Contention() string { return NamespaceKey(&e.Record.Meta) }

// Bind notes what rules 5.3 and 5.9 ask of the namespace of a record, which lies in the zone at.
func (e *Record) Bind(o *Options, at *Zone) {
	t := e.RR.Header().Rrtype
	e.Beside = !Steered(t) && t != dns.TypeDNAME && o.Administers(at, &e.Record.Meta)
	e.Bound = o.Bound(at, &e.Record.Meta, e.Name)
}
