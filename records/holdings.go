package records

import (
	"iter"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// Holdings yields who owns which names of a group (see Groups and Renewed), as Owner says it:
// what the elected replica keeps in api.Objects.Acquired (rule 5.4). Compiling the same objects
// with them has the same owners. Left out are the names that a host's own entry speaks for,
// those at and below klb.H' where the host has them alone, and those of Records that no other
// object wants. For a group that is not there, there are none.
func (s *Snapshot) Holdings(group string) iter.Seq2[string, api.Owner] {
	return func(yield func(string, api.Owner) bool) {
		g, ok := s.groups.Get(group)
		if !ok {
			return
		}
		chains := make(chainMemo)
		for _, name := range g.names {
			if o, ok := s.holding(name, chains); ok && !yield(name, o) {
				return
			}
		}
		for name := range s.wantedRecords(g) {
			if o, ok := s.Owner(name); ok && !yield(name, o) {
				return
			}
		}
	}
}

// wantedRecords yields the names of Records that claims of a group want and do not get.
func (s *Snapshot) wantedRecords(g *nameGroup) iter.Seq[string] {
	return func(yield func(string) bool) {
		seen := make(map[string]bool)
		for _, l := range g.lost {
			h := base(l.claim.host)
			if !seen[l.claim.host] && s.isRecords(l.claim.host) && !yield(l.claim.host) {
				return
			}
			if seen[l.claim.host] = true; !l.claim.steers() || seen[klbLabel+h+" "] {
				continue
			}
			seen[klbLabel+h+" "] = true // no host has a space
			for at := range klbRecords(s.klb, groupKey(h), klbLabel+h) {
				if !seen[at] && s.isRecords(at) {
					if seen[at] = true; !yield(at) {
						return
					}
				}
			}
		}
	}
}

// isRecords tells whether a name has steered data of Records, which no cut or DNAME hides.
func (s *Snapshot) isRecords(name string) bool {
	if data := s.steered(name); data == nil || data.owner != nil {
		return false
	}
	if s.occlusions.Len() == 0 {
		return true
	}
	for at, ok := name, true; ok; at, ok = parent(at) {
		o, _ := s.occlusions.Get(at)
		for i, side := range o.sides() {
			if side.hider() != nil && (at != name || i == 0) {
				return false
			}
		}
	}
	return true
}

// chainMemo has what Snapshot.hasChain says, which looks at all Records below klb.H', by H' and
// the owner's namespace, of owners that have klb.H' or share their host with one.
type chainMemo map[[2]string]bool

func (m chainMemo) has(s *Snapshot, owner *claim) bool {
	if !owner.steers() && !s.sharesChain(owner) {
		return false
	}
	of := [2]string{base(owner.host), owner.by.Namespace()}
	has, known := m[of]
	if !known {
		has = s.hasChain(owner)
		m[of] = has
	}
	return has
}

// holding returns who owns a name that has steered data; ok is false where another entry speaks
// for it.
func (s *Snapshot) holding(name string, chains chainMemo) (o api.Owner, ok bool) {
	z := s.Zone(base(name))
	if z == nil {
		return api.Owner{}, false
	}
	n, _ := z.names.Get(name)
	if n == nil || n.steered.owner == nil {
		return api.Owner{}, false
	}
	owner := n.steered.owner
	chain := chains.has(s, owner)
	if chain && name != owner.host && slices.Contains(steeringBases(base(name)), base(owner.host)) {
		return api.Owner{}, false
	}
	kind, m := owner.object()
	return api.Owner{Cluster: m.Cluster, Kind: kind, Name: m.Name, UID: m.UID, Alone: !z.shared(n, owner), Chain: chain}, true
}

// SiteHoldings yields who is served as the zone of a name, by api.ZoneKey, and whose records hide
// what lies below a name, by api.CutKey, as Owner says it: what else api.Objects.Acquired is to
// have.
func (s *Snapshot) SiteHoldings() iter.Seq2[string, api.Owner] {
	return func(yield func(string, api.Owner) bool) {
		for _, z := range s.zones {
			key := api.ZoneKey(z.origin)
			if o, ok := s.Owner(key); ok && !yield(key, o) {
				return
			}
		}
		for name := range s.occlusions.All() {
			key := api.CutKey(name)
			if o, ok := s.Owner(key); ok && !yield(key, o) {
				return
			}
		}
	}
}

// SitesRenewed returns the keys of SiteHoldings whose owners may differ from those of the
// snapshot that this one was compiled from, in no order; nil stands for any. Owner tells who
// has them now. The caller must not change the slice.
func (s *Snapshot) SitesRenewed() []string { return s.sites }

// sites returns SitesRenewed, once the zones are finished.
func (c *compiler) sites() []string {
	if c.prev == nil {
		return nil
	}
	keys := make([]string, 0, len(c.occluded))
	if c.prev.zoneSet != c.next.zoneSet {
		return nil
	}
	for name := range c.occluded {
		keys = append(keys, api.CutKey(name))
	}
	for _, e := range c.edits {
		if e == nil {
			continue
		}
		for _, name := range e.settled {
			if _, told := c.occluded[name]; told {
				continue
			}
			if _, is := c.next.occlusions.Get(name); is {
				keys = append(keys, api.CutKey(name))
			}
		}
	}
	return keys
}
