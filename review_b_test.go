package kuadrant

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// TestProbingGuardsWrappedAPIServers: an API server that is named by an IPv6 form of an
// IPv4 address is not probed, in that form or another (rule 4.9).
func TestProbingGuardsWrappedAPIServers(t *testing.T) {
	for server, addrs := range map[string][]string{
		"https://[64:ff9b::c000:201]:6443":   {"64:ff9b::c000:201", "192.0.2.1"},
		"https://[2002:c000:201::1]:6443":    {"2002:c000:201::1"},
		"https://[::ffff:0:c000:201]:6443":   {"::ffff:0:c000:201"},
		"https://[2001:db8::1]:6443":         {"2001:db8::1"},
		"https://[::ffff:192.0.2.1]:6443":    {"64:ff9b::c000:201", "2002:c000:201::1"},
		"https://[64:ff9b::192.0.2.1]/k8s/c": {"::ffff:192.0.2.1"},
	} {
		guard := new(config).probing([]string{server}, nil).Guard
		for _, a := range addrs {
			if guard.Allows(netip.MustParseAddr(a), 6443) {
				t.Errorf("%q: a check may go to %s", server, a)
			}
		}
	}
}

// TestProbeDenyOfWrappedForms: probe-deny forbids what it names, in the very form that is
// dialled.
func TestProbeDenyOfWrappedForms(t *testing.T) {
	for deny, addr := range map[string]string{"64:ff9b::/96": "64:ff9b::c000:201", "2002::/16": "2002:c000:201::1", "::/0": "64:ff9b::c000:201"} {
		cfg := &config{probeDeny: []string{deny}}
		if guard := cfg.probing(nil, nil).Guard; guard.Allows(netip.MustParseAddr(addr), 443) {
			t.Errorf("probe-deny %s: a check may go to %s", deny, addr)
		}
	}
}

// shifted returns t as it would be if the wall clock had been set by d since the process
// began: what counts the time that passes stays.
func shifted(t time.Time, d time.Duration) time.Time {
	wall := (*uint64)(unsafe.Pointer(&t)) //nolint:gosec // the seconds since 1885 stand above 30 bits of nanoseconds
	*wall += uint64(int64(d/time.Second) << 30)
	return t
}

// TestReadyWhenClockIsSet: readiness waits for ten seconds, no more and no less, where the
// clock is set meanwhile: many machines do that right after their start (rule 7.4).
func TestReadyWhenClockIsSet(t *testing.T) {
	base := time.Now() // times in a bubble have no monotonic part
	for _, d := range []time.Duration{-time.Hour, time.Hour} {
		t.Run(d.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEngine()
				set, start := time.Duration(0), time.Now()
				e.now = func() time.Time { return shifted(base.Add(time.Since(start)), set) }
				e.prober = health.NewProber(health.Options{}) // that does not run
				e.opt = &records.Options{Zones: []records.ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
				f := &feed{name: "c", place: "api"}
				e.sources, e.stats = []source.Source{f}, []*source.Stats{new(source.Stats)}
				c := f.cluster(hosts{"a": "192.0.2.1"})
				for k := range c.Listings {
					c.Listings[k] = api.Listed
				}
				for _, p := range c.Policies.All() {
					p.HealthCheck = &api.HealthCheck{Protocol: api.TCP, Port: 80, Interval: time.Minute, FailureThreshold: 1, SuccessThreshold: 1}
				}
				e.clusters = []*api.Cluster{c}
				before := e.now()
				e.publish(records.Compile(nil, e.objects(e.clusters), e.opt, before))
				set = d
				if after := e.now(); after.Sub(before) != 0 || after.Unix()-before.Unix() != int64(d/time.Second) {
					t.Fatalf("the test does not set the clock: %v, %v", before, after)
				}
				time.Sleep(time.Second)
				if e.ready() {
					t.Errorf("clock set by %v: ready after a second, before any check", d)
				}
				time.Sleep(firstRound)
				if !e.ready() {
					t.Errorf("clock set by %v: not ready after %v", d, firstRound+time.Second)
				}
			})
		})
	}
}
