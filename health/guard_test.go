package health

import (
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
)

// TestGuard says where checks may go by default, and where with lists (rule 4.9).
func TestGuard(t *testing.T) {
	lists := Guard{
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("10.0.0.7/32")},
		Deny:  []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("2001:db8::/64")},
	}
	text, err := os.ReadFile("testdata/guard.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		c := strings.Fields(line)
		if len(c) == 0 {
			continue
		}
		addr := netip.MustParseAddr(c[0])
		if got := new(Guard).Allows(addr, 443); got != (c[1] == "allowed") {
			t.Errorf("%s by default: %v", addr, got)
		}
		if got := lists.Allows(addr, 443); got != (c[2] == "allowed") {
			t.Errorf("%s with lists: %v", addr, got)
		}
	}
	for port, want := range map[uint16]bool{
		0: false, 22: false, 80: true, 81: false, 443: true, 1023: false, 1024: true,
		49151: true, 49152: false, 65535: false,
	} {
		if got := lists.Allows(netip.MustParseAddr("127.0.0.1"), port); got != want {
			t.Errorf("port %d: %v", port, got)
		}
	}
}

// TestGuardOwn: this machine's own addresses are forbidden where that is wanted.
func TestGuardOwn(t *testing.T) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	g := new(Guard).NotHere()
	for _, a := range all {
		if own, ok := netip.AddrFromSlice(a.(*net.IPNet).IP); !ok || g.Allows(own, 443) {
			t.Errorf("%s is this machine's own", a)
		}
	}
	if !g.Allows(netip.MustParseAddr("192.0.2.1"), 443) {
		t.Error("192.0.2.1 is forbidden")
	}
	for _, own := range []string{"2002:c000:201::1/64", "64:ff9b::c000:201/96"} { // of the form 6to4, or NAT64
		g.own = new(Guard).NotHere().own
		g.own.find = func() ([]net.Addr, error) { return ipNets(t, own), nil }
		if addr := netip.MustParsePrefix(own).Addr(); g.Allows(addr, 443) {
			t.Errorf("%s is this machine's own", addr)
		}
	}
}

// TestDenyOfWrappedForms: what the operator forbids in the very form that is dialled
// is forbidden, whatever it is unwrapped to (rule 4.9).
func TestDenyOfWrappedForms(t *testing.T) {
	for _, c := range []struct{ deny, addr string }{
		{"64:ff9b::/96", "64:ff9b::192.0.2.1"},
		{"2002::/16", "2002:c000:201::1"},
		{"::/0", "64:ff9b::192.0.2.1"},
		{"::/0", "2002:c000:201::1"},
		{"2000::/3", "2002:c000:201::1"},
	} {
		g := Guard{Deny: []netip.Prefix{netip.MustParsePrefix(c.deny)}}
		if g.Allows(netip.MustParseAddr(c.addr), 443) {
			t.Errorf("probe-deny %s: a check may go to %s", c.deny, c.addr)
		}
	}
}
