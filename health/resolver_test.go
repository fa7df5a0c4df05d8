package health

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"
)

// silence is a code that no resolver answers with: it does not answer at all.
const silence = 255

// answering starts a resolver on loopback that says, of any name, what answer returns
// for a type, A being 1 and AAAA 28: the RCODE, and an address of that family, the
// zero one for none. It returns what asks it in place of the machine's own.
func answering(t *testing.T, answer func(qtype byte) (rcode byte, addr netip.Addr)) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		for {
			msg := make([]byte, 512)
			n, from, err := server.ReadFrom(msg)
			if err != nil {
				return
			}
			end := 12 + strings.IndexByte(string(msg[12:n]), 0) + 5
			qtype := msg[end-3]
			rcode, addr := answer(qtype)
			if rcode == silence {
				continue
			}
			msg[2] |= 0x80          // an answer
			msg[3] = 0x80 | rcode   // of a resolver
			msg[10], msg[11] = 0, 0 // without OPT
			reply := msg[:end:end]
			if addr.IsValid() {
				reply[7] = 1
				data := addr.AsSlice()
				reply = append(reply, 0xc0, 12, 0, qtype, 0, 1, 0, 0, 0, 60, 0, byte(len(data)))
				reply = append(reply, data...)
			}
			_, _ = server.WriteTo(reply, from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

const typeAAAA = 28
