package health

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Guard says where checks may go (rule 4.9). The zero Guard forbids what nobody
// publishes: loopback, link-local, unspecified and multicast addresses.
type Guard struct {
	// Allow opens addresses that are forbidden otherwise.
	Allow []netip.Prefix
	// Deny forbids more, such as the API server. Allow goes before it.
	Deny []netip.Prefix
	// own are this machine's own addresses; nil for none.
	own *ownAddresses
}

// NotHere returns g with this machine's own addresses forbidden too.
func (g Guard) NotHere() Guard {
	g.own = new(ownAddresses)
	return g
}

// errForbidden is what a check of a forbidden address ends with.
var errForbidden = errors.New("address must not be probed")

// DefaultDeny is forbidden where no list is given: loopback, link-local with the
// metadata services of clouds, unspecified and multicast addresses.
var DefaultDeny = func() []netip.Prefix {
	var list []netip.Prefix
	for _, p := range []string{
		"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "255.255.255.255/32",
		"::/128", "::1/128", "fe80::/10", "ff00::/8", "fd00:ec2::254/128",
	} {
		list = append(list, netip.MustParsePrefix(p))
	}
	return list
}()

// Allows tells whether a check may go to addr and port.
func (g *Guard) Allows(addr netip.Addr, port uint16) bool {
	if port != 80 && port != 443 && (port < 1024 || port > 49151) {
		return false
	}
	addr = unwrap(addr)
	if contains(g.Allow, addr) {
		return true
	}
	return !contains(DefaultDeny, addr) && !contains(g.Deny, addr) && (g.own == nil || !contains(g.own.list(), addr))
}

func contains(list []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// Forms of IPv6 that carry an IPv4 address, which is where packets end up: NAT64
// (RFC 6052 §2.1, RFC 8215), 6to4 (RFC 3056 §2) and IPv4-compatible addresses
// (RFC 4291 §2.5.5.1).
var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	nat64Local = netip.MustParsePrefix("64:ff9b:1::/48")
	sixToFour  = netip.MustParsePrefix("2002::/16")
	compatible = netip.MustParsePrefix("::/96")
)

// unwrap returns the address that packets to addr end up at.
func unwrap(addr netip.Addr) netip.Addr {
	addr = addr.WithZone("").Unmap()
	if !addr.Is6() {
		return addr
	}
	b := addr.As16()
	switch {
	case nat64.Contains(addr), nat64Local.Contains(addr), compatible.Contains(addr) && b[12] != 0:
		return netip.AddrFrom4([4]byte(b[12:16]))
	case sixToFour.Contains(addr):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return addr
}

// ownAddresses are this machine's own addresses, looked up once a minute.
type ownAddresses struct {
	mu    sync.Mutex
	asked time.Time
	all   []netip.Prefix
}

const ownRefresh = time.Minute

// list returns the addresses. Where they cannot be found out, the last ones
// count.
func (o *ownAddresses) list() []netip.Prefix {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.asked.IsZero() && time.Since(o.asked) < ownRefresh {
		return o.all
	}
	o.asked = time.Now()
	found, err := net.InterfaceAddrs()
	if err != nil {
		return o.all
	}
	o.all = nil
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
	return o.all
}
