package api_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

func TestKinds(t *testing.T) {
	want := map[string]bool{
		"Gateway": true, "DNSPolicy": true, "DNSHealthCheckProbe": false, "Zone": true, "Record": true, "DNSRecord": true,
		"DNSEndpoint": true, "Secret": false,
	}
	got := make(map[string]bool)
	for k := range api.NumKinds {
		got[k.String()] = k.HoldsNames()
		if again, ok := api.ParseKind(strings.ToLower(k.String())); !ok || again != k {
			t.Errorf("%s is parsed as %v, %v", k, again, ok)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("kinds %v, want %v", got, want)
	}
	if _, ok := api.ParseKind("Pod"); ok {
		t.Error("there is a kind Pod")
	}
}

// TestClusterComplete: kinds that names come from have to be listed, and no
// others (rule 7.4).
func TestClusterComplete(t *testing.T) {
	for missing := range api.NumKinds {
		c := new(api.Cluster)
		for k := range api.NumKinds {
			c.Listings[k] = api.Listed
		}
		c.Listings[missing] = api.NotListed
		if c.Complete() == missing.HoldsNames() {
			t.Errorf("without %s: complete is %v", missing, c.Complete())
		}
	}
}

// TestClusterTrees: what is done with the objects of one kind concerns neither
// the other kinds nor clusters that have had the same tree.
func TestClusterTrees(t *testing.T) {
	full := func(names ...string) *api.Cluster {
		c := &api.Cluster{Name: "c"}
		l := api.NewLoader(c)
		for kind := range api.NumKinds {
			for _, name := range names {
				if err := l.Add(kind, fmt.Appendf(nil, `{"Name":%q,"Cluster":"c"}`, name)); err != nil {
					t.Fatal(err)
				}
			}
		}
		l.Done()
		return c
	}
	for kind := range api.NumKinds {
		before := full("a/x", "b/x", "b/y", "bb/x")
		c := *before
		c.Adopt(kind, full("b/x", "c/x"), slices.Values([]string{"b/x", "b/y", "c/x", "no/no"}))
		expect := func(what string, c *api.Cluster, prefix string, changed bool, names ...string) {
			t.Helper()
			for k := range api.NumKinds {
				if (k == kind) != changed {
					continue
				}
				if got := slices.Collect(c.Names(k, prefix)); !slices.Equal(got, names) {
					t.Errorf("%s, %s: %s has %q under %q, want %q", kind, what, k, got, prefix, names)
				}
				if n := c.Count(k); prefix == "" && n != len(names) {
					t.Errorf("%s, %s: %s counts %d, want %d", kind, what, k, n, len(names))
				}
			}
		}
		expect("updated", &c, "", true, "a/x", "b/x", "bb/x", "c/x")
		expect("updated", &c, "b/", true, "b/x")
		expect("updated", &c, "", false, "a/x", "b/x", "b/y", "bb/x")
		expect("before", before, "", true, "a/x", "b/x", "b/y", "bb/x")
		before.Share(kind, &c)
		expect("shared", before, "", true, "a/x", "b/x", "bb/x", "c/x")
		before.Share(kind, new(api.Cluster))
		expect("emptied", before, "", true)
		expect("emptied", before, "", false, "a/x", "b/x", "b/y", "bb/x")
	}
}
