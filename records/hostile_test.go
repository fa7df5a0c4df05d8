package records

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
)

var hostileOptions = &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}, Publish: grantAll}

// publish has a policy of its own publish the addresses at host.
func (w *world) publish(name, host string, p *api.DNSPolicy, addresses ...string) {
	g := &api.Gateway{Listeners: []api.Listener{{Name: "l", Hostname: host, AttachedRoutes: 1}}}
	for _, a := range addresses {
		kind := api.IPAddress
		if strings.Trim(a, "0123456789.") != "" {
			kind = api.HostnameAddress
		}
		g.Addresses = append(g.Addresses, api.Address{Type: kind, Value: a})
	}
	w.setGateway(0, name, g)
	_, p.Target.Name, _ = strings.Cut(name, "/")
	w.setPolicy(0, name, p)
}

// mallocs returns how many allocations a compile takes of what has changed in w.
func mallocs(before *Snapshot, w *world) (*Snapshot, uint64) {
	objects := w.objects()
	var from, to runtime.MemStats
	runtime.ReadMemStats(&from)
	s := Compile(before, objects, hostileOptions, testTime)
	runtime.ReadMemStats(&to)
	return s, to.Mallocs - from.Mallocs
}

// TestHealthIsNotAnotherTenants: a check whose terms its owner edits begins with what
// the owner's check has found (rule 4.7). What the check of another tenant has found,
// whose wildcard stands beside the host, counts for nothing: with a timeout of 10 ms
// it finds everything down.
func TestHealthIsNotAnotherTenants(t *testing.T) {
	check := func(interval, timeout time.Duration) *api.HealthCheck {
		return &api.HealthCheck{
			Protocol: api.HTTP, Port: 80, Path: "/", Host: "app.example.com", Interval: interval, Timeout: timeout,
			FailureThreshold: 1, SuccessThreshold: 1, Expected: []int{200},
		}
	}
	w := newWorld("c")
	w.publish("victim/app", "app.example.com", &api.DNSPolicy{HealthCheck: check(time.Minute, 5*time.Second)}, "192.0.2.1", "192.0.2.2")
	s := Compile(nil, w.objects(), hostileOptions, testTime)
	for _, target := range s.Checks().All() {
		target.Cell.Set(health.Up)
	}
	hostile := &api.DNSPolicy{HealthCheck: check(10*time.Second, 10*time.Millisecond)}
	hostile.Created = 1 // younger
	w.publish("hostile/app", "*.app.example.com", hostile, "192.0.2.1")
	s = Compile(s, w.objects(), hostileOptions, testTime)
	for _, target := range s.Checks().All() {
		if target.Timeout == 10*time.Millisecond {
			target.Cell.Set(health.Down)
		}
	}
	w.setPolicy(0, "victim/app", &api.DNSPolicy{Target: api.Target{Name: "app"}, HealthCheck: check(2*time.Minute, 5*time.Second)})
	s = Compile(s, w.objects(), hostileOptions, testTime)
	for _, target := range s.Checks().All() {
		if target.Interval == 2*time.Minute && target.Cell.Load().Found() != health.Up {
			t.Errorf("%s begins as %v", target.Check.String(), target.Cell.Load().Found())
		}
	}
}

// TestSecretsCostWhatTheyChange: Secrets that come take a look at what refers to
// them, not each a look at all policies.
func TestSecretsCostWhatTheyChange(t *testing.T) {
	cost := func(n int) uint64 {
		w := newWorld("c")
		for i := range n {
			w.setPolicy(0, fmt.Sprintf("n/p%d", i), &api.DNSPolicy{Target: api.Target{Name: "none"}, HealthCheck: &api.HealthCheck{Port: 80, HeadersSecret: strings.Repeat("x", 64)}})
		}
		s := Compile(nil, w.objects(), hostileOptions, testTime)
		for i := range n {
			w.setSecret(0, fmt.Sprintf("n/s%d", i), &api.Secret{})
		}
		_, took := mallocs(s, w)
		return took
	}
	if few, many := cost(100), cost(400); many > 6*few+1000 {
		t.Errorf("%d allocations for 100 Secrets and policies, %d for 400", few, many)
	}
}

