package api

import (
	"slices"
	"testing"
)

// TestPools: what a cluster pools in, and which of its objects say so.
func TestPools(t *testing.T) {
	for _, c := range []struct {
		name string
		p    Pools
		want string // those of a, b and c that it has
	}{
		{"zero", Pools{}, "abc"},
		{"none", PoolsIn(), ""},
		{"some", PoolsIn("c", "a", "a"), "ac"},
	} {
		got := ""
		for _, ns := range []string{"a", "b", "c"} {
			if c.p.Has(ns) {
				got += ns
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if PoolsIn().Equal(Pools{}) || !PoolsIn("b", "a").Equal(PoolsIn("a", "b", "b")) || PoolsIn("a").Equal(PoolsIn("b")) {
		t.Error("Equal is wrong")
	}
}

// TestAs: objects that say something else are copied, the others and the cluster
// before stay as they are, and going back and forth ends where it began.
func TestAs(t *testing.T) {
	before := &Cluster{Name: "c"}
	gateways, zones := before.Gateways.Edit(), before.Zones.Edit()
	for _, name := range []string{"a/g", "b/g"} {
		gateways.Set(name, &Gateway{Meta: Meta{Name: name, Cluster: "c"}})
		zones.Set(name, &Zone{Meta: Meta{Name: name, Cluster: "c"}})
	}
	before.Gateways, before.Zones = gateways.Map(), zones.Map()
	apart := func(c *Cluster) (all []string) {
		for name, g := range c.Gateways.All() {
			if z, _ := c.Zones.Get(name); z.Apart != g.Apart {
				t.Errorf("Gateway and Zone %s differ", name)
			}
			if g.Apart {
				all = append(all, name)
			}
		}
		return all
	}
	after := *before
	changed := after.As("c", PoolsIn("a"))
	if want := []Ref{{KindGateway, "b/g"}, {KindZone, "b/g"}}; !slices.Equal(changed, want) {
		t.Errorf("changed are %v, want %v", changed, want)
	}
	if got := apart(&after); !slices.Equal(got, []string{"b/g"}) {
		t.Errorf("apart are %v", got)
	}
	if got := apart(before); len(got) > 0 {
		t.Errorf("of the cluster before: %v", got)
	}
	old, _ := before.Gateways.Get("a/g")
	if now, _ := after.Gateways.Get("a/g"); now != old {
		t.Error("what pools as before is copied")
	}
	if changed = after.As("c", PoolsIn("a")); changed != nil {
		t.Errorf("the same again changes %v", changed)
	}
	if changed = after.As("c", Pools{}); len(changed) != 2 || apart(&after) != nil {
		t.Errorf("back again: %v, apart are %v", changed, apart(&after))
	}
	if changed = after.As("d", Pools{}); len(changed) != 4 || old.Cluster != "c" {
		t.Errorf("another name: %v", changed)
	}
	if now, _ := after.Gateways.Get("a/g"); now.Cluster != "d" {
		t.Errorf("the cluster of a/g is %q", now.Cluster)
	}
}

// TestSameNamespace: namespaces are the same in clusters that pool in them, and in one
// cluster anyway.
func TestSameNamespace(t *testing.T) {
	of := func(cluster, name string, apart bool) *Meta {
		return &Meta{Cluster: cluster, Name: name, Apart: apart}
	}
	for _, c := range []struct {
		a, b *Meta
		want bool
	}{
		{of("c1", "n/a", false), of("c1", "n/b", false), true},
		{of("c1", "n/a", false), of("c1", "m/a", false), false},
		{of("c1", "n/a", false), of("c2", "n/b", false), true},
		{of("c1", "n/a", false), of("c2", "n/a", true), false},
		{of("c2", "n/a", true), of("c2", "n/b", true), true},
		{of("c2", "n/a", true), of("c3", "n/a", true), false},
	} {
		if got, back := c.a.SameNamespace(c.b), c.b.SameNamespace(c.a); got != c.want || back != c.want {
			t.Errorf("%+v and %+v: %v, %v", c.a, c.b, got, back)
		}
	}
}

// TestOlderApart: of two equally old objects the one is older that is not set apart, whatever
// their names.
func TestOlderApart(t *testing.T) {
	main, apart := &Meta{Cluster: "local", Name: "n/z", Created: 5}, &Meta{Cluster: "east", Name: "n/a", Created: 5, Apart: true}
	if main.Older(apart) >= 0 || apart.Older(main) <= 0 {
		t.Error("the one set apart is older")
	}
	if apart.Created = 4; main.Older(apart) <= 0 {
		t.Error("age goes first")
	}
}
