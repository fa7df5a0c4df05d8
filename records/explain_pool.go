package records

import (
	"cmp"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/health"
)

// Choice is one draw among the members of a name (rule 4.6).
type Choice struct {
	// Group is the geo code that the name asked stands for, where that is the name of one
	// group; "" for no limit.
	Group string `json:"group,omitempty"`
	// Class and Match are those that the draw came to: what the health of the members drawn
	// from is, and how near they are. They are "" where there was none to draw.
	Class string `json:"class,omitempty"`
	Match Match  `json:"match,omitempty"`
	// Members are all of the name, in the order of their objects' age.
	Members []Candidate `json:"members"`
}

// Match says how a member's geo code fits the client, from the most specific on (rules
// 3.2 and 3.3).
type Match string

// The matches, in the order in which they are preferred.
const (
	MatchAS          Match = "as"
	MatchSubdivision Match = "subdivision"
	MatchCountry     Match = "country"
	MatchContinent   Match = "continent"
	MatchDefault     Match = "default" // of clients that match no other
	MatchOther       Match = "other"   // all others
)

// Candidate is one member in a draw.
type Candidate struct {
	// Member is its set identifier: the name of its addresses, or its hostname.
	Member string `json:"member"`
	// Owner has the member, and Gateway is the namespace/name of where its addresses come
	// from; "" for objects that are not about Gateways.
	Owner   Object `json:"owner"`
	Gateway string `json:"gateway,omitempty"`
	// Geo is its code, "*" where it has none; Match is how that fits the client.
	Geo   string `json:"geo"`
	Match Match  `json:"match"`
	// Weight is as its object says, 0 for one that is drained.
	Weight uint64 `json:"weight"`
	// Class is how good it was, as an address's class is; "" where nobody looked.
	Class string `json:"class,omitempty"`
	// Share is the part of the draws that fall on it, from 0 to 1, for clients at the same
	// place while the health stays the same.
	Share float64 `json:"share"`
	// Verdict says whether it was taken, and if not why.
	Verdict Verdict `json:"verdict"`
}

// Verdict says why a member was taken, or not.
type Verdict string

// The verdicts, each for what kept the member from being taken first.
const (
	VerdictTaken    Verdict = "taken"
	VerdictNotDrawn Verdict = "not-drawn" // as good and as near, and the draw fell on another
	VerdictFarther  Verdict = "farther"   // another one as good is nearer
	VerdictWorse    Verdict = "worse"     // another one is of a better class
	VerdictBounded  Verdict = "bounded"   // kuadrant.io/geo-fallback does not let answers go so far
	VerdictFamily   Verdict = "family"    // it has nothing of the type that is asked for
	VerdictGroup    Verdict = "group"     // the name asked is that of another group
	VerdictTried    Verdict = "tried"     // its hostname leads to no such data here
)

// AddressState is one address, or a hostname, with what is known of it.
type AddressState struct {
	// Address is the address, or the hostname.
	Address string `json:"address"`
	// Class is how good it was: up, unknown, drained, drained-unknown, down, drained-down or forced-down, the best first.
	// Answered tells whether it is in the answer.
	Class    string `json:"class"`
	Answered bool   `json:"answered,omitempty"`
	// Word is what was said of it, or of its Gateway, before any check: up, drain, down, or
	// "not programmed"; "" for nothing. It is the one that counts.
	Word string `json:"word,omitempty"`
	// Beside is what was said of its Gateway besides, in the same words.
	Beside []string `json:"beside,omitempty"`
	// Checks are what is checked of it; empty where nothing is.
	Checks []CheckState `json:"checks,omitempty"`
}

// CheckState is what one check has found, at the moment of the explanation.
type CheckState struct {
	// Target is what is asked, as a URL, and Host is who is meant, both "" for the status of a probe that somebody else
	// writes.
	Target string `json:"target,omitempty"`
	Host   string `json:"host,omitempty"`
	// State is up, unknown or down; Pending is true until the first check has ended.
	State   string `json:"state"`
	Pending bool   `json:"pending,omitempty"`
	// Reason says why the last check did not succeed; Status is its HTTP status, 0 for none.
	Reason string `json:"reason,omitempty"`
	Status int    `json:"status,omitempty"`
	// Failures and Successes are those in a row, up to 4095.
	Failures  int `json:"failures"`
	Successes int `json:"successes"`
}

