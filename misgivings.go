package kuadrant

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/transfer"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/corefile"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// What of a Corefile most likely is a mistake, and is served as it stands: each is a line of
// the log at the start that says where it stands. What can never work is a set-up error.

// neverAsked returns a warning for each zone of the block that has nothing to do with the
// zones of its server block: CoreDNS hands no query for it to this one. One that rewrites
// names may.
func neverAsked(b *corefile.Block, server *dnsserver.Config) (warnings []string) {
	if server.Handler("rewrite") != nil {
		return nil
	}
	for _, zone := range b.Outside() {
		warnings = append(warnings, fmt.Sprintf("%s: the zone %s lies outside of this server block, which is for %s: nobody asks here for its names: write a server block for it",
			b.Place, zone, strings.Join(b.Keys, " ")))
	}
	return warnings
}

// neverTransferred returns a warning where the server block has the transfer plugin, and that
// lists none of its zones. Where another plugin has zones to transfer, they may be meant.
func neverTransferred(b *corefile.Block, server *dnsserver.Config) (warnings []string) {
	t, ok := server.Handler("transfer").(*transfer.Transfer)
	if !ok {
		return nil
	}
	for _, h := range server.Handlers() {
		if _, ok := h.(transfer.Transferer); ok && h.Name() != pluginName {
			return nil
		}
	}
	if slices.ContainsFunc(b.Zones, func(zone string) bool { return transfers(t, zone) }) {
		return nil
	}
	return []string{fmt.Sprintf("%s: transfer names other zones than those of kuadrant in this server block, %s: these are not transferred, and nobody is told of their changes",
		b.Place, strings.Join(b.Zones, " "))}
}

// transfers tells whether the plugin has a stanza for the zone: it shows in what becomes of
// a request. None leaves it to the next plugin.
func transfers(t *transfer.Transfer, zone string) bool {
	bare := *t
	bare.Transferers, bare.Next = []transfer.Transferer{noTransferer{}}, plugin.HandlerFunc(passOn)
	m := &dns.Msg{Question: []dns.Question{{Name: zone, Qtype: dns.TypeAXFR, Qclass: dns.ClassINET}}}
	what, _ := bare.ServeDNS(context.Background(), nobodyOverTCP{}, m) // its error is that of noTransferer
	return what != passedOn
}

// noTransferer transfers no zone, and says so in a way that is no pass.
type noTransferer struct{}

// Transfer implements transfer.Transferer.
func (noTransferer) Transfer(string, uint32) (<-chan []dns.RR, error) {
	return nil, errors.New("asked for its zones only")
}

// nobodyOverTCP is nobody at the other end of a connection.
type nobodyOverTCP struct{ nobody }

// RemoteAddr implements dns.ResponseWriter.
func (nobodyOverTCP) RemoteAddr() net.Addr { return new(net.TCPAddr) }

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
