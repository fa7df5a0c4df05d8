package endpoint

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// Admission is the decision on one Zone.
type Admission struct {
	Zone *api.Zone
	// FQDN is its name; "" if that is not known.
	FQDN string
	// Problem is why it is not served; nil if it is.
	Problem *Problem
	// line is the registry's for the name; nil for none.
	line *zoneLine
	// registered is true if it names the Zone. A re-created Zone has the line of the one before.
	registered bool
	// nameless is the first Zone above, by zoneRefs, that has no name and so leaves this one
	// without; nil for none.
	nameless *Admission
	// Parent is the Zone above that delegates it; nil for none.
	Parent *api.Zone
}

// Zones are the served zones, and the decisions on all Zones. It is immutable.
type Zones struct {
	// Served are the Corefile's zones in its order, then the others by origin; Index finds them.
	Served []Zone
	Index  map[string]int
	// Admissions are the decisions on each cluster's Zones, by namespace/name.
	Admissions []map[string]*Admission
	// Taken has the names of others in Zones without a line of their own.
	Taken takenNames
	// vacated has the registry as it was when a registered Zone went, by its name, while its line stays: what others have published there
	// since is not the Zone's when it comes back (rule 6.5).
	vacated map[string]tree.Map[api.Owner]
	// Unsettled is true if a Zone is refused for names without a line alone: no line will tell when they are given up.
	Unsettled bool
	// Reserved are the Corefile's zones whose names have the label klb: no Zone below another zone may have it (rule 2.8).
	Reserved []string
}

// ResolveZones decides which zones are served (rules 5.2 and 6.1 to 6.5). unread are the registry lines of Zones that cannot be read, by
// origin. It is a pure function, and takes time proportional to the number of Zones, plus sorting.
func ResolveZones(in api.Objects, unread map[string]api.Owner, opt *Options) *Zones {
	s := &Zones{Index: make(map[string]int, len(opt.Zones))}
	for i := range opt.Zones {
		s.Index[opt.Zones[i].Origin] = i
		s.Served = append(s.Served, Zone{Origin: opt.Zones[i].Origin, Corefile: &opt.Zones[i], administrators: opt.ZoneNamespaces})
		if strings.Contains(opt.Zones[i].Origin, KLB) {
			s.Reserved = append(s.Reserved, opt.Zones[i].Origin)
		}
	}
	var named []*Admission
	for _, c := range in.Clusters {
		admissions := nameZones(c)
		s.Admissions = append(s.Admissions, admissions)
		for _, a := range admissions {
			if a.Problem == nil {
				named = append(named, a)
			}
		}
	}
	lines := findLines(named, &in)
	// Parents first; of Zones with the same name the registered one, then those of its namespace, then the oldest.
	slices.SortFunc(named, func(a, b *Admission) int {
		if c := cmp.Or(dns.CountLabel(a.FQDN)-dns.CountLabel(b.FQDN), strings.Compare(a.FQDN, b.FQDN), a.rank()-b.rank()); c != 0 {
			return c
		}
		return a.Zone.Older(&b.Zone.Meta)
	})
	named = LiveFirst(named, (*Admission).missing, (*Admission).contention)
	s.findTaken(named, &in)
	s.addUnread(unread, lines)
	for _, a := range named {
		if a.Problem = s.reserved(a); a.Problem == nil {
			s.admit(a, opt)
		}
	}
	s.sortServed(len(opt.Zones))
	s.vacate(&in)
	return s
}

// zoneLine is the registry's line for the name of a Zone, or stands for the incumbent's (rule 5.4).
type zoneLine struct {
	api.Owner
	meta *api.Meta
	// written is false for the incumbent's, which reserves nothing.
	written bool
	// read is true if its Zone is there and has the name, followed if a Zone of its namespace has.
	read, followed bool
}

// findLines returns the registry's lines for the names of Zones, and gives each Zone the one for its name.
func findLines(named []*Admission, in *api.Objects) map[string]*zoneLine {
	lines := make(map[string]*zoneLine)
	for _, a := range named {
		l, known := lines[a.FQDN]
		if !known {
			key := api.ZoneKey(a.FQDN)
			if o, ok := in.Registered(key); ok {
				_, written := in.Line(key)
				l = &zoneLine{Owner: o, meta: in.MetaOf(o), written: written}
			}
			lines[a.FQDN] = l
		}
		if l == nil {
			continue
		}
		z := &a.Zone.Meta
		a.line, a.registered = l, l.Kind == api.KindZone && l.Cluster == z.Cluster && l.Name == z.Name
		l.read = l.read || l.Is(api.KindZone, z)
		l.followed = l.followed || l.meta.SameNamespace(z)
	}
	return lines
}

// rank orders the Zones of one name: later objects take nothing from the registered one, however old they are, and those of its namespace
// succeed it (rule 5.4).
func (a *Admission) rank() int {
	switch z := &a.Zone.Meta; {
	case a.line == nil:
		return 2
	case a.line.Is(api.KindZone, z):
		return 0
	case a.line.meta.SameNamespace(z):
		return 1
	}
	return 2
}

