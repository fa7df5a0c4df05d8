package inspect

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coredns-kuadrant/kuadrant/records"
)

// Troubles is one page of conflicts, and of other objects that are not served in full.
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
	// After and ObjectsAfter are how many conflicts and objects the pages before had: what comes or goes meanwhile moves
	// the others. "" is the first page.
	After, ObjectsAfter string
	// Limit is that of Filter, for conflicts and objects each.
	Limit int
}

// Troubles returns one page of the conflicts and of the objects, less those that are for another server, or another
// controller, to serve. It looks at every object. The error is a *RequestError.
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
			continue // it is among the conflicts, and there is no more to say
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

// troublesHere yields the objects that are not served in full, less those that are for another server, or another
// controller, to serve: nothing is wrong with these.
func troublesHere(s *records.Snapshot) iter.Seq[records.Trouble] {
	return func(yield func(records.Trouble) bool) {
		for o := range s.Troubles() {
			if !o.Elsewhere && !yield(o) {
				return
			}
		}
	}
}

// section is a part of a list of which all is seen: so many of those after the first ones.
type section[T any] struct {
	after, limit, seen int
	list               []T
}

// newSection returns the first part, as large as one may be.
func newSection[T any]() *section[T] { return &section[T]{limit: MaxPage, list: []T{}} }

func (s *section[T]) add(one T) {
	if s.seen >= s.after && len(s.list) < s.limit {
		s.list = append(s.list, one)
	}
	s.seen++
}

// more returns how many there are behind the part.
func (s *section[T]) more() int { return max(0, s.seen-s.after-len(s.list)) }

// next returns where the rest begins; "" for none.
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

// parsePlace reads how many entries the pages before had; "" is 0.
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
