package fastpath

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"time"
	"unsafe"

	"github.com/miekg/dns"
)

// passer has messages answered as CoreDNS would: by a dns.Server, over a connection that hands it what workers pass on.
type passer struct {
	net.PacketConn // nil: a dns.Server needs the methods below alone
	addr           netip.AddrPort
	server         *dns.Server
	passed         chan *sender
	done           chan struct{} // closed to end reading
}

// sender is the address that handlers see, with its message, and how a reply gets there. The address comes first: WriteTo finds the rest
// behind it.
type sender struct {
	net.UDPAddr
	message []byte
	conn    *net.UDPConn
	local   []byte // the control message of controls
}

func newPasser(s *Server, addr netip.AddrPort) *passer {
	p := &passer{addr: addr, passed: make(chan *sender), done: make(chan struct{})}
	p.server = &dns.Server{PacketConn: p, Net: "udp", Handler: s.Handler, TsigSecret: s.Secrets, MsgAcceptFunc: s.Accept}
	started := make(chan struct{})
	p.server.NotifyStartedFunc = func() { close(started) }
	go func() { _ = p.server.ActivateAndServe() }()
	<-started
	return p
}

// pass has a message answered. It copies the message, and waits until the dns.Server takes it.
func (p *passer) pass(message []byte, from netip.AddrPort, conn *net.UDPConn, local []byte) {
	p.passed <- &sender{*net.UDPAddrFromAddrPort(from), bytes.Clone(message), conn, bytes.Clone(local)}
}

// shutdown waits until all that was passed on has been answered, or for a time. No worker may use the passer any more.
func (p *passer) shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	_ = p.server.ShutdownContext(ctx)
}

// grace is how long answers may take that are under way when a listener closes, as in CoreDNS.
const grace = 5 * time.Second

// ReadFrom and the methods below implement net.PacketConn.
func (p *passer) ReadFrom(to []byte) (int, net.Addr, error) {
	select {
	case from := <-p.passed:
		return copy(to, from.message), &from.UDPAddr, nil
	case <-p.done:
		return 0, nil, net.ErrClosed
	}
}

func (p *passer) WriteTo(message []byte, addr net.Addr) (int, error) {
	to := (*sender)(unsafe.Pointer(addr.(*net.UDPAddr))) // the one that ReadFrom returned
	n, _, err := to.conn.WriteMsgUDP(message, to.local, &to.UDPAddr)
	return n, err
}

func (p *passer) LocalAddr() net.Addr { return net.UDPAddrFromAddrPort(p.addr) }
func (p *passer) Close() error        { return nil }

// SetReadDeadline ends reading at a time long ago, which a dns.Server sets once, to shut down. Its other deadlines do not count.
func (p *passer) SetReadDeadline(t time.Time) error {
	if t.Before(time.Unix(2, 0)) {
		close(p.done)
	}
	return nil
}
