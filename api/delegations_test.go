package api_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// zoneOf decodes a Zone with delegations as they are written.
func zoneOf(t *testing.T, delegations any) *api.Zone {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"apiVersion": "kubi.zone/v1alpha1", "kind": "Zone", "metadata": map[string]string{"namespace": "dns", "name": "z"},
		"spec": map[string]any{"domainName": "example.org.", "delegations": delegations},
	})
	if err != nil {
		t.Fatal(err)
	}
	z, err := api.DecodeZone("c", text)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// TestDelegationsTo: however many delegations there are, a namespace is given those that name it and those that name none.
func TestDelegationsTo(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 8, 9, 40} {
		type written struct {
			Namespaces []string `json:"namespaces"`
			Zones      []string `json:"zones"`
		}
		var all []written
		want := make(map[string][]string)
		for i := range n {
			w := written{Zones: []string{fmt.Sprint("z", i)}}
			for _, ns := range []string{"a", "b", "c"} {
				if r.IntN(4) == 0 {
					w.Namespaces = append(w.Namespaces, ns)
				}
			}
			for _, ns := range []string{"a", "b", "c", "d"} {
				if w.Namespaces == nil || slices.Contains(w.Namespaces, ns) {
					want[ns] = append(want[ns], w.Zones[0])
				}
			}
			all = append(all, w)
		}
		z := zoneOf(t, all)
		for _, ns := range []string{"a", "b", "c", "d"} {
			var got []string
			for d := range z.DelegationsTo(ns) {
				got = append(got, d.Zones...)
			}
			slices.Sort(got)
			slices.Sort(want[ns])
			if !slices.Equal(got, want[ns]) {
				t.Errorf("%d delegations, namespace %s: %q, want %q", n, ns, got, want[ns])
			}
		}
	}
}

// TestDelegationsHaveABound: no namespace has more than 1,000 patterns of a kind, those for all namespaces among
// them; what is behind allows nothing, and the fault names the first (rule 8.4).
func TestDelegationsHaveABound(t *testing.T) {
	patterns := func(prefix string, n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprint(prefix, i))
		}
		return all
	}
	type written struct {
		Namespaces []string         `json:"namespaces,omitempty"`
		Zones      []string         `json:"zones,omitempty"`
		Records    []map[string]any `json:"records,omitempty"`
	}
	records := func(list []string) (all []map[string]any) {
		for _, p := range list {
			all = append(all, map[string]any{"pattern": p})
		}
		return all
	}
	zones := func(ns []string, prefix string, n int) written {
		return written{Namespaces: ns, Zones: patterns(prefix, n)}
	}
	a, b, both := []string{"a"}, []string{"b"}, []string{"a", "b"}
	const behind = "a namespace has at most 1000 patterns of a Zone, those for all namespaces among them: "
	for name, test := range map[string]struct {
		all   []written
		want  map[string]int
		fault string
	}{
		"full":         {[]written{zones(a, "x", 1000), zones(b, "x", 1000)}, map[string]int{"a": 1000, "b": 1000}, ""},
		"one too many": {[]written{zones(a, "x", 1001)}, map[string]int{"a": 1000}, `spec.delegations[0]: zones: ` + behind + `"x1000"`},
		"open ones count": {
			[]written{zones(nil, "x", 600), zones(a, "y", 600), zones(b, "z", 300)},
			map[string]int{"a": 1000, "b": 900, "c": 600},
			`spec.delegations[1]: zones: ` + behind + `"y400"`,
		},
		"open ones come last": {
			[]written{zones(a, "y", 600), zones(nil, "x", 600)},
			map[string]int{"a": 1000, "c": 400},
			`spec.delegations[1]: zones: ` + behind + `"x400"`,
		},
		"the fuller of two": {
			[]written{zones(a, "x", 900), zones(both, "y", 200)},
			map[string]int{"a": 1000, "b": 100},
			`spec.delegations[1]: zones: ` + behind + `"y100"`,
		},
		"none fits": {
			[]written{zones(a, "x", 1000), zones(a, "y", 1), zones(b, "z", 1)},
			map[string]int{"a": 1000, "b": 1},
			`spec.delegations[1]: zones: ` + behind + `"y0"`,
		},
		"named twice": {
			[]written{zones([]string{"a", "a"}, "x", 700), zones(a, "y", 1)},
			map[string]int{"a": 700},
			`spec.delegations[1]: zones: ` + behind + `"y0"`,
		},
		"kinds apart": {
			[]written{{Zones: patterns("x", 1000), Records: records(patterns("x", 1001))}},
			map[string]int{"a": 2000},
			`spec.delegations[0]: records: ` + behind + `"x1000"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			z := zoneOf(t, test.all)
			for ns, want := range test.want {
				n := 0
				for d := range z.DelegationsTo(ns) {
					n += len(d.Zones) + len(d.Records)
				}
				if n != want {
					t.Errorf("namespace %s has %d patterns, want %d", ns, n, want)
				}
			}
			if !strings.HasPrefix(z.Fault, test.fault) || (z.Fault == "") != (test.fault == "") {
				t.Errorf("fault %q, want %q", z.Fault, test.fault)
			}
		})
	}
	var types []string
	for i := range 200 {
		types = append(types, fmt.Sprint("TYPE", 30000+i))
	}
	z := zoneOf(t, []any{map[string]any{"records": []any{map[string]any{"pattern": "*", "types": types}}}})
	if got, want := len(z.Delegations[0].Records[0].Types), 100; got != want ||
		!strings.Contains(z.Fault, `at most 100 types count: "TYPE30100" and`) {
		t.Errorf("%d types, want %d; fault %q", got, want, z.Fault)
	}
}
