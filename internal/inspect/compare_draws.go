package inspect

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
)

// choice is one draw, at one name.
type choice struct {
	step *records.Step
	*records.Choice
}

// choices returns the draws that count, of each name in the search.
func choices(x *records.Explanation) (all []choice) {
	for i := range x.Steps {
		if s := &x.Steps[i]; len(s.Choices) > 0 {
			all = append(all, choice{s, &s.Choices[len(s.Choices)-1]})
		}
	}
	return all
}

// Bounds of the draws: how many names one leads through, and how many ends are reported.
const (
	mostDrawn   = 16
	mostAnswers = 256
)

// addDraws adds the ends of our answer if other members that share the clients had been drawn.
func (p *pair) addDraws(x *records.Explanation, depth int) {
	for _, c := range choices(x) {
		var alias func(*records.Candidate) string
		if p.x.Type == "CNAME" {
			if alias = p.aliases(c); alias == nil {
				continue
			}
		}
		for i := range c.Members {
			m := &c.Members[i]
			switch {
			case m.Verdict != pool.VerdictNotDrawn || m.Share == 0:
			case alias != nil:
				p.addEnd(end{rcode: rcodeFine, set: []string{alias(m)}})
			default:
				p.addDraw(p.member(c.step, m.Member), m.Member, depth)
			}
		}
	}
}

// aliases returns the targets of a member's CNAME at a name of the chain, as in the drawn one: the member, or its group; nil if there
// is none.
func (p *pair) aliases(c choice) func(*records.Candidate) string {
	t := p.sees.Tree(c.step.At)
	if t == nil || len(p.ends[0].set) == 0 {
		return nil
	}
	member := func(m *records.Candidate) string { return strings.ToLower(dns.Fqdn(m.Member)) }
	group := func(m *records.Candidate) string {
		i := slices.IndexFunc(t.Groups, func(g records.TreeGroup) bool { return g.Geo == m.Geo })
		if i < 0 {
			return ""
		}
		return strings.ToLower(dns.Fqdn(t.Groups[i].Name))
	}
	if taken := c.taken(); taken != nil && p.ends[0].set[0] == group(taken) {
		return group
	}
	return member
}

// taken returns the drawn member; nil for none.
func (c choice) taken() *records.Candidate {
	i := slices.IndexFunc(c.Members, func(m records.Candidate) bool { return m.Verdict == pool.VerdictTaken })
	if i < 0 {
		return nil
	}
	return &c.Members[i]
}

// addDraw adds the end of our answer if a member had been drawn. It follows each member once: there are no more draws that
// lead to draws, or in a circle, than members.
func (p *pair) addDraw(of *records.TreeMember, name string, depth int) {
	if set := p.best(of); len(set) > 0 && !strings.HasPrefix(set[0], "CNAME ") {
		p.addEnd(end{rcode: rcodeFine, set: set})
		return
	}
	if p.followed[name] {
		return
	}
	p.followed[name] = true
	x := (*records.Explanation)(nil)
	if depth < mostDrawn {
		x = p.sees.Explain(name)
	}
	if x == nil { // it is elsewhere
		p.addEnd(end{rcode: rcodeFine, set: []string{"CNAME " + name}})
		return
	}
	o := ours(x)
	if len(o.Answers) == 0 && of != nil && isHostname(of) { // unfollowed, a CNAME says nothing about its target
		if o.Rcode == rcodeFine {
			p.addEnds(o)
		}
		if o.Rcode == rcodeFine || o.Rcode == rcodeAbsent {
			o.Answers = [][]string{{"CNAME " + name}}
		}
	}
	p.addEnds(o)
	p.addDraws(x, depth+1)
}

// member returns a tree's part about a member; nil for none.
func (p *pair) member(s *records.Step, name string) *records.TreeMember {
	if t := p.sees.Tree(s.At); t != nil {
		for _, m := range membersOf(t) {
			if m.Member == name {
				return m
			}
		}
	}
	return nil
}

// best returns the addresses that a member answers with, sorted; none for nil.
func (p *pair) best(m *records.TreeMember) (set []string) {
	if m == nil {
		return nil
	}
	for _, a := range bestOf(m.Addresses, dns.StringToType[p.x.Type]) {
		if !isAddress(a) {
			a = "CNAME " + a
		}
		set = append(set, a)
	}
	slices.Sort(set)
	return set
}

// bestOf returns the addresses of the best class, for a type (rule 4.6). A hostname is of every type.
func bestOf(addresses []records.AddressState, rtype uint16) (best []string) {
	class := ""
	for i := range addresses {
		a := &addresses[i]
		if ip, err := netip.ParseAddr(a.Address); err == nil && (ip.Is4() && rtype != dns.TypeA || ip.Is6() && rtype != dns.TypeAAAA) {
			continue
		}
		switch order := pool.CompareClasses(a.Class, class); {
		case len(best) == 0 || order < 0:
			class, best = a.Class, []string{a.Address}
		case order == 0:
			best = append(best, a.Address)
		}
	}
	return best
}
