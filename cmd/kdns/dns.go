package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/time/rate"

	"github.com/coredns-kuadrant/kuadrant/internal/console"
)

// dnsTimeout is the timeout of one try; authoritative servers answer at once. Tests change it.
var dnsTimeout = 2 * time.Second

const (
	// dnsTries is how often a question is sent: 1 % packet loss is common, three losses in a row are not.
	dnsTries = 3
	// dnsBuffer is the largest UDP reply in octets (DNS flag day 2020).
	dnsBuffer = 1232
	dnsPort   = "53"
)

// dnsServer is a DNS server to ask. It is safe for concurrent use.
type dnsServer struct {
	addr    string // address:port
	limiter *rate.Limiter
	recurse bool
}

type dnsQuestion struct {
	name   string
	rtype  uint16
	subnet netip.Prefix // client subnet; the zero Prefix for none
	tcp    bool
}

// parseServer resolves ADDRESS, ADDRESS:PORT, NAME or NAME:PORT to address:port.
func parseServer(ctx context.Context, text string) (string, error) {
	host, port := text, dnsPort
	if _, err := netip.ParseAddr(text); err != nil {
		if h, p, err := net.SplitHostPort(text); err == nil {
			host, port = h, p
		}
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("%q: %q is not a port; write ADDRESS:PORT", text, port)
	}
	if a, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return net.JoinHostPort(a.String(), port), nil
	}
	if _, ok := dns.IsDomainName(host); !ok || host == "" || strings.ContainsAny(host, "/: ") {
		return "", fmt.Errorf("%q is not a server; write an address or name, with a port if it is not 53, such as 192.0.2.53:1053", text)
	}
	addrs, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return "", failed(fmt.Errorf("look up server: %w", err))
	}
	return net.JoinHostPort(addrs[0], port), nil
}

// ask returns the answer to q: over UDP, or over TCP if the UDP reply is truncated.
func (s *dnsServer) ask(ctx context.Context, q dnsQuestion) (*dns.Msg, error) {
	m := new(dns.Msg)
	m.SetQuestion(dns.Fqdn(q.name), q.rtype)
	m.RecursionDesired = s.recurse
	m.SetEdns0(dnsBuffer, false)
	if q.subnet.IsValid() {
		m.IsEdns0().Option = []dns.EDNS0{subnetOption(q.subnet)}
	}
	transport := "udp"
	if q.tcp {
		transport = "tcp"
	}
	r, err := s.send(ctx, m, transport)
	if err == nil && (r.Rcode == dns.RcodeFormatError || r.Rcode == dns.RcodeNotImplemented) {
		m.Extra = nil // no EDNS support (RFC 6891 §7)
		r, err = s.send(ctx, m, transport)
	}
	if err == nil && r.Truncated && !q.tcp {
		r, err = s.send(ctx, m, "tcp")
	}
	return r, err
}

// send sends m up to dnsTries times.
func (s *dnsServer) send(ctx context.Context, m *dns.Msg, transport string) (*dns.Msg, error) {
	var last error
	for range dnsTries {
		if err := s.limiter.Wait(ctx); err != nil {
			return nil, err
		}
		m.Id = dns.Id()
		r, err := s.exchange(ctx, m, transport)
		switch {
		case err == nil && !answers(r, m):
			err = errors.New("the reply does not answer the question")
		case err == nil && r.Truncated && transport == "tcp":
			err = errors.New("the reply is truncated")
		case err == nil:
			return r, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
		last = err
	}
	if e := net.Error(nil); errors.As(last, &e) && e.Timeout() {
		last = fmt.Errorf("no reply within %v, %d times", dnsTimeout, dnsTries)
	}
	return nil, fmt.Errorf("no answer from %s over %s: %w", s.addr, strings.ToUpper(transport), console.Cause(last))
}

// exchange sends m once and returns the reply. It returns as soon as ctx ends, so that an interrupted command does
// not wait for a silent server.
func (s *dnsServer) exchange(ctx context.Context, m *dns.Msg, transport string) (*dns.Msg, error) {
	c := dns.Client{Net: transport, Timeout: dnsTimeout, UDPSize: dnsBuffer}
	conn, err := c.DialContext(ctx, s.addr)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	r, _, err := c.ExchangeWithConnContext(ctx, m, conn)
	return r, err
}

// answers reports whether r answers q (RFC 5452 §9.1). A server that could not parse q may omit the question.
func answers(r, q *dns.Msg) bool {
	if !r.Response || r.Opcode != q.Opcode {
		return false
	}
	if len(r.Question) == 0 {
		return r.Rcode != dns.RcodeSuccess
	}
	a, b := r.Question[0], q.Question[0]
	return len(r.Question) == 1 && strings.EqualFold(a.Name, b.Name) && a.Qtype == b.Qtype && a.Qclass == b.Qclass
}

// rcodeText returns the name of an rcode, or its number if it has none.
func rcodeText(rcode int) string {
	return cmp.Or(dns.RcodeToString[rcode], fmt.Sprintf("RCODE%d", rcode))
}

// noRoute reports whether err means that this machine has no route to the address, such as an IPv6 address without
// IPv6.
func noRoute(err error) bool {
	return errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EAFNOSUPPORT) || errors.Is(err, syscall.EADDRNOTAVAIL) ||
		errors.Is(err, syscall.EACCES)
}

// Prefix lengths that client subnets are cut to, so that no prefix identifies a person (RFC 7871 §11.1). An address
// given in full is sent in full.
const (
	subnetV4 = 24
	subnetV6 = 56
)

// subnetOption returns the client subnet option for p: its first network of the usual length, or p itself if it is
// smaller.
func subnetOption(p netip.Prefix) *dns.EDNS0_SUBNET {
	o := &dns.EDNS0_SUBNET{
		Code: dns.EDNS0SUBNET, Family: 1, SourceNetmask: uint8(max(p.Bits(), subnetV4)),
		Address: net.IP(p.Masked().Addr().AsSlice()),
	}
	if p.Addr().Is6() {
		o.Family, o.SourceNetmask = 2, uint8(max(p.Bits(), subnetV6))
	}
	return o
}

// subnetOf returns the client subnet option of a reply, or nil.
func subnetOf(r *dns.Msg) *dns.EDNS0_SUBNET {
	if opt := r.IsEdns0(); opt != nil {
		for _, o := range opt.Option {
			if s, ok := o.(*dns.EDNS0_SUBNET); ok {
				return s
			}
		}
	}
	return nil
}
