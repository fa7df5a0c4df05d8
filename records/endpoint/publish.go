package endpoint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// MayPublish returns what keeps an object of a namespace from publishing data of a type at a name of the zone; nil for nothing
// (rule 5.1). The delegations of the closest Zone decide for every kind of object; without a Zone the Corefile does. The
// administering namespace needs neither, except for the data of a host.
func (o *Options) MayPublish(at *Zone, m *api.Meta, name, rtype string) *Problem {
	if at.Unread != nil {
		return at.UnreadZone()
	}
	switch administers := at.Administers(m); {
	case rtype == "NS" && name == at.Origin && !administers:
		return o.notAdministrator(at, m, "NS records of "+TrimDot(at.Origin))
	case !administers && at.NamesGroups(name):
		return o.notAdministrator(at, m, "the active groups of "+TrimDot(at.Origin))
	case o.LeavesChallenge(at, m, name):
		return o.notChallenger(at, m)
	case administers && !slices.Contains(steeredTypes, rtype):
		return at.mayTell(name, rtype)
	case at.Object == nil:
		return cmp.Or(o.mayPublishIn(at.Origin, m, name, rtype), at.mayTell(name, rtype))
	case mayRecord(at.Object, m, rdata.Relative(at.Origin, name), rtype):
		return at.mayTell(name, rtype)
	}
	return Problemf(reasonNotDelegated, "Zone %s does not let namespace %s publish %s at %s: add {namespaces: [%s], records: [{pattern: %q, types: [%s]}]} to its spec.delegations",
		InCluster(&at.Object.Meta, m), namespaceOf(m), rtype, TrimDot(name), m.Namespace(), cmp.Or(rdata.Relative(at.Origin, name), "@"), rtype)
}

// steeredTypes are the types of data that belong to one owner (rule 5.3).
var steeredTypes = []string{"A", "AAAA", "CNAME"}

// notAdministrator returns the problem that only the zone's administering namespace may publish what.
func (o *Options) notAdministrator(at *Zone, m *api.Meta, what string) *Problem {
	if at.Object != nil {
		return Problemf(reasonNotAllowed, "%s may come only from namespace %s, which has its Zone", what, namespaceOf(&at.Object.Meta))
	}
	return Problemf(reasonNotAllowed,
		"%s may come only from its administering namespaces: if %s is one, add %s to `zone-namespaces` in the Corefile", what, namespaceOf(m), m.Namespace())
}

// grants reports whether a list of types, of a delegation or a line `publish`, includes one. An
// empty list includes all, except the types that take over all names below them. "" stands for a
// Zone, which does that too, and which an empty list does include.
func grants(types []string, rtype string) bool {
	switch {
	case len(types) == 0:
		return rtype != "NS" && rtype != "DNAME"
	case rtype == "":
		rtype = "NS"
	}
	return slices.Contains(types, rtype)
}

// mustName returns how to grant a type that no empty list includes; "" for others.
func mustName(rtype string) string {
	if grants(nil, rtype) {
		return ""
	}
	return "; the types must name " + rtype + ", which takes over all names below"
}

