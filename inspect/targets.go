package inspect

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// Target is one address that is checked.
type Target struct {
	// Address is an IP address, or a hostname.
	Address string `json:"address"`
	records.CheckState
	// Word is what the operator says of the address: up or down, whatever checks find; "" for nothing.
	Word string `json:"word,omitempty"`
	// Interval is how long after one check the next begins, such as 30s; FailureThreshold and
	// SuccessThreshold are how many in a row decide.
	Interval         string `json:"interval"`
	FailureThreshold int    `json:"failureThreshold"`
	SuccessThreshold int    `json:"successThreshold"`
}

// TargetPage is one page of targets, with how many there are of each state in all.
type TargetPage struct {
	// Counts has the states up, unknown, down and pending. One that is pending is none of the others.
	Counts map[string]int `json:"counts"`
	// Targets are the worst ones, and those that are as good by URL and host.
	Targets []Target `json:"targets"`
	// More is how many there are besides.
	More int `json:"more,omitempty"`
}

// TargetCounts is how many targets there are of each state. One that is pending, whose first check has not ended, is none
// of the others.
type TargetCounts struct{ Up, Unknown, Down, Pending int }

// Of returns how many there are in all.
func (c TargetCounts) Of() int { return c.Up + c.Unknown + c.Down + c.Pending }

// add counts a target whose cell holds w.
func (c *TargetCounts) add(w health.Word) {
	switch s := w.State(); {
	case !w.Known():
		c.Pending++
	case s == health.Down:
		c.Down++
	case s == health.Unknown:
		c.Unknown++
	default:
		c.Up++
	}
}

// byState returns those that there are, by the words for them.
func (c TargetCounts) byState() map[string]int {
	all := map[string]int{"up": c.Up, "unknown": c.Unknown, "down": c.Down, StatePending: c.Pending}
	maps.DeleteFunc(all, func(_ string, n int) bool { return n == 0 })
	return all
}

// TargetCounts counts the targets. It looks at each.
func (v *View) TargetCounts() (n TargetCounts) {
	for _, t := range v.Snapshot.Checks().All() {
		n.add(t.Cell.Load())
	}
	return n
}

// StatePending is the state, in a filter, of targets whose first check has not ended. They are answered as if they were up.
const StatePending = "pending"

// Targets returns what is checked, the worst first, then by URL and host. state is up, unknown, down or
// pending, and contains a part of the target or host; "" is all. limit is that of Filter. The
// error is a *RequestError.
func (v *View) Targets(state, contains string, limit int) (*TargetPage, error) {
	if _, ok := health.ParseState(state); !ok && state != "" && state != StatePending {
		return nil, wrong("state", "%.40q is none of %s, %s, %s and %s", state, health.Up, health.Unknown, health.Down, StatePending)
	}
	limit, err := pageSize(limit)
	if err != nil {
		return nil, err
	}
	part, err := parsePart(contains)
	if err != nil {
		return nil, err
	}
	var counts TargetCounts
	page := &TargetPage{Targets: []Target{}}
	words := v.Snapshot.Objects().Overrides
	for _, t := range v.Snapshot.Checks().All() {
		w := t.Cell.Load()
		counts.add(w)
		s := records.StateOf(w)
		if state != "" && checkStateOf(&s) != state || !strings.Contains(strings.ToLower(t.URL()), part) && !strings.Contains(t.Host, part) {
			continue
		}
		s.Target, s.Host = t.URL(), t.Host
		page.Targets = append(page.Targets, Target{
			Address: t.Address, CheckState: s, Word: words.Target(t.Address),
			Interval: t.Interval.String(), FailureThreshold: t.FailureThreshold, SuccessThreshold: t.SuccessThreshold,
		})
	}
	page.Counts = counts.byState()
	slices.SortFunc(page.Targets, compareTargets)
	if len(page.Targets) > limit {
		page.More = len(page.Targets) - limit
		page.Targets = slices.Clip(page.Targets[:limit])
	}
	return page, nil
}

// checkStateOf returns the state of a check as a filter has it.
func checkStateOf(c *records.CheckState) string {
	if c.Pending {
		return StatePending
	}
	return c.State
}

// rankOf is higher the worse a target is: one of which nothing is known stands before those that are up.
func rankOf(t *Target) int {
	s, _ := health.ParseState(t.State)
	switch {
	case s == health.Up && !t.Pending:
		return 0
	case t.Pending:
		return 1
	}
	return 1 + int(s)
}

func compareTargets(a, b Target) int {
	return cmp.Or(cmp.Compare(rankOf(&b), rankOf(&a)), strings.Compare(a.Target, b.Target), strings.Compare(a.Host, b.Host))
}
