package kuadrant

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/transfer"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/corefile"
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