// mayPublishIn is MayPublish for a zone of the Corefile without a Zone: the lines `publish` with the longest domain that contains name
// decide. A zone without such lines is open to all. rtype is "" for a Zone.
func (o *Options) mayPublishIn(origin string, m *api.Meta, name, rtype string) *Problem {
	if rtype == "" && Underscored(name) && !o.grantsUnderscored(m, name, rtype) {
		return Problemf(reasonNotAllowed, "%s: names with _ labels prove whose the name above them is, so a Zone there needs a grant: "+
			"write `publish %[1]s %[2]s types NS`, or add %[2]s to `zone-namespaces` in the Corefile", TrimDot(name), m.Namespace())
	}
	if o.Open(origin) {
		if grants(nil, rtype) {
			return nil
		}
		return Problemf(reasonNotAllowed, "no publish line of the Corefile lets namespace %s publish %s at %s%s", namespaceOf(m), rtype, TrimDot(name), mustName(rtype))
	}
	for _, p := range o.Publish { // these extend the next shorter domain (rule 5.9)
		if p.adds(origin) && p.covers(name) && isListed(p.Namespaces, m) && grants(p.Types, rtype) {
			return nil
		}
	}
	closest, listed := o.closestPublish(origin, name), false
	for _, p := range o.Publish {
		if p.Domain == closest && isListed(p.Namespaces, m) {
			if grants(p.Types, rtype) {
				return nil
			}
			listed = true
		}
	}
	if listed {
		return Problemf(reasonNotAllowed, "the line publish %s of the Corefile does not let namespace %s publish %s at %s%s",
			TrimDot(closest), namespaceOf(m), cmp.Or(rtype, "a Zone"), TrimDot(name), mustName(rtype))
	}
	return Problemf(reasonNotAllowed, "the line publish %s of the Corefile does not let namespace %s publish at %s", TrimDot(closest), namespaceOf(m), TrimDot(name))
}

// Sharing returns a function that reports whether several namespaces may publish records at a name in a zone (rules 5.1 and 5.4). The
// administering namespace may publish a DNAME at any name.
func (o *Options) Sharing(at *Zone) func(name string) bool {
	if at.Object == nil {
		if o.Open(at.Origin) {
			return func(string) bool { return true }
		}
		return func(name string) bool {
			some := &someNamespaces{}
			if len(o.ZoneNamespaces) > 0 {
				some.add(o.ZoneNamespaces)
			}
			closest := o.closestPublish(at.Origin, name)
			for _, p := range o.Publish {
				if p.covers(name) && (p.adds(at.Origin) || p.Domain == closest) {
					some.add(p.Namespaces)
				}
			}
			return some.several
		}
	}
	return func(name string) bool {
		some, relative := &someNamespaces{one: at.Object.Namespace()}, rdata.Relative(at.Origin, name)
		for _, d := range at.Object.Delegations {
			if slices.ContainsFunc(d.Records, func(r api.RecordDelegation) bool { return matchPattern(r.Pattern, relative) }) {
				some.add(d.Namespaces)
			}
		}
		return some.several
	}
}

// someNamespaces records whether lists of namespaces include more than one.
type someNamespaces struct {
	one     string
	several bool
}

// add adds a list; an empty one, and "*", means any.
func (s *someNamespaces) add(list []string) {
	s.several = s.several || len(list) == 0
	for _, namespace := range list {
		s.several = s.several || namespace == "*" || s.one != "" && s.one != namespace
		s.one = namespace
	}
}

// closestPublish returns the longest domain of a line `publish` that contains a name of a zone, ignoring lines that extend others.
func (o *Options) closestPublish(origin, name string) (closest string) {
	for _, p := range o.Publish {
		if !p.adds(origin) && len(p.Domain) > len(closest) && p.covers(name) {
			closest = p.Domain
		}
	}
	return closest
}

// isListed reports whether a list of namespaces in the Corefile means an object's. It does not know
// a namespace that is separate in its cluster; "*" includes that too.
func isListed(namespaces []string, m *api.Meta) bool {
	return !m.Apart && slices.Contains(namespaces, m.Namespace()) || slices.Contains(namespaces, "*")
}

// Open reports whether every namespace may publish in a zone without a Zone: no line `publish` covers its origin; without that, none may
// cover a part of it.
func (o *Options) Open(origin string) bool {
	return !slices.ContainsFunc(o.Publish, func(p Publish) bool { return rdata.IsSubdomain(p.Domain, origin) })
}

// Challenge begins the names at which authorities look for proof that a certificate for the rest of the name may be issued (RFC 8555 §8.4).
const Challenge = "_acme-challenge."

