package inspect

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/records"
)

// Troubles is one page of who does not get what they want: conflicts, and objects that are not served in
// full for other reasons.
type Troubles struct {
	// Conflicts are about names that an object wants and another one has.
	Conflicts []records.Conflict `json:"conflicts"`
	// MoreConflicts is how many follow those of this page, and Next is TroubleFilter.After of the page that has them.
	MoreConflicts int    `json:"moreConflicts,omitempty"`
	Next          string `json:"next,omitempty"`
	// Objects are those that are not served in full for other reasons.
	Objects []records.Trouble `json:"objects"`
	// MoreObjects is how many follow those of this page, and NextObjects is TroubleFilter.ObjectsAfter of the page that
	// has them.
	MoreObjects int    `json:"moreObjects,omitempty"`
	NextObjects string `json:"nextObjects,omitempty"`
	// AllConflicts and AllObjects are how many there are on all pages.
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

// Troubles returns the first conflicts and objects, at most limit of each, which is that of
// Filter. The error is a *RequestError.
func (v *View) Troubles(limit int) (*Troubles, error) {
	return v.TroublesAfter(TroubleFilter{Limit: limit})
}

// TroublesAfter returns one page of the conflicts and of the objects, less those that are for another server, or another
// controller, to serve. It looks at every object. The error is a
// *RequestError.
func (v *View) TroublesAfter(f TroubleFilter) (*Troubles, error) {
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
	conflicts := section[records.Conflict]{after: after, limit: limit, list: []records.Conflict{}}
	objects := section[records.Trouble]{after: objectsAfter, limit: limit, list: []records.Trouble{}}
	told := make(map[records.Object][]string)
	for c := range v.Snapshot.Conflicts() {
		told[c.Loser] = append(told[c.Loser], c.Why)
		conflicts.add(c)
	}
	for o := range troublesHere(v.Snapshot) {
		if slices.ContainsFunc(told[o.Object], func(why string) bool { return strings.HasSuffix(o.Why, why) }) {
			continue // it is among the conflicts, and there is no more to say
		}
		objects.add(o)
	}
	t := &Troubles{Conflicts: conflicts.list, Objects: objects.list, AllConflicts: conflicts.seen, AllObjects: objects.seen}
	t.MoreConflicts, t.Next = conflicts.rest()
	t.MoreObjects, t.NextObjects = objects.rest()
	return t, nil
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

func (s *section[T]) add(one T) {
	if s.seen >= s.after && len(s.list) < s.limit {
		s.list = append(s.list, one)
	}
	s.seen++
}

// rest returns how many there are behind the part, and where they begin; "" for none.
func (s *section[T]) rest() (more int, next string) {
	if more = max(0, s.seen-s.after-len(s.list)); more > 0 {
		next = strconv.Itoa(s.after + len(s.list))
	}
	return more, next
}

// parsePlace reads how many entries the pages before had; "" is 0.
func parsePlace(field, text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, wrong(field, "%.40q is not what the page before has for the next one", text)
	}
	return int(n), nil
}

// Unread is one name that is on record as that of an owner who cannot be read.
type Unread struct {
	Name  string
	Owner records.Object
}

// Unread returns some of the names whose owners cannot be read.
func (v *View) Unread(most int) (some []Unread) {
	for name, owner := range v.Snapshot.UnreadNames() {
		if len(some) == most {
			break
		}
		some = append(some, Unread{name, owner})
	}
	return some
}
