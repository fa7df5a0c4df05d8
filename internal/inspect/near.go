package inspect

import (
	"cmp"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/internal/near"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// near returns the names of zones that are spelled nearly as one, or begin nearly with it as if it had lost its zone, at most so
// many, the nearest first.
func (v *View) near(zones []*records.Zone, name string, most int) []records.NameState {
	away := func(other string) int {
		return min(nameEdits(name, other), 1+nameEdits(name, firstLabels(other, 1+strings.Count(name, "."))))
	}
	found := []records.NameState{}
	for _, z := range zones {
		for n := range v.Snapshot.Names(z, "", func(other string) bool { return away(other) <= near.Most }) {
			found = append(found, n)
		}
	}
	slices.SortStableFunc(found, func(a, b records.NameState) int { return cmp.Compare(away(a.Name), away(b.Name)) })
	return found[:min(len(found), most)]
}

// nameEdits is near.Edits for names. Where they are more than half of the longer one without the common zone, as of h and ns, the names
// are not near.
func nameEdits(a, b string) int {
	edits := near.Edits(a, b, near.Most)
	if edits > near.Most {
		return edits
	}
	for a, b = "."+a, "."+b; a != "" && b != ""; {
		i, j := strings.LastIndexByte(a, '.'), strings.LastIndexByte(b, '.')
		if a[i:] != b[j:] {
			break
		}
		a, b = a[:i], b[:j]
	}
	if 2*edits > max(len(a), len(b), 1)-1 { // without the first dot
		return near.Most + 1
	}
	return edits
}

// firstLabels returns the first n labels of a name, or all.
func firstLabels(name string, n int) string {
	for i := range len(name) {
		if name[i] == '.' {
			if n--; n == 0 {
				return name[:i]
			}
		}
	}
	return name
}
