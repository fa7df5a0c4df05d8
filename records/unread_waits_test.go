package records

import (
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestUnreadWaitsForAnotherHost: the policy on record for a host waits for Secrets with another host of its own. What is told of the host
// is made anew when that ends, and when it begins: step by step as from nothing. What it does not want it does not wait for.
func TestUnreadWaitsForAnotherHost(t *testing.T) {
	w := newWorld("c")
	w.lackOf(0, api.NotListed, api.KindSecret)
	waits := func(yes bool) {
		p := &api.DNSPolicy{Meta: api.Meta{Created: 2}}
		if yes {
			p.Provider = api.Provider{Name: "s"}
		}
		w.publish("q/p", "other.example.com", p, "192.0.2.3")
	}
	w.publish("r/p", "app.example.com", &api.DNSPolicy{Provider: api.Provider{Name: "s"}, Meta: api.Meta{Created: 2}}, "192.0.2.2")
	waits(true)
	w.acquireAs("app.example.com.", ownerIn("c", api.KindDNSPolicy, "q/p"))
	w.gateway("s/p", "app.example.com", api.Simple, 3, api.IPAddress, "192.0.2.4")
	s := w.step(t, nil, unreadOptions)
	for _, yes := range []bool{false, true} {
		before := s
		waits(yes)
		s = w.step(t, before, unreadOptions)
		said := s.Verdict("c", ofPolicy("s/p")).TotalRecords == 1
		if given := gives(s, "app.example.com.", dns.TypeA) == "192.0.2.4"; given != said {
			t.Errorf("the owner on record waits for Secrets: %v: the host is answered: %v, and its policy says so: %v", yes, given, said)
		}
	}
}

// TestUnreadWaitsAcquired: it becomes known late who is on record, as it could not be read at the start. Whoever has Records at a host whose owner waits
// for Secrets is told.
func TestUnreadWaitsAcquired(t *testing.T) {
	w := newWorld("c")
	w.lackOf(0, api.NotListed, api.KindSecret)
	w.publish("b/p", "app.example.com", &api.DNSPolicy{Provider: api.Provider{Name: "s"}, Meta: api.Meta{Created: 2}}, "192.0.2.2")
	w.record("e/r", "app.example.com.", "A", "192.0.2.66", 1)
	before := w.step(t, nil, unreadOptions)
	w.acquireAs("app.example.com.", ownerIn("c", api.KindDNSPolicy, "b/p"))
	s := w.step(t, before, unreadOptions)
	if got := gives(s, "app.example.com.", dns.TypeA); got != "unlisted" {
		t.Fatalf("app is %q", got)
	}
	for _, m := range misreported(before, s) {
		if strings.Contains(m.text, reasonOwnerUnread) {
			t.Errorf("reported %v: %s", m.reported, m.text)
		}
	}
}

// BenchmarkUnreadWaits changes one Gateway while 100,000 owners on record cannot be read, and one host waits for its Secret, or
// none. The time does not depend on how many owners there are.
func BenchmarkUnreadWaits(b *testing.B) {
	for _, waits := range []bool{false, true} {
		b.Run(map[bool]string{true: "waits", false: "none"}[waits], func(b *testing.B) {
			w := newWorld("c", "d")
			e := w.acquired.Edit()
			for i := range 100_000 {
				e.Set("h"+strings.Repeat("x", i%40)+string(rune('a'+i%26))+strings.Repeat("y", i/1040%60)+".example.com.", ownerIn("d", api.KindDNSPolicy, "b/p"))
			}
			w.acquired = e.Map()
			w.lackOf(1, api.NotCounted, api.KindDNSPolicy)
			if waits {
				w.lackOf(0, api.NotListed, api.KindSecret)
				w.publish("a/w", "wait.example.com", &api.DNSPolicy{Provider: api.Provider{Name: "s"}}, "192.0.2.2")
			}
			s := Compile(nil, w.objects(), unreadOptions, testTime)
			for i := 0; b.Loop(); i++ {
				w.gateway("a/p", "app.example.com", api.Simple, 1, api.IPAddress, []string{"192.0.2.1", "192.0.2.2"}[i%2])
				s = Compile(s, w.objects(), unreadOptions, testTime)
			}
		})
	}
}
