package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// secrets stand for the Secrets that name clusters: each cluster is a feed.
type fakeSecrets struct {
	t       *testing.T
	publish func([]*source.Remote)
	mu      sync.Mutex
	feeds   map[string]*fakeSource // the newest by name
}

// show publishes what the Secrets hold, and waits until that has been taken in; nil is that
// they cannot be listed.
func (s *fakeSecrets) show(all []*source.Remote) {
	s.publish(all)
	synctest.Wait()
}

func (s *fakeSecrets) feed(name string) *fakeSource {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.feeds[name]
}

// secretOf returns what a Secret of that name holds, which leads to a server.
func secretOf(name, server string) *source.Remote {
	return &source.Remote{Name: name, Secret: "dns/" + name, Config: &rest.Config{Host: "https://" + server}}
}

// problemOf returns what was said of a Secret; "" for nothing.
func problemOf(e *Engine, secret string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.problems["Secret dns/"+secret+", which names a cluster"]
}

// clusterNames are those of what is compiled.
func (r *running) clusterNames() (names []string) {
	for _, c := range r.plugin.engine.Snapshot().Objects().Clusters {
		names = append(names, c.Name)
	}
	return names
}

func (r *running) expectClusters(want ...string) {
	r.t.Helper()
	if got := r.clusterNames(); !slices.Equal(got, want) {
		r.t.Errorf("answered with are %q, want %q", got, want)
	}
}

func faulty(name, fault string) *source.Remote {
	return &source.Remote{Name: name, Secret: "dns/" + name, Fault: fault}
}

// config has an engine follow the Secrets.
func (s *fakeSecrets) config() secretsConfig {
	return secretsConfig{
		place: "main", same: feedSettings{text: fmt.Sprintf("%p", s)},
		follow: func(ctx context.Context, publish func([]*source.Remote)) error {
			s.publish = publish
			<-ctx.Done()
			return nil
		},
		open: func(r *source.Remote) *feed {
			f := &fakeSource{name: r.Name, place: r.Config.Host, pools: r.Pools}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.feeds[r.Name] = f
			return fed(f)
		},
	}
}

// followSecrets is follow with clusters that Secrets name beside the feeds.
func followSecrets(t *testing.T, before *running, feeds ...*fakeSource) (*running, *fakeSecrets) {
	t.Helper()
	s := &fakeSecrets{t: t, feeds: make(map[string]*fakeSource)}
	e := New(log, nil)
	if before != nil {
		e = before.plugin.engine
	}
	apply(t, e, &settings{opt: simpleOptions(60), secrets: s.config()}, feeds...)
	b := &served{Zones: []string{"example.com."}, ZoneSet: map[string]bool{"example.com.": true}}
	return &running{t: t, plugin: &answerer{block: b, engine: e}}, s
}

// followBesideLocal is followSecrets with the main cluster, which has been listed, beside the feeds.
func followBesideLocal(t *testing.T, before *running, feeds ...*fakeSource) (*running, *fakeSecrets) {
	t.Helper()
	main := &fakeSource{name: "local", place: "api"}
	r, s := followSecrets(t, before, append([]*fakeSource{main}, feeds...)...)
	main.show(hosts{"a": "192.0.2.1"})
	return r, s
}

