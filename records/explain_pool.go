package records

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/status"
)

// Choice is one draw among the members of a name (rule 4.6).
type Choice struct {
	// Group is the geo code, if the name asked is that of one geo group.
	Group string `json:"group,omitempty"`
	// Class is the state of the members drawn from. Match is how near they are.
	Class string     `json:"class,omitempty"`
	Match pool.Match `json:"match,omitempty"`
	// Members are all of the name, oldest object first.
	Members []Candidate `json:"members"`
}

// Candidate is one member in a draw.
type Candidate struct {
	// Member is its set identifier, the end of its chain.
	Member string `json:"member"`
	// Owner is its object. Gateway is its namespace/name.
	Owner   status.Object `json:"owner"`
	Gateway string        `json:"gateway,omitempty"`
	// Geo is its code, or "*".
	Geo string `json:"geo"`
	// Weight is the object's; 0 drains.
	Weight uint64 `json:"weight"`
	// Priority is its place, the lower first (rule 9.1).
	Priority uint8 `json:"priority,omitempty"`
	pool.Outcome
}

// AddressState is the state of one address or hostname.
type AddressState struct {
	// Address is the address or hostname.
	Address string `json:"address"`
	// Class is up, unchecked (counts as up without a result), unknown, drained, drained-unknown, down, drained-down or forced-down, the
	// best first. Answered reports whether it is in the answer.
	Class    string `json:"class"`
	Answered bool   `json:"answered,omitempty"`
	// Override is what overrides checks: up, drain, down, or "not programmed".
	Override string `json:"word,omitempty"`
	// Beside are weaker words about its Gateway.
	Beside []string `json:"beside,omitempty"`
	// Objects are those that publish it, the oldest first, where objects that have no members share a host (rule 5.6).
	Objects []status.Object `json:"objects,omitempty"`
	// Annotation is the Gateway's annotation that it comes from.
	Annotation string `json:"annotation,omitempty"`
	// Checks are its checks.
	Checks []CheckState `json:"checks,omitempty"`
}

// CheckState is what one check has found.
type CheckState struct {
	// Target is a URL. Host is the name that the check sends. Both are "" for a probe of another controller.
	Target string `json:"target,omitempty"`
	Host   string `json:"host,omitempty"`
	// State is up, unknown or down. Pending reports whether the first check has not ended yet.
	State   string `json:"state"`
	Pending bool   `json:"pending,omitempty"`
	// Reason says why the last check failed. Status is its HTTP status.
	Reason string `json:"reason,omitempty"`
	Status int    `json:"status,omitempty"`
	// Failures and Successes count those in a row, up to 4095.
	Failures  int `json:"failures"`
	Successes int `json:"successes"`
	// Since is since when the state is so, where somebody knows: a snapshot does not.
	Since time.Time `json:"since,omitzero"`

	of *health.Target // nil for none
}

// Key returns the key of the checked target; "" for none.
func (c *CheckState) Key() string {
	if c.of == nil {
		return ""
	}
	return c.of.Key()
}

// explainer has, for one owner's host, the targets of cells, the annotations that addresses come from (rule 9.6), and the objects, where
// several unite their addresses (rule 5.6).
type explainer struct {
	snapshot    *Snapshot
	targets     map[*health.Cell]*health.Target
	annotations map[string]string
	objects     map[string][]status.Object
}

// explainer returns that of the contender's group of names.
func (s *Snapshot) explainer(c *endpoint.Contender) explainer {
	x := explainer{s, make(map[*health.Cell]*health.Target), make(map[string]string), nil}
	g, ok := s.NameGroups.Get(endpoint.GroupKey(c.Host))
	if !ok {
		return x
	}
	for _, key := range g.Checks {
		if t, ok := s.Checked.Get(key); ok {
			x.targets[t.Cell] = t
		}
	}
	for _, c := range g.Contenders {
		if t := c.Targets; t != nil && t.Annotation != "" && !g.Loses(c) {
			for address := range t.All() {
				x.annotations[address] = t.Annotation
			}
		}
	}
	if sharing := uniting(g, c.Host); len(sharing) > 1 {
		x.objects = make(map[string][]status.Object)
		for _, c := range sharing {
			for address := range c.Targets.All() {
				x.objects[address] = append(x.objects[address], status.OwnerOf(c))
			}
		}
	}
	return x
}

// uniting returns the contenders of a host without members, the oldest first, that are served.
func uniting(g *status.NameGroup, host string) (all []*endpoint.Contender) {
	for _, c := range g.Contenders {
		if c.Host == host && c.Targets != nil && !c.Pools() && !g.Loses(c) {
			all = append(all, c)
		}
	}
	return all
}

