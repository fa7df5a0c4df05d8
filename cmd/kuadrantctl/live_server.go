package main

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/inspect"
)

// askServer asks one name server for the zone.
func (c *liveCheck) askServer(ctx context.Context, zone string, s *inspect.ServerReply) {
	server := c.server(net.JoinHostPort(s.Addr.String(), strconv.Itoa(int(c.port))))
	r, err := server.ask(ctx, dnsQuestion{name: zone, rtype: dns.TypeSOA, signed: true})
	if err != nil {
		s.Err, s.NoRoute = err, noRoute(err)
		return
	}
	s.Rcode, s.Authoritative = rcodeText(r.Rcode), r.Authoritative
	for _, rr := range r.Answer {
		if soa, ok := rr.(*dns.SOA); ok && strings.EqualFold(soa.Hdr.Name, zone) {
			s.SOA, s.Serial = soa, soa.Serial
		}
	}
	s.SOASigs = sigsOf(r.Answer, dns.TypeSOA)
	if s.SOA == nil {
		return
	}
	tcp := *server
	tcp.tcp = true
	_, s.TCPErr = tcp.ask(ctx, dnsQuestion{name: zone, rtype: dns.TypeSOA})
	if r, err = server.ask(ctx, dnsQuestion{name: zone, rtype: dns.TypeNS}); err != nil {
		s.Err = err
		return
	}
	s.NS = nsOf(r.Answer, zone)
	if r, err = server.ask(ctx, dnsQuestion{name: zone, rtype: dns.TypeDNSKEY, signed: true}); err != nil {
		s.Err = err
		return
	}
	for _, rr := range r.Answer {
		if key, ok := rr.(*dns.DNSKEY); ok {
			s.Keys = append(s.Keys, key)
		}
	}
	s.KeySigs = sigsOf(r.Answer, dns.TypeDNSKEY)
}

// nsOf returns the name servers of a zone, in lower case and in order.
func nsOf(rrs []dns.RR, zone string) (names []string) {
	for _, rr := range rrs {
		if ns, ok := rr.(*dns.NS); ok && strings.EqualFold(ns.Hdr.Name, zone) {
			names = append(names, strings.ToLower(ns.Ns))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// addrsOf returns the addresses in records.
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

// sigsOf returns the signatures of a type.
func sigsOf(rrs []dns.RR, rtype uint16) (all []*dns.RRSIG) {
	for _, rr := range rrs {
		if sig, ok := rr.(*dns.RRSIG); ok && sig.TypeCovered == rtype {
			all = append(all, sig)
		}
	}
	return all
}
