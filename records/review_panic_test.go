package records

import "testing"

// TestZoneBelowAZoneAtKLB has a Zone at klb.H', one below it, and a weightedGeo policy on H'
// that is younger than the one and older than the other: no input may end the process (rule 8.4).
func TestZoneBelowAZoneAtKLB(t *testing.T) {
	w, files := newWorld("c1"), make(manifests)
	files.apply(t, w, gatewayWith("ns1/g", 5, "a.example.com", "192.0.2.1", "IE")...)
	files.apply(t, w, zoneOf("infra/upper", 1, at("klb.a.example.com."), "ns2"), zoneOf("ns2/lower", 9, at("x.klb.a.example.com.")))
	snap := Compile(nil, w.objects(), openZone(), testTime)
	if z := snap.Zone("x.klb.a.example.com."); z == nil || z.Origin() == "example.com." {
		t.Errorf("the name lies in the zone %v", z)
	}
}