// TestRemotes: a cluster that a Secret names is served while the Secret is there, from its
// first list on; nothing is refused for want of it.
func TestRemotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := followBesideLocal(t, nil)
		s.show([]*source.Remote{})
		r.expect("no Secret", "a=192.0.2.1", "b=NXDOMAIN")
		s.show([]*source.Remote{secretOf("east", "e1")})
		r.expect("before its list", "a=192.0.2.1", "b=NXDOMAIN")
		s.feed("east").show(hosts{"b": "192.0.2.2"}, api.KindZone, api.KindDNSRecord)
		r.expect("some kinds cannot be listed", "a=192.0.2.1", "b=192.0.2.2", "no=NXDOMAIN")
		east := s.feed("east")
		east.show(hosts{"b": "192.0.2.3"})
		r.expect("it is followed", "b=192.0.2.3", "no=NXDOMAIN")

		s.show([]*source.Remote{faulty("east", "kubeconfig: users[0].user.exec is refused")})
		r.expect("the Secret is bad", "b=192.0.2.3")
		east.show(hosts{"b": "192.0.2.4"})
		r.expect("the cluster is read as before", "b=192.0.2.4")
		if why := problemOf(r.plugin.engine, "east"); !strings.Contains(why, "exec is refused; the cluster is read as before") {
			t.Errorf("told is %q", why)
		}

		next := secretOf("east", "e1")
		next.Config.BearerToken = "new"
		s.show([]*source.Remote{next})
		renewed := s.feed("east")
		if renewed == east {
			t.Fatal("a new token changes nothing")
		}
		if problemOf(r.plugin.engine, "east") != "" {
			t.Error("a problem is told that there is not")
		}
		r.expect("a new token, before the list", "b=192.0.2.4", "no=NXDOMAIN")
		east.show(hosts{"b": "192.0.2.66"})
		r.expect("the old source says something", "b=192.0.2.4")
		renewed.show(hosts{"b": "192.0.2.5", "c": "192.0.2.6"})
		r.expect("a new token, listed", "b=192.0.2.5", "c=192.0.2.6")

		s.show([]*source.Remote{secretOf("east", "e2")})
		r.expect("another server, before the list", "b=192.0.2.5", "c=192.0.2.6", "no=NXDOMAIN")
		s.feed("east").show(hosts{"b": "192.0.2.7"})
		r.expect("another server, listed", "b=192.0.2.7", "c=NXDOMAIN")

		s.show(nil)
		r.expect("the Secrets cannot be listed", "b=192.0.2.7")
		s.show([]*source.Remote{})
		r.expect("the Secret is gone", "a=192.0.2.1", "b=NXDOMAIN")
		s.feed("east").show(hosts{"b": "192.0.2.8"})
		r.expect("its source says something after all", "b=NXDOMAIN")
		if n := len(r.plugin.engine.Snapshot().Objects().Clusters); n != 1 {
			t.Errorf("%d clusters are left", n)
		}
	})
}

// TestRemotesAtStart: a process that has just started denies nothing before it knows which
// clusters there are, and what they hold (rule 7.4); but it is ready without one that is away.
func TestRemotesAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := followBesideLocal(t, nil)
		r.expect("the Secrets are not listed", "a=192.0.2.1", "b=SERVFAIL")
		if r.plugin.Ready() {
			t.Error("ready before the Secrets are listed")
		}
		s.show([]*source.Remote{faulty("broken", "it has no key kubeconfig"), secretOf("east", "e"), secretOf("west", "w")})
		r.expect("the Secrets are listed", "a=192.0.2.1", "b=SERVFAIL")
		s.feed("east").show(hosts{"b": "192.0.2.2"})
		r.expect("one cluster is listed", "b=192.0.2.2", "no=SERVFAIL")
		if r.plugin.Ready() {
			t.Error("ready before all are listed")
		}
		time.Sleep(clusterPatience + time.Second)
		synctest.Wait()
		r.expect("the other is away", "a=192.0.2.1", "b=192.0.2.2", "no=SERVFAIL")
		if !r.plugin.Ready() {
			t.Error("not ready for a cluster that is away")
		}
		s.feed("west").show(hosts{"no": "192.0.2.3"})
		r.expect("it is back", "no=192.0.2.3", "other=NXDOMAIN")
		s.show([]*source.Remote{secretOf("east", "e"), secretOf("west", "w"), secretOf("south", "s")})
		r.expect("another comes later, and is away", "other=NXDOMAIN")
	})
	synctest.Test(t, func(t *testing.T) { // the Secret of one that is away is deleted
		r, s := followBesideLocal(t, nil)
		s.show([]*source.Remote{secretOf("west", "w")})
		r.expect("it is away", "b=SERVFAIL")
		s.show([]*source.Remote{})
		r.expect("its Secret is gone", "b=NXDOMAIN")
	})
	synctest.Test(t, func(t *testing.T) { // nobody may list them
		r, s := followBesideLocal(t, nil)
		s.show(nil)
		r.expect("the Secrets cannot be listed", "a=192.0.2.1", "b=NXDOMAIN")
		if !r.plugin.Ready() {
			t.Error("not ready")
		}
	})
}

