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
	z := zoneOf(t, []written{
		zones([]string{"a"}, "x", 1001), {Zones: patterns("x", 1000), Records: records(patterns("x", 1002))},
	})
	if d := z.Delegations; len(d) != 2 || len(d[0].Zones) != 1000 || len(d[1].Zones) != 1000 || len(d[1].Records) != 1000 {
		t.Errorf("there are %d delegations", len(d))
	}
	const behind = "only the first 1000 patterns count; the others allow nothing"
	if want := "spec.delegations[0].zones: " + behind + "; spec.delegations[1].records: " + behind; z.Fault != want {
		t.Errorf("fault %q, want %q", z.Fault, want)
	}
	var types []string
	for i := range 200 {
		types = append(types, fmt.Sprint("TYPE", 30000+i))
	}
	z = zoneOf(t, []any{map[string]any{"records": []any{map[string]any{"pattern": "*", "types": types}}}})
	if got, want := len(z.Delegations[0].Records[0].Types), 100; got != want ||
		!strings.Contains(z.Fault, "only the first 100 types count; ") {
		t.Errorf("%d types, want %d; fault %q", got, want, z.Fault)
	}
}
