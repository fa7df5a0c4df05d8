package endpoint

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// nameZones finds the names of a cluster's Zones (rule 6.2). Those that have none have
// a problem.
func nameZones(c *api.Cluster) map[string]*Admission {
	admissions := make(map[string]*Admission, c.Zones.Len())
	for name, z := range c.Zones.All() {
		f := &Admission{Zone: z}
		switch {
		case z.Deleting:
			f.Problem = &Problem{ReasonNotServed, "the Zone is being deleted"}
		case z.Invalid != "":
			f.Problem = Unusable(&z.Meta, z.Invalid)
		}
		admissions[name] = f
	}
	for name := range c.Zones.All() { // in order: the same Zones have the same admissions
		nameZone(admissions, admissions[name])
	}
	return admissions
}

// maxNaming is how many Zones can be named one after the other at the most: each adds a
// label, and a name has 127.
const maxNaming = 128

// nameZone names f and the Zones that it is named after, as far as they have no name
// yet.
func nameZone(admissions map[string]*Admission, f *Admission) {
	var path []*Admission
	for up := f; up != nil && up.FQDN == "" && up.Problem == nil; up = admissions[up.Zone.Parent] {
		if i := slices.Index(path, up); i >= 0 {
			for _, on := range path[i:] {
				on.Problem = Problemf(reasonCycle, "zoneRef leads from Zone %s back to itself", on.Zone.Name)
			}
			path = path[:i]
			break
		}
		if len(path) == maxNaming {
			f.Problem = &Problem{ReasonInvalidName, "the names of all Zones that zoneRef leads to are longer than 255 octets together"}
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

// cause returns the first Zone above f that has no name, which may be f itself: those below
// it wait for that.
func (f *Admission) cause() *Admission { return cmp.Or(f.nameless, f) }

// Pending says that f, the Zone of a zoneRef, which says parent, has no name yet.
func (f *Admission) Pending(parent string) *Problem {
	first := f.cause()
	if first == f {
		return Problemf(ReasonParentPending, "the Zone %s of zoneRef has no name yet: %s", parent, f.Problem.Message)
	}
	return Problemf(ReasonParentPending, "the Zone %s of zoneRef has no name yet, as Zone %s has none: %s", parent, first.Zone.Name, first.Problem.Message)
}

var errWildcardZone = errors.New("a zone's name does not begin with a wildcard")

// setName names a Zone; over is the one that its zoneRef names, nil for none.
func (f *Admission) setName(over *Admission) {
	var err error
	switch {
	case f.Zone.Parent == "":
		f.FQDN, err = rdata.Canonical(f.Zone.DomainName)
	case over == nil:
		f.Problem = Problemf(ReasonParentMissing, "the Zone %s of zoneRef does not exist", f.Zone.Parent)
	case over.FQDN == "":
		f.Problem, f.nameless = over.Pending(f.Zone.Parent), over.cause()
	default:
		f.FQDN, err = rdata.Below(over.FQDN, f.Zone.DomainName)
	}
	if err == nil && strings.HasPrefix(f.FQDN, rdata.Wildcard) {
		err = errWildcardZone
	}
	if err != nil {
		f.FQDN, f.Problem = "", Problemf(ReasonInvalidName, "spec.domainName %q: %v", f.Zone.DomainName, err)
	}
}