// TestFurtherAway: a cluster of the Corefile that is away at the start keeps names from being
// denied (rule 7.4), and a process from being ready for a while only.
func TestFurtherAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		main, away := &fakeSource{name: "local", place: "api"}, &fakeSource{name: "west", place: "w"}
		e := New(log, nil)
		west := fed(away)
		west.extra = true
		apply(t, e, &settings{opt: simpleOptions(60), feeds: []*feed{fed(main), west}})
		r := &running{t: t, plugin: &answerer{block: &served{Zones: []string{"example.com."}, ZoneSet: map[string]bool{"example.com.": true}}, engine: e}}
		main.show(hosts{"a": "192.0.2.1"})
		r.expect("one is away", "a=192.0.2.1", "b=SERVFAIL")
		if r.plugin.Ready() {
			t.Error("ready at once")
		}
		time.Sleep(clusterPatience + time.Second)
		synctest.Wait()
		r.expect("it is still away", "a=192.0.2.1", "b=SERVFAIL")
		if !r.plugin.Ready() {
			t.Error("not ready")
		}
		away.show(hosts{"b": "192.0.2.2"})
		r.expect("it is there", "b=192.0.2.2", "no=NXDOMAIN")
	})
}

// TestRemotesReload: a reload forgets no cluster while the Secrets are read anew.
func TestRemotesReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, s := followBesideLocal(t, nil)
		all := []*source.Remote{secretOf("east", "e"), secretOf("north", "n"), secretOf("west", "w")}
		s.show(all[:2])
		s.feed("east").show(hosts{"b": "192.0.2.2"})
		s.feed("north").show(hosts{"n": "192.0.2.4"})
		s.show(all)
		again := &fakeSource{name: "local", place: "api"}
		north := &fakeSource{name: "north", place: "other"}
		second, then := followSecrets(t, first, again, north)
		second.expect("before any list", "a=192.0.2.1", "b=192.0.2.2", "no=NXDOMAIN")
		if !second.plugin.Ready() {
			t.Error("not ready after the reload")
		}
		again.show(hosts{"a": "192.0.2.1"})
		north.show(hosts{"n": "192.0.2.5"})
		then.feed("west").show(hosts{"c": "192.0.2.3"})
		second.expect("before the Secrets are listed", "b=192.0.2.2", "c=192.0.2.3", "n=192.0.2.5", "no=NXDOMAIN")
		then.show([]*source.Remote{all[0], all[1], all[2]})
		second.expect("the Secrets are listed", "b=192.0.2.2", "c=192.0.2.3", "n=192.0.2.5")
		if why := problemOf(second.plugin.engine, "north"); !strings.Contains(why, "the Corefile has a cluster") {
			t.Errorf("of a name that the Corefile has: %q", why)
		}
		then.feed("east").show(hosts{"b": "192.0.2.6"})
		second.expect("it is read on", "b=192.0.2.6")
		then.show([]*source.Remote{all[0]})
		second.expect("one is gone", "b=192.0.2.6", "c=NXDOMAIN", "n=192.0.2.5")
		last := follow(t, second, 60, &fakeSource{name: "local", place: "api"})
		last.expect("Secrets are off", "a=192.0.2.1", "b=NXDOMAIN")
	})
}

// TestRemotesRefused: names that are taken, too many clusters, and one cluster twice.
func TestRemotesRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		main := &fakeSource{name: "local", place: "api"}
		r, s := followSecrets(t, nil, main)
		main.show(hosts{"a": "192.0.2.1"})
		all := []*source.Remote{secretOf("local", "x")}
		for i := range maxSecrets + 1 {
			all = append(all, secretOf(fmt.Sprintf("c%03d", i), fmt.Sprint(i)))
		}
		s.show([]*source.Remote{})
		s.show(all)
		e := r.plugin.engine
		if !strings.Contains(problemOf(e, "local"), "the Corefile has") || !strings.Contains(problemOf(e, "c100"), "100 such clusters") || len(e.problems) != 2 {
			t.Errorf("told is %q", e.problems)
		}
		s.show(append(all[:1:1], all[2:]...))
		if len(e.problems) != 1 || s.feed("c100") == nil {
			t.Errorf("one has gone, and told is %q", e.problems)
		}
		s.feed("c001").uid = "api"
		s.feed("c001").show(hosts{"b": "192.0.2.2"})
		r.expect("the main cluster under another name", "b=NXDOMAIN")
		s.feed("c002").uid, s.feed("c003").uid = "twin", "twin"
		s.feed("c002").show(hosts{"b": "192.0.2.2"})
		s.feed("c003").show(hosts{"b": "192.0.2.2"})
		r.expect("one of two of the same", "b=192.0.2.2")
		if !strings.Contains(problemOf(e, "c001"), `the cluster "local"`) || !strings.Contains(problemOf(e, "c003"), `the cluster "c002"`) {
			t.Errorf("told is %q", e.problems)
		}
		s.show(append(all[:3:3], all[4:]...)) // without c002
		r.expect("its Secret has gone, and the other goes on", "b=192.0.2.2")
		s.feed("c003").show(hosts{"b": "192.0.2.3"})
		r.expect("the other is read", "b=192.0.2.3")
	})
}

