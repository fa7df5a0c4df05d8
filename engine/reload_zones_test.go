package engine

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/coredns-kuadrant/kuadrant/records"
)

// TestReloadWithNewZone: names of a zone that a reload adds were never denied, and
// are not until all sources have been listed (rule 7.4). Names of the others go
// on to be.
func TestReloadWithNewZone(t *testing.T) {
	zones := func(origins ...string) (zones []records.ZoneOptions) {
		for _, origin := range origins {
			zones = append(zones, records.ZoneOptions{Origin: origin, TTL: 60, LoadBalancedTTL: 300})
		}
		return zones
	}
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		first := followWith(t, nil, zones("example.com."), f)
		f.show(hosts{"a": "192.0.2.1"})
		start := func(before *running) (*running, *fakeSource, *fakeSource) {
			c, d := &fakeSource{name: "c", place: "api"}, &fakeSource{name: "d", place: "away"}
			return followWith(t, before, zones("example.com.", "sub.example.com.", "new.test."), c, d), c, d
		}
		second, c, _ := start(first)
		want := []string{"a=192.0.2.1", "no=NXDOMAIN", "no.sub=NXDOMAIN", "www.new.test.=SERVFAIL"}
		second.expect("at once", want...)
		c.show(hosts{"a": "192.0.2.1"})
		second.expect("one source is listed", want...)
		third, c, d := start(second)
		third.expect("after another reload", want...)
		c.show(hosts{"a": "192.0.2.1"})
		d.show(hosts{"b": "192.0.2.2"})
		third.expect("all are listed", "a=192.0.2.1", "b=192.0.2.2", "no=NXDOMAIN", "www.new.test.=NXDOMAIN")
	})
}

// TestReloadToLargerZone: names of a zone that becomes a part of a larger one go
// on to be denied; other names of that are not, until all has been listed.
func TestReloadToLargerZone(t *testing.T) {
	zone := func(origin string) []records.ZoneOptions {
		return []records.ZoneOptions{{Origin: origin, TTL: 60, LoadBalancedTTL: 300}}
	}
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		before := followWith(t, nil, zone("sub.example.com."), f)
		f.show(hosts{"a.sub": "192.0.2.1"})
		for range 2 {
			c, d := &fakeSource{name: "c", place: "api"}, &fakeSource{name: "d", place: "away"}
			before = followWith(t, before, zone("example.com."), c, d)
			before.expect("at once", "a.sub=192.0.2.1", "no.sub=NXDOMAIN", "no=SERVFAIL")
			c.show(hosts{"a.sub": "192.0.2.1"})
			before.expect("one is listed", "a.sub=192.0.2.1", "no.sub=NXDOMAIN", "no=SERVFAIL")
		}
		for range 2 {
			c, d := &fakeSource{name: "c", place: "api"}, &fakeSource{name: "d", place: "away"}
			before = followWith(t, before, zone("other.test."), c, d)
			before.expect("another zone", "www.other.test.=SERVFAIL")
		}
		before = followWith(t, before, zone("example.com."), &fakeSource{name: "c", place: "api"}, &fakeSource{name: "d", place: "away"})
		before.expect("it was not served meanwhile", "no.sub=SERVFAIL")
	})
}

// TestReloadToNarrowerZone: the same the other way round, through any number of
// reloads.
func TestReloadToNarrowerZone(t *testing.T) {
	zone := func(origin string) []records.ZoneOptions {
		return []records.ZoneOptions{{Origin: origin, TTL: 60, LoadBalancedTTL: 300}}
	}
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		before := followWith(t, nil, zone("example.com."), f)
		f.show(hosts{"a.sub": "192.0.2.1"})
		for _, origin := range []string{"sub.example.com.", "sub.example.com.", "example.com."} {
			c, d := &fakeSource{name: "c", place: "api"}, &fakeSource{name: "d", place: "away"}
			before = followWith(t, before, zone(origin), c, d)
			before.expect("at once", "a.sub=192.0.2.1", "no.sub=NXDOMAIN")
			c.show(hosts{"a.sub": "192.0.2.1"})
			before.expect("one is listed", "a.sub=192.0.2.1", "no.sub=NXDOMAIN")
		}
		before.expect("outside of what was served", "no=SERVFAIL")
	})
}

// TestReloadKeepsSerial: a serial never goes back, whatever a reload changes
// (rule 6.7).
func TestReloadKeepsSerial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "directory"}
		before := follow(t, nil, 60, f)
		for i := range 20 {
			f.show(hosts{"a": fmt.Sprintf("192.0.2.%d", i+1)})
		}
		top := before.serial()
		for _, c := range []struct {
			name, place string
			ttl         uint32
		}{{"c", "directory", 60}, {"c", "elsewhere", 60}, {"d", "elsewhere", 60}, {"d", "elsewhere", 61}} {
			next := &fakeSource{name: c.name, place: c.place}
			after := follow(t, before, c.ttl, next)
			check := func(when string) {
				t.Helper()
				if s := after.serial(); int32(s-top) < 0 {
					t.Errorf("%v, %s: serial %d after %d", c, when, s, top)
				}
				top = after.serial()
			}
			check("before the list")
			next.show(hosts{"b": "192.0.2.99"})
			check("after the list")
			before = after
		}
	})
}
