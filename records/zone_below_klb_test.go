package records

import (
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestZoneInZoneBelowKlb: a weightedGeo host that is older than a Zone in another Zone below klb.<host> makes no panic (rule 8.4): the
// host does not lie in the zone whose delegations are asked.
func TestZoneInZoneBelowKlb(t *testing.T) {
	w := sharedWorld()
	w.zone("evil/klb", "klb.app.example.org.", 1, api.Delegation{Zones: []string{"*"}, Records: []api.RecordDelegation{{Pattern: "*"}}})
	w.gateway("victim/app", "app.example.org", api.WeightedGeo, 2, api.IPAddress, "192.0.2.1")
	w.zone("evil2/x", "x.klb.app.example.org.", 3)
	s := compiled(t, nil, w.objects(), dnsHasZones)
	w.gateway("victim/app", "app.example.org", api.WeightedGeo, 1, api.IPAddress, "192.0.2.2")
	compiled(t, s, w.objects(), dnsHasZones)
}
