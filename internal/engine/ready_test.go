package engine

import (
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// TestReadyWaitsForFirstRound: readiness waits for the first check of each target,
// counted from the moment at which there are some: something may be
// compiled before anything is listed, however long that takes.
func TestReadyWaitsForFirstRound(t *testing.T) {
	target := newTargets(t, "127.0.8.1")[0]
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		e := New(log, nil)
		apply(t, e, &settings{
			opt: simpleOptions(60), prober: health.NewProber(health.Options{Guard: health.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.8.0/24")}}}),
		}, f)
		synctest.Wait()
		e.wake.ring()
		time.Sleep(2 * firstRound)
		if e.Ready() {
			t.Error("ready with nothing")
		}
		c := f.cluster(hosts{"a": "127.0.8.1"})
		for k := range c.Listings {
			c.Listings[k] = api.Listed
		}
		edit := c.Policies.Edit()
		for name, p := range c.Policies.All() {
			checked := *p
			checked.HealthCheck = &api.HealthCheck{
				Protocol: api.HTTP, Port: uint16(target.Port), Path: "/", Interval: time.Minute, Timeout: time.Second,
				FailureThreshold: 1, SuccessThreshold: 1, Expected: []int{200},
			}
			edit.Set(name, &checked)
		}
		c.Policies = edit.Map()
		f.send(c)
		if e.Ready() {
			t.Error("ready before the first check")
		}
		time.Sleep(2 * time.Second)
		if !e.Ready() || target.Asked.Load() != 1 {
			t.Errorf("ready %v after %d checks", e.Ready(), target.Asked.Load())
		}
	})
}

// neverChecked returns an engine with one host whose policy has a check, and a prober
// that does not run. Nothing is published yet.
func neverChecked() (*Engine, []*api.Cluster) {
	e := New(log, nil)
	e.inForce.Store(&settings{opt: simpleOptions(60), prober: health.NewProber(health.Options{})}) // that does not run
	f := &fakeSource{name: "c", place: "api"}
	c := f.cluster(hosts{"a": "192.0.2.1"})
	for k := range c.Listings {
		c.Listings[k] = api.Listed
	}
	for _, p := range c.Policies.All() {
		p.HealthCheck = &api.HealthCheck{Protocol: api.TCP, Port: 80, Interval: time.Minute, FailureThreshold: 1, SuccessThreshold: 1}
	}
	return e, []*api.Cluster{c}
}

// TestReadyDoesNotWaitForEver: a target that does not answer keeps readiness for ten
// seconds, no longer.
func TestReadyDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, clusters := neverChecked()
		e.Publish(records.Compile(nil, api.Objects{Clusters: clusters}, e.settings().opt, e.Now()))
		for _, step := range []struct {
			wait  time.Duration
			ready bool
		}{{0, false}, {firstRound - time.Second, false}, {time.Second, true}} {
			time.Sleep(step.wait)
			if got := e.Ready(); got != step.ready {
				t.Errorf("ready %v, want %v", got, step.ready)
			}
		}
		if n := fmt.Sprint(e.Snapshot().Checks().Len()); n != "1" {
			t.Errorf("%s checks", n)
		}
	})
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
				e, clusters := neverChecked()
				set, start := time.Duration(0), time.Now()
				e.Now = func() time.Time { return shifted(base.Add(time.Since(start)), set) }
				before := e.Now()
				e.Publish(records.Compile(nil, api.Objects{Clusters: clusters}, e.settings().opt, before))
				set = d
				if after := e.Now(); after.Sub(before) != 0 || after.Unix()-before.Unix() != int64(d/time.Second) {
					t.Fatalf("the test does not set the clock: %v, %v", before, after)
				}
				time.Sleep(time.Second)
				if e.Ready() {
					t.Errorf("clock set by %v: ready after a second, before any check", d)
				}
				time.Sleep(firstRound)
				if !e.Ready() {
					t.Errorf("clock set by %v: not ready after %v", d, firstRound+time.Second)
				}
			})
		})
	}
}
