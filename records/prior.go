package records

import (
	"iter"
	"maps"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// prior is what objects want that are older than a Zone in whose name they want it (rule
// 5.4): Zones too, below it. A zone takes all names below it: whoever may have one must not
// take names from those who have had them for longer.
type prior struct {
	set      *zoneSet
	opt      *Options
	acquired tree.Map[api.Owner]
	// inside has the wants for names that lie in a Zone, by the Zone's name; steering those
	// of hosts H' which need klb.H' and all below it, by H'.
	inside, steering map[string][]*want
	// holders has, by their keys, the wants of those that may be on record as having their
	// names, and alive which entries are not void, where that has been asked.
	holders map[string][]*want
	alive   map[aliveKey]bool
	// decided and steered have those of them that count, where that has been asked: they
	// cost one look at each want.
	decided, steered map[string]deciders
}

// candidates are Zones of one name, which may come to be served or not.
type candidates struct {
	youngest *api.Zone
	several  bool // of several namespaces
}

// add counts one more Zone of the name, which a nil y stands for none of.
func (y *candidates) add(z *api.Zone) *candidates {
	if y == nil {
		return &candidates{youngest: z}
	}
	y.several = y.several || !y.youngest.SameNamespace(&z.Meta)
	if z.Older(&y.youngest.Meta) > 0 {
		y.youngest = z
	}
	return y
}

// concerns tells whether a want may keep one of the Zones from being served, by its age and
// its namespace; held is true where it may have its name on record.
func (y *candidates) concerns(w *want, held bool) bool {
	return (held || w.by.Older(&y.youngest.Meta) < 0) && (y.several || !w.by.SameNamespace(&y.youngest.Meta))
}

// deciders are those of some wants that decide: of those that have their names on record,
// which count whatever their age, and of the others, by age.
type deciders struct{ held, rest elderWants }

// elderWants are the oldest of some wants, and the oldest one of another namespace: any that
// keeps a Zone from being served is as young as one of these, or younger.
type elderWants struct{ first, other *want }

func (d *elderWants) add(w *want) {
	switch {
	case d.first == nil:
		d.first = w
	case w.by.SameNamespace(d.first.by):
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
	if w := d.held.notOf(&z.Meta); w != nil {
		return w
	}
	if w := d.rest.notOf(&z.Meta); w != nil && w.by.Older(&z.Meta) < 0 {
		return w
	}
	return nil
}

// notOf returns the oldest that is of another namespace than m; nil for none.
func (d *elderWants) notOf(m *api.Meta) *want {
	if d.first != nil && d.first.by.SameNamespace(m) {
		return d.other
	}
	return d.first
}

// priorWants looks through everything once. The Zones with names are named; of the zones
// that are served, set has those of the Corefile.
func priorWants(in api.Objects, unread unreadOwners, set *zoneSet, named []*zoneFate, opt *Options) *prior {
	p := &prior{
		set: set, opt: opt, acquired: in.Acquired, inside: make(map[string][]*want), steering: make(map[string][]*want),
		holders: make(map[string][]*want), alive: make(map[aliveKey]bool), decided: make(map[string]deciders), steered: make(map[string]deciders),
	}
	under := underKlb(set.named)
	p.addUnread(&in, unread, under)
	for _, f := range named {
		p.add(want{name: f.fqdn, by: &f.zone.Meta, kind: api.KindZone, parent: f.zone.Parent}, under)
	}
	for w := range set.wants(in) {
		p.add(w, under)
	}
	return p
}

// add keeps a want where it may decide about a Zone; under has those at and below klb.H'.
func (p *prior) add(w want, under map[string]*candidates) {
	var kept *want
	silent := false // it says nothing, and has its name not on record
	held := w.unread != nil
	keep := func(in map[string][]*want, at string) {
		if silent {
			return
		}
		if kept == nil {
			if silent = !held && !w.says(); silent {
				return
			}
			kept = new(want)
			*kept = w
		}
		in[at] = append(in[at], kept)
	}
	for key, owner := range w.onRecord(p.acquired) {
		if !w.mayHold(owner) {
			continue
		}
		held = true
		if key == w.ownKey() {
			keep(p.holders, key)
		}
	}
	if w.steers {
		if y := under[rdata.Base(w.name)]; y != nil && y.concerns(&w, held) {
			keep(p.steering, rdata.Base(w.name))
		}
	}
	at, ok := rdata.Base(w.name), true
	if w.kind == api.KindZone && w.unread == nil {
		at, ok = rdata.Parent(at) // those of its own name go by rule 6.5
	}
	for ; ok; at, ok = rdata.Parent(at) {
		if y := p.set.named[at]; y != nil && y.concerns(&w, held) {
			keep(p.inside, at)
		}
	}
}

// underKlb returns the Zones that lie at or below klb.H', by H'.
func underKlb(zones map[string]*candidates) map[string]*candidates {
	under := make(map[string]*candidates)
	for h, origins := range steeringNames(maps.Keys(zones)) {
		all := *zones[origins[0]]
		for _, origin := range origins[1:] {
			all.several = all.several || zones[origin].several
			all.add(zones[origin].youngest)
		}
		under[h] = &all
	}
	return under
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
	if p == nil || servedBefore(p.acquired, f.fqdn, f.zone) {
		return nil
	}
	inside, known := p.decided[f.fqdn]
	if !known {
		inside = p.deciders(p.inside[f.fqdn], up, f.fqdn)
		p.decided[f.fqdn] = inside
	}
	if w := inside.against(f.zone); w != nil {
		return w
	}
	for _, h := range steeringBases(f.fqdn) {
		below, known := p.steered[h]
		if !known {
			// The zone that holds the host decides who may have the names below klb.
			below = p.deciders(p.steering[h], p.set.closest(h), f.fqdn)
			p.steered[h] = below
		}
		if w := below.against(f.zone); w != nil {
			return w
		}
	}
	return nil
}

// deciders returns those of some wants, of names in a zone, that count against one of the
// given name there.
func (p *prior) deciders(wants []*want, in *site, zone string) (d deciders) {
	if in == nil {
		return d
	}
	for _, w := range wants {
		if !p.counts(w, in, zone) {
			continue
		}
		switch held, others := p.standing(w, in); {
		case held:
			d.held.add(w)
		case !others:
			d.rest.add(w)
		}
	}
	return d
}

// priorChanged tells whether what objects other than Zones want has changed in a way that
// may decide about a Zone: one of them is older than the Zone in whose name it lies.
func (c *compiler) priorChanged() bool {
	set := c.prev.zoneSet
	if len(set.named) == 0 {
		return false
	}
	if (c.prev.in.Acquired.Len() == 0) != (c.next.in.Acquired.Len() == 0) {
		return true // age decides alone, or does not any more
	}
	if c.unreadConcerns() {
		return true
	}
	for _, name := range c.next.in.AcquiredChanged {
		if origin, is := api.OfZoneKey(name); is {
			if set.named[origin] != nil {
				return true
			}
			continue
		}
		if set.aboutZones(name) {
			return true
		}
	}
	if len(set.delegated) == 0 {
		return false
	}
	for i, in := range c.next.in.Clusters {
		before := c.prev.in.Clusters[i]
		for _, ref := range in.Changed {
			refs := []api.Ref{ref}
			if ref.Kind == api.KindGateway {
				refs = c.policiesOf(i, ref.Name)
			}
			for _, ref := range refs {
				if c.wantsDecide(before, in, ref) {
					return true
				}
			}
		}
	}
	return false
}

// wantsDecide tells whether what an object wanted before and does not want now, or the
// other way round, may decide about a Zone.
func (c *compiler) wantsDecide(before, now *api.Cluster, ref api.Ref) bool {
	set := c.prev.zoneSet
	differ := func(from, than *api.Cluster) bool {
		known := make(map[wantKey]struct{})
		for w := range set.wantsOf(than, ref) {
			known[w.key()] = struct{}{}
		}
		for w := range set.wantsOf(from, ref) {
			if _, same := known[w.key()]; !same && set.decides(&w, c.next.in.Acquired, c.next.opt) {
				return true
			}
		}
		return false
	}
	return differ(before, now) || differ(now, before)
}

// decides tells whether a want may decide about a delegated Zone. One that has its name on
// record may by going, too: others count then, that are older.
func (s *zoneSet) decides(w *want, acquired tree.Map[api.Owner], opt *Options) bool {
	for key, owner := range w.onRecord(acquired) {
		if w.mayHold(owner) && s.aboutZones(key) {
			return true
		}
	}
	if !w.says() {
		return false
	}
	if under := s.delegatedUnder[rdata.Base(w.name)]; w.steers && under != nil && under.concerns(w, false) {
		if holder := s.closest(rdata.Base(w.name)); holder != nil && w.admitted(holder, opt) {
			return true
		}
	}
	for at := range rdata.Ancestors(rdata.Base(w.name)) {
		y := s.delegated[at]
		if y == nil || !y.concerns(w, false) {
			continue
		}
		if up := s.above(at); up != nil && w.admitted(up, opt) {
			return true
		}
	}
	return false
}

// aboutZones tells whether who has a name on record may decide about a delegated Zone.
func (s *zoneSet) aboutZones(name string) bool {
	if s.delegatedUnder[rdata.Base(name)] != nil {
		return true
	}
	for at := range rdata.Ancestors(rdata.Base(name)) {
		if s.delegated[at] != nil {
			return true
		}
	}
	return false
}

// policiesOf returns the policies that name a Gateway, but for those that have changed
// themselves.
func (c *compiler) policiesOf(cluster int, gateway string) (refs []api.Ref) {
	t, ok := c.prev.clusters[cluster].targets.Get(gateway)
	if !ok {
		return nil // its policies come in this compile, if any
	}
	for _, p := range t.policies {
		refs = append(refs, api.Ref{Kind: api.KindDNSPolicy, Name: p.Name})
	}
	return refs
}
