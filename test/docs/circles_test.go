package docs

import (
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// circles has the number of files in the largest circle of a room, where it is more than its bound. It may only shrink.
var circles = map[string]int{
	"internal/engine": 23,
}

// bound returns how many files of a room may need each other, whichever way one reads them.
func bound(room string) int {
	if room == "records" || strings.HasPrefix(room, "records/") {
		return 6
	}
	return 10
}

// TestFileCircles: files of a room call downwards. Those that need each other, directly or by way of others, are a circle.
func TestFileCircles(t *testing.T) {
	loaded, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range loaded {
		room := strings.TrimPrefix(strings.TrimPrefix(p.PkgPath, module), "/")
		if len(p.Errors) > 0 {
			t.Fatalf("%s: %v", room, p.Errors[0])
		}
		if _, known := rooms[room]; !known {
			continue
		}
		circle := largestCircle(needs(p))
		switch is, may := len(circle), max(bound(room), circles[room]); {
		case is > may:
			t.Errorf("%s: %d files need each other, %d may: %s", room, is, may, strings.Join(circle, " "))
		case is < circles[room]:
			t.Errorf("%s: the largest circle has %d files: write %d into the table, or take it out", room, is, max(is, bound(room)))
		}
	}
}

// needs returns the files whose declarations each file of a package uses.
func needs(p *packages.Package) map[string]map[string]bool {
	file := func(o types.Object) string { return filepath.Base(p.Fset.Position(o.Pos()).Filename) }
	all := make(map[string]map[string]bool)
	for _, f := range p.Syntax {
		all[filepath.Base(p.Fset.Position(f.Pos()).Filename)] = make(map[string]bool)
	}
	for id, o := range p.TypesInfo.Uses {
		if o.Pkg() != p.Types || o.Pos() == id.Pos() {
			continue
		}
		if from, to := filepath.Base(p.Fset.Position(id.Pos()).Filename), file(o); from != to && all[from] != nil && all[to] != nil {
			all[from][to] = true
		}
	}
	return all
}

// largestCircle returns the nodes of a graph's largest strongly connected component, sorted (Tarjan 1972).
func largestCircle(of map[string]map[string]bool) (largest []string) {
	index, low, on := make(map[string]int), make(map[string]int), make(map[string]bool)
	var stack []string
	var visit func(n string)
	visit = func(n string) {
		index[n] = len(index) + 1
		low[n] = index[n]
		stack, on[n] = append(stack, n), true
		for _, to := range slices.Sorted(maps.Keys(of[n])) {
			if index[to] == 0 {
				visit(to)
				low[n] = min(low[n], low[to])
			} else if on[to] {
				low[n] = min(low[n], index[to])
			}
		}
		if low[n] != index[n] {
			return
		}
		i := slices.Index(stack, n)
		circle := slices.Sorted(slices.Values(stack[i:]))
		for _, m := range circle {
			on[m] = false
		}
		if stack = stack[:i]; len(circle) > len(largest) {
			largest = circle
		}
	}
	for _, n := range slices.Sorted(maps.Keys(of)) {
		if index[n] == 0 {
			visit(n)
		}
	}
	return largest
}

func TestLargestCircle(t *testing.T) {
	of := map[string]map[string]bool{"a": {"b": true}, "b": {"c": true}, "c": {"b": true, "d": true}, "d": {}, "e": {"e": true}}
	if got := strings.Join(largestCircle(of), " "); got != "b c" {
		t.Errorf("the circle is %q, want %q", got, "b c")
	}
}
