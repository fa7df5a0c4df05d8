package endpoint

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// nameZones finds the names of a cluster's Zones (rule 6.2). A Zone without one gets a problem.
func nameZones(c *api.Cluster) map[string]*Admission {
	admissions := make(map[string]*Admission, c.Zones.Len())
	for name, z := range c.Zones.All() {
		a := &Admission{Zone: z}
		switch {
		case z.Deleting:
			a.Problem = &Problem{ReasonNotServed, "the Zone is being deleted"}
		case z.Invalid != "":
			a.Problem = unusable(&z.Meta, z.Invalid)
		}
		admissions[name] = a
	}
	for name := range c.Zones.All() { // sorted: the same Zones give the same admissions
		nameZone(admissions, admissions[name])
	}
	return admissions
}

// maxNaming bounds a chain of Zones that are named after one another: each adds a label, and a name
// has at most 127.
const maxNaming = 128

// nameZone names a, and the Zones that it is named after, unless they have names already.
func nameZone(admissions map[string]*Admission, a *Admission) {
	var path []*Admission
	for up := a; up != nil && up.FQDN == "" && up.Problem == nil; up = admissions[up.Zone.Parent] {
		if i := slices.Index(path, up); i >= 0 {
			for _, on := range path[i:] {
				on.Problem = Problemf(reasonCycle, "zoneRef forms a cycle through Zone %s", on.Zone.Name)
			}
			path = path[:i]
			break
		}
		if len(path) == maxNaming {
			a.Problem = &Problem{reasonInvalidName, "the name is longer than 255 octets, with those of all parent Zones"}
			return
		}
		path = append(path, up)
		if up.Zone.Parent == "" {
			break
		}
	}
	for _, up := range slices.Backward(path) {
		up.setName(admissions[up.Zone.Parent])
	}
}

// cause returns the first Zone above this one that has no name, or else this one: the Zones below
// wait for it.
func (a *Admission) cause() *Admission { return cmp.Or(a.nameless, a) }

// Pending returns the problem that the Zone named as parent by a zoneRef has no name yet.
func (a *Admission) Pending(parent string) *Problem {
	first := a.cause()
	if first == a {
		return Problemf(ReasonParentPending, "the parent Zone %s has no name yet: %s", parent, a.Problem.Message)
	}
	return Problemf(ReasonParentPending, "the parent Zone %s has no name yet, because Zone %s has none: %s", parent, first.Zone.Name, first.Problem.Message)
}

var errWildcardZone = errors.New("a zone's name cannot begin with a wildcard")

// setName names a Zone; over is the Zone of its zoneRef, nil for none.
func (a *Admission) setName(over *Admission) {
	var err error
	switch {
	case a.Zone.Parent == "":
		a.FQDN, err = rdata.Canonical(a.Zone.DomainName)
	case over == nil:
		a.Problem = Problemf(ReasonParentMissing, "the parent Zone %s does not exist", a.Zone.Parent)
	case over.FQDN == "":
		a.Problem, a.nameless = over.Pending(a.Zone.Parent), over.cause()
	default:
		a.FQDN, err = rdata.Below(over.FQDN, a.Zone.DomainName)
	}
	if err == nil && strings.HasPrefix(a.FQDN, rdata.Wildcard) {
		err = errWildcardZone
	}
	if err != nil {
		a.FQDN, a.Problem = "", Problemf(reasonInvalidName, "spec.domainName %q: %v", a.Zone.DomainName, err)
	}
}
