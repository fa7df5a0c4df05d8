package engine

import (
	"cmp"
	"errors"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/controller"
	statefile "github.com/coredns-kuadrant/kuadrant/internal/state"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// TestStateOfSecrets: no header comes from the state: a check that needs some waits for its
// Secret as at any start; providers narrow as before, and `secrets off` uses none of them.
func TestStateOfSecrets(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		c := clusterOfSecrets(t)
		f := &fakeSource{name: "c", place: "api"}
		probing := func(_ *Engine, s *settings) { s.prober = health.NewProber(health.Options{}) }
		first := beginWith(t, dir, nil, probing, f)
		f.send(c)
		first.expect("from the source", "a=192.0.2.1", "b=192.0.2.2", "c=NXDOMAIN")
		first.e.Stop()
		text, err := os.ReadFile(filepath.Join(dir, statefile.Name))
		if err != nil || strings.Contains(string(text), "hidden") || strings.Contains(string(text), "X-Key") {
			t.Errorf("the state has headers: %v", err)
		}
		second := beginWith(t, dir, nil, probing, &fakeSource{name: "c", place: "api"})
		second.expect("from the state", "a=192.0.2.1", "b=192.0.2.2", "c=NXDOMAIN")
		n := 0
		for _, target := range second.e.Snapshot().Checks().All() {
			if n++; !target.Missing || len(target.Values) > 0 {
				t.Errorf("%s: headers missing %v, %d of them", target.Key(), target.Missing, len(target.Values))
			}
		}
		if n != 1 {
			t.Errorf("%d targets", n)
		}
		off := beginWith(t, dir, nil, func(_ *Engine, s *settings) { s.reads.NoSecrets = true }, &fakeSource{name: "c", place: "api"})
		off.expect("secrets off", "a=192.0.2.1", "b=192.0.2.2", "c=192.0.2.3")
		if got := off.e.Snapshot().Objects().Clusters[0].Secrets.Len(); got != 0 {
			t.Errorf("%d Secrets with `secrets off`", got)
		}
	})
}

// clusterOfSecrets has a host whose check has headers, and two whose policies name a provider
// for one of them.
func clusterOfSecrets(t *testing.T) *api.Cluster {
	t.Helper()
	c := (&fakeSource{name: "c", place: "api"}).cluster(hosts{"a": "192.0.2.1", "b": "192.0.2.2", "c": "192.0.2.3"})
	for k := range c.Listings {
		c.Listings[k] = api.Listed
	}
	c.Share(api.KindProbe, new(api.Cluster))
	policies, secrets := c.Policies.Edit(), c.Secrets.Edit()
	for name, p := range c.Policies.All() {
		own := *p
		if name == "ns/a" {
			own.HealthCheck = &api.HealthCheck{Protocol: api.HTTP, Port: 8080, Path: "/", Interval: time.Minute, Timeout: time.Second, FailureThreshold: 1, SuccessThreshold: 1, Expected: []int{200}, HeadersSecret: "headers"}
		} else {
			own.Provider = api.Provider{Kind: "Secret", Name: "provider"}
		}
		policies.Set(name, &own)
	}
	for name, text := range map[string]string{
		"headers":  `"labels":{"kuadrant.io/probe-headers":"true"}},"stringData":{"X-Key":"hidden"}`,
		"provider": `"uid":"u"},"stringData":{"ZONE_ID":"example.com","DOMAIN_NAME":"b.example.com","AWS_KEY":"hidden"}`,
	} {
		s, err := api.DecodeSecret("c", []byte(`{"metadata":{"namespace":"ns","name":"`+name+`",`+text+`}`))
		if err != nil {
			t.Fatal(err)
		}
		secrets.Set(s.Name, s)
	}
	c.Policies, c.Secrets = policies.Map(), secrets.Map()
	return c
}

// TestStateOfHealth: a target that was down is down until checks find otherwise, and
// readiness waits for the first of them (rules 4.7 and 7.4).
func TestStateOfHealth(t *testing.T) {
	dir := t.TempDir()
	targets := newTargets(t, "127.0.8.2", "127.0.8.3")
	synctest.Test(t, func(t *testing.T) {
		probing := func(e *Engine, s *settings) {
			s.prober = health.NewProber(health.Options{
				Guard:   health.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.8.0/24")}},
				Changed: func(*health.Target, health.Value, health.Value) { e.settings().state.changed() },
			})
		}
		f := &fakeSource{name: "c", place: "api"}
		c := f.cluster(hosts{"a": "127.0.8.2"})
		for k := range c.Listings {
			c.Listings[k] = api.Listed
		}
		gateways, policies := c.Gateways.Edit(), c.Policies.Edit()
		g, _ := c.Gateways.Get("ns/a")
		two := *g
		two.Addresses = []api.Address{{Type: api.IPAddress, Value: "127.0.8.2"}, {Type: api.IPAddress, Value: "127.0.8.3"}}
		gateways.Set("ns/a", &two)
		p, _ := c.Policies.Get("ns/a")
		checked := *p
		checked.HealthCheck = &api.HealthCheck{Protocol: api.HTTP, Port: uint16(targets[0].Port), Path: "/", Interval: time.Minute, Timeout: time.Second, FailureThreshold: 1, SuccessThreshold: 2, Expected: []int{200}}
		policies.Set("ns/a", &checked)
		c.Gateways, c.Policies = gateways.Map(), policies.Map()

		targets[1].Off.Store(true)
		first := beginWith(t, dir, nil, probing, f)
		f.send(c)
		time.Sleep(2 * time.Minute)
		first.expect("one is down", "a=127.0.8.2")
		first.e.Stop()

		targets[1].Off.Store(false)
		second := beginWith(t, dir, nil, probing, &fakeSource{name: "c", place: "api"})
		for range 20 {
			second.expect("down from the state", "a=127.0.8.2")
		}
		if second.e.Ready() {
			t.Error("ready before the first checks")
		}
		time.Sleep(2 * time.Second)
		second.expect("one success, where two are needed", "a=127.0.8.2")
		if !second.e.Ready() {
			t.Error("not ready after the first checks")
		}
		time.Sleep(time.Minute)
		reply := second.reply("a")
		if len(reply.Answer) != 2 {
			t.Errorf("after two successes: %v", reply.Answer)
		}
	})
}

