package inspect

import (
	"cmp"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/internal/near"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// near returns at most so many names of zones with a similar spelling, or a similar start, as if the zone were missing, the
// nearest first.
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

// nameEdits is near.Edits for names. If the edits exceed half of the longer name without the common zone, such as h and ns, the names
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

// firstLabels returns up to n first labels of a name.
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
