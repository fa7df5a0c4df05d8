package records

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// want is a name that an object wants to publish at, or a Zone wants to have.
type want struct {
	name string
	by   *api.Meta
	kind api.Kind
	// types are those of which it wants one, none for a Zone; parent is the Zone that its
	// zoneRef names, "" for none.
	types  []string
	parent string
	// origin is the zone that a DNSRecord names; "" for other objects, which name none.
	origin string
	// corefile is the origin of the zone of the Corefile that it lies in, or for a Zone its
	// delegation; "" where that has not been asked.
	corefile string
	// steers is true where it wants klb.H' and all below it.
	steers bool
	// record is the Record that it comes from, targets are those of the endpoint; nil for
	// other objects.
	record  *api.Record
	targets []string
	// unread is the owner on record, which cannot be read, of whom nothing else is known; nil for other wants.
	unread *unreadLine
	// asked is where it was asked last whether it may be had.
	asked permission
}

// permission says whether an object may have what it wants in a zone.
type permission struct {
	origin string // "" where it has not been asked
	object *api.Zone
	given  bool
}

// permittedIn tells whether what is wanted may be had in a zone, as ask says it: this costs
// a look at all delegations, and is asked for every Zone along the name.
func (w *want) permittedIn(in *site, ask func() bool) bool {
	if w.asked.origin != in.origin || w.asked.object != in.object {
		w.asked = permission{origin: in.origin, object: in.object, given: ask()}
	}
	return w.asked.given
}

// wantKey is all that decides of a want of no Zone, but for the name of its object.
type wantKey struct {
	name, first, parent, origin string
	created                     int64
	uid                         string
	types                       int
	steers, says, apart         bool
}

func (w *want) key() wantKey {
	return wantKey{w.name, w.types[0], w.parent, w.origin, w.by.Created, w.by.UID, len(w.types), w.steers, w.says(), w.by.Apart}
}

// anyZone is a zone that all data can be in.
var anyZone = &site{origin: ".", corefile: new(ZoneOptions)}

// says tells whether there are data that could be served in a zone that allows them. What
// says nothing keeps nobody from anything (rule 8.1).
func (w *want) says() bool {
	switch w.kind {
	case api.KindRecord:
		e := &entry{record: w.record, name: w.name}
		return e.parse(anyZone, writing{origin: "."}) == nil
	case api.KindDNSRecord, api.KindDNSEndpoint:
		return slices.ContainsFunc(w.targets, w.saysTarget)
	}
	return true
}

// saysTarget tells the same of one target of an endpoint.
func (w *want) saysTarget(text string) bool {
	if rtype, ok := rdata.Type(w.types[0]); ok && steeredType(rtype) {
		_, _, p := steeredTarget(w.name, rtype, text)
		return p == nil
	}
	e := &entry{name: w.name, record: &api.Record{Type: w.types[0], Class: "IN", RData: text}}
	return e.parse(anyZone, writing{origin: ".", wholeText: true}) == nil
}

// before orders wants by the age of their objects, and equally old ones in a way that does
// not depend on the order in which they come.
func (w *want) before(o *want) bool {
	return cmp.Or(w.by.Older(o.by), cmp.Compare(w.kind, o.kind), strings.Compare(w.name, o.name)) < 0
}

// ownKey returns the key under which it is on record who has the name itself.
func (w *want) ownKey() string {
	if w.kind == api.KindZone {
		return api.ZoneKey(w.name)
	}
	return w.name
}

// onRecord yields the keys under which it may be on record who has the name of a want: the
// names at and below klb.H' belong to the host where it had them alone (decision 23). Data of
// other types are on nobody's.
func (w *want) onRecord(acquired tree.Map[api.Owner]) iter.Seq2[string, api.Owner] {
	return func(yield func(string, api.Owner) bool) {
		if acquired.Len() == 0 || w.kind != api.KindZone && !slices.ContainsFunc(w.types, func(t string) bool { return slices.Contains(steeredTypes, t) }) {
			return
		}
		key := w.ownKey()
		if owner, ok := acquired.Get(key); ok && !yield(key, owner) || w.kind == api.KindRecord || w.kind == api.KindZone {
			return
		}
		for _, h := range steeringBases(rdata.Base(w.name)) {
			for _, host := range [...]string{h, rdata.Wildcard + h} {
				if owner, ok := acquired.Get(host); ok && owner.Chain && !yield(host, owner) {
					return
				}
			}
		}
	}
}

// mayHold tells whether owner, who has a name on record, may be the object: a Record's
// owner is the Zone that it lies in.
func (w *want) mayHold(owner api.Owner) bool {
	if w.kind == api.KindRecord && owner.Kind == api.KindZone {
		return owner.Cluster == w.by.Cluster && (w.parent == "" || w.parent == owner.Name)
	}
	return owner.Is(w.kind, w.by)
}

// holds is the same where in is the zone that holds the name.
func (w *want) holds(owner api.Owner, in *site) bool {
	if w.kind == api.KindRecord && in.object != nil {
		return owner.Is(api.KindZone, &in.object.Meta)
	}
	return owner.Is(w.kind, w.by)
}

// admitted tells whether what is wanted may be published in the zone that holds the name,
// by others than those who have that: they consent to what they delegate.
func (w *want) admitted(in *site, opt *Options) bool {
	return (in.object == nil || !w.by.SameNamespace(&in.object.Meta)) && w.permitted(in, opt)
}

