package records

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// TestUnreadTold: docs/write-back.md: whoever wants a name that is kept back has OwnerUnreadable in its status, and who is answered has not.
// A `zone:` line keeps back all names but those that have a line of their own.
func TestUnreadTold(t *testing.T) {
	for _, c := range []struct {
		name  string
		has   func(*world)
		line  string
		of    api.Ref
		ask   string
		qtype uint16
	}{
		{"NS records on record", func(w *world) { w.record("e/o", "cut.example.com.", "NS", "ns.example.net.", 1) }, api.ZoneKey("example.com."), api.Ref{Kind: api.KindRecord, Name: "e/o"}, "www.cut.example.com.", dns.TypeA},
		{"a wildcard Record on record", func(w *world) {
			w.record("e/o", "*.example.com.", "A", "192.0.2.1", 1)
			w.gateway("b/p", "*.example.com", api.Simple, 2, api.IPAddress, "192.0.2.66")
		}, api.ZoneKey("example.com."), api.Ref{Kind: api.KindRecord, Name: "e/o"}, "x.example.com.", dns.TypeA},
		{"a text of a DNSEndpoint", func(w *world) { w.endpoints("e/o", 1, endpoint("txt.example.com.", "TXT", "x")) }, api.ZoneKey("example.com."), api.Ref{Kind: api.KindDNSEndpoint, Name: "e/o"}, "txt.example.com.", dns.TypeTXT},
		{"a text of a DNSRecord", func(w *world) {
			w.setDNSRecord(0, "e/o", &api.DNSRecord{
				Meta: api.Meta{Created: 1, Labels: map[string]string{api.LabelZoneName: "example.com"}}, RootHost: "txt.example.com.",
				Endpoints: []api.Endpoint{endpoint("txt.example.com.", "TXT", "x")},
			})
		}, api.ZoneKey("example.com."), api.Ref{Kind: api.KindDNSRecord, Name: "e/o"}, "txt.example.com.", dns.TypeTXT},
		{"a Zone", func(w *world) { w.zone("e/o", "sub.example.com.", 1) }, api.ZoneKey("sub.example.com."), api.Ref{Kind: api.KindZone, Name: "e/o"}, "sub.example.com.", dns.TypeSOA},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld("c", "d")
			c.has(w)
			w.kept()
			w.acquireAs(c.line, ownerIn("d", api.KindZone, "dns/z"))
			w.lackOf(1, api.NotCounted, api.KindZone, api.KindRecord)
			s := Compile(nil, w.objects(), unreadOptions, testTime)
			got, said := gives(s, c.ask, c.qtype), verdictText(s, c.of.Kind, c.of.Name)
			if kept, told := got == "unlisted", strings.Contains(said, reasonOwnerUnread); kept != told {
				t.Errorf("%s is %q, and its object says %s", c.ask, got, said)
			}
		})
	}
}

