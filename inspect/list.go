package inspect

import (
	"cmp"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// Zone is one zone that is served. Names have no final dot.
type Zone struct {
	Name   string `json:"name"`
	Serial uint32 `json:"serial"`
	// Names is how many have data, as View.Names lists them.
	Names int `json:"names"`
	// Conflicts is how many objects want a name that another one has.
	Conflicts int `json:"conflicts"`
	// Held is how many names have something that is held back (rule 8.5).
	Held int `json:"held"`
	// Open is true where every namespace may publish, as nothing says who may.
	Open bool `json:"open,omitempty"`
}

// Zones returns the zones, in the order of their names.
func (v *View) Zones() []Zone {
	open := make(map[string]bool)
	for _, origin := range v.Snapshot.Open() {
		open[origin] = true
	}
	all := make([]Zone, 0, len(v.Snapshot.Zones()))
	for _, z := range v.Snapshot.Zones() {
		all = append(all, Zone{
			Name: trim(z.Origin()), Serial: z.Serial(), Names: z.Listed(), Conflicts: z.Conflicts(),
			Held: v.Held[z.Origin()], Open: open[z.Origin()],
		})
	}
	slices.SortFunc(all, func(a, b Zone) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Filter says which names are listed.
type Filter struct {
	// Zone limits the list to one zone; "" is all.
	Zone string
	// Contains is a part of the names, in any case; "" is all.
	Contains string
	// State limits the list to names that are "failing" (for somebody nothing is up), "impaired"
	// (something is down or not decided) or "contended"; "" is all.
	State string
	// After is the last name of the page before, and Limit how many names a page has: from 1 to
	// MaxPage; 0 is DefaultPage.
	After string
	Limit int
}

// The sizes of pages, in entries.
const (
	DefaultPage = 100
	MaxPage     = 1000
)

// The values of Filter.State.
const (
	StateFailing   = "failing"
	StateImpaired  = "impaired"
	StateContended = "contended"
)

// NamePage is one page of names.
type NamePage struct {
	Names []records.NameState `json:"names"`
	// Next is Filter.After of the next page; "" where there is none.
	Next string `json:"next,omitempty"`
}

// Names returns one page of the names with data, zone by zone, in the order of their spelling.
// The error is a *RequestError.
func (v *View) Names(f Filter) (*NamePage, error) {
	zones, err := v.zonesOf(f.Zone)
	if err != nil {
		return nil, err
	}
	limit, err := pageSize(f.Limit)
	if err != nil {
		return nil, err
	}
	contains, keep, err := f.keep()
	if err != nil {
		return nil, err
	}
	page := &NamePage{Names: []records.NameState{}}
	zones, from, err := v.resume(zones, f.After)
	if err != nil {
		return nil, err
	}
	for _, z := range zones {
		for n := range v.Snapshot.Names(z, from, contains) {
			if n.Name == trim(from) || !keep(&n) {
				continue
			}
			if len(page.Names) == limit {
				page.Next = page.Names[limit-1].Name
				return page, nil
			}
			page.Names = append(page.Names, n)
		}
		from = ""
	}
	return page, nil
}

// zonesOf returns the zones that a filter means, in the order of their names.
func (v *View) zonesOf(zone string) ([]*records.Zone, error) {
	all := slices.SortedFunc(slices.Values(v.Snapshot.Zones()), func(a, b *records.Zone) int { return strings.Compare(a.Origin(), b.Origin()) })
	if zone == "" {
		return all, nil
	}
	name, err := ParseName(zone)
	if err != nil {
		return nil, wrong("zone", "%.100q is not a domain name", zone)
	}
	i := slices.IndexFunc(all, func(z *records.Zone) bool { return z.Origin() == name })
	if i < 0 {
		return nil, missing("zone", "%s is no zone that is served here: the zones are %s", trim(name), v.zoneNames())
	}
	return all[i : i+1], nil
}

// resume returns the zones from the one on that the name after lies in, and that name.
func (v *View) resume(zones []*records.Zone, after string) ([]*records.Zone, string, error) {
	if after == "" {
		return zones, "", nil
	}
	name, err := ParseName(after)
	if err != nil {
		return nil, "", wrong("after", "%.100q is not the last name of a page", after)
	}
	in := v.Snapshot.Zone(name)
	i := slices.Index(zones, in)
	if in == nil || i < 0 {
		return nil, "", wrong("after", "%.100q is not the last name of a page", after)
	}
	return zones[i:], name, nil
}

// pageSize returns how many entries a page has.
func pageSize(limit int) (int, error) {
	if limit < 0 || limit > MaxPage {
		return 0, wrong("limit", "%d is not from 1 to %d", limit, MaxPage)
	}
	return cmp.Or(limit, DefaultPage), nil
}

// keep returns what a name has to have in it, and what tells whether its state is asked for.
func (f *Filter) keep() (contains string, state func(*records.NameState) bool, err error) {
	switch f.State {
	case "":
		state = func(*records.NameState) bool { return true }
	case StateFailing:
		state = func(n *records.NameState) bool { return n.FailsOpen != "" }
	case StateImpaired:
		state = func(n *records.NameState) bool { return n.FailsOpen != "" || n.Addresses.Down+n.Addresses.Unknown > 0 }
	case StateContended:
		state = func(n *records.NameState) bool { return n.Losers > 0 }
	default:
		return "", nil, wrong("state", "%.40q is none of %s, %s and %s", f.State, StateFailing, StateImpaired, StateContended)
	}
	return strings.ToLower(strings.TrimSpace(f.Contains)), state, nil
}

// Tree returns what one name is made of. The error is a *RequestError.
func (v *View) Tree(name string) (*records.Tree, error) {
	host, err := ParseName(name)
	if err != nil {
		return nil, err
	}
	if _, err := v.zone(host, 0); err != nil {
		return nil, err
	}
	t, ok := v.Snapshot.Tree(host)
	if !ok {
		return nil, missing("name", "%s has no data", trim(host))
	}
	return t, nil
}

// Target is one address that is checked.
type Target struct {
	Address string `json:"address"`
	records.CheckState
	// Interval is how long after one check the next begins, such as 30s; FailureThreshold and
	// SuccessThreshold are how many in a row decide.
	Interval         string `json:"interval"`
	FailureThreshold int    `json:"failureThreshold"`
	SuccessThreshold int    `json:"successThreshold"`
}

// TargetPage is one page of targets, with how many there are of each state in all.
type TargetPage struct {
	Counts  map[string]int `json:"counts"`
	Targets []Target       `json:"targets"`
	// More is how many there are besides.
	More int `json:"more,omitempty"`
}

// Targets returns what is checked, the worst first, then by URL and host. state is up, unknown or
// down, and contains a part of the target or host; "" is all. limit is that of Filter. The
// error is a *RequestError.
func (v *View) Targets(state, contains string, limit int) (*TargetPage, error) {
	if _, ok := health.ParseState(state); !ok && state != "" {
		return nil, wrong("state", "%.40q is none of %s, %s and %s", state, health.Up, health.Unknown, health.Down)
	}
	limit, err := pageSize(limit)
	if err != nil {
		return nil, err
	}
	part := strings.ToLower(strings.TrimSpace(contains))
	page := &TargetPage{Counts: make(map[string]int), Targets: []Target{}}
	for _, t := range v.Snapshot.Checks().All() {
		s := records.StateOf(t.Cell.Load())
		page.Counts[s.State]++
		if state != "" && s.State != state || !strings.Contains(t.URL(), part) && !strings.Contains(t.Host, part) {
			continue
		}
		s.Target, s.Host = t.URL(), t.Host
		page.Targets = append(page.Targets, Target{
			Address: t.Address, CheckState: s,
			Interval: t.Interval.String(), FailureThreshold: t.FailureThreshold, SuccessThreshold: t.SuccessThreshold,
		})
	}
	slices.SortFunc(page.Targets, compareTargets)
	if len(page.Targets) > limit {
		page.More = len(page.Targets) - limit
		page.Targets = slices.Clip(page.Targets[:limit])
	}
	return page, nil
}

func compareTargets(a, b Target) int {
	stateA, _ := health.ParseState(a.State)
	stateB, _ := health.ParseState(b.State)
	return cmp.Or(cmp.Compare(stateB, stateA), strings.Compare(a.Target, b.Target), strings.Compare(a.Host, b.Host))
}

// Troubles is who does not get what they want: conflicts, and objects that are not served in
// full for other reasons.
type Troubles struct {
	Conflicts     []records.Conflict `json:"conflicts"`
	MoreConflicts int                `json:"moreConflicts,omitempty"`
	Objects       []records.Trouble  `json:"objects"`
	MoreObjects   int                `json:"moreObjects,omitempty"`
}

// Troubles returns the first conflicts and objects, at most limit of each, which is that of
// Filter. The error is a *RequestError.
func (v *View) Troubles(limit int) (*Troubles, error) {
	limit, err := pageSize(limit)
	if err != nil {
		return nil, err
	}
	t := &Troubles{Conflicts: []records.Conflict{}, Objects: []records.Trouble{}}
	told := make(map[records.Object][]string)
	for c := range v.Snapshot.Conflicts() {
		told[c.Loser] = append(told[c.Loser], c.Why)
		if len(t.Conflicts) < limit {
			t.Conflicts = append(t.Conflicts, c)
		} else {
			t.MoreConflicts++
		}
	}
	for o := range v.Snapshot.Troubles() {
		if slices.ContainsFunc(told[o.Object], func(why string) bool { return strings.HasSuffix(o.Why, why) }) {
			continue // it is among the conflicts, and there is no more to say
		}
		if len(t.Objects) < limit {
			t.Objects = append(t.Objects, o)
		} else {
			t.MoreObjects++
		}
	}
	return t, nil
}
