package pool

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/miekg/dns"
)

// Data is what a name of a host is answered with: a *Set if there is nothing to choose, or a *View of a Pool.
type Data interface {
	// Inner reports whether the name is at or below klb.H' (rule 7.5).
	Inner() bool
	// Layout is the form of the answers: simple, chain or flatten; "" for the addresses at the end of a chain.
	Layout() string
	// Has reports whether some client may get an answer of the family.
	Has(fam Family) bool
	// Types returns the types of the first records of answers.
	Types() []uint16
	// AppendKnown appends the addresses that do not depend on the client.
	AppendKnown(rrs []dns.RR) []dns.RR
	// Fails returns the codes of the clients for whom everything is down now; all is true if that is so for all clients, closed if they get
	// nothing then.
	Fails() (codes []string, all, closed bool)
	// Transferred returns the data at the name in a transfer, at most two RRsets (rule 7.5). alone is true if the name has no other data.
	Transferred(name string, alone bool) [2][]dns.RR
}

// Set is the addresses of a name that are answered together: of a simple host (rule 2.2), or of one leaf of a chain.
type Set struct {
	// RRs holds the A records, then the AAAA records; or one CNAME.
	RRs []dns.RR
	V4  int // how many of RRs are A records
	// Cells are the health cells of the addresses, in order; nil for none.
	Cells []Cells
	// Attributes are those of the host.
	Attributes api.Attributes
	part       bool // see View
}

// Alias reports whether the set is a CNAME, which answers every type (RFC 1034 §3.6.2).
func (s *Set) Alias() bool { return len(s.RRs) > 0 && rdata.IsCNAME(s.RRs[0]) }

// CellsOf returns the health cells of the i-th address.
func (s *Set) CellsOf(i int) Cells {
	if s.Cells == nil {
		return Cells{}
	}
	return s.Cells[i]
}

// Answer returns the addresses of the best state, as many as an attribute allows, or the CNAME. at says which of more. What is found
// goes to t.
func (s *Set) Answer(fam Family, at uint64, t *Trail) ([]dns.RR, Class) {
	rrs, class := s.best(fam, t)
	if s.Alias() {
		return rrs, class
	}
	return t.window(window(rrs, 0, &s.Attributes, at), 0), class
}

func (s *Set) best(fam Family, t *Trail) ([]dns.RR, Class) {
	from, to := 0, s.V4
	switch {
	case s.Alias():
		to = len(s.RRs)
	case fam == AAAA:
		from, to = s.V4, len(s.RRs)
	case fam == CNAME:
		return nil, WeightedUp
	}
	rrs := s.RRs[from:to:to]
	if s.Cells == nil {
		t.judge(Judged{RRs: rrs})
		return rrs, WeightedUp
	}
	return best(rrs, s.Cells[from:to], t)
}

// best returns the records whose cells have the best class, and that class. It reads each cell once. If all have one class, which is usual,
// it returns rrs itself. t records the findings.
func best(rrs []dns.RR, cells []Cells, t *Trail) ([]dns.RR, Class) {
	if len(cells) == 0 {
		return nil, ForcedDown
	}
	first := cells[0].Class()
	for i := 1; i < len(cells); i++ {
		if class := cells[i].Class(); class != first {
			return bestOf(rrs, cells, i, first, class, t)
		}
	}
	t.judge(Judged{RRs: rrs, cells: cells, lowest: first})
	return rrs, first
}

// bestOf is best if the first n of cells have the class first, and the next one another.
func bestOf(rrs []dns.RR, cells []Cells, n int, first, next Class, t *Trail) ([]dns.RR, Class) {
	classes := make([]Class, len(cells))
	for i := range n {
		classes[i] = first
	}
	classes[n] = next
	for i := n + 1; i < len(cells); i++ {
		classes[i] = cells[i].Class()
	}
	lowest := slices.Min(classes)
	t.judge(Judged{RRs: rrs, cells: cells, classes: classes, lowest: lowest})
	out := make([]dns.RR, 0, len(rrs))
	for i, rr := range rrs {
		if classes[i] == lowest {
			out = append(out, rr)
		}
	}
	return slices.Clip(out), lowest
}

// Inner and the methods below implement Data.
func (s *Set) Inner() bool { return s.part }

func (s *Set) Layout() string {
	if s.part {
		return ""
	}
	return "simple"
}

func (s *Set) Has(fam Family) bool {
	return s.Alias() || fam == A && s.V4 > 0 || fam == AAAA && len(s.RRs) > s.V4
}

func (s *Set) Types() (all []uint16) {
	if s.V4 > 0 {
		all = append(all, dns.TypeA)
	}
	if s.V4 < len(s.RRs) {
		all = append(all, s.RRs[s.V4].Header().Rrtype)
	}
	return all
}

func (s *Set) AppendKnown(rrs []dns.RR) []dns.RR {
	if s.Alias() {
		return rrs
	}
	for _, fam := range [...]Family{A, AAAA} {
		if known, class := s.Answer(fam, 0, nil); !s.Closed(class) {
			rrs = append(rrs, known...)
		}
	}
	return rrs
}

func (s *Set) Fails() (codes []string, all, closed bool) {
	if s.Cells == nil {
		return nil, false, false
	}
	down := func(addresses []Cells) bool {
		return len(addresses) > 0 && !slices.ContainsFunc(addresses, func(c Cells) bool { return c.Class() < WeightedDown })
	}
	v4, v6 := down(s.Cells[:s.V4]), down(s.Cells[s.V4:])
	return nil, v4 || v6, (v4 || v6) && s.Closed(WeightedDown)
}

// Closed reports whether nothing is answered where the best of a family is of a class: a family that is down alone fails open (rule 9.3).
func (s *Set) Closed(class Class) bool {
	return Closed(&s.Attributes, class) && !slices.ContainsFunc(s.Cells, func(c Cells) bool { return c.Class() < WeightedDown })
}
