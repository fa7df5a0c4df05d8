package records

import (
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// loss is a claim that another object's claim keeps from being served.
type loss struct {
	claim, owner *claim
	// crowded is set where owner would share the host, but too many do already.
	crowded bool
}

// maxSharing is how many claims share a host at most: a query looks at the members of
// each.
const maxSharing = 500

// loses tells whether one of the claims of g is among those that lost.
func (g *nameGroup) loses(c *claim) bool {
	_, lost := g.loss(c)
	return lost
}

// loss returns how one of the claims of g has lost; ok is false where it has not. The
// losses are in the order of claim.older.
func (g *nameGroup) loss(c *claim) (l loss, ok bool) {
	i, ok := slices.BinarySearchFunc(g.lost, c, func(l loss, c *claim) int { return l.claim.older(c) })
	if !ok {
		return loss{}, false
	}
	return g.lost[i], true
}

// resolveOwners decides which of the claims that can contend are served. Older
// claims go first; a claim any part of which is another's loses as a whole
// (rule 5.7). claims must be sorted by claim.older; the result keeps the order.
// It takes time in proportion to the number of claims: tenants decide on that.
// chainsAt is that of the zoneSet.
func resolveOwners(claims []*claim, chainsAt func(name string) []string) (won []*claim, lost []loss) {
	if poolable(claims) {
		return claims, nil // by far the most
	}
	w := winners{
		hosts: make(map[string][]int, len(claims)), steering: make(map[string]int), under: make(map[string]int),
		sharing: make(map[string]int, len(claims)), chainsAt: chainsAt,
	}
	for _, c := range claims {
		if owner := w.against(c); owner != nil {
			lost = append(lost, loss{claim: c, owner: owner})
			continue
		}
		if w.sharing[c.host] == maxSharing {
			lost = append(lost, loss{claim: c, owner: w.claims[w.hosts[c.host][0]], crowded: true})
			continue
		}
		w.add(c)
	}
	return w.claims, lost
}

// poolable tells whether the claims are one, or all want the same host and share
// it.
func poolable(claims []*claim) bool {
	first := claims[0]
	return len(claims) == 1 || len(claims) <= maxSharing && first.pools() && !slices.ContainsFunc(claims, func(c *claim) bool {
		return c.host != first.host || !share(first, c)
	})
}

// winners is the claims that are served so far, and where each kind of
// contention finds them: two claims contend where they want the same host, the
// same klb names, or where the host of one lies inside the other's klb names.
// Numbers are places in claims.
type winners struct {
	claims []*claim
	// hosts finds those on a host. There are as many as share it: for simple
	// ones no more than clusters.
	hosts map[string][]int
	// sharing is how many there are on a host.
	sharing map[string]int
	// steering finds the first that has klb names below a base. All others there
	// share with it, and so are of its namespace.
	steering map[string]int
	// under finds the first whose host lies at or below klb.<base>.
	under map[string]int
	// chainsAt returns every H' whose klb names a name is one of.
	chainsAt func(name string) []string
}

func (w *winners) add(c *claim) {
	i, h := len(w.claims), rdata.Base(c.host)
	w.claims = append(w.claims, c)
	w.sharing[c.host]++
	if len(w.hosts[c.host]) == 0 || !c.pools() {
		w.hosts[c.host] = append(w.hosts[c.host], i)
	}
	if _, ok := w.steering[h]; !ok && c.steers() {
		w.steering[h] = i
	}
	for _, above := range w.chainsAt(h) {
		if _, ok := w.under[above]; !ok {
			w.under[above] = i
		}
	}
}

// against returns the first winner that c may not stand beside, nil for none.
func (w *winners) against(c *claim) *claim {
	first, h := len(w.claims), rdata.Base(c.host)
	for _, i := range w.hosts[c.host] {
		if !share(w.claims[i], c) {
			first = min(first, i)
			break
		}
	}
	if c.steers() {
		if i, ok := w.steering[h]; ok && !share(w.claims[i], c) {
			first = min(first, i)
		}
		if i, ok := w.under[h]; ok {
			first = min(first, i)
		}
	}
	for _, above := range w.chainsAt(h) {
		if i, ok := w.steering[above]; ok {
			first = min(first, i)
		}
	}
	if first == len(w.claims) {
		return nil
	}
	return w.claims[first]
}

// chainsAt returns every H' whose klb names name is one of: it lies at or below klb.H', and no
// zone begins there or between. A zone's names are not those of a host above it to have, which is
// flat then (rules 5.7 and 6.3).
func (s *zoneSet) chainsAt(name string) []string {
	all := steeringBases(name)
	if len(all) == 0 {
		return nil // by far the most
	}
	at := s.closest(rdata.Base(name))
	if at == nil {
		return all
	}
	return slices.DeleteFunc(all, func(h string) bool { return rdata.IsSubdomain(klbLabel+h, at.origin) })
}

// steeringBases returns every H' for which name lies at or below klb.H'.
func steeringBases(name string) (list []string) {
	if !strings.Contains(name, klbLabel) {
		return nil // by far the most
	}
	for off, end := 0, false; !end; off, end = dns.NextLabel(name, off) {
		if below, ok := strings.CutPrefix(name[off:], klbLabel); ok && below != "" {
			list = append(list, below)
		}
	}
	return list
}

// steers tells whether the claim takes klb names below its host.
func (c *claim) steers() bool {
	return c.steering || c.kind == api.KindDNSPolicy && c.policy.Strategy == api.WeightedGeo
}

// pools tells whether the claim's targets are members that can stand beside those of
// others.
func (c *claim) pools() bool { return c.weighed || c.steers() }

// share tells whether two claims that contend may be served together: consent
// is the same namespace for weightedGeo, and the same namespace and name in
// another cluster for either strategy, as far as the clusters pool in it (rule 5.6).
func share(a, b *claim) bool {
	switch {
	case a.kind != b.kind || a.kind == api.KindRecord:
		return false
	case a.pools() != b.pools(), rdata.Base(a.host) != rdata.Base(b.host):
		return false
	case !a.by.SameNamespace(b.by):
		return false
	}
	return a.pools() || a.by.Name == b.by.Name && a.by.Cluster != b.by.Cluster
}