// TestChecksOfOneHostname: what one address costs a query has a bound, of policies
// as of probes (maxJoined).
func TestChecksOfOneHostname(t *testing.T) {
	w := newWorld("c")
	for i := range 4 * maxJoined {
		p := &api.DNSPolicy{Strategy: api.WeightedGeo, DefaultWeight: 1, HealthCheck: &api.HealthCheck{Path: fmt.Sprintf("/%d", i), Port: 80, Interval: time.Second}}
		w.publish(fmt.Sprintf("n/g%d", i), "app.example.com", p, "lb.example.net")
	}
	s := Compile(nil, w.objects(), hostileOptions, testTime)
	for _, m := range s.zones[0].find("app.example.com.").steered.view.pool.members {
		for _, v := range m.vitals {
			if v.joined != nil && len(v.joined.cells) > maxJoined {
				t.Errorf("a query for %s reads %d cells", m.target, len(v.joined.cells))
			}
		}
	}
}

// TestFailsOpenIsShort: what is said of a host, which goes into a line of the log,
// has a bound whatever its geo codes are.
func TestFailsOpenIsShort(t *testing.T) {
	w := newWorld("c")
	for i := range 500 {
		p := &api.DNSPolicy{Strategy: api.WeightedGeo, DefaultWeight: 1, Geo: fmt.Sprintf("AS%d", i+1)}
		p.Annotations = map[string]string{annotationFallback: "none"}
		w.publish(fmt.Sprintf("n/g%04d", i), "app.example.com", p, fmt.Sprintf("10.0.%d.%d", i>>8, i&255))
		if i > 0 {
			g, _ := w.clusters[0].Gateways.Get(fmt.Sprintf("n/g%04d", i))
			g.Programmed = api.ConditionFalse
		}
	}
	s := Compile(nil, w.objects(), hostileOptions, testTime)
	if text := s.FailsOpen("app.example.com"); len(text) > 1000 || text == "" {
		t.Errorf("%d bytes: %.100s", len(text), text)
	}
}

// counting is a selector that counts how often it is asked.
type counting struct {
	labels.Selector
	asked *int
}

func (c counting) Matches(l labels.Labels) bool { *c.asked++; return c.Selector.Matches(l) }

// TestWeightsAreFoundOnce: how a member is weighted depends on its policy, its
// Gateway and its cluster, and not on the listener: it is found once, since a
// selector may list any number of values.
func TestWeightsAreFoundOnce(t *testing.T) {
	const listeners, clusters = 64, 16
	asked := 0
	g := &api.Gateway{}
	for i := range listeners {
		g.Listeners = append(g.Listeners, api.Listener{Name: fmt.Sprint(i), Hostname: fmt.Sprintf("h%d.example.com", i), AttachedRoutes: 1})
	}
	for i := range clusters {
		g.Addresses = append(g.Addresses, api.Address{Type: api.MultiClusterIPAddress, Value: fmt.Sprintf("c%d/192.0.2.%d", i, i+1)})
	}
	w := newWorld("c")
	w.setGateway(0, "n/g", g)
	w.setPolicy(0, "n/g", &api.DNSPolicy{
		Target: api.Target{Name: "g"}, Strategy: api.WeightedGeo,
		CustomWeights: []api.CustomWeight{{Selector: counting{labels.Nothing(), &asked}, Weight: 1}},
	})
	Compile(nil, w.objects(), hostileOptions, testTime)
	if asked > clusters {
		t.Errorf("the selector was asked %d times for %d members", asked, clusters)
	}
}

// TestChecksAreSmall: a policy and a Gateway of some 25 KiB make targets that take
// no more than a mebibyte, however long path and codes of the check are.
func TestChecksAreSmall(t *testing.T) {
	h := &api.HealthCheck{Port: 80, Path: "/" + strings.Repeat("x", 2047), Interval: time.Second} // the longest that the schema allows
	for code := 100; code < 600; code++ {
		h.Expected = append(h.Expected, code)
	}
	g := &api.Gateway{}
	for i := range 64 {
		g.Listeners = append(g.Listeners, api.Listener{Name: fmt.Sprint(i), Hostname: fmt.Sprintf("h%d.example.com", i), AttachedRoutes: 1})
	}
	for i := range 16 {
		g.Addresses = append(g.Addresses, api.Address{Type: api.IPAddress, Value: fmt.Sprintf("192.0.2.%d", i+1)})
	}
	w := newWorld("c")
	w.setGateway(0, "n/g", g)
	w.setPolicy(0, "n/g", &api.DNSPolicy{Target: api.Target{Name: "g"}, HealthCheck: h})
	s := Compile(nil, w.objects(), hostileOptions, testTime)
	size := 0
	for key := range s.checks.all.All() {
		size += len(key)
	}
	if size > 1<<20 {
		t.Errorf("the keys of %d targets have %d bytes", s.checks.Len(), size)
	}
}
