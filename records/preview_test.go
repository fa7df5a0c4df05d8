package records_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// TestPreviewOfNothing: where a preview says that nothing changes, no client gets another answer for any name and type.
func TestPreviewOfNothing(t *testing.T) {
	same, other := 0, 0
	for seed := range recordstest.Seeds(t, 20) {
		w, m := recordstest.New(t, recordstest.Zones("example.com.", "klb.deep.example.com.:flatten")), recordstest.NewMutator(seed)
		m.Clusters, m.Listings, m.Registry = 2, false, false
		for range 30 {
			m.Mutate(t, w)
		}
		for range 10 {
			before := records.Compile(w.Snapshot, w.Objects(), w.Options, w.Now)
			m.Mutate(t, w)
			after := records.Compile(before, w.Objects(), w.Options, w.Now)
			if w.Snapshot = after; !inspect.Compare(before, after, nil, nil).Same() {
				other++
				continue
			}
			same++
			if differs := firstDifference(before, after); differs != "" {
				t.Fatalf("seed %d: nothing is said to change, and %s", seed, differs)
			}
		}
	}
	if same < 30 || other < 30 {
		t.Errorf("%d pairs without a change and %d with one are too few to tell", same, other)
	}
}

// firstDifference returns a question to which the answers are others, and these; "" for none.
func firstDifference(a, b *records.Snapshot) string {
	names := append(recordstest.Names(a), recordstest.Names(b)...)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		for _, rtype := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeTXT, dns.TypeNS, dns.TypeMX, dns.TypeDS} {
			for _, client := range []string{"192.0.2.7", "10.1.0.7", "10.2.0.7"} {
				q := records.Query{Name: name, Owner: name, Type: rtype, Client: netip.MustParseAddr(client), Locator: recordstest.Network}
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
	for i := range uint64(8) {
		q.Random = i * 0x9e3779b97f4a7c15
		var a records.Answer
		s.Lookup(s.ZoneOf(q.Name, q.Type), &q, &a)
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
