package kuadrant

import (
	"fmt"
	"maps"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records"
)

// keep has a writer keep all that snap proposes, from the next compile on.
func (s *zoneServer) keep(snap *records.Snapshot) {
	edit := s.serials.Edit()
	for _, p := range snap.Proposals() {
		edit.Set(p.Origin, p.Kept)
		s.news = append(s.news, p.Origin)
	}
	s.keeper, s.serials = "c", edit.Map()
}

// TestTransferOfWhatIsKept: where a writer keeps serials, answers are the newest, and SOA,
// AXFR and IXFR show the newest version that is kept, whole (rule 6.7).
func TestTransferOfWhatIsKept(t *testing.T) {
	s := serveZones(t, toAll, "")
	s.fill()
	s.keeper = "c"
	s.keep(s.compile())
	first := s.compile().Zone("example.org.").Shown()
	want := contentOf(t, first)
	var second *records.Snapshot
	for i := range 3 {
		s.record("www-a", "www.example.org.", "A", fmt.Sprintf("198.51.100.%d", i))
		s.record("new", "new.example.org.", "TXT", fmt.Sprint(i))
		snap := s.compile()
		if got := exchange(t, s.addr, "new.example.org.", dns.TypeTXT).Answer; len(got) != 1 || got[0].(*dns.TXT).Txt[0] != fmt.Sprint(i) {
			t.Errorf("change %d is answered with %v", i, got)
		}
		soa, got := wholeZone(t, xfr(t, s.addr, axfrOf("example.org."), nil))
		served := exchange(t, s.addr, "example.org.", dns.TypeSOA).Answer[0]
		denial := exchange(t, s.addr, "no.example.org.", dns.TypeA).Ns[0].(*dns.SOA)
		if soa.Serial != first.Serial() || served.String() != soa.String() || denial.Serial != soa.Serial || !maps.Equal(got, want) {
			t.Errorf("change %d, which nobody has kept: SOA %v, denied with %v, transferred with %v:\n%v", i, served, denial, soa, got)
		}
		if got := xfr(t, s.addr, ixfrOf("example.org.", first.Serial()), nil).rrs; len(got) != 1 {
			t.Errorf("change %d: IXFR from what is shown has %v", i, got)
		}
		if i == 1 {
			second = snap
		}
	}
	s.keep(second) // there is a newer one by now
	s.compile()
	if _, got := wholeZone(t, xfr(t, s.addr, axfrOf("example.org."), nil)); !maps.Equal(got, contentOf(t, second.Zone("example.org."))) {
		t.Errorf("the second change was kept, and transferred is\n%v", got)
	}
	s.keep(s.compile())
	last := s.compile().Zone("example.org.").Shown()
	now := contentOf(t, last)
	if now["new.example.org.\t300\tIN\tTXT\t\"2\""] == false || last.Serial() == first.Serial() {
		t.Errorf("serial %d: %v", last.Serial(), now)
	}
	soa, got := wholeZone(t, xfr(t, s.addr, axfrOf("example.org."), nil))
	if soa.Serial != last.Serial() || !maps.Equal(got, now) {
		t.Errorf("transferred with %v:\n%v", soa, got)
	}
	deltas, ok := last.Since(first.Serial())
	ixfr := xfr(t, s.addr, ixfrOf("example.org.", first.Serial()), nil)
	if content := applyIXFR(t, want, ixfr.rrs, first.Serial(), len(deltas)); !ok || !maps.Equal(content, now) {
		t.Errorf("IXFR leads to %v", content)
	}
}