// choiceOf describes one draw among the members of p.
func choiceOf(p *pool.Pool, d *pool.Draw) Choice {
	made := Choice{Group: d.Group(), Members: make([]Candidate, len(p.Members))}
	for i := range p.Members {
		m, o := &p.Members[i], d.Of(i)
		made.Members[i] = Candidate{
			Member: endpoint.TrimDot(m.ID), Owner: status.ObjectOf(m.Of.Kind, m.Of.Object), Gateway: gatewayName(m),
			Geo: p.Groups[m.Group].Geo(), Weight: m.Weight, Priority: m.Priority, Outcome: o,
		}
		if o.Verdict == pool.VerdictTaken || o.Verdict == pool.VerdictClosed {
			made.Class, made.Match = o.Class, o.Match
		}
	}
	return made
}

// gatewayName returns the namespace/name of the Gateway that a member's addresses come from; "" for none.
func gatewayName(m *pool.Member) string {
	if m.Of.Gateway == nil {
		return ""
	}
	return m.Of.Gateway.Name
}

// judged describes the state of the addresses that an answer was made of.
func (x *explainer) judged(j pool.Judged) []AddressState {
	all := make([]AddressState, len(j.RRs))
	for i, rr := range j.RRs {
		cells, class, answered := j.Of(i)
		all[i] = x.address(dataOf(rr), cells, class, answered)
	}
	return all
}

// dataOf returns the address or name that a record holds.
func dataOf(rr dns.RR) string {
	switch rr := rr.(type) {
	case *dns.A:
		return rr.A.String()
	case *dns.AAAA:
		return rr.AAAA.String()
	case *dns.CNAME:
		return endpoint.TrimDot(rr.Target)
	}
	return rr.String()
}

// address describes what is known of one address.
func (x *explainer) address(address string, cells pool.Cells, class pool.Class, answered bool) AddressState {
	a := AddressState{Address: address, Class: class.Shown(cells.Unchecked()), Answered: answered, Objects: x.objects[address], Annotation: x.annotations[address]}
	a.say(cells.Gateway.Load())
	for _, cell := range cells.Checks() {
		w := cell.Load()
		switch o := w.Override(); {
		case o != health.NoOverride: // on the address itself: it comes first
			if a.Override != "" {
				a.Beside = append([]string{a.Override}, a.Beside...)
			}
			a.Override = o.String()
			a.Checks = append(a.Checks, x.checksBeneath(address)...)
		default:
			a.Checks = append(a.Checks, x.check(cell, w))
		}
	}
	slices.SortStableFunc(a.Checks, func(a, b CheckState) int { return int(stateRank(b.State)) - int(stateRank(a.State)) })
	return a
}

// stateRank returns the state for a word.
func stateRank(word string) health.State {
	s, _ := health.ParseState(word)
	return s
}

// NotProgrammed is AddressState.Word of addresses whose Gateway is not programmed.
const NotProgrammed = "not programmed"

// say adds what a Gateway's cell holds.
func (a *AddressState) say(w health.Value) {
	if o := w.Override(); o != health.NoOverride {
		a.Override = o.String()
	}
	switch {
	case w.Found() != health.Down:
	case a.Override == "":
		a.Override = NotProgrammed
	default:
		a.Beside = append(a.Beside, NotProgrammed)
	}
}

// checksBeneath returns the results of an overridden address's checks, which continue under the override.
func (x *explainer) checksBeneath(address string) (all []CheckState) {
	for cell, t := range x.targets {
		if t.Address == address {
			all = append(all, x.check(cell, cell.Load()))
		}
	}
	slices.SortFunc(all, func(a, b CheckState) int {
		return cmp.Or(strings.Compare(a.Target, b.Target), strings.Compare(a.Host, b.Host), strings.Compare(a.Key(), b.Key()))
	})
	return all
}

// check describes the result of one check.
func (x *explainer) check(cell *health.Cell, w health.Value) CheckState {
	c := StateOf(w)
	if t := x.targets[cell]; t != nil {
		c.Target, c.Host, c.of = t.URL(), t.Host, t
	} else {
		c.Pending = false // a probe's status, which another controller writes
	}
	return c
}

// StateOf returns the state of a check whose cell holds w, without its target.
func StateOf(w health.Value) CheckState {
	return CheckState{
		State: w.State().String(), Pending: !w.Known(), Reason: w.Reason().String(), Status: w.Status(),
		Failures: w.Failures(), Successes: w.Successes(),
	}
}
