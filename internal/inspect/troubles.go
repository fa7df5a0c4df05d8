package inspect

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coredns-kuadrant/kuadrant/records"
)

// Troubles is one page of conflicts, and of other objects that are not fully served.
type Troubles struct {
	// Conflicts are those of this page.
	Conflicts []records.Conflict `json:"conflicts"`
	// MoreConflicts is how many follow. Next is TroubleFilter.After of their page.
	MoreConflicts int    `json:"moreConflicts,omitempty"`
	Next          string `json:"next,omitempty"`
	// Objects are the other objects.
	Objects []records.Trouble `json:"objects"`
	// MoreObjects is how many follow. NextObjects is TroubleFilter.ObjectsAfter of their page.
	MoreObjects int    `json:"moreObjects,omitempty"`
	NextObjects string `json:"nextObjects,omitempty"`
	// AllConflicts and AllObjects count those of all pages.
	AllConflicts int `json:"allConflicts"`
	AllObjects   int `json:"allObjects"`
}

// TroubleFilter says which conflicts and objects are listed.
type TroubleFilter struct {
	// After and ObjectsAfter are how many conflicts and objects the previous pages had: changes in between shift the
	// rest. "" is the first page.
	After, ObjectsAfter string
	// Limit is as in Filter, for conflicts and objects each.
	Limit int
}

// Troubles returns one page of the conflicts and of the objects, except those that another server or controller
// serves. It looks at every object. The error is a *RequestError.
func (v *View) Troubles(f TroubleFilter) (*Troubles, error) {
	limit, err := pageSize(f.Limit)
	if err != nil {
		return nil, err
	}
	after, err := parsePlace("after", f.After)
	if err != nil {
		return nil, err
	}
	objectsAfter, err := parsePlace("objectsAfter", f.ObjectsAfter)
	if err != nil {
		return nil, err
	}
	conflicts, objects := newSection[records.Conflict](), newSection[records.Trouble]()
	conflicts.after, conflicts.limit, objects.after, objects.limit = after, limit, objectsAfter, limit
	told := make(map[records.Object][]string)
	for c := range v.Snapshot.Conflicts() {
		told[c.Loser] = append(told[c.Loser], c.Why)
		c.Since = v.faultySince(c.Loser)
		conflicts.add(c)
	}
	for o := range troublesHere(v.Snapshot) {
		if slices.ContainsFunc(told[o.Object], func(why string) bool { return strings.HasSuffix(o.Why, why) }) {
			continue // its conflict says all
		}
		o.Since = v.faultySince(o.Object)
		objects.add(o)
	}
	t := troublesOf(conflicts, objects)
	t.Next, t.NextObjects = conflicts.next(), objects.next()
	return &t, nil
}

func (v *View) faultySince(o records.Object) (at time.Time) {
	if v.FaultySince != nil {
		at = v.FaultySince(o)
	}
	return at
}

// troublesHere yields the objects that are not fully served, except those that another server or controller
// serves: nothing is wrong with them.
func troublesHere(s *records.Snapshot) iter.Seq[records.Trouble] {
	return func(yield func(records.Trouble) bool) {
		for o := range s.Troubles() {
			if !o.Elsewhere && !yield(o) {
				return
			}
		}
	}
}

// section is the visible part of a list: so many items after the first ones.
type section[T any] struct {
	after, limit, seen int
	list               []T
}

// newSection returns a first part of the largest size.
func newSection[T any]() *section[T] { return &section[T]{limit: MaxPage, list: []T{}} }

func (s *section[T]) add(one T) {
	if s.seen >= s.after && len(s.list) < s.limit {
		s.list = append(s.list, one)
	}
	s.seen++
}

// more returns how many follow the part.
func (s *section[T]) more() int { return max(0, s.seen-s.after-len(s.list)) }

// next returns the start of the rest; "" for none.
func (s *section[T]) next() string {
	if s.more() == 0 {
		return ""
	}
	return strconv.Itoa(s.after + len(s.list))
}

func troublesOf(c *section[records.Conflict], o *section[records.Trouble]) Troubles {
	return Troubles{
		Conflicts: c.list, MoreConflicts: c.more(), AllConflicts: c.seen,
		Objects: o.list, MoreObjects: o.more(), AllObjects: o.seen,
	}
}

// parsePlace reads how many entries the previous pages had; "" is 0.
func parsePlace(field, text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, wrong(field, "%.40q is not from the previous page", text)
	}
	return int(n), nil
}