// several reports whether more than one namespace may publish in a zone that is not open: its challenges are then not for any of them.
func (o *Options) several(at *Zone) bool {
	if at.Object != nil {
		return true // the administering one, too
	}
	if o.Open(at.Origin) {
		return false
	}
	some := &someNamespaces{}
	if len(o.ZoneNamespaces) > 0 {
		some.add(o.ZoneNamespaces)
	}
	for _, p := range o.Publish {
		if !p.adds(at.Origin) && (p.covers(at.Origin) || rdata.IsSubdomain(at.Origin, p.Domain)) {
			some.add(p.Namespaces)
		}
	}
	return some.several
}

// LeavesChallenge reports whether a name is the one of challenges for the whole zone, and not for the namespace of m (rule 5.9).
func (o *Options) LeavesChallenge(at *Zone, m *api.Meta, name string) bool {
	return name == Challenge+at.Origin && o.Bound(at, m, name) && o.several(at)
}

// notChallenger returns the problem that a namespace may not prove that it may have certificates for a whole zone (rule 5.9).
func (o *Options) notChallenger(at *Zone, m *api.Meta) *Problem {
	what := "certificates for all of " + TrimDot(at.Origin) + " depend on it, so it is left to the administering namespace"
	if at.Object != nil {
		return Problemf(reasonNotAllowed, "%s: %s: publish there, or add {namespaces: [%s], records: [{pattern: _acme-challenge}]} to spec.delegations of Zone %s",
			TrimDot(Challenge+at.Origin), what, m.Namespace(), InCluster(&at.Object.Meta, m))
	}
	return Problemf(reasonNotAllowed, "%s: %s: publish there, or write `publish %[1]s %[3]s` in the Corefile", TrimDot(Challenge+at.Origin), what, m.Namespace())
}

// Bound reports whether an object may publish at a name with a label that begins with _ only as the owner of the name above it, or of the
// wildcard that covers that, allows (rule 5.9). It does not ask which zone delegates the name.
func (o *Options) Bound(at *Zone, m *api.Meta, name string) bool {
	switch {
	case !Underscored(name) || at.Administers(m):
		return false
	case at.Object == nil:
		return !o.grantsUnderscored(m, name, "*")
	}
	for d := range at.Object.DelegationsTo(grantee(at.Object, m)) {
		if slices.ContainsFunc(d.Records, func(r api.RecordDelegation) bool {
			return Underscored(r.Pattern) && matchPattern(r.Pattern, rdata.Relative(at.Origin, name))
		}) {
			return false
		}
	}
	return true
}

// grantsUnderscored reports whether a line `publish` whose domain begins with _ lets a namespace have data of a type at a name, "" for a Zone and
// "*" for some type.
func (o *Options) grantsUnderscored(m *api.Meta, name, rtype string) bool {
	return slices.ContainsFunc(o.Publish, func(p Publish) bool {
		return p.Domain[0] == '_' && p.covers(name) && isListed(p.Namespaces, m) && (rtype == "*" || grants(p.Types, rtype))
	})
}

// adds reports whether a line extends the next shorter one in a zone (rule 5.9): its domain begins with _ and is a part of the zone.
func (p *Publish) adds(origin string) bool {
	return p.Domain[0] == '_' && !rdata.IsSubdomain(p.Domain, origin)
}

// covers reports whether a line's domain is the name, or above it. In a domain that begins with _, * stands for characters of one label.
func (p *Publish) covers(name string) bool {
	if !strings.Contains(p.Domain, "*") {
		return rdata.IsSubdomain(p.Domain, name)
	}
	for at := range rdata.Ancestors(name) {
		if at != "." && matchPattern(TrimDot(p.Domain), TrimDot(at)) {
			return true
		}
	}
	return false
}

// Steered reports whether data of the type have a single owner (rule 5.3).
func Steered(t uint16) bool { return t == dns.TypeA || t == dns.TypeAAAA || t == dns.TypeCNAME }
