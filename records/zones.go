package records

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// zoneFate is what became of one Zone.
type zoneFate struct {
	zone *api.Zone
	// fqdn is its name; "" where that is not known.
	fqdn string
	// problem is why it is not served; nil where it is.
	problem *problem
	// registered is true where the registry has a line of the Zone for its name.
	registered bool
	// nameless is the first Zone above, by zoneRefs, that has no name, so that it has none
	// either; nil for none.
	nameless *zoneFate
	// parent is the Zone above that delegates it; nil for none.
	parent *api.Zone
}

// zoneSet is the served zones, and what became of all Zones. It is immutable.
type zoneSet struct {
	// sites are the zones of the Corefile in its order, then the others by their
	// origins; index finds them.
	sites []site
	index map[string]int
	// fates are those of each cluster's Zones, by namespace/name.
	fates []map[string]*zoneFate
	// named has the names of all Zones, whatever has become of them; taken has the registered
	// names in those that have no line of their own.
	named map[string]bool
	taken takenNames
	// reserved are the zones of the Corefile whose names have the label klb: no Zone has it below another zone (rule 2.8).
	reserved []string
}

// resolveZones decides which zones are served (rules 5.2 and 6.1 to 6.5). It is a pure
// function of the Zones and of opt, and takes time in proportion to the number of Zones,
// but for sorting them.
func resolveZones(in api.Objects, unread map[string]api.Owner, opt *Options) *zoneSet {
	s := &zoneSet{index: make(map[string]int, len(opt.Zones))}
	for i := range opt.Zones {
		s.index[opt.Zones[i].Origin] = i
		s.sites = append(s.sites, site{origin: opt.Zones[i].Origin, corefile: &opt.Zones[i]})
		if strings.Contains(opt.Zones[i].Origin, endpoint.KLB) {
			s.reserved = append(s.reserved, opt.Zones[i].Origin)
		}
	}
	var named []*zoneFate
	for _, c := range in.Clusters {
		fates := nameZones(c)
		s.fates = append(s.fates, fates)
		for _, f := range fates {
			if f.problem == nil {
				named = append(named, f)
			}
		}
	}
	// Parents first, and of several with one name the one that has it on record, then the oldest.
	slices.SortFunc(named, func(a, b *zoneFate) int {
		if c := cmp.Or(dns.CountLabel(a.fqdn)-dns.CountLabel(b.fqdn), strings.Compare(a.fqdn, b.fqdn)); c != 0 {
			return c
		}
		if held := servedBefore(in.Acquired, a.fqdn, a.zone); held != servedBefore(in.Acquired, b.fqdn, b.zone) {
			if held {
				return -1
			}
			return 1
		}
		return a.zone.Older(&b.zone.Meta)
	})
	named = liveFirst(named, (*zoneFate).missing, (*zoneFate).contention)
	s.findTaken(named, &in)
	s.addUnread(unread, named)
	for _, f := range named {
		if f.problem = s.vacant(f, named, &in); f.problem == nil {
			s.admit(f, opt)
		}
	}
	s.sortSites(len(opt.Zones))
	return s
}

// vacant says that a name is on record for a Zone of another namespace, and kept for that though it has gone (rule 5.4); nil
// where not.
func (s *zoneSet) vacant(f *zoneFate, named []*zoneFate, in *api.Objects) *problem {
	line, ok := in.Registered(api.ZoneKey(f.fqdn))
	if i, served := s.index[f.fqdn]; !ok || served && s.sites[i].unread != nil {
		return nil
	}
	m := in.MetaOf(line)
	if slices.ContainsFunc(named, func(o *zoneFate) bool { return o.fqdn == f.fqdn && m.SameNamespace(&o.zone.Meta) }) {
		return nil
	}
	return problemf(reasonConflicted, "%s", saysOwner("the name "+trimDot(f.fqdn), line.Kind, m, true, &f.zone.Meta))
}

// addUnread adds the zones whose Zones cannot be read, and are not among those that are.
func (s *zoneSet) addUnread(unread map[string]api.Owner, named []*zoneFate) {
	for origin, o := range unread {
		over := s.closest(origin)
		if over == nil || slices.ContainsFunc(named, func(f *zoneFate) bool { return f.fqdn == origin && o.Is(api.KindZone, &f.zone.Meta) }) {
			continue
		}
		i, known := s.index[origin]
		if !known {
			i = len(s.sites)
			s.index[origin], s.sites = i, append(s.sites, site{origin: origin, corefile: over.corefile})
		}
		s.sites[i].unread = &o
	}
}

