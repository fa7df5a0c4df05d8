package records

import (
	"strings"
)

// exception is what the rules let a younger object do to another's name.
type exception struct {
	rule string
	// of tells what it is about.
	of func(v *victim, s *situation, a *attack) bool
	// flat is true where only the form of the answer at the host may change, and what is
	// not steered there: the addresses stay.
	flat bool
	// granted is true where nobody need be told: a grant allows it.
	granted bool
	used    int
}

// exceptions are all that there are. Each is used, or TestTakeover fails.
func exceptions() []*exception {
	kind := func(name string) string { kind, _, _ := strings.Cut(name, " "); return kind }
	return []*exception{
		{rule: "5.6: simple objects of one namespace/name in two clusters are the same object", of: func(v *victim, _ *situation, a *attack) bool {
			return strings.HasSuffix(a.name, " victim/app of another cluster") && kind(v.name) == kind(a.name) && v.pools == a.pools
		}},
		{rule: "5.6: weightedGeo objects of one namespace pool their members", of: func(v *victim, _ *situation, a *attack) bool {
			return strings.HasSuffix(a.name, " victim/other of another cluster") && kind(v.name) == kind(a.name) && v.pools && a.pools
		}},
		{rule: "5.3: all Records of one Zone are one owner, whichever cluster they are in", of: func(v *victim, _ *situation, a *attack) bool {
			return strings.HasPrefix(a.name, "Record A victim/") && (v.name == "Record" || kind(v.name) == "Zone")
		}},
		{rule: "5.2: where nothing limits who may have Zones, whoever has one says who may publish in it", granted: true, of: func(_ *victim, s *situation, a *attack) bool {
			return s.name == "no Zone, and Zones of all" && strings.HasPrefix(a.name, "Zone")
		}},
		{rule: "2.8: the names at and below klb are those of the wildcard's base where that has a chain", of: func(v *victim, s *situation, a *attack) bool {
			return strings.HasPrefix(v.host, "*.") && v.steers && strings.HasSuffix(a.name, " at the wildcard's base") && (strings.Contains(a.name, " weighted ") || strings.Contains(a.name, " chain "))
		}},
		{rule: "6.5: a Zone that is delegated takes the names below it, where the registry has none of others", granted: true, of: func(_ *victim, s *situation, a *attack) bool {
			return s.name == "a Zone for both" && strings.HasPrefix(a.name, "Zone") && a.objects[0].day > victimDay
		}},
	}
}

// recordsBelow is one more where the victim is on record: the registry has Records as those of their Zone, whose namespace
// delegates.
var recordsBelow = &exception{rule: "6.5: a Zone that is delegated takes names of Records", granted: true, of: func(v *victim, s *situation, a *attack) bool {
	return s.name == "a Zone for both" && strings.HasPrefix(a.name, "Zone") && v.name == "Record"
}}
