package pool

import (
	"iter"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// users are the users of a target, with their number of uses: keys of groups, or ProbeUser's. Most
// targets have one; some are shared by very many, if checks name a host, and each of those may come
// and go. A copy of users is independent.
type users struct {
	few  []string      // once for each use, in no order; nil if there are many
	many tree.Map[int] // uses by user
}

// fewUsers is up to how many uses are searched linearly.
const fewUsers = 32

// copied returns a version of u that may be changed.
func (u users) copied() users { return users{slices.Clone(u.few), u.many} }

// add adds one use.
func (u *users) add(user string) {
	if u.many.Len() == 0 {
		if u.few = append(u.few, user); len(u.few) <= fewUsers {
			return
		}
		edit := u.many.Edit()
		for _, user := range u.few {
			n, _ := edit.Get(user)
			edit.Set(user, n+1)
		}
		u.few, u.many = nil, edit.Map()
		return
	}
	edit := u.many.Edit()
	n, _ := edit.Get(user)
	edit.Set(user, n+1)
	u.many = edit.Map()
}

// remove removes one use, and reports whether none is left.
func (u *users) remove(user string) (none bool) {
	if u.many.Len() == 0 {
		last := len(u.few) - 1
		u.few[slices.Index(u.few, user)] = u.few[last]
		u.few = u.few[:last]
		return last == 0
	}
	edit := u.many.Edit()
	if n, _ := edit.Get(user); n > 1 {
		edit.Set(user, n-1)
	} else {
		edit.Delete(user)
	}
	u.many = edit.Map()
	return u.many.Len() == 0
}

// has reports whether user is one of them.
func (u *users) has(user string) bool {
	_, ok := u.many.Get(user)
	return ok || slices.Contains(u.few, user)
}

// all yields each user, some more than once.
func (u *users) all() iter.Seq[string] {
	if u.many.Len() == 0 {
		return slices.Values(u.few)
	}
	return func(yield func(string) bool) {
		for user := range u.many.All() {
			if !yield(user) {
				return
			}
		}
	}
}
