package health

import (
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Guard says where checks may go (rule 4.9). The zero Guard forbids addresses that nobody
// publishes: loopback, link-local, unspecified and multicast ones.
type Guard struct {
	// Allow permits addresses that are forbidden otherwise.
	Allow []netip.Prefix
	// Deny forbids more, such as the API server. Allow overrides it.
	Deny []netip.Prefix
	// DenyHosts are names whose addresses are forbidden too, such as the API server's. A Prober
	// resolves them when it starts, and then every minute.
	DenyHosts []string
	// own are this machine's own addresses; nil for none.
	own *ownAddresses
	// hosts are the addresses of DenyHosts; nil for none.
	hosts *hostAddresses
}

// NotHere returns g with this machine's own addresses also forbidden.
func (g Guard) NotHere() Guard {
	g.own = &ownAddresses{find: net.InterfaceAddrs}
	return g
}

// DefaultDeny is always forbidden, besides Deny: loopback, link-local, unspecified and multicast
// addresses, the metadata services of clouds, which are link-local or one of a few others, and
// forms of IPv6 that lead to a hidden IPv4 address: NAT64 with a network's own prefix (RFC 8215),
// Teredo (RFC 4380).
var DefaultDeny = func() []netip.Prefix {
	var list []netip.Prefix
	for _, p := range []string{
		"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "255.255.255.255/32",
		"::/128", "::1/128", "fe80::/10", "ff00::/8",
		"168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32", "fd00:ec2::/32", "fd20:ce::254/128", "fd00:42::42/128",
		"fd00:c1::a9fe:a9fe/128", "fd00:a9fe:a9fe::1/128", "fd00:100::100:200/128",
		"64:ff9b:1::/48", "2001::/32",
	} {
		list = append(list, netip.MustParsePrefix(p))
	}
	return list
}()

// Allows reports whether a check may go to addr and port now.
func (g *Guard) Allows(addr netip.Addr, port uint16) bool { return g.permits(addr, port) == Good }

// PortAllowed reports whether checks may go to a port.
func PortAllowed(port uint16) bool { return port == 80 || port == 443 || port >= 1024 && port <= 49151 }

// permits returns Good if a check may go to addr and port, Forbidden if it may not, else why that
// cannot be known.
func (g *Guard) permits(addr netip.Addr, port uint16) Reason {
	if !PortAllowed(port) {
		return Forbidden
	}
	addr = addr.WithZone("").Unmap()
	// Both where packets are sent and where they end up must be permitted.
	for _, form := range Forms(addr) {
		if r := g.permit(form); r != Good {
			return r
		}
	}
	return Good
}

// permit is permits for one form of an address.
func (g *Guard) permit(addr netip.Addr) Reason {
	switch {
	case contains(g.Allow, addr):
		return Good
	case contains(DefaultDeny, addr), contains(g.Deny, addr):
		return Forbidden
	}
	if g.own != nil {
		if r := g.own.permit(addr); r != Good {
			return r
		}
	}
	if g.hosts != nil {
		return g.hosts.permit(addr)
	}
	return Good
}

func contains(list []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// Forms of IPv6 with an embedded IPv4 address, where packets end up: NAT64 (RFC 6052 §2.1), 6to4
// (RFC 3056 §2), IPv4-compatible (RFC 4291 §2.5.5.1) and IPv4-translated addresses (RFC 2765 §2.1).
var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	translated = netip.MustParsePrefix("::ffff:0:0:0/96")
	sixToFour  = netip.MustParsePrefix("2002::/16")
	compatible = netip.MustParsePrefix("::/96")
)

// Forms returns addr and, if it embeds an IPv4 address, where packets to it end up.
func Forms(addr netip.Addr) []netip.Addr {
	addr = addr.WithZone("").Unmap()
	if inner := unwrap(addr); inner != addr {
		return []netip.Addr{addr, inner}
	}
	return []netip.Addr{addr}
}

// unwrap returns the address where packets to addr end up.
func unwrap(addr netip.Addr) netip.Addr {
	addr = addr.WithZone("").Unmap()
	if !addr.Is6() {
		return addr
	}
	b := addr.As16()
	switch {
	case nat64.Contains(addr), translated.Contains(addr), compatible.Contains(addr) && b[12] != 0:
		return netip.AddrFrom4([4]byte(b[12:16]))
	case sixToFour.Contains(addr):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return addr
}

// ownAddresses are this machine's own addresses, looked up once a minute.
type ownAddresses struct {
	find func() ([]net.Addr, error)

	mu    sync.Mutex
	asked time.Time
	all   []netip.Prefix
	known bool // they were found once
}

const ownRefresh = time.Minute

// permit returns Forbidden for an address of this machine. If the addresses cannot be found, the
// last ones count; without any, for example for lack of a file descriptor, no check can begin.
func (o *ownAddresses) permit(addr netip.Addr) Reason {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.known || time.Since(o.asked) >= ownRefresh {
		o.ask()
	}
	switch {
	case !o.known:
		return LocalTrouble
	case contains(o.all, addr):
		return Forbidden
	}
	return Good
}

// ask looks up the addresses. The caller holds mu.
func (o *ownAddresses) ask() {
	o.asked = time.Now()
	found, err := o.find()
	if err != nil {
		return
	}
	o.all, o.known = nil, true
	for _, a := range found {
		n, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		if own, ok := netip.AddrFromSlice(n.IP); ok {
			own = own.Unmap()
			o.all = append(o.all, netip.PrefixFrom(own, own.BitLen()))
		}
	}
}
