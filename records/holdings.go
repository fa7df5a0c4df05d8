package records

import (
	"iter"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// Holdings yields who owns which names of a group (see Groups and Renewed), as Owner says it:
// what the elected replica keeps in api.Objects.Acquired (rule 5.4). Compiling the same objects
// with them has the same owners. Left out are the names that a host's own entry speaks for,
// those at and below klb.H' where the host has them alone, and those of Records that no other
// object wants, and what is kept back. For a group that is not there, there are none.
func (s *Snapshot) Holdings(group string) iter.Seq2[string, api.Owner] {
	return func(yield func(string, api.Owner) bool) {
		g, ok := s.groups.Get(group)
		if !ok {
			return
		}
		chains, names := chainMemo{s: s}, g.names
		if len(g.claims) == 1 && g.claims[0].kind == api.KindDNSPolicy && s.klb.Len() == 0 && !s.asOnRecord(g.claims[0]) { // by far the most
			names = []string{g.claims[0].host}
		}
		for _, name := range names {
			if o, ok := s.holding(g, name, &chains); ok && !yield(name, o) {
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
			h := rdata.Base(l.claim.host)
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
	z := s.Zone(rdata.Base(name))
	return z.turns == 0 || z.turnOf(name, dns.TypeA) == nil
}

// chainMemo has what Snapshot.hasChain says, which looks at all Records below klb.H'.
type chainMemo struct {
	s *Snapshot
	// known is by H' and the owner's namespace, of owners that have klb.H' or share their host
	// with one; hosts is by H', of whoever has H' or *.H'.
	known []knownChain
	hosts []knownChain
}

type knownChain struct {
	h, namespace string
	has          bool
}

func findChain(all []knownChain, h, namespace string) (has, known bool) {
	for i := range all { // there are few
		if all[i].h == h && all[i].namespace == namespace {
			return all[i].has, true
		}
	}
	return false, false
}

func (m *chainMemo) has(owner *claim) bool {
	if m.s.asOnRecord(owner) {
		return m.s.hadChain(owner)
	}
	if !owner.steers() && !m.s.sharesChain(owner) {
		return false
	}
	if m.s.klb.Len() == 0 {
		return true // by far the most
	}
	of := knownChain{h: rdata.Base(owner.host), namespace: owner.by.Namespace()}
	has, known := findChain(m.known, of.h, of.namespace)
	if !known {
		has = m.s.hasChain(owner)
		of.has = has
		m.known = append(m.known, of)
	}
	return has
}

// covers tells whether the entry of a host speaks for a name: it has klb.H', which the name lies
// at or below, alone.
func (m *chainMemo) covers(name string) bool {
	for _, h := range steeringBases(rdata.Base(name)) {
		has, known := findChain(m.hosts, h, "")
		if !known {
			for _, host := range [...]string{h, rdata.Wildcard + h} {
				if data := m.s.steered(host); !has && data != nil && data.owner != nil && rdata.Base(data.owner.host) == h {
					has = m.has(data.owner)
				}
			}
			m.hosts = append(m.hosts, knownChain{h: h, has: has})
		}
		if has {
			return true
		}
	}
	return false
}

// holding returns who owns a name that has steered data; ok is false where another entry speaks
// for it, or it is kept back.
func (s *Snapshot) holding(g *nameGroup, name string, chains *chainMemo) (o api.Owner, ok bool) {
	if chains.covers(name) {
		return api.Owner{}, false
	}
	z := s.Zone(rdata.Base(name))
	if z == nil {
		return api.Owner{}, false
	}
	n, _ := z.names.Get(name)
	if n == nil || n.steered.owner == nil || n.unread() {
		return api.Owner{}, false
	}
	return s.ownerAt(z, n, chains.has), true
}

// SiteHoldings yields who is served as the zone of a name, by api.ZoneKey, as Owner says it:
// what else api.Objects.Acquired is to have.
func (s *Snapshot) SiteHoldings() iter.Seq2[string, api.Owner] {
	return func(yield func(string, api.Owner) bool) {
		for _, z := range s.zones {
			key := api.ZoneKey(z.origin)
			o, ok := s.Owner(key)
			if ok && (s.allRead || s.onRecord(key, o.Kind, &api.Meta{Cluster: o.Cluster, Name: o.Name, UID: o.UID})) && !yield(key, o) {
				return
			}
		}
	}
}

// onRecord tells whether an object is on record under a key.
func (s *Snapshot) onRecord(key string, kind api.Kind, m *api.Meta) bool {
	o, ok := s.in.Registered(key)
	return ok && o.Is(kind, m)
}