// explainer knows what the cells of one owner's members belong to.
type explainer struct {
	snapshot *Snapshot
	targets  map[*health.Cell]*health.Target
}

// targetsOf returns the targets that are checked for the group of names of a claim.
func (s *Snapshot) targetsOf(c *claim) map[*health.Cell]*health.Target {
	g, ok := s.groups.Get(groupKey(c.host))
	if !ok {
		return nil
	}
	all := make(map[*health.Cell]*health.Target, len(g.checks))
	for _, key := range g.checks {
		if t, ok := s.checks.Get(key); ok {
			all[t.Cell] = t
		}
	}
	return all
}

// choice says what came of one draw.
func (x *explainer) choice(c *choice, d *draw) Choice {
	made := Choice{Members: make([]Candidate, 0, len(d.pool.members))}
	if d.only != anyGroup {
		made.Group = d.pool.codeOf(d.only)
	}
	if d.chosen != nil {
		made.Class, made.Match = d.rank.class().String(), matchOf(d.rank.near())
	}
	for i := range d.pool.members {
		made.Members = append(made.Members, d.candidate(i))
	}
	return made
}

// codeOf returns the code of a group as it is shown.
func (p *Pool) codeOf(g int32) string {
	if code := p.groups[g].code; code != "" {
		return code
	}
	return anyGeo
}

// candidate says what came of the i-th member.
func (d *draw) candidate(i int) Candidate {
	m := &d.pool.members[i]
	near := d.pool.groupRank(m.group, d.codes)
	c := Candidate{
		Member: trimDot(m.target), Owner: ownerOf(m.claim), Gateway: gatewayName(m.claim),
		Geo: d.pool.codeOf(m.group), Match: matchOf(near), Weight: m.weight,
	}
	class := d.classes[i]
	if class != unseen {
		c.Class = class.String()
	}
	switch {
	case m == d.chosen:
		c.Verdict, c.Share = VerdictTaken, d.share(m)
	case !d.pool.candidate(m, d.fam):
		c.Verdict = VerdictFamily
	case d.only != anyGroup && m.group != d.only:
		c.Verdict = VerdictGroup
	case d.tried.has(i):
		c.Verdict = VerdictTried
	case near > d.farthest:
		c.Verdict = VerdictBounded
	case rankOf(class, near) == d.rank:
		c.Verdict, c.Share = VerdictNotDrawn, d.share(m)
	case near > d.rank.near() && ranks[class].class == ranks[d.rank.class()].class:
		c.Verdict = VerdictFarther
	default:
		c.Verdict = VerdictWorse
	}
	return c
}

// share returns the part of the draws that fall on a member of the rank that was drawn from.
func (d *draw) share(m *member) float64 { return float64(m.share()) / float64(d.total) }

// set says how the addresses of a set are that are asked for.
func (x *explainer) set(set *addressSet, h *hop) []AddressState {
	if h.judged != nil {
		return x.judged(h.judged)
	}
	fam, ok := familyOf(h.rtype)
	switch {
	case set.alias():
		return x.unsaid(set.rrs, WeightedUp, 0)
	case !ok:
		return nil
	}
	rrs, _ := set.answer(fam, nil) // nothing is said of them, so this is the same as before
	return x.unsaid(rrs, WeightedUp, 0)
}

// taken says how the addresses of the member are that a choice came to.
func (x *explainer) taken(c *choice) []AddressState {
	if len(c.draws) == 0 {
		return nil
	}
	last := c.draws[len(c.draws)-1]
	m := last.chosen
	if m == nil {
		return nil
	}
	class := last.rank.class()
	switch {
	case c.judged != nil:
		return x.judged(c.judged)
	case m.leaf == nil && m.vitals != nil:
		return []AddressState{x.address(trimDot(m.target), m.vitals[0], class, true)}
	case m.leaf == nil:
		a := AddressState{Address: trimDot(m.target), Class: class.String(), Answered: true}
		a.say(m.word.Load())
		return []AddressState{a}
	}
	return x.unsaid(m.answer(c.fam)[m.cnames:], class, m.word.Load())
}

