package inspect

import (
	"cmp"
	"iter"
	"reflect"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// Preview is what would change in the answers, with health as it is.
type Preview struct {
	// Names are those that come, go or change, at most MaxPage. More is how many more there are.
	Names []NameChange `json:"names"`
	More  int          `json:"more,omitempty"`
	// Added, Removed and Changed count all names.
	Added   int `json:"added"`
	Removed int `json:"removed"`
	Changed int `json:"changed"`
	// Moving counts names for which some clients get other addresses. Most is the largest part of clients, for any name.
	Moving int   `json:"moving"`
	Most   Moved `json:"most"`
	// Troubles are the conflicts and unserved objects that begin. Mended are those that end.
	Troubles Troubles `json:"troubles"`
	Mended   Troubles `json:"mended"`
	// Checks are those that begin, end or change, at most MaxPage. MoreChecks is how many more there are.
	Checks     []CheckChange `json:"checks,omitempty"`
	MoreChecks int           `json:"moreChecks,omitempty"`
	// LeftOut lists the parts of the manifests that do not count.
	LeftOut []string `json:"leftOut,omitempty"`
}

// The values of NameChange.Change and MemberChange.Change.
const (
	ChangeAdded   = "added"
	ChangeRemoved = "removed"
	ChangeChanged = "changed"
)

// NameChange is one name that differs.
type NameChange struct {
	// Name is the name. Zone is its zone. Change is added, removed or changed.
	Name   string `json:"name"`
	Zone   string `json:"zone"`
	Change string `json:"change"`
	// Members are those that differ.
	Members []MemberChange `json:"members,omitempty"`
	// Plus and Minus are other things that come and go, such as owners and records.
	Plus  []string `json:"plus,omitempty"`
	Minus []string `json:"minus,omitempty"`
	// Moved is the part of the clients that move; nil for names that come or go.
	Moved *Moved `json:"moved,omitempty"`
}

// MemberChange is one member that differs.
type MemberChange struct {
	// Member is its set identifier. Cluster is that of its object. Geo is its geo code, or "*". Change is added, removed or
	// changed.
	Member  string `json:"member"`
	Cluster string `json:"cluster"`
	Geo     string `json:"geo"`
	Change  string `json:"change"`
	// Before and After are its weights.
	Before *uint64 `json:"weightBefore,omitempty"`
	After  *uint64 `json:"weightAfter,omitempty"`
	// StateBefore and StateAfter are its states with reasons, if they differ.
	StateBefore string `json:"stateBefore,omitempty"`
	StateAfter  string `json:"stateAfter,omitempty"`
	// Plus and Minus are addresses, CNAMEs, TTLs and checks that come and go.
	Plus  []string `json:"plus,omitempty"`
	Minus []string `json:"minus,omitempty"`
}

// Moved is the part of the clients, from 0 to 1, that get other addresses. The first addresses of a family, beside
// those of the other, move no clients.
type Moved struct {
	// IPv4 and IPv6 are the parts by family.
	IPv4 float64 `json:"ipv4"`
	IPv6 float64 `json:"ipv6"`
	// Of is "addresses" of the geo databases, or without them "countries".
	Of string `json:"of"`
}

func (m Moved) more(o Moved) bool { return max(m.IPv4, m.IPv6) > max(o.IPv4, o.IPv6) }

// Compare returns the differences of after from before. space is the geo databases'; nil for none.
// progress, which may be nil, is told how many of all names have been compared.
func Compare(before, after *records.Snapshot, space *geo.Space, progress func(done, all int)) *Preview {
	c := &comparison{
		before: before, after: after, result: &Preview{Names: []NameChange{}}, told: make(map[string]bool),
		members: make(map[string]bool), places: newPlaces(space), progress: progress,
	}
	names, inner := c.names()
	for i, name := range names {
		if c.progress != nil && i%100 == 0 {
			c.progress(i, len(names))
		}
		if c.name(name) {
			c.tells(before, name)
			c.tells(after, name)
		}
	}
	c.beneath(inner)
	c.checks()
	c.result.Troubles, c.result.Mended = c.troubles()
	return c.result
}

// comparison is one run of Compare.
type comparison struct {
	before, after *records.Snapshot
	result        *Preview
	// told are the names, with a final dot, whose RRsets are in the entries of names that differ, and members those of their members.
	told, members map[string]bool
	places        *places
	progress      func(done, all int)
}

// beneath compares the names below klb that are parts of hosts, and may be asked for directly (rule 2.4), such as by aliases, unless
// reported with their host.
func (c *comparison) beneath(names []string) {
	for _, name := range names {
		if !c.isTold(name) {
			c.name(name)
		}
	}
	slices.SortStableFunc(c.result.Names, func(a, b NameChange) int {
		return cmp.Or(cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.Name, b.Name))
	})
}

