package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// running is an engine on feeds, as a reload starts it after another one.
type running struct {
	t      *testing.T
	plugin *answerer
}

// follow starts an engine on feeds after before, which goes on to run and may be
// nil. It belongs into a synctest bubble.
func follow(t *testing.T, before *running, ttl uint32, feeds ...*fakeSource) *running {
	t.Helper()
	return followWith(t, before, []records.ZoneOptions{{Origin: "example.com.", TTL: ttl, LoadBalancedTTL: 300}}, feeds...)
}

// fed is the feed of a source. The same source is the same feed.
func fed(f source.Source) *feed {
	own := &feed{name: f.Name(), source: f, stats: new(source.Stats), same: feedSettings{text: fmt.Sprintf("%p", f)}}
	if f, ok := f.(*fakeSource); ok {
		own.pools = f.pools
	}
	return own
}

// simpleOptions are those of the zone example.com.
func simpleOptions(ttl uint32) *records.Options {
	return &records.Options{Zones: []records.ZoneOptions{{Origin: "example.com.", TTL: ttl, LoadBalancedTTL: 300}}}
}

// apply puts s in force, with feeds, and stops e when the test ends.
func apply(t *testing.T, e *Engine, s *settings, feeds ...*fakeSource) {
	for _, f := range feeds {
		s.feeds = append(s.feeds, fed(f))
	}
	if e.inForce.Load() == nil {
		t.Cleanup(e.Stop)
	}
	e.apply(s)
	synctest.Wait()
}

// unguarded has what lists lack go at once.
func (r *running) unguarded() *running {
	r.plugin.engine.guard.period = 0
	return r
}

// followWith is follow with other zones.
func followWith(t *testing.T, before *running, zones []records.ZoneOptions, feeds ...*fakeSource) *running {
	t.Helper()
	b := &served{ZoneSet: make(map[string]bool)}
	for _, z := range zones {
		b.Zones, b.ZoneSet[z.Origin] = append(b.Zones, z.Origin), true
	}
	e := New(log, nil)
	if before != nil {
		e = before.plugin.engine
	}
	apply(t, e, &settings{opt: &records.Options{Zones: zones}}, feeds...)
	return &running{t: t, plugin: &answerer{block: b, engine: e}}
}

// expect asks for hosts below example.com, or for names that end with a dot; want
// is "name=answer" for each.
func (r *running) expect(when string, want ...string) {
	r.t.Helper()
	for _, w := range want {
		name, answer, _ := strings.Cut(w, "=")
		if got := r.answer(name); got != answer {
			r.t.Errorf("%s: %s is answered with %s, want %s", when, name, got, answer)
		}
	}
}

// answer returns the address of a host, or the rcode.
func (r *running) answer(name string) string {
	r.t.Helper()
	if !strings.HasSuffix(name, ".") {
		name += ".example.com."
	}
	reply, _ := ask(r.t, r.plugin, context.Background(), question(name, dns.TypeA))
	return firstA(reply)
}

func (r *running) serial() uint32 { return r.plugin.engine.Snapshot().Zones()[0].Serial() }

// TestReloadWithPartOfCluster: while a source cannot tell what a file holds, what
// it knows of the others counts, and all counts once it can.
func TestReloadWithPartOfCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "directory"}
		first := follow(t, nil, 60, f)
		f.show(hosts{"a": "192.0.2.1", "b": "192.0.2.2", "gone": "192.0.2.3"})
		again := &fakeSource{name: "c", place: "directory"}
		second := follow(t, first, 60, again).unguarded()
		again.showPartly(hosts{"a": "192.0.2.1", "new": "192.0.2.4"})
		second.expect("a file is broken", "a=192.0.2.1", "b=192.0.2.2", "gone=192.0.2.3", "new=192.0.2.4", "no=NXDOMAIN")
		again.showPartly(hosts{"a": "192.0.2.11"})
		second.expect("others change", "a=192.0.2.11", "b=192.0.2.2", "gone=192.0.2.3", "new=NXDOMAIN")
		again.show(hosts{"a": "192.0.2.11", "b": "192.0.2.2"})
		second.expect("the file is whole", "a=192.0.2.11", "b=192.0.2.2", "gone=NXDOMAIN")
	})
}

