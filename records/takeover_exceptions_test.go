package records

import (
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
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
//
// Names below a host are nobody's but for those below klb.H': whoever may publish in the
// zone may publish TXT at _acme-challenge.H, which changes no answer of the victim's, but
// is enough for a certificate of its host. Only delegations, or a line publish, keep
// others from that; the same goes for HTTPS, MX and CAA Records at the host itself.
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
		{rule: "5.3: all Records of one Zone are one owner, whose namespaces may publish there", of: func(v *victim, s *situation, a *attack) bool {
			return v.name == "Record" && !s.refuses && a.beside && a.objects[0].kind == api.KindRecord
		}},
		{rule: "5.3: other types from the Zone's Records stand beside a steered name, which is then flat", flat: true, of: func(_ *victim, s *situation, a *attack) bool {
			return !s.refuses && a.beside && a.objects[0].kind == api.KindRecord
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

// oldOthers is one more where the younger object is not the attacker's.
var oldOthers = &exception{rule: "5.4: acquisitions are of A, AAAA and CNAME: of other types the older object's stand", of: func(v *victim, s *situation, a *attack) bool {
	m, rtype := a.objects[0], strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(a.name, "DNSRecord "), "DNSEndpoint "), " at the host")
	beside := rtype == "HTTPS" || v.name != "Record" && slices.Contains([]string{"TXT", "MX", "CAA", "DS"}, rtype)
	return beside && !s.refuses && m.day < victimDay && m.kind != api.KindRecord
}}

// oldCNAMEs is one more where the younger object is not the attacker's.
var oldCNAMEs = &exception{rule: "5.3: of a CNAME and other data of Records the older wins", of: func(v *victim, s *situation, a *attack) bool {
	m := a.objects[0]
	return v.name == "Record" && !s.refuses && m.kind == api.KindRecord && m.day < victimDay && strings.Contains(m.body, "type: CNAME")
}}

// recordsBelow is one more where the victim is on record: the registry has Records as those of their Zone, whose namespace
// delegates.
var recordsBelow = &exception{rule: "6.5: a Zone that is delegated takes names of Records", granted: true, of: func(v *victim, s *situation, a *attack) bool {
	return s.name == "a Zone for both" && strings.HasPrefix(a.name, "Zone") && v.name == "Record"
}}
