package api

import "testing"

// TestApplied: what is applied keeps what the cluster knows, and takes nothing else away.
func TestApplied(t *testing.T) {
	c := &Cluster{Name: "c", Changed: []Ref{{}}}
	gateways := c.Gateways.Edit()
	gateways.Set("n/old", &Gateway{
		Meta: Meta{Name: "n/old", UID: "u", Created: 7, Generation: 3}, Programmed: ConditionTrue,
		Addresses: []Address{{IPAddress, "192.0.2.1"}}, Listeners: []Listener{{Name: "a", AttachedRoutes: 2}},
	})
	gateways.Set("n/other", &Gateway{Meta: Meta{Name: "n/other"}})
	c.Gateways = gateways.Map()
	zones := c.Zones.Edit()
	zones.Set("n/z", &Zone{Meta: Meta{Name: "n/z"}, Kept: Kept{Hash: "h", Serial: 5}})
	c.Zones = zones.Map()

	o := &Cluster{Name: "c"}
	applied := o.Gateways.Edit()
	applied.Set("n/old", &Gateway{Meta: Meta{Name: "n/old"}, Listeners: []Listener{
		{Name: "b", AttachedRoutes: UnknownRoutes},
		{Name: "a", AttachedRoutes: UnknownRoutes},
	}})
	applied.Set("n/new", &Gateway{Meta: Meta{Name: "n/new"}})
	applied.Set("n/aged", &Gateway{Meta: Meta{Name: "n/aged", Created: 9}})
	o.Gateways = applied.Map()
	appliedZones := o.Zones.Edit()
	appliedZones.Set("n/z", &Zone{Meta: Meta{Name: "n/z"}, Kept: Kept{Hash: "own", Serial: 6}})
	o.Zones = appliedZones.Map()

	next := c.Applied(o, Application{Stated: func(ref Ref) bool { return ref.Kind == KindZone }, Now: 1000})
	old, _ := next.Gateways.Get("n/old")
	if old.UID != "u" || old.Created != 7 || old.Generation != 3 || old.Programmed != ConditionTrue || len(old.Addresses) != 1 {
		t.Errorf("the cluster's own words are lost: %+v", old)
	}
	if len(old.Listeners) != 2 || old.Listeners[0].AttachedRoutes != UnknownRoutes || old.Listeners[1].AttachedRoutes != 2 {
		t.Errorf("the listeners are %+v", old.Listeners)
	}
	for name, created := range map[string]int64{"n/new": 1000, "n/aged": 9, "n/other": 0} {
		if g, ok := next.Gateways.Get(name); !ok || g.Created != created {
			t.Errorf("%s is %+v", name, g)
		}
	}
	if z, _ := next.Zones.Get("n/z"); z.Kept.Serial != 6 {
		t.Errorf("a Zone with a status of its own has %+v", z.Kept)
	}
	if before, _ := c.Gateways.Get("n/old"); len(before.Listeners) != 1 || c.Gateways.Len() != 2 || len(next.Changed) != 4 ||
		len(c.Changed) != 1 {
		t.Errorf("what there was is changed: %+v", before)
	}
	pruned := c.Applied(o, Application{Stated: func(Ref) bool { return true }, Prune: true})
	if pruned.Has(Ref{Kind: KindGateway, Name: "n/other"}) || pruned.Count(KindGateway) != 3 || len(pruned.Changed) != 5 {
		t.Errorf("pruned, there are %d Gateways, and %v has changed", pruned.Count(KindGateway), pruned.Changed)
	}
}
