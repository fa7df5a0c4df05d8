package records

import (
	"fmt"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestUnreadCutToServedZone: NS records where a zone begins that is served here lead nowhere else, and are not told otherwise.
func TestUnreadCutToServedZone(t *testing.T) {
	opt := &Options{Zones: []ZoneOptions{
		{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}, {Origin: "sub.example.com.", TTL: 60, LoadBalancedTTL: 300},
	}}
	w := newWorld("c", "d")
	w.zone("a/z", "example.com.", 1, api.Delegation{Records: []api.RecordDelegation{{Pattern: "*"}}})
	w.setRecord(0, "a/ns", &api.Record{Meta: api.Meta{Created: 1}, DomainName: "sub", Parent: "a/z", Type: "NS", Class: "IN", TTL: api.NoTTL, RData: "ns.example.net."})
	s := w.step(t, nil, opt)
	of := api.Ref{Kind: api.KindRecord, Name: "a/ns"}
	said := fmt.Sprint(s.Verdict("c", of).Conditions)
	w.acquireAs("app.sub.example.com.", ownerIn("d", api.KindDNSPolicy, "b/p"))
	w.lackOf(1, api.NotCounted, api.KindGateway, api.KindDNSPolicy)
	s = w.step(t, s, opt)
	if now := fmt.Sprint(s.Verdict("c", of).Conditions); now != said {
		t.Errorf("it said %s, and says %s", said, now)
	}
}

// TestUnreadCutAboveZones: names in a zone of the Corefile below a DNAME, or NS records, are asked for in that zone: that their owners cannot be
// read keeps nothing back above it.
func TestUnreadCutAboveZones(t *testing.T) {
	opt := &Options{Zones: []ZoneOptions{
		{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}, {Origin: "z.sub.example.com.", TTL: 60, LoadBalancedTTL: 300},
	}}
	for _, rtype := range []string{"NS", "DNAME"} {
		w := newWorld("c", "d")
		w.record("a/r", "sub.example.com.", rtype, "b.example.net.", 1)
		s := w.step(t, nil, opt)
		was := gives(s, "x.sub.example.com.", dns.TypeA)
		w.acquireAs("app.z.sub.example.com.", ownerIn("d", api.KindDNSPolicy, "b/p"))
		w.lackOf(1, api.NotCounted, api.KindGateway, api.KindDNSPolicy)
		s = w.step(t, s, opt)
		if got := gives(s, "x.sub.example.com.", dns.TypeA); got != was || !s.listed("example.com.") {
			t.Errorf("%s: it was %q, and is %q; listed %v", rtype, was, got, s.listed("example.com."))
		}
		if got := gives(s, "app.z.sub.example.com.", dns.TypeA); got != "unlisted" {
			t.Errorf("%s: the name itself is %q", rtype, got)
		}
	}
}
