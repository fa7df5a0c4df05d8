package records_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// somewhere is where every client is.
type somewhere geo.Codes

// Locate implements geo.Locator.
func (s *somewhere) Locate(netip.Addr, geo.Need) (*geo.Codes, int) { return (*geo.Codes)(s), 1 }

// TestPreviewOfNothing: where a preview says that nothing changes, no client gets another answer for any name and type, of
// random worlds of all kinds of objects.
func TestPreviewOfNothing(t *testing.T) {
	same, other := 0, 0
	for seed := range uint64(60) {
		var before *records.Snapshot
		for after := range records.RandomSteps(seed, 12) {
			switch {
			case before == nil:
			case !inspect.Compare(before, after, nil, nil).Same():
				other++
			default:
				same++
				if differs := firstDifference(before, after); differs != "" {
					t.Fatalf("seed %d: nothing is said to change, and %s", seed, differs)
				}
			}
			before = after
		}
	}
	if same < 100 || other < 100 {
		t.Errorf("%d pairs without a change and %d with one are too few to tell", same, other)
	}
}

// firstDifference returns a question to which the answers are others, and these; "" for none.
func firstDifference(a, b *records.Snapshot) string {
	names := make(map[string]bool)
	for _, s := range []*records.Snapshot{a, b} {
		for _, z := range s.Zones() {
			names["missing."+z.Origin()] = true
		}
		for name := range s.Differing(new(records.Snapshot)) {
			names[name], names["missing."+name] = true, true
			if rest, wild := strings.CutPrefix(name, "*."); wild {
				names["some."+rest] = true
			}
		}
	}
	for name := range names {
		for _, rtype := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeTXT, dns.TypeNS, dns.TypeSOA, dns.TypeMX, dns.TypeDS} {
			for _, codes := range []geo.Codes{{}, {"", "", "IE", "GEO-EU"}, {"AS64500", "US-CA", "US", "GEO-NA"}} {
				at := somewhere(codes)
				q := records.Query{Name: name, Owner: name, Type: rtype, Client: netip.IPv4Unspecified(), Locator: &at}
				if x, y := answers(a, q), answers(b, q); x != y {
					return fmt.Sprintf("%s %s is answered with\n%s\nand then\n%s", name, dns.Type(rtype), x, y)
				}
			}
		}
	}
	return ""
}

// answers returns all answers to a query, whatever is drawn, less the serials of zones.
func answers(s *records.Snapshot, q records.Query) string {
	var all []string
	for i := range uint64(16) {
		q.Random = i * 0x9e3779b97f4a7c15
		var a records.Answer
		zone := s.Zone(q.Name)
		if off, end := dns.NextLabel(q.Name, 0); q.Type == dns.TypeDS && !end && zone.Origin() == q.Name && s.Zone(q.Name[off:]) != nil {
			zone = s.Zone(q.Name[off:]) // which has it
		}
		s.Lookup(zone, &q, &a)
		var lines []string
		for _, rr := range slices.Concat(a.Answer, a.Ns) {
			if soa, ok := rr.(*dns.SOA); ok {
				rr = dns.Copy(soa)
				rr.(*dns.SOA).Serial = 0
			}
			lines = append(lines, rr.String())
		}
		slices.Sort(lines)
		all = append(all, dns.RcodeToString[a.Rcode]+"\n"+strings.Join(lines, "\n"))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "\n--\n")
}