// TestUnreadToldRandom: in random worlds too, whoever has data at a name is told that it is kept back where it is, and not where it is
// answered with: Records, texts of DNSRecords and DNSEndpoints, and Zones; and each is reported when that changes.
func TestUnreadToldRandom(t *testing.T) {
	oneGoroutine(t)
	keys := []func(string) string{api.ZoneKey, func(n string) string { return n }, func(n string) string { return rdata.Wildcard + n }}
	names := []string{"a.example.com.", "b.a.example.com.", "x.b.a.example.com.", "deep.example.com.", "klb.a.example.com.", "x.klb.a.example.com.", "example.com."}
	for seed := range seeds(t, 60) {
		r := rand.New(rand.NewPCG(seed, 74))
		w := newWorld("c1", "c2")
		w.crowded, w.zoned, w.reading = seed%3 == 0, seed%4 != 0, true
		var s *Snapshot
		for step := range 40 {
			for range 1 + r.IntN(3) {
				w.mutate(r)
			}
			if r.IntN(2) == 0 {
				w.acquire(r)
			}
			if p := w.randomPolicy(r); r.IntN(3) == 0 { // it waits, where Secrets are not listed
				p.Provider = pick(r, []api.Provider{{Name: "s"}, {}})
				w.setPolicy(r.IntN(2), pick(r, []string{"n1/", "n2/"})+pick(r, someGateways), p)
			}
			w.lackOf(r.IntN(2), pick(r, []api.Listing{api.NotListed, api.Listed}), api.KindSecret)
			if s != nil && r.IntN(2) == 0 {
				w.keepAll(s)
			}
			if s != nil && r.IntN(2) == 0 {
				w.keepWaiting(s)
			}
			if r.IntN(2) == 0 {
				kind := pick(r, []api.Kind{api.KindDNSPolicy, api.KindZone, api.KindDNSEndpoint, api.KindRecord})
				w.acquireAs(pick(r, keys)(pick(r, names)), api.Owner{
					Cluster: pick(r, []string{"c1", "c2"}), Kind: kind, Name: pick(r, []string{"n1/", "n2/"}) + pick(r, []string{"g1", "z1", "z2", "e1"}),
					Chain: (kind == api.KindDNSPolicy || kind == api.KindDNSEndpoint) && r.IntN(2) == 0,
				})
			}
			before := s
			s = w.step(t, s, unreadOptions)
			if before != nil {
				checkWithheldReported(t, before, s, seed, step)
			}
			for _, z := range s.zones {
				if z.object != nil && s.zoneSet.above(z.origin) != nil {
					checkTold(t, s, seed, step, z, api.KindZone, z.object.Name, z.object.Cluster, z.origin, dns.TypeSOA, "")
				}
				for name, n := range z.names.All() {
					for _, e := range n.entries {
						if z.lossOf(n, e, make(lossMemo).losses).keepsOut() || e.rr.Header().Rrtype == dns.TypeDNAME {
							continue
						}
						checkTold(t, s, seed, step, z, e.objectKind(), e.record.Name, e.record.Cluster, name, e.rr.Header().Rrtype, trimDot(name)+": it is on record")
					}
				}
			}
		}
	}
}

// keepWaiting puts the policies that wait for Secrets on record for their hosts.
func (w *world) keepWaiting(s *Snapshot) {
	for _, c := range s.clusters {
		for _, t := range c.targets.All() {
			for _, h := range t.waiting {
				w.acquireAs(h.host, api.Owner{Cluster: c.name, Kind: api.KindDNSPolicy, Name: h.policy, Chain: t.gateway.Name < "n2"})
			}
		}
	}
}

// checkTold reports an object that is told something else of a name than what happens to it. note is what a DNSRecord or DNSEndpoint
// is told of that name.
func checkTold(t *testing.T, s *Snapshot, seed uint64, step int, z *Zone, kind api.Kind, object, cluster, name string, qtype uint16, note string) {
	t.Helper()
	v := s.Verdict(cluster, api.Ref{Kind: kind, Name: object})
	if v == nil {
		return // a child
	}
	whole := kind == api.KindRecord || kind == api.KindZone // others may be told of the addresses at the name
	if whole {
		note = reasonOwnerUnread
	}
	gives := func(name string) bool {
		n, turn := z.search(name, qtype)
		return !s.withheld(z, &Query{Name: name, Owner: name, Type: qtype}, n, turn)
	}
	given := gives(name) && (rdata.Base(name) == name || gives("nobody-has-this."+rdata.Base(name)))
	if told := strings.Contains(fmt.Sprint(v.Conditions), note); told == given && (whole || !told && !strings.Contains(fmt.Sprint(v.Conditions), " more}")) {
		t.Fatalf("seed %d step %d: %s %s: %s %s is answered: %v, and it says %v", seed, step, kind, object, name, dns.TypeToString[qtype], given, v.Conditions)
	}
}
