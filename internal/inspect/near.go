package inspect

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/records"
)

// mostEdits is how many edits are between a word and one that is near: two are a slip or two of the fingers.
const mostEdits = 2

// Near returns the words of all that are spelled nearly as one that is not among them, at most so many, the nearest first.
func Near(word string, all iter.Seq[string], most int) (near []string) {
	for edits := 1; edits <= mostEdits; edits++ {
		for other := range all {
			if len(near) < most && editsTo(word, other, mostEdits) == edits {
				near = append(near, other)
			}
		}
	}
	return near
}

// near returns the names of zones that are spelled nearly as one, or begin with it as if it had lost its zone, at most so many, the
// nearest first.
func (v *View) near(zones []*records.Zone, name string, most int) []records.NameState {
	away := func(other string) int {
		if rest, ok := strings.CutPrefix(other, name); ok && strings.HasPrefix(rest, ".") {
			return 1
		}
		return editsTo(name, other, mostEdits)
	}
	found := []records.NameState{}
	for _, z := range zones {
		for n := range v.Snapshot.Names(z, "", func(other string) bool { return away(other) <= mostEdits }) {
			found = append(found, n)
		}
	}
	slices.SortStableFunc(found, func(a, b records.NameState) int { return cmp.Compare(away(a.Name), away(b.Name)) })
	return found[:min(len(found), most)]
}

// editsTo returns how many characters have to be put in, left out, replaced, or exchanged with the next one to make b of a; most+1
// where they are more than most, which is small. It does not allocate.
func editsTo(a, b string, most int) int {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	switch long := max(len(a), len(b)); {
	case long-min(len(a), len(b)) > most:
		return most + 1
	case most == 0 || a == "" || b == "":
		return min(long, most+1)
	}
	least := min(editsTo(a[1:], b[1:], most-1), editsTo(a[1:], b, most-1), editsTo(a, b[1:], most-1))
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		least = min(least, editsTo(a[2:], b[2:], most-1))
	}
	return 1 + least
}
