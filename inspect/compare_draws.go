package inspect

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records"
)

// choice is one draw, at one name.
type choice struct {
	step *records.Step
	*records.Choice
}

// choices returns the draws that count, of each name that the search came to.
func choices(x *records.Explanation) (all []choice) {
	for i := range x.Steps {
		if s := &x.Steps[i]; len(s.Choices) > 0 {
			all = append(all, choice{s, &s.Choices[len(s.Choices)-1]})
		}
	}
	return all
}

// Bounds of the draws that are looked at: how many names one leads through to the next, and how many ends there may be.
const (
	mostDrawn   = 16
	mostAnswers = 256
)

// addDraws adds what our answer would end with if the draws had fallen on each of the other members that share the
// clients.
func (p *pair) addDraws(x *records.Explanation, depth int) {
	for _, c := range choices(x) {
		if p.x.Type == "CNAME" {
			p.addAliases(c)
			continue
		}
		for i := range c.Members {
			if m := &c.Members[i]; m.Verdict == records.VerdictNotDrawn && m.Share > 0 {
				p.addDraw(p.member(c.step, m.Member), m.Member, depth)
			}
		}
	}
}

// addAliases adds the other CNAMEs that a name of the chain may have: those of members, or of their groups.
func (p *pair) addAliases(c choice) {
	t := p.sees.Tree(c.step.At)
	if t == nil || len(p.here.Answers) == 0 {
		return
	}
	drawn := p.here.Answers[0][0]
	groupOf := make(map[string]string) // by member
	for _, g := range t.Groups {
		for _, m := range g.Members {
			groupOf[m.Member] = g.Name
		}
	}
	alias := func(name string) string { return strings.ToLower(dns.Fqdn(name)) }
	toGroups := slices.ContainsFunc(c.Members, func(m records.Candidate) bool {
		return m.Verdict == records.VerdictTaken && drawn == alias(groupOf[m.Member])
	})
	for i := range c.Members {
		switch m := &c.Members[i]; {
		case m.Verdict != records.VerdictNotDrawn || m.Share == 0:
		case toGroups:
			p.addAnswer([]string{alias(groupOf[m.Member])})
		default:
			p.addAnswer([]string{alias(m.Member)})
		}
	}
}

// addDraw adds what our answer would end with if the draw had fallen on a member.
func (p *pair) addDraw(of *records.TreeMember, name string, depth int) {
	if set := p.best(of); len(set) > 0 && !strings.HasPrefix(set[0], "CNAME ") {
		p.addAnswer(set)
		return
	}
	x := (*records.Explanation)(nil)
	if depth < mostDrawn {
		x = p.sees.Explain(name)
	}
	if x == nil { // it lies elsewhere
		p.addAnswer([]string{"CNAME " + name})
		return
	}
	ends := ours(x).Answers
	if len(ends) == 0 { // it leads to a name without such data
		ends = [][]string{{"CNAME " + name}}
	}
	for _, set := range ends {
		p.addAnswer(set)
	}
	p.addDraws(x, depth+1)
}

func (p *pair) addAnswer(set []string) {
	if len(p.here.Answers) < mostAnswers && !slices.ContainsFunc(p.here.Answers, func(a []string) bool { return slices.Equal(a, set) }) {
		p.here.Answers = append(p.here.Answers, set)
	}
}

// member returns what a tree says of a member; nil for nothing.
func (p *pair) member(s *records.Step, name string) *records.TreeMember {
	t := p.sees.Tree(s.At)
	if t == nil {
		return nil
	}
	for i := range t.Groups {
		for j := range t.Groups[i].Members {
			if m := &t.Groups[i].Members[j]; m.Member == name {
				return m
			}
		}
	}
	return nil
}

// best returns the addresses that a member answers with: those of its best class (rule 4.6).
func (p *pair) best(m *records.TreeMember) (set []string) {
	if m == nil {
		return nil
	}
	class := ""
	for _, a := range m.Addresses {
		text := a.Address
		if addr, err := netip.ParseAddr(text); err != nil {
			text = "CNAME " + text
		} else if addr.Is4() != (p.x.Type == "A") {
			continue
		}
		switch order := records.CompareClasses(a.Class, class); {
		case class == "" || order < 0:
			class, set = a.Class, []string{text}
		case order == 0:
			set = append(set, text)
		}
	}
	slices.Sort(set)
	return set
}