// TestReloadWithKindMissing: a server that does not know a kind for a moment after
// a reload withdraws nothing; one that goes on not to know it does.
func TestReloadWithKindMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		first := follow(t, nil, 60, f)
		f.show(hosts{"a": "192.0.2.1"})
		again := &fakeSource{name: "c", place: "api"}
		second := follow(t, first, 60, again).unguarded()
		without := func(policies api.Listing) {
			c := again.cluster(hosts{"a": "192.0.2.11"})
			c.Policies = new(api.Cluster).Policies
			c.Listings = [api.NumKinds]api.Listing{api.Listed, policies, api.Listed}
			again.send(c)
		}
		without(api.Missing)
		second.expect("missing", "a=192.0.2.11", "no=NXDOMAIN")
		without(api.NotInstalled)
		second.expect("not installed", "a=NXDOMAIN")
	})
}

// TestReloadSharesNoTree: the old source may edit its trees while the new engine
// completes what its own source has published.
func TestReloadSharesNoTree(t *testing.T) {
	f := &fakeSource{name: "c", place: "api"}
	old := f.cluster(hosts{"a": "192.0.2.1"})
	at := newCluster("api", "c")
	first := &feed{name: "c", source: f, last: old}
	at.merge([]*feed{first}, first)
	var source sync.WaitGroup
	source.Go(func() {
		old.Gateways.Edit()
		old.Policies.Edit()
	})
	again := &feed{name: "c", source: f, last: &api.Cluster{Name: "c", UID: "api"}}
	at.merge([]*feed{again}, again)
	source.Wait()
	c := at.now
	if c.Gateways.Len() != 1 || c.Policies.Len() != 1 {
		t.Errorf("%d Gateways and %d policies, want 1 of each", c.Gateways.Len(), c.Policies.Len())
	}
}

// TestReloadWithKindsNeverListed: what was not denied before a reload is not
// denied after it either (rule 7.4).
func TestReloadWithKindsNeverListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		first := follow(t, nil, 60, f)
		f.show(hosts{"a": "192.0.2.1"}, api.KindDNSPolicy)
		first.expect("forbidden", "a=SERVFAIL")
		again, other := &fakeSource{name: "c", place: "api"}, &fakeSource{name: "d", place: "api"}
		follow(t, first, 30, again).expect("the same", "a=SERVFAIL", "no=SERVFAIL")
		second := follow(t, first, 30, other)
		second.expect("another", "a=SERVFAIL", "no=SERVFAIL")
		other.show(hosts{"b": "192.0.2.2"}, api.KindDNSPolicy)
		second.expect("the other, forbidden too", "a=SERVFAIL", "b=SERVFAIL", "no=SERVFAIL")
	})
}

// TestReloadToSourceThatIsAway: where nothing that was read is read any more,
// what was known stays until the new source has listed it all, through further
// reloads too.
func TestReloadToSourceThatIsAway(t *testing.T) {
	for _, name := range []string{"other", "c"} { // also under the name that goes
		synctest.Test(t, func(t *testing.T) {
			f := &fakeSource{name: "c", place: "directory"}
			first := follow(t, nil, 60, f)
			f.show(hosts{"a": "192.0.2.1"})
			away := &fakeSource{name: name, place: "api", uid: "o"}
			second := follow(t, first, 60, away)
			second.expect("away", "a=192.0.2.1", "no=NXDOMAIN")
			third := follow(t, second, 60, &fakeSource{name: "third", place: "api"})
			third.expect("another one away", "a=192.0.2.1", "no=NXDOMAIN")
			back := &fakeSource{name: "c", place: "directory"}
			fourth := follow(t, third, 60, back)
			back.show(hosts{"a": "192.0.2.1"}, everything()...)
			fourth.expect("back to the first", "a=192.0.2.1", "no=NXDOMAIN")
			back.show(hosts{"a": "192.0.2.1"})
			away = &fakeSource{name: name, place: "api", uid: "o"}
			second = follow(t, fourth, 60, away)
			away.show(hosts{"a": "192.0.2.9", "b": "192.0.2.2"}, api.KindDNSPolicy)
			second.expect("policies forbidden", "a=192.0.2.1", "b=NXDOMAIN")
			away.show(hosts{"b": "192.0.2.2"})
			second.expect("listed", "a=NXDOMAIN", "b=192.0.2.2", "no=NXDOMAIN")
			away.show(hosts{"b": "192.0.2.3"})
			second.expect("changes follow", "b=192.0.2.3")
			on := &fakeSource{name: name, place: "api", uid: "o"}
			last := follow(t, second, 30, on)
			on.show(hosts{"b": "192.0.2.4"}, api.KindDNSPolicy)
			last.expect("read on, policies forbidden", "b=192.0.2.4", "no=NXDOMAIN")
			if n := len(second.plugin.engine.Snapshot().Objects().Clusters); n != 1 {
				t.Errorf("%d clusters are left, want 1", n)
			}
		})
	}
}

