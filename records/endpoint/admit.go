package endpoint

import (
	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// admit decides on a Zone with a known name, after all Zones above it and all older ones of the
// same name.
func (s *Zones) admit(a *Admission, opt *Options) {
	over := s.closest(a.FQDN)
	if over == nil {
		a.Problem = &Problem{Reason: ReasonNotServed}
		return
	}
	if a.Problem = over.InChain(a.FQDN); a.Problem != nil {
		return
	}
	if up := s.Above(a.FQDN); over.Unread != nil && (over.Origin == a.FQDN || !a.registered) {
		a.Problem = over.UnreadZone()
		return
	} else if up == nil || up.Unread == nil { // its delegation was known when it was registered
		if a.Problem = s.mayServe(a, opt); a.Problem != nil {
			return
		}
	}
	if over.TellsOwner(a.FQDN) || over.tellsBelow(a.FQDN) {
		a.Problem = Problemf(ReasonConflicted, "owner-txt reserves the name %s", TrimDot(a.FQDN))
		return
	}
	if ns := a.hidesServer(over.Corefile); ns != "" && (a.Parent != nil || opt.ZoneNamespaces == nil) {
		a.Problem = Problemf(ReasonConflicted, "%s in this zone is a name server of the Corefile, which has its addresses", TrimDot(ns))
		return
	}
	if a.Parent != nil {
		if a.Problem = s.refuse(a); a.Problem != nil {
			return
		}
	}
	i, taken := s.Index[a.FQDN]
	switch {
	case taken && s.Served[i].Object != nil:
		first := &s.Served[i].Object.Meta
		a.Problem = Problemf(ReasonConflicted, "Zone %s has the same name, %s, and comes first", InCluster(first, &a.Zone.Meta), TrimDot(a.FQDN))
	case taken:
		s.Served[i].Object = a.Zone
	default:
		s.Index[a.FQDN] = len(s.Served)
		s.Served = append(s.Served, Zone{Origin: a.FQDN, Corefile: over.Corefile, Object: a.Zone, administrators: over.administrators})
	}
}

// hidesServer returns a name server to which the Corefile gives addresses in the zone above, and
// which the Zone would hide; "" for none. A Zone of the delegating namespace may hide it.
func (a *Admission) hidesServer(corefile *ZoneOptions) string {
	if a.Parent != nil && a.Zone.SameNamespace(&a.Parent.Meta) || a.FQDN == corefile.Origin {
		return ""
	}
	for _, ns := range corefile.Nameservers {
		if len(ns.Addresses) > 0 && rdata.IsSubdomain(a.FQDN, ns.Name) {
			return ns.Name
		}
	}
	return ""
}

// lets reports whether up, the zone that holds its delegation, permits a Zone of that name; up is
// nil for none (rules 5.2, 6.3 and 6.5).
func (s *Zones) lets(z *api.Meta, zoneRef, fqdn string, up *Zone, opt *Options) bool {
	switch {
	case zoneRef != "" && (up == nil || up.Object == nil || up.Object.Name != zoneRef):
		return false
	case up != nil && up.Object != nil:
		return mayZone(up.Object, z, rdata.Relative(up.Origin, fqdn))
	case opt.ZoneNamespaces != nil:
		return isListed(opt.ZoneNamespaces, z)
	}
	return opt.mayPublishIn(s.zoneAt(fqdn, up).Corefile.Origin, z, fqdn, "") == nil // anyone, unless the Corefile says otherwise
}

// mayServe returns what keeps a Zone from being served because of the zones above it; nil for
// nothing.
func (s *Zones) mayServe(a *Admission, opt *Options) *Problem {
	z := a.Zone
	up := s.Above(a.FQDN)
	delegates := up != nil && up.Object != nil
	switch {
	case up != nil && up.NamesGroups(a.FQDN) && !up.Administers(&z.Meta):
		return opt.notAdministrator(up, &z.Meta, "the active groups of "+TrimDot(up.Origin))
	case s.lets(&z.Meta, z.Parent, a.FQDN, up, opt):
		if delegates {
			a.Parent = up.Object
		}
		return nil
	case z.Parent != "" && (!delegates || up.Object.Name != z.Parent):
		return s.strayed(&z.Meta, z.Parent, up)
	case delegates:
		return Problemf(reasonNotDelegated, "Zone %s does not let namespace %s have the zone %s: add {namespaces: [%s], zones: [%q]} to its spec.delegations",
			InCluster(&up.Object.Meta, &z.Meta), namespaceOf(&z.Meta), TrimDot(a.FQDN), z.Namespace(), rdata.Relative(up.Origin, a.FQDN))
	case opt.ZoneNamespaces == nil:
		return opt.mayPublishIn(s.zoneAt(a.FQDN, up).Corefile.Origin, &z.Meta, a.FQDN, "")
	}
	return Problemf(reasonNotAllowed, "no Zone delegates %s, and namespace %s is not in zone-namespaces of the Corefile",
		TrimDot(a.FQDN), namespaceOf(&z.Meta))
}

// strayed says why an object does not lie in the Zone of its zoneRef, parent: up is the zone that
// it lies in, nil for none.
func (s *Zones) strayed(m *api.Meta, parent string, up *Zone) *Problem {
	if a := s.Admission(m.Cluster, parent); a != nil && a.Problem != nil {
		return Problemf(ReasonParentPending, "the parent Zone %s is not served", parent)
	}
	switch {
	case up == nil:
		return &Problem{Reason: ReasonNotServed}
	case up.Object == nil:
		return Problemf(reasonParentMismatch, "the name is in zone %s, which has no Zone object, not in the parent Zone %s", TrimDot(up.Origin), parent)
	}
	return Problemf(reasonParentMismatch, "the name is in zone %s of Zone %s, not in the parent Zone %s",
		TrimDot(up.Origin), InCluster(&up.Object.Meta, m), parent)
}
