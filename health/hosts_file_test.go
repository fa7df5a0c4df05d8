package health

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// TestDenyHostOfOneFamilyInHostsFile: a name that a hosts file has with addresses of one
// family alone is known at once. For the other family the resolver says "no suitable address"
// then, which is an answer, and no failure.
func TestDenyHostOfOneFamilyInHostsFile(t *testing.T) {
	// An address stands for such a name: the resolver treats both in the same way.
	_, none := net.DefaultResolver.LookupNetIP(t.Context(), "ip6", "192.0.2.1")
	if none == nil {
		t.Fatal("no error")
	}
	synctest.Test(t, func(t *testing.T) {
		h := newHostAddresses([]string{"api.example.com"})
		h.lookup = func(_ context.Context, network, _ string) ([]netip.Addr, error) {
			if network == "ip6" {
				return nil, none
			}
			return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil
		}
		h.began = time.Now()
		if !h.refresh(t.Context()) {
			t.Error("the host is not known")
		}
		if r := h.permit(netip.MustParseAddr("192.0.2.1")); r != Forbidden {
			t.Errorf("%q for its address", r)
		}
		if r := h.permit(netip.MustParseAddr("192.0.2.2")); r != Good {
			t.Errorf("%q for another address", r)
		}
	})
}
