package records

import (
	"iter"
	"maps"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// want is a name that an object of another kind than Zone wants to publish at.
type want struct {
	name string
	by   *api.Meta
	kind api.Kind
	// types are those of which it wants one; parent is the Zone that its zoneRef names, ""
	// for none.
	types  []string
	parent string
	// steers is true where it wants the names below klb.H' too.
	steers bool
}

// prior is, by the names of Zones, the wants of others for names in them that are older
// than they are (rule 5.4). A zone takes all names below it: whoever may have one must
// not take names from those who have had them for longer.
type prior map[string][]want

// candidates are the Zones of one name that a served Zone delegates.
type candidates struct {
	youngest *api.Zone
	several  bool // of several namespaces
}

// maxPrior is how many wants are kept of one name: one that counts is enough.
const maxPrior = 64

// priorWants looks through everything once.
func priorWants(in api.Objects, set *zoneSet, named []*zoneFate) prior {
	if len(named) == 0 {
		return nil
	}
	youngest := make(map[string]*zoneFate, len(named)) // by name
	for _, f := range named {
		if y := youngest[f.fqdn]; y == nil || f.zone.Older(&y.zone.Meta) > 0 {
			youngest[f.fqdn] = f
		}
	}
	p := make(prior)
	under := steeringNames(maps.Keys(youngest))
	for w := range set.wants(in) {
		if w.steers {
			for _, at := range under[base(w.name)] {
				if w.by.Older(&youngest[at].zone.Meta) < 0 && len(p[at]) < maxPrior {
					p[at] = append(p[at], w)
				}
			}
		}
		for at, ok := base(w.name), true; ok; at, ok = parent(at) {
			if y := youngest[at]; y != nil && w.by.Older(&y.zone.Meta) < 0 && len(p[at]) < maxPrior {
				p[at] = append(p[at], w)
			}
		}
	}
	return p
}

// steeringNames returns those of names that lie at or below klb.H', by H'.
func steeringNames(names iter.Seq[string]) map[string][]string {
	under := make(map[string][]string)
	for name := range names {
		for _, h := range steeringBases(name) {
			under[h] = append(under[h], name)
		}
	}
	return under
}

// against returns the want that keeps a Zone in up from being served; nil for none. Those of its own namespace and of the one that delegates it consent.
func (p prior) against(f *zoneFate, up *site, opt *Options, acquired tree.Map[api.Owner]) *want {
	for i := range p[f.fqdn] {
		w := &p[f.fqdn][i]
		if w.by.Older(&f.zone.Meta) < 0 && w.by.Namespace() != f.zone.Namespace() && w.admitted(up, opt) && w.had(up, acquired) {
			return w
		}
	}
	return nil
}

// had tells whether the name was the object's before: where it is on record who has
// acquired what, an older object that comes later takes nothing away (rule 5.4).
func (w *want) had(up *site, acquired tree.Map[api.Owner]) bool {
	if acquired.Len() == 0 {
		return true
	}
	owner, ok := acquired.Get(w.name)
	if w.kind == api.KindRecord && up.object != nil {
		return ok && owner.Is(api.KindZone, &up.object.Meta)
	}
	return ok && owner.Is(w.kind, w.by)
}

// admitted tells whether what is wanted could be published in the zone up, if there was no
// zone below it, by others than those who have up: they consent to what they delegate.
func (w *want) admitted(up *site, opt *Options) bool {
	if up.object == nil {
		return w.parent == "" && opt.mayPublishIn(up.origin, w.by, w.name) == nil
	}
	if w.by.Namespace() == up.object.Namespace() || w.parent != "" && w.parent != up.object.Name {
		return false
	}
	return slices.ContainsFunc(w.types, func(rtype string) bool {
		return mayRecord(up.object, w.by.Namespace(), relativeTo(up.origin, w.name), rtype)
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

// wantsOf yields what one object wants; a Gateway wants what the policies that name it
// want.
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
					yield(want{name: e.name, by: &r.Meta, kind: ref.Kind, types: []string{r.Type}, parent: r.Parent})
				}
			}
		case api.KindDNSRecord:
			if r, ok := c.DNSRecords.Get(ref.Name); ok && !r.Deleting && r.Labels[api.LabelManagedBy] != ownManager {
				endpointWants(&r.Meta, ref.Kind, r.Endpoints, yield)
			}
		case api.KindDNSEndpoint:
			if e, ok := c.DNSEndpoints.Get(ref.Name); ok && !e.Deleting {
				endpointWants(&e.Meta, ref.Kind, e.Endpoints, yield)
			}
		}
	}
}

