package health

import (
	"net/netip"
	"testing"
)

// TestResolverFailsForTheOtherFamily: where the addresses of one family fail, that counts,
// though our resolver does not say those of the other: there are servers of zones that never
// answer for IPv6, and their dead targets are to be found out too (decision 11).
func TestResolverFailsForTheOtherFamily(t *testing.T) {
	conn := newConnector(loopback)
	conn.resolver = *answering(t, func(qtype byte) (rcode byte, addr netip.Addr) {
		if qtype == typeAAAA {
			return 2, netip.Addr{} // SERVFAIL
		}
		return 0, netip.MustParseAddr("127.0.0.1")
	})
	target := at(HTTP, refusing(t))
	target.Address = "two.example.com"
	if o := conn.run(t.Context(), target); o.Reason != ConnectionRefused {
		t.Errorf("%q, want that the address refuses", o.Reason)
	}
}
