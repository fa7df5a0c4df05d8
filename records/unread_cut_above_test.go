package records

import (
	"fmt"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestUnreadCutAboveAnOwner: NS records and DNAMEs are kept by resolvers, and go for all names below them: where one of these is on record as an
// unread owner's, or a waiting one's, no name is led elsewhere by such as came meanwhile (rule 5.4). Those that are on record themselves go on.
func TestUnreadCutAboveAnOwner(t *testing.T) {
	for _, rtype := range []string{"NS", "DNAME"} {
		for _, key := range []string{"sub.example.com.", "app.sub.example.com.", "*.sub.example.com.", api.ZoneKey("z.sub.example.com."), api.CutKey("x.sub.example.com.")} {
			for _, by := range []api.Kind{api.KindRecord, api.KindDNSEndpoint} {
				for _, waits := range []bool{false, true} {
					if waits && nameOf(key) != key {
						continue
					}
					t.Run(fmt.Sprint(rtype, " above ", key, " of a ", by, " waits ", waits), func(t *testing.T) {
						w := newWorld("c", "d")
						owner := ownerIn("d", api.KindDNSPolicy, "b/p")
						switch {
						case nameOf(key) != key:
							owner.Kind = api.KindZone
						case waits:
							owner.Cluster = "c"
							w.publish("b/p", trimDot(key), &api.DNSPolicy{Provider: api.Provider{Name: "s"}, Meta: api.Meta{Created: 2}}, "192.0.2.2")
							w.lackOf(0, api.NotListed, api.KindSecret)
						}
						w.acquireAs(key, owner)
						if !waits {
							w.lackOf(1, api.NotCounted, api.KindGateway, api.KindDNSPolicy, api.KindZone, api.KindRecord)
						}
						before := w.step(t, nil, unreadOptions)
						of := api.Ref{Kind: by, Name: "e/new"}
						if by == api.KindRecord {
							w.record("e/new", "sub.example.com.", rtype, "evil.example.net.", 0)
						} else {
							w.endpoints("e/new", 0, endpoint("sub.example.com.", rtype, "evil.example.net"))
						}
						s := w.step(t, before, unreadOptions)
						if s.Verdict("c", of) == nil {
							t.Fatal("it has no verdict")
						}
						asks := []string{"app.sub.example.com.", "other.sub.example.com.", "sub.example.com."}
						qtype := dns.TypeA
						if rtype == "DNAME" {
							asks, qtype = asks[:2], dns.TypeDNAME
						}
						for _, ask := range asks {
							if got := gives(s, ask, dns.TypeA); got != "unlisted" {
								t.Errorf("%s is %q", ask, got)
							}
						}
						if got := gives(s, "sub.example.com.", qtype); got != "unlisted" {
							t.Errorf("the %s itself is %q", dns.TypeToString[qtype], got)
						}
						if said := fmt.Sprint(s.Verdict("c", of).Conditions); !strings.Contains(said, reasonOwnerUnread) {
							t.Errorf("its object says %s", said)
						}
						// On record.
						onRecord := api.CutKey("sub.example.com.")
						w.acquireAs(onRecord, ownerIn("c", by, "e/new"))
						kept := w.step(t, s, unreadOptions)
						if got := gives(kept, "other.sub.example.com.", dns.TypeA); got == "unlisted" {
							t.Error("it is on record, and not answered with")
						}
						if said := fmt.Sprint(kept.Verdict("c", of).Conditions); strings.Contains(said, reasonOwnerUnread) {
							t.Errorf("it is on record, and its object says %s", said)
						}
						// The owner is gone.
						edit := w.acquired.Edit()
						edit.Delete(key)
						edit.Delete(onRecord)
						w.acquired, w.acquiredChanged = edit.Map(), append(w.acquiredChanged, key, onRecord)
						s = w.step(t, kept, unreadOptions)
						if said := fmt.Sprint(s.Verdict("c", of).Conditions); strings.Contains(said, reasonOwnerUnread) {
							t.Errorf("the owner is gone, and its object says %s", said)
						}
					})
				}
			}
		}
	}
}

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