// TestRemotePools: where a cluster pools is what its Secret says, at once when that changes.
func TestRemotePools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := followBesideLocal(t, nil)
		of := func(p api.Pools) *source.Remote {
			remote := secretOf("east", "e")
			remote.Pools = p
			return remote
		}
		addresses := func(when, want string) {
			t.Helper()
			if got := r.addresses("a"); got != want {
				t.Errorf("%s: %s, want %s", when, got, want)
			}
		}
		s.show([]*source.Remote{of(api.PoolsIn())})
		s.feed("east").show(hosts{"a": "192.0.2.2"})
		addresses("it pools nowhere", "192.0.2.1")
		s.show([]*source.Remote{of(api.PoolsIn("ns"))})
		addresses("it pools, and has not been read anew", "192.0.2.1 192.0.2.2")
		s.feed("east").show(hosts{"a": "192.0.2.3"})
		addresses("it has been read anew", "192.0.2.1 192.0.2.3")
		s.show([]*source.Remote{of(api.PoolsIn("other"))})
		addresses("it pools elsewhere, and is away", "192.0.2.1")
		s.show([]*source.Remote{of(api.Pools{})})
		addresses("it pools everywhere", "192.0.2.1 192.0.2.3")
	})
}

// TestTwinsOfTheCorefile: two clusters of the Corefile that are one are both read, and that is
// said once; not of a cluster that has another name after a reload.
func TestTwinsOfTheCorefile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		local, west := &fakeSource{name: "local", uid: "u"}, &fakeSource{name: "west", uid: "u"}
		first := beginWith(t, "", nil, func(*Engine, *settings) {}, local, west)
		local.show(hosts{"a": "192.0.2.1"})
		west.show(hosts{"a": "192.0.2.1", "b": "192.0.2.2"})
		local.show(hosts{"a": "192.0.2.3"})
		first.expect("the first", "a=192.0.2.3", "b=NXDOMAIN")
		if !first.said(`cluster "west": it is the cluster "local" under another name`) {
			t.Errorf("said: %v", first.log)
		}
		main, east := &fakeSource{name: "local", uid: "u"}, &fakeSource{name: "east", uid: "v"}
		next := beginWith(t, "", first, func(*Engine, *settings) {}, main, east)
		main.show(hosts{"a": "192.0.2.3"})
		east.show(hosts{"b": "192.0.2.2"})
		if next.said("under another name") {
			t.Errorf("after a reload: %v", next.log)
		}
	})
}

// TestRemovedBeforeReloadEnds: a Secret is deleted, and before that is compiled the clusters of a changed Corefile have
// been listed. Both are withdrawn: the cluster of the Secret, and the one that the Corefile does not have any more.
func TestRemovedBeforeReloadEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := &fakeSource{name: "old", place: "old"}
		first, s := followBesideLocal(t, nil, old)
		old.show(hosts{"o": "192.0.2.2"})
		s.show([]*source.Remote{secretOf("east", "e")})
		s.feed("east").show(hosts{"b": "192.0.2.3"})
		corp := &fakeSource{name: "corp", place: "corp"}
		second, then := followBesideLocal(t, first, corp)
		then.show([]*source.Remote{secretOf("east", "e")})
		second.expect("after the reload", "b=192.0.2.3", "o=192.0.2.2")
		then.show([]*source.Remote{})
		corp.show(hosts{"c": "192.0.2.4"})
		second.expect("all is listed", "b=NXDOMAIN", "c=192.0.2.4", "o=NXDOMAIN")
	})
}

