package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// oneChecked returns a cluster with one checked host.
func oneChecked(programmed api.ConditionStatus) *api.Cluster {
	c := &api.Cluster{Name: "c", UID: "u"}
	for k := range c.Listings {
		c.Listings[k] = api.Listed
	}
	g := &api.Gateway{
		Meta: api.Meta{Name: "n/g", Cluster: "c"}, Programmed: programmed,
		Listeners: []api.Listener{{Name: "l", Hostname: "h.example.com", AttachedRoutes: -1}}, Addresses: []api.Address{{Type: api.IPAddress, Value: "192.0.2.1"}},
	}
	p := &api.DNSPolicy{
		Meta: api.Meta{Name: "n/p", Cluster: "c"}, Target: api.Target{Name: "g"},
		HealthCheck: &api.HealthCheck{Port: 80, Path: "/", Interval: 1e9, Timeout: 1e9, FailureThreshold: 1, SuccessThreshold: 1, Expected: []int{200}},
	}
	gateways, policies := tree.Map[*api.Gateway]{}.Edit(), tree.Map[*api.DNSPolicy]{}.Edit()
	gateways.Set("n/g", g)
	policies.Set("n/p", p)
	c.Gateways, c.Policies = gateways.Map(), policies.Map()
	return c
}

// TestFailOpenOfASnapshotThatComesMeanwhile: what is compiled while the last changes
// are looked at is looked at too.
func TestFailOpenOfASnapshotThatComesMeanwhile(t *testing.T) {
	opt := &records.Options{Zones: []records.ZoneOptions{{Origin: "example.com."}}}
	good := records.Compile(nil, api.Objects{Clusters: []*api.Cluster{oneChecked(api.ConditionTrue)}}, opt, time.Unix(1e9, 0))
	next := oneChecked(api.ConditionFalse)
	next.Changed = []api.Ref{{Kind: api.KindGateway, Name: "n/g"}}
	bad := records.Compile(good, api.Objects{Clusters: []*api.Cluster{next}}, opt, time.Unix(1e9, 0))
	current, warned := good, 0
	var f *failOpens
	f = newFailOpens(func() *records.Snapshot {
		was := current
		if was == good { // the compiling goroutine is at work at this moment
			current = bad
			f.compiled(bad)
		}
		return was
	})
	f.begins = func(string, records.Failing) { warned++ }
	f.compiled(good)
	for range 3 {
		f.look()
	}
	if bad.Fails("h.example.com").Whom == "" || warned != 1 {
		t.Errorf("%d warnings of a host that fails open for %q", warned, bad.Fails("h.example.com").Whom)
	}
}

// TestFailOpenIsLoggedOnce: a host that fails open is told of, and one that ceases to,
// each once, also where its group has been compiled anew meanwhile.
func TestFailOpenIsLoggedOnce(t *testing.T) {
	opt := &records.Options{Zones: []records.ZoneOptions{{Origin: "example.com."}}}
	snap := records.Compile(nil, api.Objects{Clusters: []*api.Cluster{oneChecked(api.ConditionTrue)}}, opt, time.Unix(1e9, 0))
	f := newFailOpens(func() *records.Snapshot { return snap })
	var told []string
	f.begins = func(host string, is records.Failing) { told = append(told, host+" for "+is.Whom) }
	for _, c := range []struct {
		state health.State
		want  string
	}{
		{health.Up, ""},
		{health.Down, "h.example.com for all clients"},
		{health.Down, ""},
		{health.Up, "h.example.com for "},
		{health.Up, ""},
	} {
		for _, target := range snap.Checks().All() {
			target.Cell.Set(c.state)
			f.changed(target, health.Up)
		}
		f.compiled(snap)
		told = nil
		f.look()
		if got := strings.Join(told, "; "); got != c.want {
			t.Errorf("%s: told %q, want %q", c.state, got, c.want)
		}
	}
}
