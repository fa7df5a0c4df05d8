package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// TestLookCostsWhatChanged: hosts that fail open and have not changed cost no look.
func TestLookCostsWhatChanged(t *testing.T) {
	cost := func(n int) float64 {
		c := &api.Cluster{Name: "c", UID: "u"}
		gateways, policies := tree.Map[*api.Gateway]{}.Edit(), tree.Map[*api.DNSPolicy]{}.Edit()
		for i := range n {
			name := fmt.Sprintf("n/g%d", i)
			gateways.Set(name, &api.Gateway{
				Meta: api.Meta{Name: name, Cluster: "c"}, Programmed: api.ConditionFalse,
				Listeners: []api.Listener{{Name: "l", Hostname: fmt.Sprintf("h%d.%s.example.com", i, strings.Repeat("x", 60)), AttachedRoutes: -1}},
				Addresses: []api.Address{{Type: api.IPAddress, Value: "192.0.2.1"}},
			})
			policies.Set(name, &api.DNSPolicy{Meta: api.Meta{Name: name, Cluster: "c"}, Target: api.Target{Name: name[2:]}})
		}
		c.Gateways, c.Policies = gateways.Map(), policies.Map()
		opt := &records.Options{Zones: []records.ZoneOptions{{Origin: "example.com."}}}
		snap := records.Compile(nil, api.Objects{Clusters: []*api.Cluster{c}}, opt, time.Unix(1e9, 0))
		f := newFailOpens(func() *records.Snapshot { return snap })
		f.compiled(snap)
		f.look()
		if len(*f.open.Load()) != n {
			t.Fatalf("%d of %d hosts fail open", len(*f.open.Load()), n)
		}
		return testing.AllocsPerRun(10, f.look)
	}
	if few, many := cost(100), cost(1000); many > 2*few+50 {
		t.Errorf("a look without a change takes %v allocations beside 100 open hosts, %v beside 1000", few, many)
	}
}
