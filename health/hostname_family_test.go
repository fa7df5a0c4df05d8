package health

import (
	"context"
	"net"
	"testing"
)

// TestResolverFailsForTheOtherFamily: where the addresses of one family fail, that counts,
// though our resolver does not say those of the other: there are servers of zones that never
// answer for IPv6, and their dead targets are to be found out too (decision 11).
func TestResolverFailsForTheOtherFamily(t *testing.T) {
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
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
			msg[2] |= 0x80
			msg[3] = 0x80
			msg[10], msg[11] = 0, 0
			answer := msg[:end]
			if msg[end-3] == 28 { // AAAA: SERVFAIL
				msg[3] |= 2
			} else {
				msg[7] = 1
				answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1)
			}
			_, _ = server.WriteTo(answer, from)
		}
	}()
	closed := listen(t, "127.0.0.1")
	_ = closed.Close()
	conn := newConnector(loopback)
	conn.resolver.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}
	target := at(HTTP, portOf(closed))
	target.Address = "two.example.com"
	if o := conn.run(t.Context(), target); o.Reason != ConnectionRefused {
		t.Errorf("%q, want that the address refuses", o.Reason)
	}
}
