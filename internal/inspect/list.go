package inspect

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
)

// Zone is one served zone. Names have no final dot.
type Zone struct {
	// Name is its origin. Serial is that of its SOA.
	Name   string `json:"name"`
	Serial uint32 `json:"serial"`
	// Names is how many names have data.
	Names int `json:"names"`
	// Conflicts is how many objects want a name that belongs to another.
	Conflicts int `json:"conflicts"`
	// Held is how many names the guard holds (rule 8.5).
	Held int `json:"held"`
	// Open reports whether every namespace may publish.
	Open bool `json:"open,omitempty"`
	// Groups says which groups of clusters are active; missing if no cluster has one.
	Groups *Groups `json:"groups,omitempty"`
}

// Zones returns the zones, sorted by name.
func (v *View) Zones() []Zone {
	open := make(map[string]bool)
	for _, origin := range v.Snapshot.Open() {
		open[origin] = true
	}
	all, clusters := make([]Zone, 0, len(v.Snapshot.Zones())), clustersOf(v.Snapshot)
	for _, z := range v.Snapshot.Zones() {
		all = append(all, Zone{
			Name: trim(z.Origin()), Serial: z.Serial(), Names: z.Listed, Conflicts: z.Conflicts,
			Held: v.Held[z.Origin()], Open: open[z.Origin()], Groups: groupsOf(v.Snapshot, z, clusters),
		})
	}
	slices.SortFunc(all, func(a, b Zone) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Filter says which names are listed.
type Filter struct {
	// Zone limits the list to one zone; "" for all.
	Zone string
	// Contains is a part of the names, in any case; "" is all.
	Contains string
	// State limits the list to names that are "failing" (nothing is up for some clients), "impaired" (something is down or
	// undecided; drained is neither) or "contended"; "" for all. "unserved" lists other names: those that objects want, in
	// any zone or none, and that have no data.
	State string
	// Near lists the names with a similar spelling, the nearest first, on one page, regardless of all but Zone and
	// Limit; "" for none.
	Near string
	// After is the last name of the previous page, and Limit the size of a page: from 1 to MaxPage;
	// 0 is DefaultPage.
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
	StateUnserved  = "unserved"
)

// NameStates are the states for a filter of names.
var NameStates = []string{StateFailing, StateImpaired, StateContended, StateUnserved}

// NamePage is one page of names.
type NamePage struct {
	// Names are those of this page.
	Names []records.NameState `json:"names"`
	// Next is Filter.After of the next page, if there is one.
	Next string `json:"next,omitempty"`
}

// Names returns one page of the names with data, by zone and spelling. The error is a
// *RequestError.
func (v *View) Names(f Filter) (*NamePage, error) {
	zones, err := v.zonesOf(f.Zone)
	if err != nil {
		return nil, err
	}
	limit, err := pageSize(f.Limit)
	if err != nil {
		return nil, err
	}
	part, keep, err := f.keep()
	if err != nil {
		return nil, err
	}
	page := &NamePage{Names: []records.NameState{}}
	contains := func(name string) bool { return strings.Contains(name, part) }
	switch {
	case f.Near != "":
		page.Names = v.near(zones, trim(strings.ToLower(f.Near)), limit)
		return page, nil
	case f.State == StateUnserved:
		return v.unserved(f.Zone, contains, f.After, limit), nil
	}
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

// resume returns the zones from that of the name after on, and that name.
func (v *View) resume(zones []*records.Zone, after string) ([]*records.Zone, string, error) {
	if after == "" {
		return zones, "", nil
	}
	name, err := ParseName(after)
	i := slices.Index(zones, v.Snapshot.Zone(name))
	if err != nil || i < 0 {
		return nil, "", wrong("after", "%.100q is not the last name of a page", after)
	}
	return zones[i:], name, nil
}

// pageSize returns the size of a page.
func pageSize(limit int) (int, error) {
	if limit < 0 || limit > MaxPage {
		return 0, wrong("limit", "%d is not from 1 to %d", limit, MaxPage)
	}
	return cmp.Or(limit, DefaultPage), nil
}

// keep returns the part that names must contain, and a function that reports whether a state is wanted.
func (f *Filter) keep() (part string, state func(*records.NameState) bool, err error) {
	switch f.State {
	case "":
		state = func(*records.NameState) bool { return true }
	case StateFailing:
		state = func(n *records.NameState) bool { return n.FailsOpen != "" || n.FailsClosed != "" }
	case StateImpaired:
		state = func(n *records.NameState) bool {
			return n.FailsOpen != "" || n.FailsClosed != "" || n.Addresses.Down+n.Addresses.Unknown > 0
		}
	case StateContended:
		state = func(n *records.NameState) bool { return n.Losers > 0 }
	case StateUnserved:
	default:
		return "", nil, wrong("state", "%.40q is none of %s", f.State, strings.Join(NameStates, ", "))
	}
	part, err = parsePart(f.Contains)
	return part, state, err
}

// maxPart bounds a part of a name or target, in octets.
const maxPart = 253

// parsePart reads a part of names or targets, in any case. The error is a *RequestError.
func parsePart(text string) (string, error) {
	const field = "q"
	part := strings.TrimSpace(text)
	switch {
	case len(part) > maxPart:
		return "", wrong(field, "%d octets, more than the %d of a name; write a shorter part", len(part), maxPart)
	case strings.ContainsFunc(part, func(r rune) bool { return r >= 0x80 }): // includes invalid UTF-8
		return "", wrong(field, "%.100q has non-ASCII characters; write the ASCII form, such as xn--mnchen-3ya", text)
	case strings.ContainsFunc(part, unicode.IsControl):
		return "", wrong(field, "%.100q has a non-printable character; write a part of a name, such as app", text)
	}
	return strings.ToLower(part), nil
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
	for a := range allAddresses(t) {
		v.date(a.Checks)
	}
	return t, nil
}

// WorstFirst sorts the groups, members and addresses of a name by health, the worst first.
func WorstFirst(t *records.Tree) {
	worst := func(all []records.AddressState) {
		slices.SortStableFunc(all, func(a, b records.AddressState) int { return pool.CompareClasses(b.Class, a.Class) })
	}
	worst(t.Addrs)
	for _, g := range t.Groups {
		for _, m := range g.Members {
			worst(m.Addresses)
		}
		slices.SortStableFunc(g.Members, func(a, b records.TreeMember) int { return pool.CompareClasses(b.Class, a.Class) })
	}
	slices.SortStableFunc(t.Groups, func(a, b records.TreeGroup) int {
		if len(a.Members) == 0 || len(b.Members) == 0 {
			return len(b.Members) - len(a.Members)
		}
		return pool.CompareClasses(b.Members[0].Class, a.Members[0].Class)
	})
}