// sortSites puts the zones that are not the Corefile's, which are those from the n-th
// on, in the order of their origins.
func (s *zoneSet) sortSites(n int) {
	slices.SortFunc(s.sites[n:], func(a, b site) int { return strings.Compare(a.origin, b.origin) })
	for i := n; i < len(s.sites); i++ {
		s.index[s.sites[i].origin] = i
	}
}

// sameZone tells whether two versions of a Zone say the same: what their status keeps may
// differ, and metadata that does not matter.
func sameZone(a, b *api.Zone) bool {
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
func (s *zoneSet) closest(name string) *site {
	if i := closestOrigin(s.index, name); i >= 0 {
		return &s.sites[i]
	}
	return nil
}

// closestOrigin returns what index has for the longest origin that name lies in, -1
// for none.
func closestOrigin(index map[string]int, name string) int {
	for off, end := 0, false; !end; off, end = dns.NextLabel(name, off) {
		if i, ok := index[name[off:]]; ok {
			return i
		}
	}
	if i, ok := index["."]; ok {
		return i
	}
	return -1
}

// above returns the served zone that holds the delegation of origin; nil for none.
func (s *zoneSet) above(origin string) *site {
	up, ok := rdata.Parent(origin)
	if !ok {
		return nil
	}
	return s.closest(up)
}

// cuts returns, for each zone, the origins of those that begin below it.
func (s *zoneSet) cuts() [][]string {
	cuts := make([][]string, len(s.sites))
	for _, at := range s.sites {
		if up := s.above(at.origin); up != nil {
			above := s.index[up.origin]
			cuts[above] = append(cuts[above], at.origin)
		}
	}
	return cuts
}

// admit decides on a Zone whose name is known, after all that lie above it and all
// older ones of the name.
func (s *zoneSet) admit(f *zoneFate, opt *Options) {
	over := s.closest(f.fqdn)
	if over == nil {
		f.problem = &problem{reason: reasonNotServed}
		return
	}
	if f.problem = over.inChain(f.fqdn); f.problem != nil {
		return
	}
	if up := s.above(f.fqdn); over.unread != nil && (over.origin == f.fqdn || !f.registered) {
		f.problem = over.unreadZone()
		return
	} else if up == nil || up.unread == nil { // else its delegation was known when it was registered
		if f.problem = s.mayServe(f, opt); f.problem != nil {
			return
		}
	}
	if over.tellsOwner(f.fqdn) || over.tellsBelow(f.fqdn) {
		f.problem = problemf(reasonConflicted, "owner-txt in the Corefile keeps %s for telling who owns a host", trimDot(f.fqdn))
		return
	}
	if ns := f.hidesServer(over.corefile); ns != "" && (f.parent != nil || opt.ZoneNamespaces == nil) {
		f.problem = problemf(reasonConflicted, "%s, which lies in the zone, is a name server of the Corefile, with addresses of its own", trimDot(ns))
		return
	}
	if f.parent != nil && !f.registered {
		if f.problem = s.taken.refuse(f); f.problem != nil {
			return
		}
	}
	i, taken := s.index[f.fqdn]
	switch {
	case taken && s.sites[i].object != nil:
		first := &s.sites[i].object.Meta
		f.problem = problemf(reasonConflicted, "Zone %s %s and has the same name, %s", inCluster(first, &f.zone.Meta), f.precedes(first), trimDot(f.fqdn))
	case taken:
		s.sites[i].object = f.zone
	default:
		s.index[f.fqdn] = len(s.sites)
		s.sites = append(s.sites, site{origin: f.fqdn, corefile: over.corefile, object: f.zone})
	}
}

// precedes says how the object of another one goes before the Zone: by its age, or by what
// is on record (rule 5.4).
func (f *zoneFate) precedes(m *api.Meta) string {
	if m.Older(&f.zone.Meta) > 0 {
		return "came first"
	}
	return "is older"
}

// hidesServer returns a name server to which the Corefile gives addresses in the zone
// above, and which the Zone would take away; "" for none. One of the namespace that
// delegates it may.
func (f *zoneFate) hidesServer(corefile *ZoneOptions) string {
	if f.parent != nil && f.zone.SameNamespace(&f.parent.Meta) || f.fqdn == corefile.Origin {
		return ""
	}
	for _, ns := range corefile.Nameservers {
		if len(ns.Addresses) > 0 && rdata.IsSubdomain(f.fqdn, ns.Name) {
			return ns.Name
		}
	}
	return ""
}

// lets tells whether a Zone of that name may be served by up, the zone that holds its
// delegation, which is nil for none (rules 5.2, 6.3 and 6.5).
func (s *zoneSet) lets(z *api.Meta, zoneRef, fqdn string, up *site, opt *Options) bool {
	switch {
	case zoneRef != "" && (up == nil || up.object == nil || up.object.Name != zoneRef):
		return false
	case up != nil && up.object != nil:
		return mayZone(up.object, z, rdata.Relative(up.origin, fqdn))
	case opt.ZoneNamespaces != nil:
		return isListed(opt.ZoneNamespaces, z)
	}
	return opt.mayPublishIn(s.siteAt(fqdn, up).corefile.Origin, z, fqdn, "") == nil // any, as far as the Corefile says nothing else
}

// siteAt returns the served zone of that name, where there is one, else up.
func (s *zoneSet) siteAt(name string, up *site) *site {
	if i, ok := s.index[name]; ok {
		return &s.sites[i]
	}
	return up
}

// mayServe tells what keeps a Zone from being served by those above it: nil where
// nothing does.
func (s *zoneSet) mayServe(f *zoneFate, opt *Options) *problem {
	z := f.zone
	up := s.above(f.fqdn)
	delegates := up != nil && up.object != nil
	switch {
	case s.lets(&z.Meta, z.Parent, f.fqdn, up, opt):
		if delegates {
			f.parent = up.object
		}
		return nil
	case z.Parent != "" && (!delegates || up.object.Name != z.Parent):
		return s.strayed(&z.Meta, z.Parent, up)
	case delegates:
		return problemf(reasonNotDelegated, "the delegations of Zone %s do not let namespace %s have the zone %s",
			inCluster(&up.object.Meta, &z.Meta), namespaceOf(&z.Meta), trimDot(f.fqdn))
	case opt.ZoneNamespaces == nil:
		return opt.mayPublishIn(s.siteAt(f.fqdn, up).corefile.Origin, &z.Meta, f.fqdn, "")
	}
	return problemf(reasonNotAllowed, "no Zone delegates %s, and namespace %s may not have Zones without one: zone-namespaces in the Corefile names those that may",
		trimDot(f.fqdn), namespaceOf(&z.Meta))
}

// strayed says why an object does not lie in the Zone that its zoneRef names, parent: up
// is the zone that it lies in, nil for none.
func (s *zoneSet) strayed(m *api.Meta, parent string, up *site) *problem {
	if f := s.fate(m.Cluster, parent); f != nil && f.problem != nil {
		return problemf(reasonParentPending, "the Zone %s of zoneRef is not served itself", parent)
	}
	switch {
	case up == nil:
		return &problem{reason: reasonNotServed}
	case up.object == nil:
		return problemf(reasonParentMismatch, "the name lies in the zone %s, which has no Zone, and not in the Zone %s of zoneRef", trimDot(up.origin), parent)
	}
	return problemf(reasonParentMismatch, "the name lies in the zone %s of Zone %s, and not in the Zone %s of zoneRef",
		trimDot(up.origin), inCluster(&up.object.Meta, m), parent)
}

// fate returns what became of a Zone; nil where there is none.
func (s *zoneSet) fate(cluster, name string) *zoneFate {
	for _, fates := range s.fates {
		if f := fates[name]; f != nil && f.zone.Cluster == cluster { // a few at most
			return f
		}
	}
	return nil
}

// namespaceOf names the namespace of an object to its owner. One that pools with no other
// cluster's is named with its cluster.
func namespaceOf(m *api.Meta) string {
	if m.Apart {
		return m.Namespace() + " of cluster " + m.Cluster + " (where it is not listed as the one of that name elsewhere)"
	}
	return m.Namespace()
}

// inCluster names an object to the owner of another one.
func inCluster(m, to *api.Meta) string {
	if m.Cluster != to.Cluster {
		return m.Name + " of cluster " + m.Cluster
	}
	return m.Name
}

// same reports whether two sets have the same zones for the same reasons.
func (s *zoneSet) same(o *zoneSet) bool {
	fates := func(a, b map[string]*zoneFate) bool {
		return maps.EqualFunc(a, b, func(a, b *zoneFate) bool {
			return a.fqdn == b.fqdn && a.problem.equal(b.problem) && (a.parent == nil) == (b.parent == nil) && (a.parent == nil || a.parent.Name == b.parent.Name)
		})
	}
	return slices.EqualFunc(s.sites, o.sites, func(a, b site) bool { return a.same(&b) }) && slices.EqualFunc(s.fates, o.fates, fates)
}
