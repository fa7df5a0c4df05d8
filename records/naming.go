package records

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
func nameZones(c *api.Cluster) map[string]*zoneFate {
	fates := make(map[string]*zoneFate, c.Zones.Len())
	for name, z := range c.Zones.All() {
		f := &zoneFate{zone: z}
		switch {
		case z.Deleting:
			f.problem = &problem{reasonNotServed, "the Zone is being deleted"}
		case z.Invalid != "":
			f.problem = unusable(&z.Meta, z.Invalid)
		}
		fates[name] = f
	}
	for name := range c.Zones.All() { // in order: the same Zones have the same fates
		nameZone(fates, fates[name])
	}
	return fates
}

// maxNaming is how many Zones can be named one after the other at the most: each adds a
// label, and a name has 127.
const maxNaming = 128

// nameZone names f and the Zones that it is named after, as far as they have no name
// yet.
func nameZone(fates map[string]*zoneFate, f *zoneFate) {
	var path []*zoneFate
	for up := f; up != nil && up.fqdn == "" && up.problem == nil; up = fates[up.zone.Parent] {
		if i := slices.Index(path, up); i >= 0 {
			for _, on := range path[i:] {
				on.problem = problemf(reasonCycle, "zoneRef leads from Zone %s back to itself", on.zone.Name)
			}
			path = path[:i]
			break
		}
		if len(path) == maxNaming {
			f.problem = &problem{reasonInvalidName, "the names of all Zones that zoneRef leads to are longer than 255 octets together"}
			return
		}
		path = append(path, up)
		if up.zone.Parent == "" {
			break
		}
	}
	for _, up := range slices.Backward(path) {
		up.setName(fates[up.zone.Parent])
	}
}

// cause returns the first Zone above f that has no name, which may be f itself: those below
// it wait for that.
func (f *zoneFate) cause() *zoneFate { return cmp.Or(f.nameless, f) }

// pending says that f, the Zone of a zoneRef, which says parent, has no name yet.
func (f *zoneFate) pending(parent string) *problem {
	first := f.cause()
	if first == f {
		return problemf(reasonParentPending, "the Zone %s of zoneRef has no name yet: %s", parent, f.problem.message)
	}
	return problemf(reasonParentPending, "the Zone %s of zoneRef has no name yet, as Zone %s has none: %s", parent, first.zone.Name, first.problem.message)
}

var errWildcardZone = errors.New("a zone's name does not begin with a wildcard")

// setName names a Zone; over is the one that its zoneRef names, nil for none.
func (f *zoneFate) setName(over *zoneFate) {
	var err error
	switch {
	case f.zone.Parent == "":
		f.fqdn, err = rdata.Canonical(f.zone.DomainName)
	case over == nil:
		f.problem = problemf(reasonParentMissing, "the Zone %s of zoneRef does not exist", f.zone.Parent)
	case over.fqdn == "":
		f.problem, f.nameless = over.pending(f.zone.Parent), over.cause()
	default:
		f.fqdn, err = rdata.Below(over.fqdn, f.zone.DomainName)
	}
	if err == nil && strings.HasPrefix(f.fqdn, rdata.Wildcard) {
		err = errWildcardZone
	}
	if err != nil {
		f.fqdn, f.problem = "", problemf(reasonInvalidName, "spec.domainName %q: %v", f.zone.DomainName, err)
	}
}
