package health

import (
	"net"
	"net/netip"
	"testing"
)

// TestGuard says where checks may go by default, and where with lists (rule 4.9).
func TestGuard(t *testing.T) {
	lists := Guard{
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("10.0.0.7/32")},
		Deny:  []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("2001:db8::/64")},
	}
	for _, c := range []struct {
		addr              string
		byDefault, byList bool
	}{
		{"192.0.2.1", true, true},
		{"10.0.0.1", true, false},
		{"10.0.0.7", true, true},
		{"127.0.0.1", false, true},
		{"127.0.0.2", false, false},
		{"0.0.0.0", false, false},
		{"169.254.169.254", false, false},
		{"224.0.0.1", false, false},
		{"255.255.255.255", false, false},
		{"::", false, false},
		{"::1", false, false},
		{"fe80::1", false, false},
		{"fe80::1%eth0", false, false},
		{"ff02::1", false, false},
		{"fd00:ec2::254", false, false},
		{"2001:db8::1", true, false},
		{"2001:db8:1::1", true, true},
		{"::ffff:169.254.169.254", false, false},
		{"::ffff:127.0.0.1", false, true},
		{"::ffff:192.0.2.1", true, true},
		{"64:ff9b::a9fe:a9fe", false, false},
		{"64:ff9b::c000:201", true, true},
		{"64:ff9b:1::a9fe:a9fe", false, false},
		{"2002:a9fe:a9fe::1", false, false},
		{"2002:c000:201::1", true, true},
		{"::169.254.169.254", false, false},
		{"::10.0.0.1", true, false},
		{"::ffff:0:169.254.169.254", false, false},
		{"::ffff:0:192.0.2.1", true, true},
		{"64:ff9b:1:a9fe:a9:fe00:808:808", false, false},
		{"2001:0:a9fe:a9fe::1", false, false},
		{"168.63.129.16", false, false},
		{"100.100.100.200", false, false},
		{"192.0.0.192", false, false},
		{"fd20:ce::254", false, false},
		{"fd00:ec2::23", false, false},       // metadata: AWS, credentials of EKS pods
		{"fd00:42::42", false, false},        // of Scaleway
		{"fd00:c1::a9fe:a9fe", false, false}, // of Oracle
		{"fd00:a9fe:a9fe::1", false, false},  // of Akamai
		{"fd00:100::100:200", false, false},  // of Alibaba
	} {
		addr := netip.MustParseAddr(c.addr)
		if got := new(Guard).Allows(addr, 443); got != c.byDefault {
			t.Errorf("%s by default: %v", addr, got)
		}
		if got := lists.Allows(addr, 443); got != c.byList {
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
