package engine

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/controller"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// created is r of a Secret that was created then.
func created(r *source.Remote, at int64) *source.Remote {
	r.Created = at
	return r
}

// showGeo publishes one host with a chain, which has the cluster's UID in the names of its leaves.
func showGeo(f *fakeSource, address string) {
	c := f.cluster(hosts{"b": address})
	for k := range c.Listings {
		c.Listings[k] = api.Listed
	}
	p, _ := c.Policies.Get("ns/b")
	p.Strategy, p.DefaultWeight = api.WeightedGeo, 120
	f.send(c)
}

// TestSpareSecret: two Secrets for one cluster are one cluster with a spare feed. The older one answers; when it goes, the other
// does, without a new list and under the same names of leaves (rule 2.3). A cluster whose Secret is renamed is never gone.
func TestSpareSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := followBesideLocal(t, nil)
		all := []*source.Remote{created(secretOf("east", "e"), 1), created(secretOf("east-1", "e"), 2)}
		s.show(all[:1])
		showGeo(s.feed("east"), "192.0.2.2")
		chain := func() string {
			reply, _ := ask(t, r.plugin, t.Context(), question("b.example.com.", 1))
			return fmt.Sprint(reply.Answer)
		}
		before := chain()
		s.show(all)
		r.expect("the second is away", "b=192.0.2.2", "no=NXDOMAIN")
		spare := s.feed("east-1")
		showGeo(spare, "192.0.2.2")
		r.expectClusters("east", "local")
		if told := problemOf(r.plugin.engine, "east-1"); !strings.Contains(told, `the cluster "east" under another name`) || !strings.Contains(told, "stands by") {
			t.Errorf("told is %q", told)
		}
		s.show(all[1:])
		if after := chain(); after != before || s.feed("east-1") != spare {
			t.Errorf("the chain was\n%s\nand is\n%s", before, after)
		}
		r.expectClusters("east-1", "local")
		for _, c := range r.plugin.engine.Snapshot().Objects().Clusters {
			for name, p := range c.Policies.All() {
				if p.Cluster != c.Name {
					t.Errorf("DNSPolicy %s of cluster %q says that it is of %q", name, c.Name, p.Cluster)
				}
			}
		}
		showGeo(spare, "192.0.2.3")
		r.expect("it is followed", "b=192.0.2.3")
		s.show([]*source.Remote{})
		r.expect("and none is left", "b=NXDOMAIN")
	})
	synctest.Test(t, func(t *testing.T) { // the older one comes later, and takes over kind by kind
		r, s := followBesideLocal(t, nil)
		all := []*source.Remote{created(secretOf("new", "e"), 2), created(secretOf("old", "e"), 1)}
		s.show(all[:1])
		s.feed("new").show(hosts{"b": "192.0.2.2"})
		s.show(all)
		s.feed("old").show(hosts{"b": "192.0.2.3"}, api.KindGateway)
		r.expectClusters("local", "old")
		r.expect("it may not list Gateways", "b=192.0.2.2")
		s.feed("old").show(hosts{"b": "192.0.2.3"})
		r.expect("it may", "b=192.0.2.3")
		s.show(all[:1])
		r.expect("and it goes", "b=192.0.2.2")
	})
	synctest.Test(t, func(t *testing.T) { // the first leads to another cluster, which is away
		r, s := followBesideLocal(t, nil)
		both := []*source.Remote{created(secretOf("east", "e"), 1), created(secretOf("east-1", "e"), 2)}
		s.show(both)
		s.feed("east").show(hosts{"b": "192.0.2.2"})
		s.feed("east-1").show(hosts{"b": "192.0.2.2"})
		s.show([]*source.Remote{created(secretOf("east", "other"), 1), both[1]})
		r.expect("before the new server is listed", "b=192.0.2.2", "no=NXDOMAIN")
		s.feed("east").show(hosts{"n": "192.0.2.3"})
		r.expect("it is listed", "b=192.0.2.2", "n=192.0.2.3")
		r.expectClusters("east", "east-1", "local")
	})
}

