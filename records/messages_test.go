package records

import (
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// Faults that somebody who writes Zones and Records by hand meets.

const (
	walkRecord = `{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"name":"r","namespace":"dns"},"spec":`
	walkZone   = `{"apiVersion":"kubi.zone/v1alpha1","kind":"Zone","metadata":{"name":"team","namespace":"dns"},"spec":`
)

// walkWorld has the zone example.org, of namespace dns.
func walkWorld() *world {
	w := newWorld("c")
	w.zone("dns/z", "example.org.", 0, everything[0], api.Delegation{Zones: []string{"*"}})
	w.record("dns/ns", "example.org.", "NS", "ns.example.net.", 0)
	return w
}

// TestMessageWrongKindIsNotMissing: a field that is there and cannot be read is not said to be
// missing (rule 8.1: the line says why). YAML reads `no` as false, 123 as a number.
func TestMessageWrongKindIsNotMissing(t *testing.T) {
	for spec, want := range map[string]string{
		`{"domainName":false,"zoneRef":{"name":"z"},"type":"A","rdata":"192.0.2.1"}`:        "spec.domainName: a string is wanted here",
		`{"domainName":123,"zoneRef":{"name":"z"},"type":"A","rdata":"192.0.2.1"}`:          "spec.domainName: a string is wanted here",
		`{"domainName":"www","zoneRef":{"name":"z"},"type":"A","rdata":["192.0.2.1"]}`:      "spec.rdata: a string is wanted here",
		`{"domainName":"www","zoneRef":{"name":"z"},"type":"TXT","rdata":5}`:                "spec.rdata: a string is wanted here",
		`{"domainName":"www","zoneRef":{"name":"z"},"type":1,"rdata":"192.0.2.1"}`:          "spec.type: a string is wanted here",
		`{"domainName":"www","zoneRef":"z","type":"A","rdata":"192.0.2.1"}`:                 "spec.zoneRef:",
		`{"domainName":"www","zoneRef":{"name":["z"]},"type":"A","rdata":"192.0.2.1"}`:      "spec.zoneRef.name: a string is wanted here",
		`{"domainName":"www","zoneRef":{"name":"z"},"type":"A","ttl":"1h","rdata":"1.2.3"}`: "spec.ttl: a whole number is wanted here", // as it should be
	} {
		w := walkWorld()
		r, err := api.DecodeRecord("c", []byte(walkRecord+spec+"}"))
		if err != nil {
			t.Fatal(err)
		}
		w.setRecord(0, "dns/r", r)
		s := Compile(nil, w.objects(), &reviewOptions, testTime)
		if got := verdictText(s, api.KindRecord, "dns/r"); !strings.Contains(got, want) {
			t.Errorf("%s:\n%swant %s", spec, got, want)
		}
	}
}

// TestMessageNoNameserversHidesNothing: a Zone without NS records says that its delegations cannot
// be read, too. Else its own NS Records are NotDelegated, it is NoNameservers, and nothing says
// why (rule 8.1).
func TestMessageNoNameserversHidesNothing(t *testing.T) {
	for delegations, want := range map[string]string{
		`[{"namespaces":"dns","records":[{"pattern":"@"}]}]`:    "spec.delegations[0].namespaces",
		`[{"namespaces":["dns"],"records":["@","*"]}]`:          "spec.delegations[0].records[0]",
		`[{"namespaces":["dns"],"records":[{"pattern":"@."}]}]`: "can never match",
	} {
		w := walkWorld()
		z, err := api.DecodeZone("c", []byte(walkZone+`{"domainName":"team.example.org.","delegations":`+delegations+"}}"))
		if err != nil {
			t.Fatal(err)
		}
		w.setZone(0, "dns/team", z)
		w.record("ops/team-ns", "team.example.org.", "NS", "ns.example.net.", 0)
		s := Compile(nil, w.objects(), &reviewOptions, testTime)
		got := verdictText(s, api.KindZone, "dns/team")
		if !strings.Contains(got, "Ready=False NoNameservers") || !strings.Contains(got, want) {
			t.Errorf("%s:\n%swant %s", delegations, got, want)
		}
	}
}

// TestMessageMisspeltNamespacesOpensNothing: `namespace` in place of `namespaces` lets everybody
// publish, and nothing says so. Where what was meant cannot be read the entry allows nothing
// (docs/zones.md on namespaces, and rule 8.1).
func TestMessageMisspeltNamespacesOpensNothing(t *testing.T) {
	w := walkWorld()
	z, err := api.DecodeZone("c", []byte(walkZone+`{"domainName":"team.example.org.","delegations":[{"namespace":["dns"],"records":[{"pattern":"@"},{"pattern":"*"}]}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	w.setZone(0, "dns/team", z)
	w.record("ops/team-ns", "team.example.org.", "NS", "ns.example.net.", 0)
	w.record("evil/www", "www.team.example.org.", "A", "192.0.2.66", 0)
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	if got := verdictText(s, api.KindZone, "dns/team"); !strings.Contains(got, "spec.delegations[0].namespace") {
		t.Errorf("the Zone does not name the field that there is not:\n%sthe Record of another namespace:\n%s", got, verdictText(s, api.KindRecord, "evil/www"))
	}
}

// TestMessageDataSaysWhatIsWanted: the message says what is expected (docs/zones.md, InvalidData),
// and not where in a line that nobody has written.
func TestMessageDataSaysWhatIsWanted(t *testing.T) {
	for rtype, data := range map[string]string{"MX": "mail", "SRV": "0 0 80", "CAA": "0 issue", "TXT": `"v=1`} {
		w := walkWorld()
		w.record("dns/r", "www.example.org.", rtype, data, 0)
		s := Compile(nil, w.objects(), &reviewOptions, testTime)
		if got := verdictText(s, api.KindRecord, "dns/r"); strings.Contains(got, "at line: 1:") || strings.Contains(got, "bad "+rtype+" ") {
			t.Errorf("%s %s: %s", rtype, data, got)
		}
	}
}
