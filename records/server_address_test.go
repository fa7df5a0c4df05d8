package records

import (
	"slices"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestServerThatIsNotThereIsTold: an NS record names a server in a zone that is served here, and
// this zone knows that it has no address. named-checkzone tells of each of these, and takes no
// zone whose own NS records are so. The issue asks for a reason of NS without addresses.
func TestServerThatIsNotThereIsTold(t *testing.T) {
	for _, c := range []struct {
		what, owner, server string
		more                [3]string
	}{
		{"no such name", "sub.example.org.", "nx.example.org.", [3]string{}},
		{"a name without addresses", "sub.example.org.", "t.example.org.", [3]string{"t.example.org.", "TXT", `"x"`}},
		{"an address with a dot too few", "sub.example.org.", "192.0.2.1", [3]string{}},
		{"RFC 2181 §10.3: an alias", "sub.example.org.", "cn.example.org.", [3]string{"cn.example.org.", "CNAME", "www.example.net."}},
	} {
		w := newWorld("c")
		w.record("dns/ns", c.owner, "NS", c.server, 1)
		if c.more[0] != "" {
			w.record("dns/more", c.more[0], c.more[1], c.more[2], 1)
		}
		s := Compile(nil, w.objects(), &reviewOptions, testTime)
		if got := verdictText(s, api.KindRecord, "dns/ns"); !strings.Contains(got, "NoAddress") {
			t.Errorf("%s: %s NS %s: %s", c.what, c.owner, c.server, got)
		}
	}
}

// TestServerAddressFollows: the verdict of NS Records follows what becomes of their servers'
// addresses, also in another zone, below a wildcard that another name comes to block, and with
// steered data. What was compiled step by step is what comes of it all at once.
func TestServerAddressFollows(t *testing.T) {
	w := newWorld("c")
	everything := []api.Delegation{{Zones: []string{"*"}, Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}}}
	w.setZone(0, "dns/z", &api.Zone{DomainName: "example.org.", TTL: 60, Delegations: everything})
	w.record("dns/apex", "example.org.", "NS", "ns.w.example.org.", 1)
	w.record("dns/ns", "sub.example.org.", "NS", "ns.w.example.org.", 1)
	w.record("dns/other", "sub2.example.org.", "NS", "ns.zone.example.org.", 1)
	w.endpoints("dns/list", 1, apiEndpoint("sub4.example.org.", "NS", "ns.zone.example.org."), apiEndpoint("www.example.org.", "TXT", "x"))
	w.record("dns/away", "sub3.example.org.", "NS", "ns.example.net.", 1)
	var s *Snapshot
	step := func(what string, told ...string) {
		t.Helper()
		before := s
		s = Compile(s, w.objects(), &reviewOptions, testTime)
		all := Compile(nil, w.objects(), &reviewOptions, testTime)
		if got, want := dump(s), dump(all); got != want {
			t.Fatal(what, differing(got, want))
		}
		changed := make(map[string]bool)
		for _, r := range s.Changed() {
			changed[r.Ref.Name] = true
		}
		for _, name := range []string{"dns/apex", "dns/ns", "dns/other", "dns/away", "dns/list"} {
			kind := api.KindRecord
			if name == "dns/list" { // says what dns/other says
				kind = api.KindDNSEndpoint
			}
			got := verdictText(s, kind, name)
			if strings.Contains(got, "NoAddress") != slices.Contains(told, name) || got != verdictText(all, kind, name) {
				t.Errorf("%s: %s: %s", what, name, got)
			}
			if before != nil && changed[name] != (got != verdictText(before, kind, name)) {
				t.Errorf("%s: %s is among the changed verdicts: %v", what, name, changed[name])
			}
		}
	}
	step("nothing has an address", "dns/apex", "dns/ns", "dns/other", "dns/list")
	w.record("dns/wild", "*.w.example.org.", "A", "192.0.2.1", 1)
	step("a wildcard", "dns/other", "dns/list")
	w.record("dns/block", "x.ns.w.example.org.", "TXT", `"x"`, 1)
	step("an empty name blocks it", "dns/apex", "dns/ns", "dns/other", "dns/list")
	w.setRecord(0, "dns/block", nil)
	step("and goes", "dns/other", "dns/list")
	w.setRecord(0, "dns/wild", nil)
	w.publish("dns/g", "ns.w.example.org", &api.DNSPolicy{}, "192.0.2.9")
	step("steered", "dns/other", "dns/list")
	w.setPolicy(0, "dns/g", nil)
	step("not any more", "dns/apex", "dns/ns", "dns/other", "dns/list")
	w.setZone(0, "dns/zone", &api.Zone{DomainName: "zone.example.org.", TTL: 60, Delegations: everything})
	w.record("dns/a", "ns.zone.example.org.", "AAAA", "2001:db8::1", 1)
	step("another zone", "dns/apex", "dns/ns")
	w.record("dns/dn", "w.example.org.", "DNAME", "example.net.", 1)
	step("a DNAME", "dns/apex", "dns/ns")
	w.setRecord(0, "dns/dn", nil)
	w.record("dns/cut", "w.example.org.", "NS", "ns.example.net.", 1)
	step("a cut: whoever serves it knows")
	w.setRecord(0, "dns/cut", nil)
	w.setRecord(0, "dns/a", nil)
	step("and no address any more", "dns/apex", "dns/ns", "dns/other", "dns/list")
}
