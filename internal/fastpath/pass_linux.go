package fastpath

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"
	"unsafe"

	"github.com/miekg/dns"
)

// passer has messages answered as CoreDNS would: by a dns.Server, over a connection that hands it what workers pass on.
type passer struct {
	addr   netip.AddrPort
	server *dns.Server
	queue  chan datagram
	done   chan struct{} // closed to end reading
	end    sync.Once
}

// datagram is a message with its sender.
type datagram struct {
	message []byte
	from    *sender
}

// sender is the address that handlers see, and how a reply gets there. The address comes first: WriteTo finds the rest behind it.
type sender struct {
	net.UDPAddr
	conn  *net.UDPConn
	local []byte // the control message of controls
}

// maxQueued bounds the messages that wait for the dns.Server. When it is full, workers wait, and the kernel drops what comes meanwhile.
const maxQueued = 1024

func newPasser(s *Server, addr netip.AddrPort) *passer {
	p := &passer{addr: addr, queue: make(chan datagram, maxQueued), done: make(chan struct{})}
	p.server = &dns.Server{PacketConn: p, Net: "udp", Handler: s.Handler, TsigSecret: s.Secrets, MsgAcceptFunc: accept}
	started := make(chan struct{})
	p.server.NotifyStartedFunc = func() { close(started) }
	go func() { _ = p.server.ActivateAndServe() }()
	<-started
	return p
}

// accept lets the handler decide about opcodes that the library refuses: only CoreDNS knows which ones its plugins accept.
func accept(h dns.Header) dns.MsgAcceptAction {
	action := dns.DefaultMsgAcceptFunc(h)
	if action == dns.MsgRejectNotImplemented && h.Qdcount == 1 {
		return dns.MsgAccept
	}
	return action
}

// pass has a message answered. It copies the message.
func (p *passer) pass(message []byte, from netip.AddrPort, conn *net.UDPConn, local []byte) {
	d := datagram{append([]byte(nil), message...), &sender{UDPAddr: *net.UDPAddrFromAddrPort(from), conn: conn}}
	if len(local) > 0 {
		d.from.local = append([]byte(nil), local...)
	}
	select {
	case p.queue <- d:
	case <-p.done:
	}
}

// shutdown waits until all that was passed on has been answered, or for a time.
func (p *passer) shutdown() {
	for len(p.queue) > 0 {
		select {
		case <-p.done:
			return
		case <-time.After(time.Millisecond):
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	_ = p.server.ShutdownContext(ctx)
}

// grace is how long answers may take that are under way when a listener closes, as in CoreDNS.
const grace = 5 * time.Second

// ReadFrom and the methods below implement net.PacketConn.
func (p *passer) ReadFrom(to []byte) (int, net.Addr, error) {
	select {
	case d := <-p.queue:
		return copy(to, d.message), &d.from.UDPAddr, nil
	case <-p.done:
		return 0, nil, net.ErrClosed
	}
}

func (p *passer) WriteTo(message []byte, addr net.Addr) (int, error) {
	to := (*sender)(unsafe.Pointer(addr.(*net.UDPAddr))) // the one that ReadFrom returned
	n, _, err := to.conn.WriteMsgUDP(message, to.local, &to.UDPAddr)
	return n, err
}

func (p *passer) Close() error {
	p.end.Do(func() { close(p.done) })
	return nil
}

func (p *passer) LocalAddr() net.Addr              { return net.UDPAddrFromAddrPort(p.addr) }
func (p *passer) SetDeadline(time.Time) error      { return nil }
func (p *passer) SetWriteDeadline(time.Time) error { return nil }

// SetReadDeadline ends reading: a dns.Server calls it to shut down.
func (p *passer) SetReadDeadline(t time.Time) error {
	if !t.IsZero() && t.Before(time.Now()) {
		return p.Close()
	}
	return nil
}
