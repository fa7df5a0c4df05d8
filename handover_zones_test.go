package kuadrant

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
		f := &feed{name: "c", place: "api"}
		first := followWith(t, nil, zones("example.com."), f)
		f.show(hosts{"a": "192.0.2.1"})
		start := func(before *running) (*running, *feed, *feed) {
			c, d := &feed{name: "c", place: "api"}, &feed{name: "d", place: "away"}
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
		f := &feed{name: "c", place: "api"}
		before := followWith(t, nil, zone("sub.example.com."), f)
		f.show(hosts{"a.sub": "192.0.2.1"})
		for range 2 {
			c, d := &feed{name: "c", place: "api"}, &feed{name: "d", place: "away"}
			before = followWith(t, before, zone("example.com."), c, d)
			before.expect("at once", "a.sub=192.0.2.1", "no.sub=NXDOMAIN", "no=SERVFAIL")
			c.show(hosts{"a.sub": "192.0.2.1"})
			before.expect("one is listed", "a.sub=192.0.2.1", "no.sub=NXDOMAIN", "no=SERVFAIL")
		}
		for range 2 {
			c, d := &feed{name: "c", place: "api"}, &feed{name: "d", place: "away"}
			before = followWith(t, before, zone("other.test."), c, d)
			before.expect("another zone", "www.other.test.=SERVFAIL")
		}
		before = followWith(t, before, zone("example.com."), &feed{name: "c", place: "api"}, &feed{name: "d", place: "away"})
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
		f := &feed{name: "c", place: "api"}
		before := followWith(t, nil, zone("example.com."), f)
		f.show(hosts{"a.sub": "192.0.2.1"})
		for _, origin := range []string{"sub.example.com.", "sub.example.com.", "example.com."} {
			c, d := &feed{name: "c", place: "api"}, &feed{name: "d", place: "away"}
			before = followWith(t, before, zone(origin), c, d)
			before.expect("at once", "a.sub=192.0.2.1", "no.sub=NXDOMAIN")
			c.show(hosts{"a.sub": "192.0.2.1"})
			before.expect("one is listed", "a.sub=192.0.2.1", "no.sub=NXDOMAIN")
		}
		before.expect("outside of what was served", "no=SERVFAIL")
	})
}

// TestReloadFollowsRetiredSerials: a zone that goes with a reload, and comes back
// with another, goes on from the last serial that its old engine published.
func TestReloadFollowsRetiredSerials(t *testing.T) {
	zones := func(origins ...string) (zones []records.ZoneOptions) {
		for _, origin := range origins {
			zones = append(zones, records.ZoneOptions{Origin: origin, TTL: 60, LoadBalancedTTL: 300})
		}
		return zones
	}
	synctest.Test(t, func(t *testing.T) {
		f := &feed{name: "c", place: "directory"}
		first := followWith(t, nil, zones("example.com.", "example.org."), f)
		for i := range 150 {
			f.show(hosts{"a": fmt.Sprintf("192.0.2.%d", i+1)})
		}
		second := followWith(t, first, zones("example.org."), &feed{name: "c", place: "directory"})
		for i := range 5 {
			f.show(hosts{"a": fmt.Sprintf("192.0.2.%d", i+1)})
		}
		last := first.serial()
		first.plugin.engine.stop()
		second.plugin.engine.ring()
		synctest.Wait()
		third := followWith(t, second, zones("example.com.", "example.org."), &feed{name: "c", place: "directory"})
		if now := third.serial(); int32(now-last) <= 0 {
			t.Errorf("serial %d after %d", now, last)
		}
	})
}

// TestReloadBeforeFirstList: serials follow those of an engine that had nothing
// to answer from yet when the next one began.
func TestReloadBeforeFirstList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, next := &feed{name: "c", place: "directory"}, &feed{name: "c", place: "directory"}
		before := follow(t, nil, 60, f)
		after := follow(t, before, 60, next)
		for i := range 4 {
			f.show(hosts{"a": fmt.Sprintf("192.0.2.%d", i+1)})
		}
		before.plugin.engine.stop()
		after.plugin.engine.ring()
		synctest.Wait()
		next.show(hosts{"a": "192.0.2.99"})
		if old, now := before.serial(), after.serial(); int32(now-old) <= 0 {
			t.Errorf("serial %d after %d", now, old)
		}
	})
}

// TestReloadKeepsSerial: a serial never goes back, whatever a reload changes
// (rule 6.7).
func TestReloadKeepsSerial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &feed{name: "c", place: "directory"}
		before := follow(t, nil, 60, f)
		for i := range 20 {
			f.show(hosts{"a": fmt.Sprintf("192.0.2.%d", i+1)})
		}
		top := before.serial()
		for _, c := range []struct {
			name, place string
			ttl         uint32
		}{{"c", "directory", 60}, {"c", "elsewhere", 60}, {"d", "elsewhere", 60}, {"d", "elsewhere", 61}} {
			next := &feed{name: c.name, place: c.place}
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

// TestReloadFollowsSerials: what the engine before publishes until it has ended
// counts too: the new one's serials are higher, with the same content the same.
func TestReloadFollowsSerials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &feed{name: "c", place: "directory"}
		before := follow(t, nil, 60, f)
		f.show(hosts{"a": "192.0.2.1"})
		next := &feed{name: "c", place: "directory"}
		after := follow(t, before, 60, next)
		for i := range 3 {
			f.show(hosts{"a": fmt.Sprintf("192.0.2.%d", i+2)})
		}
		next.show(hosts{"a": "192.0.2.4"})
		if old, s := before.serial(), after.serial(); s != old {
			t.Errorf("serial %d after the reload, want %d, that of the same content", s, old)
		}
		next.show(hosts{"a": "192.0.2.99"})
		for i := range 3 {
			f.show(hosts{"a": fmt.Sprintf("192.0.2.%d", i+5)})
		}
		before.plugin.engine.stop()
		after.plugin.engine.ring()
		synctest.Wait()
		if old, s := before.serial(), after.serial(); int32(s-old) <= 0 {
			t.Errorf("serial %d after the engine before ended with %d", s, old)
		}
		top := after.serial()
		after.plugin.engine.ring()
		synctest.Wait()
		if s := after.serial(); s != top {
			t.Errorf("serial %d without a change, want %d", s, top)
		}
	})
}
