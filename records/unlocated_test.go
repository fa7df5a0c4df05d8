package records_test

import (
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// TestBugC5Unlocated: a host with members for several codes is told that nothing finds clients; one with a single code is not.
func TestBugC5Unlocated(t *testing.T) {
	opt := recordstest.Zones("example.com.")
	opt.Unlocated = true
	s := recordstest.New(t, opt, `gateway n/eu host=two.example.com addr=192.0.2.1
policy n/eu weight=1 geo=GEO-EU default
gateway n/na host=two.example.com addr=192.0.2.2
policy n/na weight=1 geo=GEO-NA
gateway n/one host=one.example.com addr=192.0.2.3
policy n/one weight=1 geo=GEO-EU default`).Step(t)
	for name, want := range map[string]bool{"n/eu": true, "n/na": true, "n/one": false} {
		reason, line := s.Verdict("c1", api.Ref{Kind: api.KindDNSPolicy, Name: name}).Problem()
		if strings.Contains(line, "NoGeoDatabase") != want {
			t.Errorf("%s: %s: %s", name, reason, line)
		}
	}
}
