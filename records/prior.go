package records

import (
	"iter"
	"maps"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// prior is what objects of other kinds than Zone want that are older than a Zone in
// whose name they want it (rule 5.4). A zone takes all names below it: whoever may have
// one must not take names from those who have had them for longer.
type prior struct {
	set      *zoneSet
	opt      *Options
	acquired tree.Map[api.Owner]
	// inside has the wants for names that lie in a Zone, by the Zone's name; steering those
	// of hosts H' which need klb.H' and all below it, by H'.
	inside, steering map[string][]*want
	// decided and steered have those of them that count, where that has been asked: they
	// cost one look at each want.
	decided, steered map[string]deciders
}

// candidates are the Zones of one name that a served Zone delegates.
type candidates struct {
	youngest *api.Zone
	several  bool // of several namespaces
}

// add counts one more Zone of the name, which a nil y stands for none of.
func (y *candidates) add(z *api.Zone) *candidates {
	if y == nil {
		return &candidates{youngest: z}
	}
	y.several = y.several || y.youngest.Namespace() != z.Namespace()
	if z.Older(&y.youngest.Meta) > 0 {
		y.youngest = z
	}
	return y
}

// concerns tells whether a want may keep one of the Zones from being served, by its age and
// its namespace.
func (y *candidates) concerns(w *want) bool {
	return w.by.Older(&y.youngest.Meta) < 0 && (y.several || w.by.Namespace() != y.youngest.Namespace())
}

// deciders are the oldest of some wants, and the oldest one of another namespace: any that
// keeps a Zone from being served is as young as one of these, or younger.
type deciders struct{ first, other *want }

func (d *deciders) add(w *want) {
	switch {
	case d.first == nil:
		d.first = w
	case w.by.Namespace() == d.first.by.Namespace():
		if w.before(d.first) {
			d.first = w
		}
	case w.before(d.first):
		d.first, d.other = w, d.first
	case d.other == nil || w.before(d.other):
		d.other = w
	}
}

// against returns the one that keeps a Zone from being served; nil for none. Those of its
// own namespace consent.
func (d *deciders) against(z *api.Zone) *want {
	w := d.first
	if w != nil && w.by.Namespace() == z.Namespace() {
		w = d.other
	}
	if w == nil || w.by.Older(&z.Meta) >= 0 {
		return nil
	}
	return w
}

// priorWants looks through everything once.
func priorWants(in api.Objects, set *zoneSet, named []*zoneFate, opt *Options) *prior {
	p := &prior{
		set: set, opt: opt, acquired: in.Acquired, inside: make(map[string][]*want), steering: make(map[string][]*want),
		decided: make(map[string]deciders), steered: make(map[string]deciders),
	}
	zones := make(map[string]*candidates, len(named)) // by name
	for _, f := range named {
		zones[f.fqdn] = zones[f.fqdn].add(f.zone)
	}
	if len(zones) == 0 {
		return p
	}
	under := make(map[string]*candidates)
	for h, origins := range steeringNames(maps.Keys(zones)) {
		all := *zones[origins[0]]
		for _, origin := range origins[1:] {
			all.several = all.several || zones[origin].several
			all.add(zones[origin].youngest)
		}
		under[h] = &all
	}
	for w := range set.wants(in) {
		var kept *want
		keep := func(in map[string][]*want, at string) {
			if kept == nil {
				kept = new(want)
				*kept = w
			}
			in[at] = append(in[at], kept)
		}
		if w.steers {
			if y := under[base(w.name)]; y != nil && y.concerns(&w) {
				keep(p.steering, base(w.name))
			}
		}
		for at, ok := base(w.name), true; ok; at, ok = parent(at) {
			if y := zones[at]; y != nil && y.concerns(&w) {
				keep(p.inside, at)
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

// against returns the want that keeps a Zone in up from being served; nil for none. Those
// of its own namespace and of the one that delegates it consent. The zones above the Zone
// have been decided on.
func (p *prior) against(f *zoneFate, up *site) *want {
	if p == nil || p.established(f) {
		return nil
	}
	inside, known := p.decided[f.fqdn]
	if !known {
		inside = p.deciders(p.inside[f.fqdn], up)
		p.decided[f.fqdn] = inside
	}
	if w := inside.against(f.zone); w != nil {
		return w
	}
	for _, h := range steeringBases(f.fqdn) {
		below, known := p.steered[h]
		if !known {
			// The zone that holds the host decides who may have the names below klb.
			below = p.deciders(p.steering[h], p.set.closest(h))
			p.steered[h] = below
		}
		if w := below.against(f.zone); w != nil {
			return w
		}
	}
	return nil
}

// established tells whether it is on record that the Zone has been served: what comes
// later takes nothing from it, however old it is (rule 5.4).
func (p *prior) established(f *zoneFate) bool {
	owner, ok := p.acquired.Get(api.ZoneKey(f.fqdn))
	return ok && owner.Is(api.KindZone, &f.zone.Meta)
}

// deciders returns those of some wants, of names in a zone, that count.
func (p *prior) deciders(wants []*want, in *site) (d deciders) {
	if in == nil {
		return d
	}
	for _, w := range wants {
		if w.admitted(in, p.opt) && w.had(in, p.acquired) {
			d.add(w)
		}
	}
	return d
}

// priorChanged tells whether what objects other than Zones want has changed in a way that
// may decide about a Zone: one of them is older than the Zone in whose name it lies.
func (c *compiler) priorChanged() bool {
	set := c.prev.zoneSet
	if len(set.delegated) == 0 {
		return false
	}
	if (c.prev.in.Acquired.Len() == 0) != (c.next.in.Acquired.Len() == 0) {
		return true // age decides alone, or does not any more
	}
	for _, name := range c.next.in.AcquiredChanged {
		if origin, is := api.OfZoneKey(name); is {
			if set.delegated[origin] != nil {
				return true
			}
			continue
		}
		if len(set.delegatedUnder[base(name)]) > 0 {
			return true
		}
		for at, ok := base(name), true; ok; at, ok = parent(at) {
			if set.delegated[at] != nil {
				return true
			}
		}
	}
	concerns := func(in *api.Cluster, ref api.Ref) bool {
		for w := range set.wantsOf(in, ref) {
			if set.decides(&w, c.next.opt) {
				return true
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

// decides tells whether a want may decide about a delegated Zone.
func (s *zoneSet) decides(w *want, opt *Options) bool {
	if under := s.delegatedUnder[base(w.name)]; w.steers && len(under) > 0 {
		holder := s.closest(base(w.name))
		if holder != nil && w.admitted(holder, opt) &&
			slices.ContainsFunc(under, func(at string) bool { return s.delegated[at].concerns(w) }) {
			return true
		}
	}
	for at, ok := base(w.name), true; ok; at, ok = parent(at) {
		y := s.delegated[at]
		if y == nil || !y.concerns(w) {
			continue
		}
		if up := s.above(at); up != nil && w.admitted(up, opt) {
			return true
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
