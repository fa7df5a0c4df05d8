package endpoint

import (
	"cmp"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// Record is an object's record, placed in its zone. It is immutable.
type Record struct {
	// Record is its source: the object itself, or one target of a DNSRecord or DNSEndpoint.
	Record *api.Record
	// Name is its owner name; "" if that is not known.
	Name string
	// Origin is the index in Name at which its zone's origin begins.
	Origin uint16
	// Kind is the object's kind, 0 for a Record: data of DNSRecords and DNSEndpoints that are not
	// steered are Records too.
	Kind api.Kind
	// Administrative is true for data of the administering namespace: nobody else's claims count for them. Those that stand beside any
	// owner's, and own nothing, are Beside (rule 5.3).
	Administrative, Beside bool
	// Bound is true if the owner of a wildcard that covers the name, or of the name above its labels that begin with _, may keep it out
	// (rules 5.3 and 5.9).
	Bound bool
	// RR is the record, with its own TTL; nil if it has a problem.
	RR      dns.RR
	Problem *Problem
}

// PlaceRecord finds a Record's name and data (rules 5.1, 6.2, 6.3 and 6.9), whatever other objects have that name.
func PlaceRecord(s *Zones, rec *api.Record, opt *Options) *Record {
	r := &Record{Record: rec}
	if r.Problem = r.findName(s); r.Problem != nil {
		return r
	}
	at, problem := r.findZone(s)
	if problem == nil {
		problem = at.InChain(r.Name)
	}
	if problem == nil {
		problem = opt.MayPublish(at, &rec.Meta, r.Name, rec.Type)
	}
	if problem == nil {
		problem = r.parse(at, writing{origin: at.Origin, typeAt: "spec.type", dataAt: "spec.rdata"})
	}
	if problem != nil {
		r.Problem = problem
		return r
	}
	r.setOrigin(at.Origin)
	r.bind(opt, at)
	return r
}

// Zone returns the origin of the zone that the Record is in; "" for none.
func (r *Record) Zone() string {
	if r.RR == nil {
		return ""
	}
	return r.Name[r.Origin:]
}

// setOrigin notes the origin of the Record's zone. A name has at most 1,024 characters, if all are
// escaped.
func (r *Record) setOrigin(origin string) { r.Origin = uint16(len(r.Name) - len(origin)) }

// NameOf returns the owner name of a Record, in canonical form; "" if it has none.
func (s *Zones) NameOf(rec *api.Record) string {
	r := Record{Record: rec}
	if p := r.findName(s); p != nil {
		return ""
	}
	return r.Name
}

// findName finds the owner name of a Record (rule 6.2).
func (r *Record) findName(s *Zones) *Problem {
	rec := r.Record
	switch {
	case rec.Deleting:
		return &Problem{Reason: ReasonNotServed, Message: "the Record is being deleted"}
	case rec.Invalid != "" || rec.Fault != "":
		// The unreadable field may be the one that matters.
		return unusable(&rec.Meta, rec.Invalid)
	}
	var err error
	if rec.Parent == "" {
		r.Name, err = rdata.Canonical(rec.DomainName)
	} else {
		over := s.Admission(rec.Cluster, rec.Parent)
		switch {
		case over == nil:
			return Problemf(ReasonParentMissing, "the parent Zone %s does not exist", rec.Parent)
		case over.FQDN == "":
			return over.Pending(rec.Parent)
		}
		r.Name, err = rdata.Below(over.FQDN, rec.DomainName)
	}
	if err != nil {
		return Problemf(reasonInvalidName, "spec.domainName %q: %v", rec.DomainName, err)
	}
	return nil
}

// findZone returns the zone that a Record lies in (rule 6.3): the closest one, or that of its
// zoneRef. Data at a zone cut that belong to the zone above lie there: DS always (RFC 4035 §2.4),
// NS if zoneRef says so.
func (r *Record) findZone(s *Zones) (*Zone, *Problem) {
	rec := r.Record
	at := s.closest(r.Name)
	if at != nil && at.Origin == r.Name && (rec.Type == "DS" || rec.Type == "NS" && delegates(s, rec, r.Name)) {
		at = s.Above(r.Name)
		if at == nil {
			return nil, Problemf(reasonParentMismatch, "a DS record belongs to the zone above %s, which is not served here", TrimDot(r.Name))
		}
	}
	switch {
	case at != nil && at.Origin != r.Name && isForeignCut(s, rec, r.Name, at):
		return nil, Problemf(reasonNotAllowed, "%s is the apex of another namespace's zone: only that namespace and the parent zone's may publish there", TrimDot(r.Name))
	case at == nil:
		return nil, &Problem{Reason: ReasonNotServed}
	case at.Unread != nil:
		return nil, at.UnreadZone()
	case rec.Parent != "" && (at.Object == nil || at.Object.Name != rec.Parent):
		return nil, s.strayed(&rec.Meta, rec.Parent, at)
	}
	return at, nil
}

// isForeignCut reports whether name is the origin of a Zone below at, and the Record is in the
// namespace of neither.
func isForeignCut(s *Zones, rec *api.Record, name string, at *Zone) bool {
	i, ok := s.Index[name]
	if !ok || s.Served[i].Object == nil || rec.SameNamespace(&s.Served[i].Object.Meta) {
		return false
	}
	return at.Object == nil || !rec.SameNamespace(&at.Object.Meta)
}

// delegates reports whether an NS Record at the origin of a zone is the delegation to it:
// its zoneRef names the Zone above.
func delegates(s *Zones, rec *api.Record, origin string) bool {
	up := s.Above(origin)
	return up != nil && up.Object != nil && up.Object.Name == rec.Parent
}

// Older orders Records by the age of their objects, then by kind, as Contender.Older does; 0 means
// that they share an object.
func (r *Record) Older(o *Record) int {
	return cmp.Or(r.Record.Older(&o.Record.Meta), cmp.Compare(r.ObjectKind(), o.ObjectKind()))
}

// Object names the Record's object for a message to the owner of another one.
func (r *Record) Object(to *Record) string {
	return r.ObjectKind().String() + " " + InCluster(&r.Record.Meta, &to.Record.Meta)
}

// ObjectKind returns the kind of the Record's object.
func (r *Record) ObjectKind() api.Kind {
	if r.Kind != 0 {
		return r.Kind
	}
	return api.KindRecord
}

// Missing reports whether the Record exists only because the guard keeps its object.
func (r *Record) Missing() bool { return r.Record.Missing }

// Contention returns the key for LiveFirst: the object's namespace.
func (r *Record) Contention() string { return namespaceKey(&r.Record.Meta) }

// bind sets Administrative, Beside and Bound of a Record in the zone at (rules 5.3 and 5.9).
func (r *Record) bind(o *Options, at *Zone) {
	t := r.RR.Header().Rrtype
	r.Administrative = at.Administers(&r.Record.Meta)
	r.Beside = r.Administrative && !Steered(t) && t != dns.TypeDNAME
	if Underscored(r.Name) {
		r.Bound = o.Bound(at, &r.Record.Meta, r.Name)
	} else {
		r.Bound = !r.Administrative && !Steered(t) && t != dns.TypeNS && t != dns.TypeDNAME // these are for whoever is granted them
	}
}

// Owns reports whether the Record's namespace has the name by it. DS records belong to the delegation at the name (rule 5.1).
func (r *Record) Owns() bool { return !r.Beside && r.RR.Header().Rrtype != dns.TypeDS }

// IsDelegation reports whether the Record is an NS record below the apex of its zone.
func (r *Record) IsDelegation() bool { return r.Origin > 0 && r.RR.Header().Rrtype == dns.TypeNS }