func policyWants(c *api.Cluster, p *api.DNSPolicy, yield func(want) bool) {
	g, ok := c.Gateways.Get(p.TargetName())
	if !ok || g.Deleting {
		return
	}
	for _, l := range g.Listeners[:min(len(g.Listeners), maxParts)] {
		if p.Target.Section != "" && p.Target.Section != l.Name || l.AttachedRoutes == 0 {
			continue
		}
		if host, err := parseHost(l.Hostname); err == nil && !yield(want{name: host, by: &p.Meta, kind: api.KindDNSPolicy, types: steeredTypes, steers: p.Strategy == api.WeightedGeo}) {
			return
		}
	}
}

func endpointWants(m *api.Meta, kind api.Kind, endpoints []api.Endpoint, yield func(want) bool) {
	for i := range endpoints {
		if name, err := canonicalName(endpoints[i].DNSName); err == nil && !yield(want{name: name, by: m, kind: kind, types: []string{endpoints[i].Type}}) {
			return
		}
	}
}

// priorChanged tells whether what objects other than Zones want has changed in a way that
// may decide about a Zone: one of them is older than the Zone in whose name it lies.
func (c *compiler) priorChanged() bool {
	set := c.prev.zoneSet
	if len(set.delegated) == 0 {
		return false
	}
	under := set.delegatedUnder
	decides := func(w *want, at string) bool {
		y := set.delegated[at]
		if y == nil || w.by.Older(&y.youngest.Meta) >= 0 || !y.several && w.by.Namespace() == y.youngest.Namespace() {
			return false
		}
		up := set.above(at)
		return up != nil && w.admitted(up, c.next.opt)
	}
	if (c.prev.in.Acquired.Len() == 0) != (c.next.in.Acquired.Len() == 0) {
		return true // age decides alone, or does not any more
	}
	for _, name := range c.next.in.AcquiredChanged {
		for at, ok := base(name), true; ok; at, ok = parent(at) {
			if set.delegated[at] != nil {
				return true
			}
		}
	}
	concerns := func(in *api.Cluster, ref api.Ref) bool {
		for w := range set.wantsOf(in, ref) {
			if w.steers && slices.ContainsFunc(under[base(w.name)], func(at string) bool { return decides(&w, at) }) {
				return true
			}
			for at, ok := base(w.name), true; ok; at, ok = parent(at) {
				if decides(&w, at) {
					return true
				}
			}
		}
		return false
	}
	for i, in := range c.next.in.Clusters {
		before := c.prev.in.Clusters[i]
		for _, ref := range in.Changed {
			if ref.Kind == api.KindGateway {
				if c.gatewayConcerns(before, in, i, ref.Name, concerns) {
					return true
				}
				continue
			}
			if concerns(before, ref) || concerns(in, ref) {
				return true
			}
		}
	}
	return false
}

// gatewayConcerns is the same for the policies of a Gateway that has changed.
func (c *compiler) gatewayConcerns(before, now *api.Cluster, cluster int, gateway string, concerns func(*api.Cluster, api.Ref) bool) bool {
	t, ok := c.prev.clusters[cluster].targets.Get(gateway)
	if !ok {
		return false // its policies come in this compile, if any
	}
	for _, p := range t.policies {
		ref := api.Ref{Kind: api.KindDNSPolicy, Name: p.Name}
		if concerns(before, ref) || concerns(now, ref) {
			return true
		}
	}
	return false
}