// TestReloadMovesSecrets: a reload has the Secrets looked for in another namespace. What is known of their clusters is
// answered with until they have been listed there (rule 8.3), and no name is denied; then those go that no Secret names.
func TestReloadMovesSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		main := &fakeSource{name: "local", place: "api"}
		first, s := followSecrets(t, nil, main)
		main.show(manyHosts())
		all := []*source.Remote{secretOf("east", "e"), secretOf("west", "w")}
		s.show(all)
		s.feed("east").show(hosts{"b": "192.0.2.3"})
		s.feed("west").show(hosts{"c": "192.0.2.4"})
		again := &fakeSource{name: "local", place: "api"}
		then := &fakeSecrets{t: t, feeds: make(map[string]*fakeSource)}
		second := beginWith(t, "", &remembering{e: first.plugin.engine, book: new(book)}, func(_ *Engine, s *settings) { s.secrets = then.config(); s.secrets.place = "moved" }, again)
		second.expect("after the reload", "b=192.0.2.3", "c=192.0.2.4", "no=NXDOMAIN")
		again.show(manyHosts())
		second.expect("the main cluster is listed", "b=192.0.2.3", "c=192.0.2.4")
		if then.feed("east") != nil {
			t.Error("a cluster is read by a Secret that does not count any more")
		}
		then.show(all[:1])
		wait(gatherTime)
		second.expect("the Secrets are listed", "b=192.0.2.3", "c=NXDOMAIN", "h1=192.0.2.2")
		then.feed("east").show(hosts{"b": "192.0.2.5"})
		second.expect("the cluster is listed", "b=192.0.2.5")
	})
}

// TestPoolsOfFaultySecret: a Secret's kubeconfig cannot be used any more, and its cluster is read as before.
// The annotation that lets it pool is taken away: that counts at once even so (docs/clusters.md, decision 26).
func TestPoolsOfFaultySecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := followBesideLocal(t, nil)
		good := secretOf("east", "e")
		good.Pools = api.PoolsIn("ns")
		s.show([]*source.Remote{good})
		s.feed("east").show(hosts{"a": "192.0.2.2"})
		addresses := func(when, want string) {
			t.Helper()
			if got := r.addresses("a"); got != want {
				t.Errorf("%s: %s, want %s", when, got, want)
			}
		}
		addresses("it pools", "192.0.2.1 192.0.2.2")
		bad := faulty("east", "kubeconfig: it is neither YAML nor JSON")
		bad.Pools = api.PoolsIn("ns")
		s.show([]*source.Remote{bad})
		addresses("its kubeconfig is bad", "192.0.2.1 192.0.2.2")
		worse := faulty("east", "kubeconfig: it is neither YAML nor JSON")
		worse.Pools = api.PoolsIn()
		s.show([]*source.Remote{worse})
		addresses("and it pools nowhere any more", "192.0.2.1")
	})
}

// TestPoolsOfFaultySecretFromState: the same of a cluster that is answered for from the state on disk, which
// nothing reads as long as its Secret is bad.
func TestPoolsOfFaultySecretFromState(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		stateOfSecrets(t, dir)
		main := &fakeSource{name: "local", place: "api"}
		r, s := beginSecrets(t, dir, nil, main)
		main.show(hosts{"a": "192.0.2.1"})
		bad := faulty("east", "it has no key kubeconfig")
		bad.Pools = api.PoolsIn("ns")
		s.show([]*source.Remote{bad})
		if got := r.addresses("a"); got != "192.0.2.1 192.0.2.11" {
			t.Errorf("its kubeconfig is bad, and its pool has %s", got)
		}
		bad = faulty("east", "it has no key kubeconfig")
		bad.Pools = api.PoolsIn()
		s.show([]*source.Remote{bad})
		if got := r.addresses("a"); got != "192.0.2.1" {
			t.Errorf("it pools nowhere any more, and the pool has %s", got)
		}
		r.expect("what it has alone stays", "e=192.0.2.12")
		r.stale("it is not read", true)
		s.show([]*source.Remote{secretOf("east", "e")})
		s.feed("east").show(hosts{"a": "192.0.2.11", "e": "192.0.2.14"})
		r.expect("its Secret is good again", "e=192.0.2.14")
		r.stale("it is read", false)
		r.e.Stop()
	})
}
