package records

import (
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// FuzzRecords compiles Zones, Records and DNSEndpoints made of any strings beside a
// steered host, first as they are and then after changes, and asks for every name that
// comes of them: nothing panics, every answer can be packed, and what was compiled step
// by step is what comes of it all at once.
func FuzzRecords(f *testing.F) {
	f.Add("a.example.com.", "", "A", "192.0.2.1", "sub", "*", "x.example.com.", uint8(0))
	f.Add("@", "z", "NS", "ns", "@", "@", "example.com.", uint8(1))
	f.Add("*.w", "z", "CNAME", "*.w.example.com.", "w", "*.w", "y.*.w.example.com.", uint8(3))
	f.Add(`a\.b\065`, "z", "DNAME", `\000.example.com.`, "s", "ex*le", "x.a.example.com.", uint8(7))
	f.Add("klb.app", "z", "TXT", `"x" ( y ; z`, "klb.app", "*", "klb.app.example.com.", uint8(15))
	f.Add("h.sub", "s", "TYPE65280", `\# 3 010203`, "sub", "sub", "h.sub.example.com.", uint8(31))
	f.Add("srv", "z", "HTTPS", "1 . alpn=h2 ipv4hint=192.0.2.1", "sub", "*", "srv.example.com.", uint8(63))
	f.Fuzz(func(t *testing.T, domain, parentName, rtype, data, sub, pattern, name string, flags uint8) {
		w := newWorld("c")
		zone := &api.Zone{DomainName: "example.com.", TTL: 60, Delegations: []api.Delegation{{
			Zones: []string{pattern, "sub"}, Records: []api.RecordDelegation{{Pattern: pattern}, {Pattern: "@"}, {Pattern: "*", Types: []string{"A", "NS", strings.ToUpper(rtype)}}},
		}}}
		child := &api.Zone{DomainName: strings.ToLower(sub), Parent: "n/z", TTL: 30, Delegations: zone.Delegations}
		if mname, err := rdata.Canonical(dns.Fqdn(name)); err == nil {
			child.Mname = mname // as decoding does
		}
		rec := &api.Record{DomainName: strings.ToLower(domain), Type: strings.ToUpper(rtype), Class: "IN", RData: data, TTL: int64(flags) - 1}
		if parentName != "" {
			rec.Parent = "n/" + parentName
		}
		w.publish("n/g", "app.example.com", &api.DNSPolicy{Strategy: api.Strategy(flags & 1)}, "192.0.2.9")
		w.setZone(0, "n/z", zone)
		w.setRecord(0, "n/r1", rec)
		w.setRecord(0, "n/r2", &api.Record{DomainName: "app.example.com.", Type: strings.ToUpper(rtype), Class: "IN", RData: data, TTL: api.NoTTL})
		ep := api.Endpoint{DNSName: strings.ToLower(dns.Fqdn(name)), Type: strings.ToUpper(rtype), Targets: []string{data, "192.0.2.7"}, SetID: pattern, Weight: int64(flags), Geo: strings.ToUpper(sub)}
		w.setDNSEndpoint(0, "n/e", &api.DNSEndpoint{Endpoints: []api.Endpoint{ep}})
		opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300, OwnerTXT: "_o-"}}}
		if flags&2 > 0 {
			opt.Zones[0].Nameservers = []Nameserver{{Name: "ns.example.com."}}
		}
		var snap *Snapshot
		check := func() {
			snap = Compile(snap, w.objects(), opt, testTime)
			whole := Compile(nil, w.objects(), opt, testTime)
			if got, want := dump(snap), dump(whole); got != want {
				t.Fatal(differing(got, want))
			}
			for _, z := range snap.Zones() {
				for owner := range z.names.All() {
					askAll(t, snap, owner)
					askAll(t, snap, "x."+owner)
				}
			}
			if n, err := rdata.Canonical(dns.Fqdn(name)); err == nil && snap.Zone(n) != nil {
				askAll(t, snap, n)
			}
		}
		check()
		w.setZone(0, "n/s", child)
		check()
		if flags&4 > 0 {
			w.setRecord(0, "n/r1", nil)
		} else {
			w.setZone(0, "n/z", nil)
		}
		check()
		w.setZone(0, "n/s", nil)
		w.setDNSEndpoint(0, "n/e", nil)
		check()
	})
}