// judged says how addresses are of which something was found.
func (x *explainer) judged(j *judged) []AddressState {
	all := make([]AddressState, len(j.rrs))
	for i, rr := range j.rrs {
		all[i] = x.address(dataOf(rr), j.vitals[i], j.class(i), j.class(i) == j.lowest)
	}
	return all
}

// unsaid says of addresses that nothing is said of them but what is of their Gateway, whose cell holds w.
func (x *explainer) unsaid(rrs []dns.RR, class Class, w health.Word) []AddressState {
	all := make([]AddressState, len(rrs))
	for i, rr := range rrs {
		all[i] = AddressState{Address: dataOf(rr), Class: class.String(), Answered: true}
		all[i].say(w)
	}
	return all
}

// dataOf returns the address, or the name, that a record holds.
func dataOf(rr dns.RR) string {
	switch rr := rr.(type) {
	case *dns.A:
		return rr.A.String()
	case *dns.AAAA:
		return rr.AAAA.String()
	case *dns.CNAME:
		return trimDot(rr.Target)
	}
	return rr.String()
}

// address says what is known of one address.
func (x *explainer) address(address string, v vital, class Class, answered bool) AddressState {
	a := AddressState{Address: address, Class: class.String(), Answered: answered}
	a.say(v.gateway.Load())
	cells := []*health.Cell{v.check}
	if v.joined != nil {
		cells = append(cells, v.joined.cells...)
	}
	for _, cell := range cells {
		w := cell.Load()
		switch o := w.Override(); {
		case o != health.NoOverride: // on the address itself, which goes before all else
			if a.Word != "" {
				a.Beside = append([]string{a.Word}, a.Beside...)
			}
			a.Word = o.String()
			a.Checks = append(a.Checks, x.checksBeneath(address)...)
		case cell != nil:
			a.Checks = append(a.Checks, x.check(cell, w))
		}
	}
	slices.SortStableFunc(a.Checks, func(a, b CheckState) int { return int(stateRank(b.State)) - int(stateRank(a.State)) })
	return a
}

// stateRank returns the state that a word means.
func stateRank(word string) health.State {
	s, _ := health.ParseState(word)
	return s
}

// NotProgrammed is AddressState.Word of addresses whose Gateway is not programmed.
const NotProgrammed = "not programmed"

// say adds what a Gateway's cell says.
func (a *AddressState) say(w health.Word) {
	if o := w.Override(); o != health.NoOverride {
		a.Word = o.String()
	}
	switch {
	case w.Found() != health.Down:
	case a.Word == "":
		a.Word = NotProgrammed
	default:
		a.Beside = append(a.Beside, NotProgrammed)
	}
}

// checksBeneath returns what checks find of an address of which the operator has said something: they go on beneath that.
func (x *explainer) checksBeneath(address string) (all []CheckState) {
	for cell, t := range x.targets {
		if t.Address == address {
			all = append(all, x.check(cell, cell.Load()))
		}
	}
	slices.SortFunc(all, func(a, b CheckState) int {
		return cmp.Or(strings.Compare(a.Target, b.Target), strings.Compare(a.Host, b.Host))
	})
	return all
}

// check says what one check has found.
func (x *explainer) check(cell *health.Cell, w health.Word) CheckState {
	c := StateOf(w)
	if t := x.targets[cell]; t != nil {
		c.Target, c.Host = t.URL(), t.Host
	} else {
		c.Pending = false // the status of a probe, which others write
	}
	return c
}

// StateOf says what a check has found whose cell holds w, without its target.
func StateOf(w health.Word) CheckState {
	return CheckState{
		State: w.State().String(), Pending: !w.Known(), Reason: w.Reason().String(), Status: w.Status(),
		Failures: w.Failures(), Successes: w.Successes(),
	}
}
