package records

import (
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestWhatCanNeverBeServedKeepsNoZoneOut: an older object that says nothing that could be served does not keep a Zone of another
// namespace from being served, nor is it said to publish (rule 8.1: one bad object never takes another down).
func TestWhatCanNeverBeServedKeepsNoZoneOut(t *testing.T) {
	record := func(rtype, class, data string) func(*world) {
		return func(w *world) {
			rec := &api.Record{DomainName: "x.sub.example.org.", Type: rtype, Class: class, TTL: 60, RData: data}
			rec.Created = 1
			w.setRecord(0, "evil/r", rec)
		}
	}
	for what, bad := range map[string]func(*world){
		"a type that nobody may write":     record("SOA", "IN", "a. b. 1 2 3 4 5"),
		"a type that is none":              record("NONSENSE", "IN", "a"),
		"a class that is not served":       record("A", "CH", "192.0.2.66"),
		"data that cannot be read":         record("A", "IN", "nonsense"),
		"an endpoint without a target":     func(w *world) { w.endpoints("evil/e", 1, endpoint("x.sub.example.org", "A")) },
		"an endpoint with a bad target":    func(w *world) { w.endpoints("evil/e", 1, endpoint("x.sub.example.org", "A", "nonsense")) },
		"an endpoint of a type for nobody": func(w *world) { w.endpoints("evil/e", 1, endpoint("x.sub.example.org", "RRSIG", "nonsense")) },
	} {
		w := sharedWorld()
		bad(w)
		w.zone("victim/sub", "sub.example.org.", 2, api.Delegation{Records: []api.RecordDelegation{{Pattern: "*"}}})
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		if text := verdictText(s, api.KindZone, "victim/sub"); strings.Contains(text, reasonConflicted) {
			t.Errorf("%s: %s", what, text)
		}
	}
}
