package tree

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// TestVersions edits a map many times, and checks that every version, old and new, keeps its
// entries while others read it.
func TestVersions(t *testing.T) {
	type version struct {
		tree Map[int]
		want map[string]int
	}
	r := rand.New(rand.NewPCG(1, 2))
	versions := []version{{want: map[string]int{}}}
	var readers sync.WaitGroup
	for range 200 {
		last := versions[r.IntN(len(versions))] // edits may start at any version
		edit, want := last.tree.Edit(), maps.Clone(last.want)
		for range r.IntN(60) {
			key := fmt.Sprint(r.IntN(400))
			if r.IntN(3) == 0 {
				edit.Delete(key)
				delete(want, key)
			} else {
				value := r.Int()
				edit.Set(key, value)
				want[key] = value
			}
			if got, ok := edit.Get(key); ok != (want[key] != 0) || got != want[key] {
				t.Fatalf("edited %s: %d, want %d", key, got, want[key])
			}
		}
		if edit.Len() != len(want) {
			t.Fatalf("edit has %d entries, want %d", edit.Len(), len(want))
		}
		next := version{edit.Map(), want}
		versions = append(versions, next)
		readers.Go(func() {
			if err := check(next.tree, next.want); err != "" {
				t.Error(err)
			}
		})
	}
	readers.Wait()
	for i, v := range versions {
		if err := check(v.tree, v.want); err != "" {
			t.Fatalf("version %d: %s", i, err)
		}
	}
}

// check compares a map with its expected entries; it returns "" if they are equal.
func check(m Map[int], want map[string]int) string {
	if m.Len() != len(want) {
		return fmt.Sprintf("%d entries, want %d", m.Len(), len(want))
	}
	keys := slices.Sorted(maps.Keys(want))
	i := 0
	for key, value := range m.All() {
		if i == len(keys) || key != keys[i] || value != want[key] {
			return fmt.Sprintf("entry %d is %s", i, key)
		}
		i++
	}
	if got, ok := m.Get("missing"); ok || got != 0 {
		return "a missing key is there"
	}
	if len(keys) == 0 {
		return ""
	}
	middle := keys[len(keys)/2]
	i = len(keys) / 2
	for key := range m.From(middle) {
		if key != keys[i] {
			return fmt.Sprintf("from %s: %s, want %s", middle, key, keys[i])
		}
		if i++; i == len(keys) {
			break
		}
	}
	return ""
}
