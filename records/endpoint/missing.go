package endpoint

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// LiveFirst returns list, which is in the order of precedence, with live entries moved before missing ones of the same key. The key is what
// they contend for, with their namespace: what the guard keeps holds its place against other namespaces, and never beats a live object of
// its own (rule 8.5).
func LiveFirst[T any](list []T, missing func(T) bool, key func(T) string) []T {
	if !slices.ContainsFunc(list, missing) {
		return list // almost always
	}
	first := make(map[string]int) // for each key
	type placed struct {
		of    T
		place int
	}
	all := make([]placed, len(list))
	for i, of := range list {
		at, known := first[key(of)]
		if !known {
			first[key(of)] = i
		}
		if all[i] = (placed{of, 2*i + 1}); known && missing(list[at]) && !missing(of) {
			all[i].place = 2 * at
		}
	}
	slices.SortStableFunc(all, func(a, b placed) int { return a.place - b.place })
	sorted := make([]T, len(all))
	for i, p := range all {
		sorted[i] = p.of
	}
	return sorted
}

// namespaceKey returns the namespace of an object as a key.
func namespaceKey(m *api.Meta) string { return m.Realm() + "/" + m.Namespace() }