// permitted tells whether what is wanted may be published in the zone that holds the name
// (rule 5.1).
func (w *want) permitted(in *site, opt *Options) bool {
	return w.permittedIn(in, func() bool { return w.mayPublish(in, opt) })
}

func (w *want) mayPublish(in *site, opt *Options) bool {
	switch {
	case w.origin != "" && w.origin != in.origin || !rdata.IsSubdomain(in.origin, rdata.Base(w.name)):
		return false
	case in.object == nil:
		return w.parent == "" && opt.mayPublishIn(in.origin, w.by, w.name) == nil
	case w.parent != "" && w.parent != in.object.Name:
		return false
	}
	return slices.ContainsFunc(w.types, func(rtype string) bool {
		return mayRecord(in.object, w.by, rdata.Relative(in.origin, w.name), rtype)
	})
}

var steeredTypes = []string{"A", "AAAA", "CNAME"}

// wants yields what all objects want, but for what they want where no name is known.
func (s *zoneSet) wants(in api.Objects) iter.Seq[want] {
	return func(yield func(want) bool) {
		for _, c := range in.Clusters {
			for _, kind := range [...]api.Kind{api.KindDNSPolicy, api.KindRecord, api.KindDNSRecord, api.KindDNSEndpoint} {
				for name := range c.Names(kind, "") {
					for w := range s.wantsOf(c, api.Ref{Kind: kind, Name: name}) {
						if !yield(w) {
							return
						}
					}
				}
			}
		}
	}
}

// wantsOf yields what one object wants.
func (s *zoneSet) wantsOf(c *api.Cluster, ref api.Ref) iter.Seq[want] {
	return func(yield func(want) bool) {
		switch ref.Kind {
		case api.KindDNSPolicy:
			if p, ok := c.Policies.Get(ref.Name); ok && !p.Deleting && refused(p) == "" && p.Provider.ServedHere() {
				policyWants(c, p, yield)
			}
		case api.KindRecord:
			if r, ok := c.Records.Get(ref.Name); ok {
				e := &entry{record: r}
				if s.nameRecord(e) == nil {
					yield(want{name: e.name, by: &r.Meta, kind: ref.Kind, types: []string{rdata.TypeName(r.Type)}, parent: r.Parent, record: r})
				}
			}
		case api.KindDNSRecord:
			if r, ok := c.DNSRecords.Get(ref.Name); ok && !r.Deleting {
				recordWants(r, yield)
			}
		case api.KindDNSEndpoint:
			if e, ok := c.DNSEndpoints.Get(ref.Name); ok && !e.Deleting && e.Invalid == "" {
				endpointWants(want{by: &e.Meta, kind: ref.Kind}, e.Endpoints, func(string) bool { return true }, yield)
			}
		}
	}
}

func policyWants(c *api.Cluster, p *api.DNSPolicy, yield func(want) bool) {
	g, ok := c.Gateways.Get(p.TargetName())
	if !ok || g.Deleting {
		return
	}
	listeners := g.Listeners[:min(len(g.Listeners), maxParts)]
	for i, l := range listeners {
		if p.Target.Section != "" && p.Target.Section != l.Name || l.AttachedRoutes == 0 ||
			p.Target.Section == "" && slices.ContainsFunc(listeners[:i], func(o api.Listener) bool { return o.Hostname == l.Hostname && o.AttachedRoutes != 0 }) {
			continue
		}
		if host, err := rdata.Host(l.Hostname); err == nil && !yield(want{name: host, by: &p.Meta, kind: api.KindDNSPolicy, types: steeredTypes, steers: p.Strategy == api.WeightedGeo}) {
			return
		}
	}
}

// recordWants yields what a DNSRecord wants that names a zone served here (rule 6.10).
func recordWants(r *api.DNSRecord, yield func(want) bool) {
	zone, named := zoneNameOf(r)
	origin, err := rdata.Canonical(absolute(zone))
	root, rootErr := rdata.Canonical(r.RootHost)
	if !named || err != nil || rootErr != nil || !rdata.IsSubdomain(origin, rdata.Base(root)) || r.Invalid != "" || r.Own() {
		return
	}
	within := func(name string) bool { return rdata.IsSubdomain(rdata.Base(root), rdata.Base(name)) }
	endpointWants(want{by: &r.Meta, kind: api.KindDNSRecord, origin: origin}, r.Endpoints, within, yield)
}

// endpointWants yields what an object wants by its endpoints, as far as their names may be
// its own: of is what all have in common.
func endpointWants(of want, endpoints []api.Endpoint, mayHave func(name string) bool, yield func(want) bool) {
	names := make([]string, len(endpoints)) // "" for those that are none
	own, steering := make(map[string]bool, len(endpoints)), make(map[string]bool)
	for i := range endpoints {
		if name, err := rdata.Canonical(endpoints[i].DNSName); err == nil && mayHave(name) {
			names[i] = name
			if slices.Contains(steeredTypes, rdata.TypeName(endpoints[i].Type)) {
				own[name] = true
			}
		}
	}
	for name := range own {
		for _, host := range steeringHosts(name, own) {
			steering[host] = true
		}
	}
	for i, name := range names {
		if name == "" {
			continue
		}
		w := of
		w.name, w.types, w.steers, w.targets = name, []string{rdata.TypeName(endpoints[i].Type)}, steering[name], endpoints[i].Targets
		if !yield(w) {
			return
		}
	}
}
