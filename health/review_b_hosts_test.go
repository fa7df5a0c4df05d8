package health

import (
	"context"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"
)

// TestDenyHostsOneFamilyFails: the last IPv6 addresses of the API server count while our
// resolver answers for IPv4 alone.
func TestDenyHostsOneFamilyFails(t *testing.T) {
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	var broken atomic.Bool
	go func() {
		for {
			msg := make([]byte, 512)
			_, from, err := server.ReadFrom(msg)
			if err != nil {
				return
			}
			end := 12
			for msg[end] != 0 {
				end += int(msg[end]) + 1
			}
			end += 5
			six := msg[end-3] == 28
			msg[2], msg[3] = msg[2]|0x80, 0x80
			msg[10], msg[11] = 0, 0
			answer := msg[:end:end]
			if six && broken.Load() {
				msg[3] |= 2 // SERVFAIL
			} else {
				msg[7] = 1
				rdata := netip.MustParseAddr("203.0.113.1").AsSlice()
				if six {
					rdata = netip.MustParseAddr("2001:db8::1").AsSlice()
				}
				answer = append(answer, 0xc0, 12, 0, msg[end-3], 0, 1, 0, 0, 0, 60, 0, byte(len(rdata)))
				answer = append(answer, rdata...)
			}
			_, _ = server.WriteTo(answer, from)
		}
	}()
	usual := net.DefaultResolver
	defer func() { net.DefaultResolver = usual }()
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	h := newHostAddresses([]string{"api.example.com"})
	h.began = time.Now()
	permits := func(when string) {
		t.Helper()
		for _, a := range []string{"203.0.113.1", "2001:db8::1"} {
			if r := h.permit(netip.MustParseAddr(a)); r != Forbidden {
				t.Errorf("%s: %s: %q", when, a, r)
			}
		}
	}
	h.refresh(t.Context())
	permits("at first")
	broken.Store(true)
	h.refresh(t.Context())
	permits("while the resolver fails for AAAA")
}
