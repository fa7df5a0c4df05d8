package engine

import (
	"fmt"
	"strings"
	"sync"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// logStandIns says, once, for which zones of the Corefile nobody says who serves them, so
// that a name without an address stands in (rule 6.8): when all clusters have listed what
// could say it. It is no warning, since nobody may be sent here by name. Zones have a
// verdict of their own.
func logStandIns(infof func(format string, args ...any), zones []records.ZoneOptions, before, snap *records.Snapshot) {
	if !serversListed(snap) || before != nil && serversListed(before) {
		return
	}
	var names []string
	objects := sync.OnceValue(func() map[string]bool { return zonesOfObjects(snap) })
	for _, o := range zones {
		if len(o.Nameservers) > 0 {
			continue
		}
		if name := madeUp(snap, o.Origin); name != "" && !objects()[o.Origin] {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	more := ""
	if n := len(names); n > maxLoggedVerdicts {
		names, more = names[:maxLoggedVerdicts], fmt.Sprintf(" and %d more", n-maxLoggedVerdicts)
	}
	infof("Nobody says who serves the zone, and a name without an address stands in: %s%s: resolvers that are sent here need a line nameserver NAME ADDRESS in the Corefile", strings.Join(names, " "), more)
}

// madeUp returns the name server that stands in for those of the zone, which has no Zone and
// none in the Corefile; "" where an object gives it an address.
func madeUp(snap *records.Snapshot, origin string) string {
	z := snap.Zone(origin)
	if z == nil || z.Origin() != origin {
		return ""
	}
	var a records.Answer
	snap.Lookup(z, &records.Query{Name: origin, Owner: origin, Type: dns.TypeNS}, &a)
	if len(a.Answer) != 1 || len(a.Extra) > 0 {
		return ""
	}
	ns, ok := a.Answer[0].(*dns.NS)
	if !ok || !z.StandsIn() {
		return ""
	}
	return ns.Ns
}

// serversListed tells whether everything is known that could say who serves a zone, and
// where that is.
func serversListed(snap *records.Snapshot) bool {
	for _, c := range snap.Objects().Clusters {
		for k := range api.NumKinds {
			if k.HoldsNames() && !c.Listings[k].Complete() {
				return false
			}
		}
	}
	return true
}

// zonesOfObjects are the names that Zones have.
func zonesOfObjects(snap *records.Snapshot) map[string]bool {
	names := make(map[string]bool)
	for _, c := range snap.Objects().Clusters {
		for name := range c.Zones.All() {
			if v := snap.Verdict(c.Name, api.Ref{Kind: api.KindZone, Name: name}); v != nil {
				names[v.FQDN] = true
			}
		}
	}
	return names
}
