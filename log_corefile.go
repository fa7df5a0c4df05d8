package kuadrant

import (
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// Log lines about the Corefile that depend on the objects.

// openZones logs, once for each zone, that every namespace may publish in it (rule 5.1). It waits until all clusters have listed their
// Zones, each of which may close one.
func (s *eventLog) openZones(before, now *records.Snapshot) {
	isZone := func(k api.Kind) bool { return k == api.KindZone }
	known := make(map[string]bool)
	switch {
	case !listed(now, isZone):
		return
	case listed(before, isZone):
		if before.Table == now.Table {
			return
		}
		for _, origin := range before.Open() {
			known[origin] = true
		}
	}
	for _, origin := range now.Open() {
		if !known[origin] {
			s.tell(&s.zones, "zone %q: any namespace may publish; restrict with `publish` or a Zone", origin)
		}
	}
}

// standIns warns once of each new zone of the Corefile without name servers, which gets a placeholder without an address (rule 6.8). Zones
// report that in their status.
func (s *eventLog) standIns(before, now *records.Snapshot) {
	known := listed(before, api.Kind.HoldsNames)
	if !listed(now, api.Kind.HoldsNames) || known && before.Table == now.Table {
		return
	}
	ofObjects := make(map[string]bool)
	for _, c := range now.Objects().Clusters {
		for name := range c.Zones.All() {
			if v := now.Verdict(c.Name, api.Ref{Kind: api.KindZone, Name: name}); v != nil {
				ofObjects[v.FQDN] = true
			}
		}
	}
	for _, z := range now.Zones() {
		if !z.StandsIn() || ofObjects[z.Origin()] {
			continue
		}
		if known {
			if _, served := before.Table.Index[z.Origin()]; served {
				continue
			}
		}
		var a records.Answer
		now.Lookup(z, &records.Query{Name: z.Origin(), Owner: z.Origin(), Type: dns.TypeNS}, &a)
		if len(a.Answer) == 1 && len(a.Extra) == 0 { // no object gives it an address
			s.warn(&s.zones, "zone %q: no `nameserver` is set; using %s without an address, so resolvers cannot find it. Set `nameserver NAME ADDRESS`",
				z.Origin(), a.Answer[0].(*dns.NS).Ns)
		}
	}
}

// unmet warns of overrides that match nothing, once for each version of the file: nobody should find a misspelt name during the outage that
// the override was to end.
func (s *eventLog) unmet(now *records.Snapshot) {
	overrides := now.Objects().Overrides
	if overrides == s.overrides || slices.ContainsFunc(now.Objects().Clusters, func(c *api.Cluster) bool { return !c.Complete() }) {
		return
	}
	s.overrides = overrides
	for _, o := range now.Unmet() {
		s.warn(&s.words, "override %q in line %d matches nothing; check the name", o.String(), o.Line)
	}
}

// idle warns of settings in the Corefile that select or read no object, once for each Corefile.
func (s *eventLog) idle(now *records.Snapshot) {
	cfg := s.corefile()
	if cfg == nil || cfg == s.looked {
		return
	}
	s.looked = cfg
	for _, line := range cfg.Idle(now.Objects().Clusters) {
		s.warn(&s.words, "%s", line)
	}
}

// groups logs which groups of clusters are active in a zone, and what is wrong with the record that names them, if that has changed (rule
// 9.5).
func (s *eventLog) groups(before, now *records.Snapshot) {
	was, is := inspect.NamedGroups(before), inspect.NamedGroups(now)
	for origin, g := range is {
		if old := was[origin]; old != nil && old.Text() == g.Text() {
			continue
		}
		if g.Wrong() {
			s.warn(&s.zones, "zone %q: %s", origin, g.Text())
		} else {
			s.tell(&s.zones, "zone %q: %s", origin, g.Text())
		}
	}
	for origin := range was {
		if i, served := now.Table.Index[origin]; served && is[origin] == nil {
			if g := inspect.GroupsOf(now, now.Served[i]); g != nil {
				s.tell(&s.zones, "zone %q: %s", origin, g.Text())
			}
		}
	}
}
