package records

import (
	"fmt"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestVerdictsOfPendingZonesAreBounded: Zones each of which waits for the one before do not each say what all before them say: one
// tenant's thousand Zones would have verdicts, and lines of the log, that grow with the square of their number (rule 8.4).
func TestVerdictsOfPendingZonesAreBounded(t *testing.T) {
	const zones, most = 1000, 4096
	for _, c := range []struct{ what, parent string }{
		{"the first has no parent", "evil/missing"},
		{"the first has no name", ""},
	} {
		w := sharedWorld()
		for i := range zones {
			z := &api.Zone{DomainName: "x", Parent: fmt.Sprintf("evil/z%05d", i-1), TTL: 60, Minimum: 30}
			if i == 0 {
				z.Parent = c.parent
				if z.Parent == "" {
					z.DomainName = "a..b."
				}
			}
			w.setZone(0, fmt.Sprintf("evil/z%05d", i), z)
		}
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		longest, all := 0, 0
		for i := range zones {
			n := len(verdictText(s, api.KindZone, fmt.Sprintf("evil/z%05d", i)))
			longest, all = max(longest, n), all+n
		}
		if longest > most {
			t.Errorf("%s: the longest verdict of %d Zones has %d octets, all have %d", c.what, zones, longest, all)
		}
	}
}
