package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
)

// askParent asks one parent server for the delegation, at its first address that answers.
func (c *liveCheck) askParent(ctx context.Context, zone string, of namedServer) inspect.ParentReply {
	p := inspect.ParentReply{Server: of.name, Glue: make(map[string][]netip.Addr), NoRoute: true}
	var server *dnsServer
	var r *dns.Msg
	for _, addr := range of.addrs {
		server = &dnsServer{addr: addr, limiter: c.limiter}
		if r, p.Err = server.ask(ctx, dnsQuestion{name: zone, rtype: dns.TypeNS}); p.Err == nil {
			break
		}
		p.NoRoute = p.NoRoute && noRoute(p.Err)
	}
	if p.Err != nil {
		return p
	}
	p.Rcode = rcodeText(r.Rcode)
	p.NS = nsOf(slices.Concat(r.Answer, r.Ns), zone)
	answered := len(nsOf(r.Answer, zone)) > 0
	p.Serves, p.Resolves = answered && r.Authoritative, answered && !r.Authoritative
	if p.Resolves {
		return p
	}
	for _, rr := range r.Extra {
		name := strings.ToLower(rr.Header().Name)
		p.Glue[name] = append(p.Glue[name], addrsOf([]dns.RR{rr})...)
	}
	ds, err := server.ask(ctx, dnsQuestion{name: zone, rtype: dns.TypeDS})
	switch {
	case err != nil:
		p.DSErr = err
	case ds.Rcode != dns.RcodeSuccess:
		p.DSErr = fmt.Errorf("it answers %s", rcodeText(ds.Rcode))
	default:
		p.DS = recordsOf[*dns.DS](ds.Answer, zone)
	}
	return p
}

// askServer asks one name server for the zone.
func (c *liveCheck) askServer(ctx context.Context, zone string, s *inspect.ServerReply) {
	server := &dnsServer{addr: net.JoinHostPort(s.Addr.String(), strconv.Itoa(int(c.port))), limiter: c.limiter}
	r, err := server.ask(ctx, dnsQuestion{name: zone, rtype: dns.TypeSOA})
	if err != nil {
		s.Err, s.NoRoute = err, noRoute(err)
		return
	}
	s.Rcode, s.Authoritative = rcodeText(r.Rcode), r.Authoritative
	for _, soa := range recordsOf[*dns.SOA](r.Answer, zone) {
		s.SOA, s.Serial = soa, soa.Serial
	}
	if s.SOA == nil {
		return
	}
	_, s.TCPErr = server.ask(ctx, dnsQuestion{name: zone, rtype: dns.TypeSOA, tcp: true})
	if r, s.Err = server.ask(ctx, dnsQuestion{name: zone, rtype: dns.TypeNS}); s.Err != nil {
		return
	}
	s.NS = nsOf(r.Answer, zone)
	if r, s.Err = server.ask(ctx, dnsQuestion{name: zone, rtype: dns.TypeDNSKEY}); s.Err != nil {
		return
	}
	s.Keys = recordsOf[*dns.DNSKEY](r.Answer, zone)
}

// recordsOf returns the records of type T at name.
func recordsOf[T dns.RR](rrs []dns.RR, name string) (all []T) {
	for _, rr := range rrs {
		if one, ok := rr.(T); ok && strings.EqualFold(rr.Header().Name, name) {
			all = append(all, one)
		}
	}
	return all
}

// nsOf returns the name servers of a zone, in lower case, sorted.
func nsOf(rrs []dns.RR, zone string) (names []string) {
	for _, ns := range recordsOf[*dns.NS](rrs, zone) {
		names = append(names, strings.ToLower(ns.Ns))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// addrsOf returns the addresses in A and AAAA records.
func addrsOf(rrs []dns.RR) (all []netip.Addr) {
	for _, rr := range rrs {
		var ip net.IP
		switch rr := rr.(type) {
		case *dns.A:
			ip = rr.A
		case *dns.AAAA:
			ip = rr.AAAA
		}
		if a, ok := netip.AddrFromSlice(ip); ok {
			all = append(all, a.Unmap())
		}
	}
	return all
}
