package records_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// putInto puts an object into a map of a cluster; nil deletes it.
func putInto[T any](c *api.Cluster, kind api.Kind, in *tree.Map[*T], name string, o *T, meta *api.Meta) {
	e := in.Edit()
	if e.Delete(name); o != nil {
		meta.Name, meta.Cluster = name, c.Name
		e.Set(name, o)
	}
	*in = e.Map()
	c.Changed = append(c.Changed, api.Ref{Kind: kind, Name: name})
}

// FuzzCompile compiles objects of all kinds made of any strings, first as they are and then after changes, and asks for every name that comes of
// them: nothing panics, every answer can be packed, and what was compiled step by step is what comes of it all at once.
func FuzzCompile(f *testing.F) {
	f.Add("a.example.com", "192.0.2.1", "IPAddress", "IE", "A", "192.0.2.1", "*", "x.example.com.", uint8(0), int64(1))
	f.Add("*.example.com", "lb.example.net", "Hostname", "", "NS", "ns", "@", "*.*.example.com.", uint8(3), int64(0))
	f.Add("klb.a.example.com", "c/192.0.2.1", "kuadrant.io/MultiClusterIPAddress", "US-CA", "CNAME", "*.w.example.com.", "*.w", "klb.klb.a.example.com.", uint8(255), int64(-1))
	f.Add(`a\.b\065`, "::1", "", "a.b", "DNAME", `\000.example.com.`, "ex*le", "x.a.example.com.", uint8(7), int64(1)<<62)
	f.Add("h.sub", "nonsense", "x", strings.Repeat("x", 80), "TYPE65280", `\# 3 010203`, "sub", strings.Repeat("a.", 120)+"example.com.", uint8(31), int64(9))
	f.Add("srv", "192.0.2.1", "IPAddress", "*", "HTTPS", "1 . alpn=h2 ipv4hint=192.0.2.1", "*", "srv.example.com.", uint8(63), int64(1))
	f.Add("@", "192.0.2.1", "IPAddress", "AS1", "TXT", `"x" ( y ; z`, "klb.app", "app.example.com.", uint8(15), int64(1))
	f.Fuzz(func(t *testing.T, host, address, addressType, code, rtype, data, pattern, name string, flags uint8, weight int64) {
		c := &api.Cluster{Name: "c1", UID: "uid-c1"}
		for k := range c.Listings {
			c.Listings[k] = api.Listed
		}
		g := &api.Gateway{
			Listeners: []api.Listener{{Name: "a", Hostname: host, AttachedRoutes: 1}, {Name: "b", Hostname: "*." + host, AttachedRoutes: -1}, {Name: "c", Hostname: "app.example.com"}},
			Addresses: []api.Address{{Type: api.AddressType(addressType), Value: address}, {Type: api.IPAddress, Value: "192.0.2.9"}, {Type: api.AddressType(addressType), Value: "uid-c1/192.0.2.7"}}[:1+flags&1+flags>>1&1],
		}
		p := &api.DNSPolicy{Target: api.Target{Name: "g"}, Geo: strings.ToUpper(code), DefaultGeo: strings.ToUpper(code), DefaultWeight: weight, Strategy: api.Strategy(flags >> 2 & 1)}
		if flags&8 > 0 {
			p.HealthCheck = &api.HealthCheck{Protocol: api.HTTP, Port: 80, Path: "/", FailureThreshold: 1, SuccessThreshold: 1}
		}
		z := &api.Zone{DomainName: "example.com.", TTL: 60, Delegations: []api.Delegation{{
			Zones: []string{pattern, "sub"}, Records: []api.RecordDelegation{{Pattern: pattern}, {Pattern: "@"}, {Pattern: "*", Types: []string{"A", "NS", strings.ToUpper(rtype)}}},
		}}}
		sub := &api.Zone{DomainName: strings.ToLower(pattern), Parent: "n/z", TTL: 30, Delegations: z.Delegations}
		if mname, err := rdata.Canonical(dns.Fqdn(name)); err == nil {
			sub.Mname = mname // as decoding does
		}
		r := &api.Record{DomainName: strings.ToLower(host), Type: strings.ToUpper(rtype), Class: "IN", RData: data, TTL: int64(flags) - 1}
		if flags&16 > 0 {
			r.Parent = "n/z"
		}
		own := &api.Record{DomainName: "app.example.com.", Type: strings.ToUpper(rtype), Class: "IN", RData: data, TTL: api.NoTTL}
		e := &api.DNSEndpoint{Endpoints: []api.Endpoint{{
			DNSName: strings.ToLower(dns.Fqdn(name)), Type: strings.ToUpper(rtype), Targets: []string{data, "192.0.2.7"}, SetID: pattern, Weight: int64(flags), Geo: strings.ToUpper(code),
		}}}
		opt := recordstest.Zones("example.com."+[]string{"", ":flatten"}[flags>>5&1], "b.example.com.")
		opt.Zones[0].OwnerTXT = "_o-"
		var snap *records.Snapshot
		check := func() {
			t.Helper()
			now := *c
			snap = records.Compile(snap, api.Objects{Clusters: []*api.Cluster{&now}}, opt, recordstest.Now)
			whole := records.Compile(nil, api.Objects{Clusters: []*api.Cluster{&now}}, opt, recordstest.Now)
			c.Changed = nil
			names := recordstest.Names(snap)
			if n, err := rdata.Canonical(dns.Fqdn(name)); err == nil && snap.Zone(n) != nil {
				names = append(names, n)
			}
			for _, name := range names {
				for i, qtype := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeANY, dns.TypeNS, dns.TypeSOA, dns.TypeTXT, 65280} {
					for _, signed := range []bool{false, true} {
						q := records.Query{Name: name, Owner: name, Type: qtype, Client: netip.MustParseAddr("10.1.0.7"), Locator: recordstest.Network, Random: uint64(i), Signed: signed}
						var a records.Answer
						snap.Lookup(snap.Zone(name), &q, &a)
						if bad := recordstest.CheckAnswer(&q, &a); bad != "" {
							t.Fatalf("%s %s: %s: %+v", name, dns.Type(qtype), bad, a)
						}
						b := answers(snap, q)
						if all := answers(whole, q); all != b {
							t.Fatalf("%s %s\nstep by step: %s\nfrom nothing: %s", name, dns.Type(qtype), b, all)
						}
					}
				}
			}
		}
		putInto(c, api.KindGateway, &c.Gateways, "n/g", g, &g.Meta)
		putInto(c, api.KindDNSPolicy, &c.Policies, "n/p", p, &p.Meta)
		putInto(c, api.KindZone, &c.Zones, "n/z", z, &z.Meta)
		putInto(c, api.KindRecord, &c.Records, "n/r", r, &r.Meta)
		putInto(c, api.KindRecord, &c.Records, "n/own", own, &own.Meta)
		putInto(c, api.KindDNSEndpoint, &c.DNSEndpoints, "n/e", e, &e.Meta)
		check()
		putInto(c, api.KindZone, &c.Zones, "n/sub", sub, &sub.Meta)
		check()
		if flags&4 > 0 {
			putInto(c, api.KindRecord, &c.Records, "n/r", nil, nil)
		} else {
			putInto(c, api.KindZone, &c.Zones, "n/z", nil, nil)
		}
		check()
		putInto(c, api.KindZone, &c.Zones, "n/sub", nil, nil)
		putInto(c, api.KindDNSEndpoint, &c.DNSEndpoints, "n/e", nil, nil)
		check()
	})
}
