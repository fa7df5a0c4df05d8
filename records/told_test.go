package records

import (
	"slices"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestToldOfServedRecords: what there is to say of Records that are served is told at the
// first compile, and where another object has changed it.
func TestToldOfServedRecords(t *testing.T) {
	all := []api.Delegation{{Zones: []string{"*"}, Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}}}
	record := func(name, rtype, data string) *api.Record {
		parent := "dns/z"
		if name == "@" {
			parent = "dns/sub"
		}
		return &api.Record{DomainName: name, Parent: parent, Type: rtype, Class: "IN", TTL: api.NoTTL, RData: data}
	}
	w := newWorld("c")
	w.setZone(0, "dns/z", &api.Zone{DomainName: "example.com.", TTL: 360, Delegations: all})
	w.setZone(0, "dns/sub", &api.Zone{DomainName: "sub", Parent: "dns/z", TTL: 360, Delegations: all})
	w.setRecord(0, "dns/below", record("@", "NS", "ns.example.net."))
	w.setRecord(0, "dns/above", record("sub", "NS", "other.example.net."))
	w.setRecord(0, "dns/words", record("words", "TXT", "one two"))
	w.setRecord(0, "dns/quoted", record("quoted", "TXT", `"one" "two"`))
	w.setRecord(0, "dns/fine", record("fine", "A", "192.0.2.1"))
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60}}}
	var snap *Snapshot
	step := func(what string, want ...string) {
		t.Helper()
		snap = Compile(snap, w.objects(), opt, testTime)
		var got []string
		for _, r := range snap.Changed() {
			if reason, _ := snap.Verdict(r.Cluster, r.Ref).Problem(); r.Ref.Kind == api.KindRecord && reason != "" {
				got = append(got, r.Ref.Name+" "+reason)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: told of %q, want %q", what, got, want)
		}
	}
	step("first", "dns/above "+reasonMismatch, "dns/words "+reasonStrings)
	w.setRecord(0, "dns/below", record("@", "NS", "other.example.net."))
	step("the zone below has the server now")
	if _, line := snap.Verdict("c", api.Ref{Kind: api.KindRecord, Name: "dns/above"}).Problem(); line != "" {
		t.Errorf("still said: %s", line)
	}
	w.setRecord(0, "dns/below", record("@", "NS", "ns.example.net."))
	step("and has not", "dns/above "+reasonMismatch)
}
