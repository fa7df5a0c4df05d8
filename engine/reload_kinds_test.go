package engine

import (
	"maps"
	"testing"
	"testing/synctest"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestProbesForbidden: a kind that holds no names keeps none from being denied
// (rule 7.4), and makes nobody ready.
func TestProbesForbidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		r := follow(t, nil, 60, f)
		f.show(nil, holdingNames()...)
		r.expect("probes alone", "a=SERVFAIL")
		if r.plugin.Ready() {
			t.Error("ready with probes alone")
		}
		f.show(hosts{"a": "192.0.2.1"}, api.KindProbe)
		r.expect("all but probes", "a=192.0.2.1", "no=NXDOMAIN")
		if !r.plugin.Ready() {
			t.Error("not ready without probes")
		}
	})
}

// TestReloadWithProbesLost: probes that may not be read any more after a reload
// stay, and changes of what is seen of them are taken in; the other kinds are
// followed.
func TestReloadWithProbesLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		first := follow(t, nil, 60, f)
		f.show(hosts{"a": "192.0.2.1", "other/b": "192.0.2.2"})
		again := &fakeSource{name: "c", place: "api"}
		second := follow(t, first, 60, again).unguarded()
		probed := func(when string, want map[string]string) {
			t.Helper()
			if got := second.probed(); !maps.Equal(got, want) {
				t.Errorf("%s: probes %v, want %v", when, got, want)
			}
		}
		again.show(hosts{"a": "192.0.2.11"}, api.KindProbe)
		second.expect("forbidden", "a=192.0.2.11", "b=NXDOMAIN", "no=NXDOMAIN")
		probed("forbidden", map[string]string{"ns/a": "192.0.2.1", "other/b": "192.0.2.2"})
		again.showIn(hosts{"a": "192.0.2.12"}, "ns")
		probed("one namespace", map[string]string{"ns/a": "192.0.2.12", "other/b": "192.0.2.2"})
		again.show(hosts{"a": "192.0.2.13"})
		second.expect("listed", "a=192.0.2.13", "b=NXDOMAIN")
		probed("listed", map[string]string{"ns/a": "192.0.2.13"})
	})
}

// TestReloadToSourceWithoutProbes: what was known does not wait for probes that
// the new source may not read.
func TestReloadToSourceWithoutProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "directory"}
		first := follow(t, nil, 60, f)
		f.show(hosts{"a": "192.0.2.1"})
		other := &fakeSource{name: "d", place: "api"}
		second := follow(t, first, 60, other)
		other.show(hosts{"b": "192.0.2.2"}, api.KindProbe)
		second.expect("probes forbidden", "a=NXDOMAIN", "b=192.0.2.2")
		if got := second.probed(); len(got) != 0 {
			t.Errorf("probes %v", got)
		}
	})
}
