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

// TestOthersAreLogged: the faults of one tenant, of whom one Gateway may have any
// number of policies that are refused whenever it changes, do not keep those of others
// out of the log (rule 8.1: one line says why).
func TestOthersAreLogged(t *testing.T) {
	const address = `{"value": "192.0.2.3"}`
	documents := []string{
		gatewayJSON("victim", `{"name": "l", "hostname": "elsewhere.example.org"}`, address),
		policyJSON("victim", ""),
	}
	for i := range 2 * maxLoggedVerdicts {
		documents = append(documents, strings.Replace(policyJSON(fmt.Sprintf("p%02d", i), ""), `"ns"`, `"hostile"`, 1))
	}
	_, lines := logged(t, nil, documents...)
	if !strings.Contains(strings.Join(lines, "\n"), "ns/victim") {
		t.Errorf("nothing is said of ns/victim:\n%s", strings.Join(lines, "\n"))
	}
}

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
		f := newFailOpens(func() *records.Snapshot { return snap }, log)
		f.warnf, f.infof = func(string, ...any) {}, func(string, ...any) {}
		f.compiled(snap)
		f.look()
		if len(f.open) != n {
			t.Fatalf("%d of %d hosts fail open", len(f.open), n)
		}
		return testing.AllocsPerRun(10, f.look)
	}
	if few, many := cost(100), cost(1000); many > 2*few+50 {
		t.Errorf("a look without a change takes %v allocations beside 100 open hosts, %v beside 1000", few, many)
	}
}
