package records

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestRRsetThatNoMessageHoldsIsTold: 300 texts of 250 octets are no answer, over TCP either: TC
// is set there for ever (RFC 2181 §5.2 and §9), and named-checkzone "ran out of space", so that
// the zone is not copied. No object's verdict has a word of it (rule 8.1).
func TestRRsetThatNoMessageHoldsIsTold(t *testing.T) {
	oneGoroutine(t)
	w := newWorld("c")
	for i := range 300 {
		w.record(fmt.Sprintf("dns/r%03d", i), "big.example.org.", "TXT", fmt.Sprintf(`"%03d%s"`, i, strings.Repeat("x", 247)), 1)
	}
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	for i := range 300 {
		if got := verdictText(s, api.KindRecord, fmt.Sprintf("dns/r%03d", i)); got != "Ready=True Served: served\n" {
			return
		}
	}
	t.Error("all 300 Records are served, without a word")
}

// TestOldestStayInAnRRset: of records that no message can hold together, those of the oldest
// objects are served, the others are told, and take over when there is room. What was compiled
// step by step is what comes of it all at once, and the answer can be packed with the longest
// name in the question.
func TestOldestStayInAnRRset(t *testing.T) {
	w := newWorld("c")
	owner := strings.Repeat(strings.Repeat("a", 60)+".", 3) + strings.Repeat("b", 50) + ".example.org."
	text := func(i, n int) string {
		return strings.Repeat(fmt.Sprintf(`"%03d%s" `, i, strings.Repeat("x", 252)), n)
	}
	for i := range 6 { // younger ones come first in the order of their data
		w.record(fmt.Sprintf("dns/r%d", i), owner, "TXT", text(5-i, 80), int64(100-i))
	}
	w.record("dns/same", owner, "TXT", text(5, 80), 1) // the youngest has the data of the oldest, too
	var s *Snapshot
	check := func(want ...string) {
		t.Helper()
		s = Compile(s, w.objects(), &reviewOptions, testTime)
		if got, all := dump(s), dump(Compile(nil, w.objects(), &reviewOptions, testTime)); got != all {
			t.Fatal(differing(got, all))
		}
		var served []string
		for i := range 6 {
			name := fmt.Sprintf("dns/r%d", i)
			switch got := verdictText(s, api.KindRecord, name); {
			case got == "Ready=True Served: served\n":
				served = append(served, name)
			case got != "none" && !strings.Contains(got, "Conflicted: the records of type TXT at the name have more than 60000 octets"):
				t.Errorf("%s: %s", name, got)
			}
		}
		if !slices.Equal(served, want) {
			t.Errorf("%v are served, want %v", served, want)
		}
		m := new(dns.Msg).SetQuestion(owner, dns.TypeTXT)
		m.Answer, m.Compress = answerOf(s, owner, dns.TypeTXT).Answer, true
		if wire, err := m.Pack(); err != nil || len(wire) > dns.MaxMsgSize || len(m.Answer) != len(want) {
			t.Errorf("%d records: %v", len(m.Answer), err)
		}
	}
	check("dns/r0", "dns/r5") // r0 has the data of the oldest of all
	w.setRecord(0, "dns/same", nil)
	check("dns/r4", "dns/r5")
	w.setRecord(0, "dns/r5", nil)
	check("dns/r3", "dns/r4")
	w.record("dns/r1", owner, "TXT", `"small"`, 99)
	check("dns/r1", "dns/r3", "dns/r4")
}

// TestNameServersOfBothSidesFit: the NS records above a zone and those that come from it are one
// RRset, and have one bound; those of the zone below come first.
func TestNameServersOfBothSidesFit(t *testing.T) {
	w := newWorld("c")
	everything := []api.Delegation{{Zones: []string{"*"}, Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}}}
	w.setZone(0, "dns/z", &api.Zone{DomainName: "example.org.", TTL: 60, Delegations: everything})
	w.setZone(0, "dns/sub", &api.Zone{DomainName: "sub.example.org.", TTL: 60, Delegations: everything})
	long := strings.Repeat(strings.Repeat("a", 60)+".", 3) + "example.net."
	for i := range 400 {
		at, parent := "@", "dns/sub"
		if i >= 200 {
			at, parent = "sub", "dns/z"
		}
		w.setRecord(0, fmt.Sprintf("dns/r%d", i), &api.Record{DomainName: at, Parent: parent, Type: "NS", Class: "IN", TTL: api.NoTTL, RData: fmt.Sprintf("n%03d.%s", i, long)})
	}
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	n := s.Zone("example.org.").find("sub.example.org.")
	if got := takenBy(n.static, dns.TypeNS); got > maxRRset || got < maxRRset-300 {
		t.Errorf("the NS records take %d octets", got)
	}
	if n.lost == 0 || len(ofType(s.Zone("sub.example.org.").find("sub.example.org.").static, dns.TypeNS)) != 200 {
		t.Errorf("%d are lost above, and the zone below has not all of its own", n.lost)
	}
	if got := verdictText(s, api.KindRecord, "dns/r399"); !strings.Contains(got, "have more than 60000 octets") {
		t.Errorf("the last is not told: %s", got)
	}
}

// TestManyTextsOfOneObject: 40,000 texts of one DNSEndpoint at one name come and go at the cost
// of their number.
func TestManyTextsOfOneObject(t *testing.T) {
	cost := func(n int) int64 {
		w := newWorld("c")
		var endpoints []api.Endpoint
		for i := range n / 1000 {
			ep := api.Endpoint{DNSName: "big.example.org.", Type: "TXT", Weight: -1}
			for j := range 1000 {
				ep.Targets = append(ep.Targets, fmt.Sprintf("%06d%s", 1000*i+j, strings.Repeat("x", 200)))
			}
			endpoints = append(endpoints, ep)
		}
		w.setDNSEndpoint(0, "team/e", &api.DNSEndpoint{Endpoints: endpoints})
		s := Compile(nil, w.objects(), &reviewOptions, testTime)
		if served := len(answerOf(s, "big.example.org.", dns.TypeTXT).Answer); served < 200 || served >= 300 {
			t.Errorf("%d of %d texts are served", served, n)
		}
		if got := verdictText(s, api.KindDNSEndpoint, "team/e"); !strings.Contains(got, "have more than 60000 octets") {
			t.Errorf("the object is told: %s", got)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		w.setDNSEndpoint(0, "team/e", &api.DNSEndpoint{Endpoints: endpoints[1:]})
		s = Compile(s, w.objects(), &reviewOptions, testTime)
		w.setDNSEndpoint(0, "team/e", nil)
		s = Compile(s, w.objects(), &reviewOptions, testTime)
		runtime.ReadMemStats(&after)
		if s.Zone("example.org.").find("big.example.org.") != nil {
			t.Error("the name is still there")
		}
		return int64(after.TotalAlloc - before.TotalAlloc)
	}
	if few, many := cost(5000), cost(40000); many > 16*few {
		t.Errorf("eight times as many texts take %d octets of memory where %d were enough", many, few)
	}
}