// TestStateOfOwners: who has acquired a name is taken from the state, and kept there, until the
// API server says what is kept; where nothing is written back, age alone decides (rule 5.4).
func TestStateOfOwners(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		owner := api.Owner{Cluster: "c", Kind: api.KindDNSPolicy, Name: "ns/b"}
		f := &fakeSource{name: "c", place: "api"}
		first := beginWith(t, dir, nil, keepsFirst, f)
		edit := tree.Map[api.Owner]{}.Edit()
		edit.Set("shared.example.com.", owner)
		first.e.TakeKept(nil, controller.Kept{Known: true, Owners: edit.Map()})
		c := f.cluster(hosts{"a": "192.0.2.1", "b": "192.0.2.2"})
		gateways := c.Gateways.Edit()
		for name, g := range c.Gateways.All() {
			g.Listeners[0].Hostname = "shared.example.com"
			g.Created = int64(cmp.Compare(name, "ns/a")) + 1 // a is older
		}
		policies := c.Policies.Edit()
		for name, p := range c.Policies.All() {
			p.Created = int64(cmp.Compare(name, "ns/a")) + 1
			policies.Set(name, p)
		}
		c.Gateways, c.Policies = gateways.Map(), policies.Map()
		for k := range c.Listings {
			c.Listings[k] = api.Listed
		}
		f.send(c)
		first.expect("the younger one has it on record", "shared=192.0.2.2")
		first.e.Stop()
		for range 2 {
			again := beginWith(t, dir, nil, keepsFirst, &fakeSource{name: "c", place: "api"})
			again.expect("from the state", "shared=192.0.2.2")
			again.e.TakeKept(nil, controller.Kept{Generation: 1, Away: true})
			synctest.Wait()
			again.expect("no answer from the API server", "shared=192.0.2.2")
			next := beginWith(t, dir, again, keepsFirst, &fakeSource{name: "c", place: "api"})
			next.e.TakeKept(nil, controller.Kept{Generation: 1, Away: true})
			synctest.Wait()
			next.expect("none after a reload", "shared=192.0.2.2")
			again = next
			if got := maps.Collect(again.e.Snapshot().Objects().Acquired.All()); len(got) != 1 || got["shared.example.com."] != owner {
				t.Errorf("acquired %v", got)
			}
			again.e.Stop()
		}
		off := begin(t, dir, nil, &fakeSource{name: "c", place: "api"})
		off.expect("nothing is written back", "shared=192.0.2.1")
		refused := beginWith(t, dir, nil, keepsFirst, &fakeSource{name: "c", place: "api"})
		refused.e.TakeKept(nil, controller.Kept{Generation: 1})
		synctest.Wait()
		refused.expect("ConfigMaps may not be read", "shared=192.0.2.1")
		if _, err := os.Stat(filepath.Join(dir, statefile.Name)); errors.Is(err, os.ErrNotExist) {
			t.Error("there is no state")
		}
	})
}

// TestStaleFromTheFirstAnswer: who is told of the first snapshot of the state is told that it comes from there.
func TestStaleFromTheFirstAnswer(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		first := begin(t, dir, nil, f)
		f.show(hosts{"a": "192.0.2.1"})
		first.e.Stop()
		asked := 0
		beginWith(t, dir, nil, func(e *Engine, _ *settings) {
			e.tell = snapshots(func() {
				if asked++; !e.Current().Stale() {
					t.Error("a snapshot of the state passes for a fresh one")
				}
			})
		}, &fakeSource{name: "c", place: "api"})
		if asked == 0 {
			t.Error("nothing was told of the first snapshot")
		}
	})
}

// TestOldWriterIsNotHeard: what the writer of the time before a reload still tells of what is kept does not count.
func TestOldWriterIsNotHeard(t *testing.T) {
	e, writer := New(log, nil), new(controller.Writer)
	e.registry.expect(writer, "new")
	owners := tree.Map[api.Owner]{}.Edit()
	owners.Set("a.", api.Owner{Cluster: "old"})
	e.TakeKept(nil, controller.Kept{Known: true, Owners: owners.Map(), OwnersChanged: []string{"a."}})
	if !e.registry.waits() || e.registry.newest.Owners.Len() > 0 {
		t.Errorf("it was heard: %+v", e.registry.newest)
	}
	e.TakeKept(writer, controller.Kept{Known: true})
	if e.registry.waits() {
		t.Error("the new one was not heard")
	}
}