// tells notes the names reported with one that differs, as it is in s.
func (c *comparison) tells(s *records.Snapshot, name string) {
	t, ok := s.Tree(name)
	if !ok {
		return
	}
	for _, m := range membersOf(t) {
		c.members[m.Member], c.told[m.Member+"."] = true, true
		for _, set := range m.Sets {
			c.told[set.Name+"."] = true
		}
	}
}

// isTold reports whether a name is reported with its host: by its RRsets, or, if the host's answers contain none of it (answer
// flatten), by all its members.
func (c *comparison) isTold(name string) bool {
	if c.told[name] {
		return true
	}
	members := 0
	for _, s := range [...]*records.Snapshot{c.before, c.after} {
		if t, ok := s.Tree(name); ok {
			for _, m := range membersOf(t) {
				if members++; !c.members[m.Member] {
					return false
				}
			}
		}
	}
	return members > 0
}

// names returns the names that may differ, sorted: visible ones by zone, and those below klb.
func (c *comparison) names() (names, inner []string) {
	isInner := make(map[string]bool)
	for name, in := range c.before.Differing(c.after) {
		was, seen := isInner[name]
		isInner[name] = in && (was || !seen)
	}
	for name, in := range isInner {
		if in {
			inner = append(inner, name)
		} else {
			names = append(names, name)
		}
	}
	zone := func(name string) string {
		if z := c.before.Zone(name); z != nil {
			return z.Origin()
		}
		return c.after.Zone(name).Origin()
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(zone(a), zone(b)), cmp.Compare(a, b)) })
	slices.Sort(inner)
	return names, inner
}

// name compares one name, and reports whether it differs.
func (c *comparison) name(name string) bool {
	was, had := c.before.Tree(name)
	is, has := c.after.Tree(name)
	if !had && !has || reflect.DeepEqual(was, is) && is.Name != is.Zone { // an apex also has the SOA
		return false
	}
	n := NameChange{Name: trim(name)}
	switch {
	case !had:
		n.Change, n.Zone = ChangeAdded, is.Zone
	case !has:
		n.Change, n.Zone = ChangeRemoved, was.Zone
	default:
		n.Change, n.Zone = ChangeChanged, is.Zone
	}
	before, after := facts(c.before, was), facts(c.after, is)
	n.Plus, n.Minus = minus(after, before), minus(before, after)
	n.Members = memberChanges(was, is)
	if n.Change == ChangeChanged {
		n.Moved = c.moved(name, was, is)
	}
	if len(n.Plus)+len(n.Minus)+len(n.Members) == 0 && n.Moved == nil {
		return false
	}
	c.add(n)
	return true
}

// add counts a change, and keeps it while there is room.
func (c *comparison) add(n NameChange) {
	r := c.result
	switch n.Change {
	case ChangeAdded:
		r.Added++
	case ChangeRemoved:
		r.Removed++
	default:
		r.Changed++
	}
	if n.Moved != nil {
		r.Moving++
		if n.Moved.more(r.Most) {
			r.Most = *n.Moved
		}
	}
	if len(r.Names) == MaxPage {
		r.More++
		return
	}
	r.Names = append(r.Names, n)
}

// troubles returns the troubles that begin and end.
func (c *comparison) troubles() (begin, end Troubles) {
	contended, impaired, free, whole := newSection[records.Conflict](), newSection[records.Trouble](), newSection[records.Conflict](),
		newSection[records.Trouble]()
	newAndGone(c.before.Conflicts(), c.after.Conflicts(), contended.add, free.add,
		func(o *records.Conflict) string { return o.Name + "\n" + ObjectText(o.Loser) })
	newAndGone(troublesHere(c.before), troublesHere(c.after), impaired.add, whole.add,
		func(o *records.Trouble) string { return ObjectText(o.Object) + "\n" + o.Why })
	return troublesOf(contended, impaired), troublesOf(free, whole)
}

// newAndGone passes on the items that only after has, by key, and those that only before has.
func newAndGone[T any](before, after iter.Seq[T], begins, ends func(T), key func(*T) string) {
	had, gone := slices.Collect(before), make(map[string]bool) // to yield before looks at every object
	for i := range had {
		gone[key(&had[i])] = true
	}
	for o := range after {
		if k := key(&o); gone[k] {
			delete(gone, k)
		} else {
			begins(o)
		}
	}
	for i := range had {
		if gone[key(&had[i])] {
			ends(had[i])
		}
	}
}

// Same reports whether nothing differs.
func (p *Preview) Same() bool {
	return p.Added+p.Removed+p.Changed+len(p.Checks) == 0 &&
		len(p.Troubles.Conflicts)+len(p.Troubles.Objects)+len(p.Mended.Conflicts)+len(p.Mended.Objects) == 0
}
