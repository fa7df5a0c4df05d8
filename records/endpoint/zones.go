package endpoint

import (
	"maps"
	"slices"

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

// zoneAt returns the served zone of that name if there is one, else up.
func (s *Zones) zoneAt(name string, up *Zone) *Zone {
	if i, ok := s.Index[name]; ok {
		return &s.Served[i]
	}
	return up
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

// Same reports whether two sets have the same zones for the same reasons.
func (s *Zones) Same(o *Zones) bool {
	admissions := func(a, b map[string]*Admission) bool {
		return maps.EqualFunc(a, b, func(a, b *Admission) bool {
			return a.FQDN == b.FQDN && a.Problem.Equal(b.Problem) && (a.Parent == nil) == (b.Parent == nil) && (a.Parent == nil || a.Parent.Name == b.Parent.Name)
		})
	}
	return s.Unsettled == o.Unsettled && slices.EqualFunc(s.Served, o.Served, func(a, b Zone) bool { return a.same(&b) }) && slices.EqualFunc(s.Admissions, o.Admissions, admissions)
}

// missing reports whether the Zone exists only because the guard keeps it.
func (a *Admission) missing() bool { return a.Zone.Missing }

// contention returns the key for LiveFirst: the name and the namespace that wants it.
func (a *Admission) contention() string { return a.FQDN + " " + namespaceKey(&a.Zone.Meta) }

// zoneLine is the registry's line for the name of a Zone, or stands for the incumbent's (rule 5.4).
type zoneLine struct {
	api.Owner
	meta *api.Meta
	// written is false for the incumbent's, which reserves nothing.
	written bool
	// read is true if its Zone is there and has the name, followed if a Zone of its namespace has.
	read, followed bool
}
