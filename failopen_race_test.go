package kuadrant

import (
	"fmt"
	"runtime"
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
	f.warnf = func(string, ...any) { warned++ }
	f.compiled(good)
	for range 3 {
		f.look()
	}
	if bad.FailsOpen("h.example.com") == "" || warned != 1 {
		t.Errorf("%d warnings of a host that fails open for %q", warned, bad.FailsOpen("h.example.com"))
	}
}

// TestFailOpenThatCeasesWhileItIsLookedAt: a target that comes up between two looks at
// it in one round is not told as one that has gone down.
func TestFailOpenThatCeasesWhileItIsLookedAt(t *testing.T) {
	opt := &records.Options{Zones: []records.ZoneOptions{{Origin: "example.com."}}}
	snap := records.Compile(nil, api.Objects{Clusters: []*api.Cluster{oneChecked(api.ConditionTrue)}}, opt, time.Unix(1e9, 0))
	f := newFailOpens(func() *records.Snapshot { return snap })
	var told []string
	f.warnf = func(format string, args ...any) { told = append(told, "warning: "+fmt.Sprintf(format, args...)) }
	f.infof = func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) }
	set := func(s health.State) {
		for _, target := range snap.Checks().All() {
			target.Cell.Set(s)
		}
	}
	set(health.Down)
	f.compiled(snap)
	f.look()
	told = nil
	f.mu.Lock() // a round stops between its two looks
	f.all = true
	done := make(chan struct{})
	go func() { f.look(); close(done) }()
	for stack := make([]byte, 1<<20); !strings.Contains(string(stack[:runtime.Stack(stack, true)]), "(*failOpens).take"); {
		runtime.Gosched()
	}
	set(health.Up)
	f.mu.Unlock()
	<-done
	f.look()
	if len(told) != 1 || strings.Contains(told[0], "warning") {
		t.Errorf("told %q, want one line that it fails open no longer", told)
	}
}