// reserved returns the problem that a name is registered for a deleted Zone of another namespace, and still kept for it (rule 5.4); nil for
// none.
func (s *Zones) reserved(a *Admission) *Problem {
	if i, served := s.Index[a.FQDN]; a.line == nil || !a.line.written || a.line.followed || served && s.Served[i].Unread != nil {
		return nil
	}
	return Problemf(ReasonConflicted, "%s", ownedBy("the name "+TrimDot(a.FQDN), a.line.Kind, a.line.meta, true, &a.Zone.Meta))
}

// addUnread adds the zones of Zones that cannot be read, unless they are served already.
func (s *Zones) addUnread(unread map[string]api.Owner, lines map[string]*zoneLine) {
	for origin, o := range unread {
		over := s.closest(origin)
		if l := lines[origin]; over == nil || l != nil && l.read {
			continue
		}
		i, known := s.Index[origin]
		if !known {
			i = len(s.Served)
			s.Index[origin], s.Served = i, append(s.Served, Zone{Origin: origin, Corefile: over.Corefile, administrators: over.administrators})
		}
		s.Served[i].Unread = &o
	}
}

// sortServed sorts the zones from the n-th on, which are not the Corefile's, by origin.
func (s *Zones) sortServed(n int) {
	slices.SortFunc(s.Served[n:], func(a, b Zone) int { return strings.Compare(a.Origin, b.Origin) })
	for i := n; i < len(s.Served); i++ {
		s.Index[s.Served[i].Origin] = i
	}
}

// SameZone reports whether two versions of a Zone are the same, ignoring what their status keeps
// and irrelevant metadata.
func SameZone(a, b *api.Zone) bool {
	if a == b || a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	for _, z := range []*api.Zone{&x, &y} {
		m := z.Meta
		z.Kept, z.Meta = api.Kept{}, api.Meta{Name: m.Name, Cluster: m.Cluster, UID: m.UID, Created: m.Created, Deleting: m.Deleting, Apart: m.Apart, Missing: m.Missing, Fault: m.Fault}
	}
	return reflect.DeepEqual(&x, &y)
}

// closest returns the served zone that name lies in; nil for none.
func (s *Zones) closest(name string) *Zone {
	if i := ClosestOrigin(s.Index, name); i >= 0 {
		return &s.Served[i]
	}
	return nil
}

// ClosestOrigin returns index's value for the longest origin that contains name, -1 for none.
func ClosestOrigin(index map[string]int, name string) int {
	if i, ok := rdata.Closest(index, name); ok {
		return i
	}
	return -1
}

// Above returns the served zone that holds the delegation of origin; nil for none.
func (s *Zones) Above(origin string) *Zone {
	up, ok := rdata.Parent(origin)
	if !ok {
		return nil
	}
	return s.closest(up)
}

// Cuts returns, for each zone, the origins of the zones that begin below it.
func (s *Zones) Cuts() [][]string {
	cuts := make([][]string, len(s.Served))
	for _, at := range s.Served {
		if up := s.Above(at.Origin); up != nil {
			above := s.Index[up.Origin]
			cuts[above] = append(cuts[above], at.Origin)
		}
	}
	return cuts
}

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

// zoneAt returns the served zone of that name if there is one, else up.
func (s *Zones) zoneAt(name string, up *Zone) *Zone {
	if i, ok := s.Index[name]; ok {
		return &s.Served[i]
	}
	return up
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

// Admission returns the decision on a Zone; nil for none.
func (s *Zones) Admission(cluster, name string) *Admission {
	for _, admissions := range s.Admissions {
		if a := admissions[name]; a != nil && a.Zone.Cluster == cluster { // a few at most
			return a
		}
	}
	return nil
}

// namespaceOf names an object's namespace for its owner, with the cluster if it pools with no other
// cluster's.
func namespaceOf(m *api.Meta) string {
	if m.Apart {
		return m.Namespace() + " in cluster " + m.Cluster + " (not listed as shared with other clusters)"
	}
	return m.Namespace()
}

// InCluster names an object for the owner of another one.
func InCluster(m, to *api.Meta) string {
	if m.Cluster != to.Cluster {
		return m.Name + " in cluster " + m.Cluster
	}
	return m.Name
}

// Same reports whether two sets have the same zones for the same reasons.
func (s *Zones) Same(o *Zones) bool {
	admissions := func(a, b map[string]*Admission) bool {
		return maps.EqualFunc(a, b, func(a, b *Admission) bool {
			return a.FQDN == b.FQDN && a.Problem.Equal(b.Problem) && (a.Parent == nil) == (b.Parent == nil) && (a.Parent == nil || a.Parent.Name == b.Parent.Name)
		})
	}
	return s.Unsettled == o.Unsettled && slices.EqualFunc(s.Served, o.Served, func(a, b Zone) bool { return a.same(&b) }) && slices.EqualFunc(s.Admissions, o.Admissions, admissions)
}
