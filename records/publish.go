package records

import (
	"cmp"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// mayPublish tells what keeps an object of a namespace from publishing data of a type at
// name, which lies in the zone: nil where nothing does (rule 5.1). The closest Zone's
// delegations decide for every kind of object; without a Zone the Corefile does.
func (o *Options) mayPublish(at *site, m *api.Meta, name, rtype string) *problem {
	if at.object == nil {
		return cmp.Or(o.mayPublishIn(at.origin, m, name), at.mayTell(name, rtype))
	}
	if mayRecord(at.object, m, rdata.Relative(at.origin, name), rtype) {
		return at.mayTell(name, rtype)
	}
	return problemf(reasonNotDelegated, "the delegations of Zone %s do not let namespace %s publish %s at %s",
		inCluster(&at.object.Meta, m), namespaceOf(m), rtype, trimDot(name))
}

// mayPublishIn is mayPublish in a zone of the Corefile that has no Zone: the line
// `publish` with the longest domain that name lies in decides. A zone that no line
// concerns is open to all.
func (o *Options) mayPublishIn(origin string, m *api.Meta, name string) *problem {
	if o.open(origin) {
		return nil
	}
	var closest *Publish
	for i := range o.Publish {
		p := &o.Publish[i]
		if rdata.IsSubdomain(p.Domain, name) && (closest == nil || len(p.Domain) > len(closest.Domain)) {
			closest = p
		}
	}
	switch {
	case closest == nil:
		return problemf(reasonNotAllowed, "no publish line of the Corefile lets anybody publish at %s, which lies in no Zone", trimDot(name))
	case !isListed(closest.Namespaces, m):
		return problemf(reasonNotAllowed, "the line publish %s of the Corefile does not let namespace %s publish at %s", trimDot(closest.Domain), namespaceOf(m), trimDot(name))
	}
	return nil
}

// isListed reports whether the Corefile, which names namespaces, means that of an object: one
// that is set apart is another one than it knows, but for "*".
func isListed(namespaces []string, m *api.Meta) bool {
	return !m.Apart && slices.Contains(namespaces, m.Namespace()) || slices.Contains(namespaces, "*")
}

// open reports whether every namespace may publish in a zone that has no Zone: no line
// `publish` is about a name in it, or above it. Lines for names with an underscore only add to
// that (rule 5.9).
func (o *Options) open(origin string) bool {
	return !slices.ContainsFunc(o.Publish, func(p Publish) bool {
		return p.Domain[0] != '_' && (rdata.IsSubdomain(origin, p.Domain) || rdata.IsSubdomain(p.Domain, origin))
	})
}

// Open returns the zones without a Zone in which every namespace may publish (rule 5.1),
// in the order of the options.
func (s *Snapshot) Open() (origins []string) {
	for i := range s.zoneSet.sites {
		if at := &s.zoneSet.sites[i]; at.object == nil && s.opt.open(at.origin) {
			origins = append(origins, at.origin)
		}
	}
	return origins
}
