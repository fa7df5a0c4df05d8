package endpoint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

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