// TestSecretNeverForCorefile: what a Secret's feed has read never stands in for what a line of the Corefile reads, whatever that may
// not list. When the line goes, the Secret's cluster is answered with at once.
func TestSecretNeverForCorefile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		corp := &fakeSource{name: "corp", place: "corp", uid: "https://e"}
		first, s := followBesideLocal(t, nil, corp)
		all := []*source.Remote{secretOf("east", "e")}
		s.show(all)
		s.feed("east").show(hosts{"b": "192.0.2.2", "c": "192.0.2.3"})
		first.expect("the line is away", "b=192.0.2.2")
		corp.show(hosts{"b": "192.0.2.4"}, api.KindDNSPolicy)
		first.expect("the line may not list policies", "b=SERVFAIL", "c=SERVFAIL", "a=192.0.2.1")
		first.expectClusters("corp", "local")
		if told := problemOf(first.plugin.engine, "east"); !strings.Contains(told, "it is not used") {
			t.Errorf("told is %q", told)
		}
		corp.show(hosts{"b": "192.0.2.4"})
		first.expect("it may", "b=192.0.2.4", "c=NXDOMAIN")
		second := *first
		e := first.plugin.engine
		apply(t, e, &settings{opt: simpleOptions(60), feeds: e.settings().feeds[:1], secrets: e.settings().secrets})
		second.expect("the line is gone", "a=192.0.2.1", "b=192.0.2.2", "c=192.0.2.3")
		second.expectClusters("east", "local")
	})
}

// writings are the writers that run, as the servers that they write to see them, which do not answer.
type writings struct {
	mu   sync.Mutex     // guards here
	here map[string]int // how many there are, by cluster
}

// make makes what writes to a cluster: it waits for the server's first answer for as long as it runs.
func (w *writings) make(t *testing.T, name string) *controller.Writer {
	t.Helper()
	own := &rest.Config{Host: "https://w", Transport: silent(func(r *http.Request) {
		w.count(name, 1)
		<-r.Context().Done()
		w.count(name, -1)
	})}
	drop := func(string, ...any) {}
	made, err := controller.New(controller.Options{
		Cluster: name, Config: own, Identity: "i", Namespace: "dns", Lease: "l", QPS: 1, Burst: 1,
		Warnf: drop, Infof: drop,
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (w *writings) count(cluster string, more int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.here == nil {
		w.here = make(map[string]int)
	}
	if w.here[cluster] += more; w.here[cluster] == 0 {
		delete(w.here, cluster)
	}
}

// silent is an API server that does not answer for as long as the function does not return.
type silent func(*http.Request)

func (f silent) CloseIdleConnections() {}
func (f silent) RoundTrip(r *http.Request) (*http.Response, error) {
	f(r)
	return nil, errors.New("nobody answers")
}

// TestFirstFeedWrites: of the feeds of one cluster the first one alone is written to, and so that none is which is not
// known yet.
func TestFirstFeedWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := new(writings), &fakeSecrets{t: t, feeds: make(map[string]*fakeSource)}
		to := s.config()
		open := to.open
		to.open = func(of *source.Remote) *feed {
			f := open(of)
			f.writer = w.make(t, of.Name)
			return f
		}
		main := &fakeSource{name: "local", place: "api"}
		e := New(log, nil)
		apply(t, e, &settings{opt: simpleOptions(60), secrets: to}, main)
		main.show(hosts{"a": "192.0.2.1"})
		expect := func(when, want string) {
			t.Helper()
			synctest.Wait()
			w.mu.Lock()
			defer w.mu.Unlock()
			if got := fmt.Sprint(w.here); got != want {
				t.Errorf("%s: writers %s, want %s", when, got, want)
			}
		}
		all := []*source.Remote{secretOf("east", "e"), secretOf("east-1", "e")}
		s.show(all)
		expect("nothing is known of them", "map[]")
		s.feed("east-1").show(nil)
		expect("the second is known", "map[east-1:1]")
		s.feed("east").show(nil)
		expect("both are", "map[east:1]")
		s.show(all[1:])
		expect("the first is gone", "map[east-1:1]")
		e.Stop()
		expect("the end", "map[]")
	})
}
