package inspect

import (
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records"
)

// The rcodes that say whether a name exists.
const rcodeFine, rcodeAbsent, rcodeRefused = "NOERROR", "NXDOMAIN", "REFUSED"

// pair has both answers to one question.
type pair struct {
	x    *records.Explanation
	sees *Here
	// ends are the possible ends of our answer, by draw, the actual one first. here is all of them together.
	ends        []end
	here, there Outcome
	same        bool            // the other server's end is one of them
	followed    map[string]bool // the members whose names were followed
}

// end is the end of our answer by one draw.
type end struct {
	rcode string
	set   []string // empty for none
	cut   string
}

func newPair(x *records.Explanation, h *Here, r *Reply) *pair {
	p := &pair{x: x, sees: h, there: outcome(x.Name, x.Type, r), followed: make(map[string]bool)}
	first := ours(x)
	p.addEnds(first)
	p.addDraws(x, 0)
	p.here = p.whole()
	p.here.TTL = first.TTL
	return p
}

// addEnds adds the ends of an answer of ours.
func (p *pair) addEnds(o Outcome) {
	e := end{rcode: o.Rcode, cut: o.cut}
	if len(o.Answers) > 0 {
		e.set = o.Answers[0]
	}
	p.addEnd(e)
}

func (p *pair) addEnd(e end) {
	p.same = p.same || p.matches(&e)
	if len(p.ends) < mostAnswers && !slices.ContainsFunc(p.ends, func(o end) bool {
		return o.rcode == e.rcode && slices.Equal(o.set, e.set)
	}) {
		p.ends = append(p.ends, e)
	}
}

// matches reports whether the other server's answer equals an end of ours.
func (p *pair) matches(e *end) bool {
	there := &p.there
	answered := func(rcode string) bool { return rcode == rcodeFine || rcode == rcodeAbsent }
	switch {
	// A server that does not follow an alias does not say whether its target exists.
	case len(there.Answers) > 0 && len(e.set) > 0:
		return answered(e.rcode) && answered(there.Rcode) && slices.Equal(e.set, there.Answers[0])
	case e.rcode == rcodeAbsent && there.Rcode == rcodeAbsent: // an alias of nothing is nothing
		return true
	case e.rcode == rcodeFine && len(e.set) == 0 && p.endsInside():
		return true
	case len(there.Answers) > 0 || len(e.set) > 0:
		return false
	}
	return e.rcode == there.Rcode || e.rcode == rcodeRefused && there.Rcode == rcodeAbsent // the name is in no zone served here
}

// endsInside reports whether the other server's answer ends with an alias within the zone: a server of the zone that says no more
// has nothing of the type there.
func (p *pair) endsInside() bool {
	if p.there.Rcode != rcodeFine || len(p.there.Answers) == 0 || len(p.there.Answers[0]) != 1 || p.x.Type == "CNAME" {
		return false
	}
	alias, is := strings.CutPrefix(p.there.Answers[0][0], "CNAME ")
	return is && dns.IsSubDomain(dns.Fqdn(p.x.Zone), dns.Fqdn(alias))
}

// whole returns all our ends as one, whatever the draw: if some end well, none is an error.
func (p *pair) whole() (o Outcome) {
	rank := func(rcode string) int {
		if at := slices.Index([]string{rcodeFine, rcodeAbsent}, rcode); at >= 0 {
			return at
		}
		return 2
	}
	for i := range p.ends {
		e := &p.ends[i]
		if i == 0 || rank(e.rcode) < rank(o.Rcode) {
			o.Rcode = e.rcode
		}
		if len(e.set) > 0 {
			o.Answers = append(o.Answers, e.set)
			o.cut = e.cut
		}
	}
	slices.SortFunc(o.Answers, slices.Compare[[]string])
	o.Answers = slices.CompactFunc(o.Answers, slices.Equal[[]string])
	return o
}

// kind says what differs; "" for nothing.
func (p *pair) kind() DifferenceKind {
	here, there := p.here.Rcode, p.there.Rcode
	switch {
	case p.same:
		return ""
	case there != rcodeFine && there != rcodeAbsent, p.elsewhere():
		return DiffersUnserved
	case here == rcodeAbsent && there == rcodeFine:
		return DiffersNotHere
	case here == rcodeFine && there == rcodeAbsent:
		return DiffersNotThere
	case here != there: // such as SERVFAIL here
		return DiffersNotHere
	case len(p.here.Answers) == 0 || len(p.there.Answers) == 0:
		return DiffersNoData
	case isAddress(p.here.Answers[0][0]) && isAddress(p.there.Answers[0][0]):
		return DiffersAddresses
	}
	return DiffersData
}

// elsewhere reports whether the other server refers the whole zone to others, as its parent or a server without it does.
func (p *pair) elsewhere() bool {
	if p.there.cut == "" || p.x.Zone == "" {
		return false
	}
	return dns.IsSubDomain(p.there.cut, dns.Fqdn(p.x.Zone))
}
