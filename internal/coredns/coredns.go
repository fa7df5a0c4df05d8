// Package coredns reads what CoreDNS does not export: the sockets of a server, its blocks, and which plugins want to see each query
// (docs/decisions/0042). Where a field is missing, or has another type, it finds no sockets or no blocks.
package coredns

import (
	"iter"
	"net"
	"reflect"
	"slices"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin"
	"github.com/miekg/dns"
)

// Servers yields the servers of an instance that have a socket for UDP, with it.
func Servers(inst *caddy.Instance) iter.Seq2[*dnsserver.Server, *net.UDPConn] {
	return func(yield func(*dnsserver.Server, *net.UDPConn) bool) {
		for _, l := range inst.Servers() {
			server, packet := reflect.ValueOf(l).FieldByName("server"), reflect.ValueOf(l).FieldByName("packet")
			if server.Kind() != reflect.Interface || packet.Kind() != reflect.Interface {
				continue
			}
			server, packet = server.Elem(), packet.Elem()
			isUDP := has[*dnsserver.Server](server) && has[*net.UDPConn](packet)
			if isUDP && !yield((*dnsserver.Server)(server.UnsafePointer()), (*net.UDPConn)(packet.UnsafePointer())) {
				return
			}
		}
	}
}

// has reports whether v holds a T.
func has[T any](v reflect.Value) bool { return v.IsValid() && v.Type() == reflect.TypeFor[T]() }

// Sockets returns all sockets for UDP at a server's address, and whether the first one is the server's own: the plugin multisocket makes
// more servers.
func Sockets(inst *caddy.Instance, s *dnsserver.Server) (conns []*net.UDPConn, first bool) {
	var own *net.UDPConn
	for server, conn := range Servers(inst) {
		if server == s {
			own = conn
		}
	}
	for server, conn := range Servers(inst) {
		if own != nil && server.Addr == s.Addr && conn.LocalAddr().String() == own.LocalAddr().String() {
			conns = append(conns, conn)
		}
	}
	return conns, len(conns) > 0 && conns[0] == own
}

// Configs returns the server blocks of the Corefile that is being set up, for each of their zones; the controller's own alone if CoreDNS
// keeps them elsewhere.
func Configs(c *caddy.Controller) (all []*dnsserver.Config) {
	configs := reflect.Indirect(reflect.ValueOf(c.Context())).FieldByName("configs")
	if !has[[]*dnsserver.Config](configs) {
		return []*dnsserver.Config{dnsserver.GetConfig(c)}
	}
	for i := range configs.Len() {
		all = append(all, (*dnsserver.Config)(configs.Index(i).UnsafePointer()))
	}
	return all
}

// Block is a server block for one of its zones.
type Block struct {
	*dnsserver.Config
	// Others is true if the zone has other blocks, too: the plugin view chooses among them.
	Others bool
}

// Blocks yields the blocks of a server.
func Blocks(s *dnsserver.Server) iter.Seq[Block] {
	return func(yield func(Block) bool) {
		zones := reflect.ValueOf(s).Elem().FieldByName("zones")
		if !has[map[string][]*dnsserver.Config](zones) {
			return
		}
		for it := zones.MapRange(); it.Next(); {
			for i := range it.Value().Len() {
				if !yield(Block{(*dnsserver.Config)(it.Value().Index(i).UnsafePointer()), it.Value().Len() > 1}) {
					return
				}
			}
		}
	}
}

// Accept returns what decides about messages as a server does; nil if it keeps that elsewhere.
func Accept(s *dnsserver.Server) dns.MsgAcceptFunc {
	opcodes := reflect.ValueOf(s).Elem().FieldByName("allowedOpcodes")
	if !has[map[int]struct{}](opcodes) {
		return nil
	}
	return func(h dns.Header) dns.MsgAcceptAction {
		action, opcode := dns.DefaultMsgAcceptFunc(h), int(h.Bits>>11)&0xf
		if action != dns.MsgRejectNotImplemented || !opcodes.MapIndex(reflect.ValueOf(opcode)).IsValid() {
			return action
		}
		if h.Qdcount != 1 {
			return dns.MsgReject
		}
		return dns.MsgAccept
	}
}

// silent are the plugins that let a plain query pass as it is, or that serve only others.
var silent = []string{"cancel", "nsid", "bufsize", "prometheus", "errors", "chaos", "tsig", "cache", "transfer", "dnssec"}

// Before returns the n plugins that a block has before the one with a name, in their order. why says, with an article, which of them wants
// to see each query, or what else does; "" for nothing.
func (b Block) Before(name string, n int) (before []plugin.Handler, why string) {
	all := b.Handlers() // in their order, without those whose names are no directives
	at := slices.IndexFunc(all, func(h plugin.Handler) bool { return h.Name() == name })
	switch {
	case b.Others || len(b.FilterFuncs) > 0:
		return nil, "the plugin view"
	case b.Handler("metadata") != nil: // the server itself asks it
		return nil, "the plugin metadata"
	case at != n:
		return nil, "a plugin that CoreDNS does not list"
	}
	for _, h := range all[:at] {
		switch {
		case !slices.Contains(silent, h.Name()):
			return nil, "the plugin " + h.Name()
		case h.Name() == "tsig" && requires(h):
			return nil, "the plugin tsig, which requires signed queries"
		}
	}
	return all[:at], ""
}

// requires reports whether the plugin tsig may refuse a plain query that is not signed: no transfer, and no update.
func requires(tsig any) bool {
	v := reflect.Indirect(reflect.ValueOf(tsig))
	types, opcodes, allTypes, allOpcodes := v.FieldByName("types"), v.FieldByName("opcodes"), v.FieldByName("allTypes"), v.FieldByName("allOpcodes")
	if types.Kind() != reflect.Map || opcodes.Kind() != reflect.Map || allTypes.Kind() != reflect.Bool || allOpcodes.Kind() != reflect.Bool {
		return true
	}
	for _, t := range types.MapKeys() {
		if !t.CanUint() || t.Uint() != uint64(dns.TypeAXFR) && t.Uint() != uint64(dns.TypeIXFR) {
			return true
		}
	}
	for _, o := range opcodes.MapKeys() {
		if !o.CanInt() || o.Int() == dns.OpcodeQuery {
			return true
		}
	}
	return allTypes.Bool() || allOpcodes.Bool()
}