// TestReloadKindWithoutObjects: a kind of which nothing was known holds nothing
// up where the new source may not read it.
func TestReloadKindWithoutObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "directory"}
		first := follow(t, nil, 60, f)
		f.show(nil)
		other := &fakeSource{name: "d", place: "api"}
		second := follow(t, first, 60, other)
		other.show(hosts{"a": "192.0.2.1"}, api.KindDNSPolicy)
		second.expect("policies forbidden", "a=NXDOMAIN", "no=NXDOMAIN")
		clusters := second.plugin.engine.Snapshot().Objects().Clusters
		if _, ok := clusters[slices.IndexFunc(clusters, func(c *api.Cluster) bool { return c.Name == "d" })].Gateways.Get("ns/a"); !ok {
			t.Error("what could be listed is held back")
		}
	})
}

// TestReloadWithOneMoreSource: a source that is added changes nothing until it
// has published, and what it publishes is served at once.
func TestReloadWithOneMoreSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "directory"}
		first := follow(t, nil, 60, f)
		f.show(hosts{"a": "192.0.2.1"})
		again, more := &fakeSource{name: "c", place: "directory"}, &fakeSource{name: "a", place: "other"}
		second := follow(t, first, 60, again, more)
		second.expect("before the lists", "a=192.0.2.1", "no=NXDOMAIN")
		again.show(hosts{"a": "192.0.2.1"})
		second.expect("the first is listed", "a=192.0.2.1", "no=NXDOMAIN")
		more.show(hosts{"b": "192.0.2.2"}, api.KindGateway)
		second.expect("the second is forbidden", "a=192.0.2.1", "no=NXDOMAIN")
		more.show(hosts{"b": "192.0.2.2"})
		second.expect("both are listed", "a=192.0.2.1", "b=192.0.2.2", "no=NXDOMAIN")

		last := follow(t, second, 60, &fakeSource{name: "a", place: "other"})
		last.expect("the first is removed", "a=NXDOMAIN", "b=192.0.2.2")
	})
}

// TestReloadStaysReady: an engine that took over is as ready as the one before.
func TestReloadStaysReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		first := follow(t, nil, 60, f)
		if first.plugin.Ready() {
			t.Error("ready before anything was read")
		}
		f.show(hosts{"a": "192.0.2.1"}, api.KindDNSPolicy)
		if !first.plugin.Ready() {
			t.Error("not ready although a kind is listed")
		}
		if !follow(t, first, 60, &fakeSource{name: "d", place: "api"}).plugin.Ready() {
			t.Error("not ready after the reload")
		}
	})
}

// TestReadyWithoutRights: a process that may read nothing answers nothing, and
// must not replace one that does.
func TestReadyWithoutRights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, g := &fakeSource{name: "c", place: "api"}, &fakeSource{name: "d", place: "api", uid: "d"}
		r := follow(t, nil, 60, f, g)
		g.show(nil)
		f.show(nil, everything()...)
		r.expect("forbidden", "a=SERVFAIL")
		if r.plugin.Ready() {
			t.Error("ready although one of the sources may read nothing")
		}
		f.show(nil, api.KindGateway)
		if !r.plugin.Ready() {
			t.Error("not ready although a kind of each source is listed")
		}
		f.show(nil, everything()...)
		if !r.plugin.Ready() {
			t.Error("not ready any more")
		}
	})
	// A broken file beside good ones is no reason to hold a process back.
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "directory"}
		r := follow(t, nil, 60, f)
		f.show(hosts{"a": "192.0.2.1"})
		c := *f.last
		c.Listings = [api.NumKinds]api.Listing{}
		f.publish(&c)
		synctest.Wait()
		if !r.plugin.Ready() {
			t.Error("not ready although there is something to answer with")
		}
	})
}

// TestReloadKeepsUID: a cluster that is read on keeps the UID that its leaves are
// named after, though the new run could not read it, or could for the first time.
func TestReloadKeepsUID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		first := follow(t, nil, 60, f)
		f.show(hosts{"a": "192.0.2.1"})
		again := &fakeSource{name: "c", place: "api", uid: "c"}
		second := follow(t, first, 60, again)
		for range 2 {
			again.show(hosts{"a": "192.0.2.1"})
			if uid := second.plugin.engine.Snapshot().Objects().Clusters[0].UID; uid != "api" {
				t.Errorf("the UID is %q after the reload, want api", uid)
			}
		}
	})
}

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
