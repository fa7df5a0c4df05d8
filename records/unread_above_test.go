package records

import (
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestUnreadAboveAHostThatIsNotOnRecord: a policy that waits for Secrets keeps others' answers back as far as its host is on record
// (decision 32). One that is not on record, or may not even publish there, does not make a name SERVFAIL that a wildcard answers for
// (rule 7.4), whether or not any other name is on record.
func TestUnreadAboveAHostThatIsNotOnRecord(t *testing.T) {
	for _, opt := range []*Options{unreadOptions, {Zones: unreadOptions.Zones, Publish: []Publish{{Domain: "example.com.", Namespaces: []string{"a"}}}}} {
		for _, recorded := range []bool{false, true} {
			w := newWorld("c")
			w.gateway("a/p", "*.example.com", api.Simple, 1, api.IPAddress, "192.0.2.1")
			if recorded {
				w.acquireAs("*.example.com.", ownerIn("c", api.KindDNSPolicy, "a/p"))
			}
			w.lackOf(0, api.NotListed, api.KindSecret)
			s := w.step(t, nil, opt)
			if got := gives(s, "www.example.com.", dns.TypeA); got != "192.0.2.1" {
				t.Fatalf("at first www is %q", got)
			}
			w.publish("e/p", "x.www.example.com", &api.DNSPolicy{Provider: api.Provider{Name: "s"}, Meta: api.Meta{Created: 2}}, "192.0.2.66")
			s = w.step(t, s, opt)
			for _, name := range []string{"www.example.com.", "x.www.example.com."} {
				if got := gives(s, name, dns.TypeA); got != "192.0.2.1" {
					t.Errorf("publish lines: %v, something on record: %v: with somebody's policy at x.www that waits for its Secret, %s is %q", opt.Publish, recorded, name, got)
				}
			}
		}
	}
}
