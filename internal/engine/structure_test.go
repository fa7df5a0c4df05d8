package engine

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// TestStructureAside: where compiling from nothing takes long, a new Zone is compiled beside what else changes, which is answered at
// once; another one waits for the pause, and what changes meanwhile is not lost. A reload does not wait for it.
func TestStructureAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, e := &fakeSource{name: "c", place: "api"}, New(log, nil)
		r := &running{t: t, e: e, zones: map[string]bool{"example.com.": true}}
		var mu sync.Mutex
		var story []string
		begin := func() {
			mu.Lock()
			defer mu.Unlock()
			story = nil
		}
		e.tell = snapshots(func() {
			s := e.Snapshot()
			mu.Lock()
			defer mu.Unlock()
			story = append(story, fmt.Sprintf("a=%s zones=%d behind=%v", r.answer("a"), len(s.Zones()), s.Behind()))
		})
		e.structure.quick = 0
		opt := simpleOptions(60)
		apply(t, e, &settings{opt: opt}, f)
		show := func(address string, zones ...string) {
			t.Helper()
			begin()
			c := f.cluster(hosts{"a": address})
			for k := range c.Listings {
				c.Listings[k] = api.Listed
			}
			all := c.Zones.Edit()
			for _, name := range zones {
				z := &api.Zone{Meta: api.Meta{Name: "ns/" + name, Cluster: "c"}, DomainName: name + ".example.com.", TTL: 60}
				if before, ok := f.last.Zones.Get(z.Name); ok {
					z = before
				}
				all.Set(z.Name, z)
			}
			c.Zones = all.Map()
			f.send(c)
		}
		expect := func(when string, want ...string) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(story, want) {
				t.Errorf("%s: published are %q, want %q", when, story, want)
			}
		}
		f.show(hosts{"a": "192.0.2.1"})
		show("192.0.2.2", "one")
		expect("a Zone, and an address", "a=192.0.2.2 zones=1 behind=true", "a=192.0.2.2 zones=2 behind=false")
		show("192.0.2.3", "one", "two")
		expect("another one in the pause", "a=192.0.2.3 zones=2 behind=true")
		show("192.0.2.4", "one", "two", "three")
		expect("and one more", "a=192.0.2.4 zones=2 behind=true")
		begin()
		wait(minPause)
		expect("after the pause", "a=192.0.2.4 zones=2 behind=true", "a=192.0.2.4 zones=4 behind=false")
		if got, want := e.Snapshot(), records.Compile(nil, e.Snapshot().Input(), opt, e.Now()); got.Zone("example.com.").Hash() != want.Zone("example.com.").Hash() {
			t.Error("it is not what comes from nothing")
		}
		begin()
		again := &records.Options{Zones: opt.Zones, ZoneNamespaces: []string{"ns"}}
		e.apply(&settings{opt: again, feeds: []*feed{fed(f)}})
		synctest.Wait()
		if s := e.Snapshot(); s.Behind() || len(s.Zones()) != 4 {
			t.Errorf("after a reload: %q", story)
		}
	})
}
