package records_test

import (
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// TestBugC5Unlocated: a host with members for several codes, or for one and all others, is told that nothing finds clients, of
// whatever kind it is; one with a single code is not.
func TestBugC5Unlocated(t *testing.T) {
	opt := recordstest.Zones("example.com.")
	opt.Unlocated = true
	s := recordstest.New(t, opt, `gateway n/eu host=two.example.com addr=192.0.2.1
policy n/eu weight=1 geo=GEO-EU default
gateway n/na host=two.example.com addr=192.0.2.2
policy n/na weight=1 geo=GEO-NA
gateway n/one host=one.example.com addr=192.0.2.3
policy n/one weight=1 geo=GEO-EU default
dnsendpoint n/e
    e.example.com A 192.0.2.4 set=a geo=DE
    e.example.com A 192.0.2.5 set=b geo=*`).Step(t)
	for ref, want := range map[api.Ref]bool{
		{Kind: api.KindDNSPolicy, Name: "n/eu"}: true, {Kind: api.KindDNSPolicy, Name: "n/na"}: true, {Kind: api.KindDNSPolicy, Name: "n/one"}: false,
		{Kind: api.KindDNSEndpoint, Name: "n/e"}: true,
	} {
		reason, line := s.Verdict("c1", ref).Problem()
		if strings.Contains(reason+line, "NoGeoDatabase") != want {
			t.Errorf("%s: %s: %s", ref, reason, line)
		}
	}
}
