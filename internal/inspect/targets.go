package inspect

import (
	"slices"
	"strings"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// Target is one check of an address.
type Target struct {
	// Address is an IP address, or a hostname.
	Address string `json:"address"`
	records.CheckState
	// Override is the override of the address: up or down.
	Override string `json:"word,omitempty"`
	// Interval is the time between checks, such as 30s. FailureThreshold and SuccessThreshold are how many in a row decide.
	Interval         string `json:"interval"`
	FailureThreshold int    `json:"failureThreshold"`
	SuccessThreshold int    `json:"successThreshold"`
}

// TargetPage is one page of targets.
type TargetPage struct {
	// Counts counts each target once, by state: up, unknown, down, pending.
	Counts map[string]int `json:"counts"`
	// Targets are the first, worst ones first.
	Targets []Target `json:"targets"`
	// More is how many more there are.
	More int `json:"more,omitempty"`
}

// StatePending is a filter's state of targets whose first check has not ended. Answers treat them as up.
const StatePending = "pending"

// TargetStates are the states for a filter of targets.
var TargetStates = []string{health.Up.String(), health.Unknown.String(), health.Down.String(), StatePending}

// Targets returns the checked targets, the worst first, then by URL and host. state is up, unknown,
// down or pending, and contains a part of the target or host; "" for all. limit is as in Filter. The
// error is a *RequestError.
func (v *View) Targets(state, contains string, limit int) (*TargetPage, error) {
	if state != "" && !slices.Contains(TargetStates, state) {
		return nil, wrong("state", "%.40q is none of %s", state, strings.Join(TargetStates, ", "))
	}
	limit, err := pageSize(limit)
	if err != nil {
		return nil, err
	}
	part, err := parsePart(contains)
	if err != nil {
		return nil, err
	}
	counts := make(map[string]int)
	var worst [1 + int(health.Down) + 1][]seenTarget // by rank; of each no more than a page
	found := 0
	for _, t := range v.Snapshot.Checks().All() { // by URL, then host
		w := t.Cell.Load()
		is := stateOfWord(w)
		counts[is]++
		if state != "" && is != state || part != "" && !strings.Contains(strings.ToLower(t.URL()), part) &&
			!strings.Contains(t.Host, part) {
			continue
		}
		found++
		if rank := rankOf(w); len(worst[rank]) < limit {
			worst[rank] = append(worst[rank], seenTarget{t, w})
		}
	}
	page := &TargetPage{Targets: []Target{}, Counts: counts}
	words := v.Snapshot.Objects().Overrides
	for _, all := range slices.Backward(worst[:]) {
		for _, t := range all[:min(len(all), limit-len(page.Targets))] {
			page.Targets = append(page.Targets, t.describe(words, v.Since))
		}
	}
	page.More = found - len(page.Targets)
	return page, nil
}

// seenTarget is a target with its cell's value when read.
type seenTarget struct {
	*health.Target
	word health.Value
}

// describe describes a target. words are the operator's overrides; nil for none. since is View's.
func (t seenTarget) describe(words *api.Overrides, since func(string) time.Time) Target {
	s := records.StateOf(t.word)
	s.Target, s.Host = t.URL(), t.Host
	if since != nil {
		s.Since = since(t.Key()).UTC()
	}
	return Target{
		Address: t.Address, CheckState: s, Override: words.Target(t.Address),
		Interval: t.Interval.String(), FailureThreshold: t.FailureThreshold, SuccessThreshold: t.SuccessThreshold,
	}
}

// stateOfWord returns the state of a check in a filter's terms.
func stateOfWord(w health.Value) string {
	if !w.Known() {
		return StatePending
	}
	return w.State().String()
}

// rankOf is higher the worse a target is: an unknown one ranks above those that are up.
func rankOf(w health.Value) int {
	switch s := w.State(); {
	case !w.Known():
		return 1
	case s == health.Up:
		return 0
	default:
		return 1 + int(s)
	}
}
