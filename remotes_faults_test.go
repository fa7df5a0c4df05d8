package kuadrant

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// twinWorld is a main cluster, and one that two Secrets name, east and east-1, of which the second
// is not read.
func twinWorld(t *testing.T) (*running, *secrets) {
	main := &feed{name: "local", place: "api"}
	r, s := followSecrets(t, nil, main)
	main.show(hosts{"a": "192.0.2.1"})
	s.show([]*source.Remote{secretOf("east", "e")})
	s.feed("east").show(hosts{"b": "192.0.2.2"})
	s.show([]*source.Remote{secretOf("east", "e"), secretOf("east-1", "e")})
	s.feed("east-1").show(hosts{"b": "192.0.2.2"})
	r.expect("two Secrets name it", "b=192.0.2.2", "no=NXDOMAIN")
	return r, s
}

// TestHeirWithSharedHost: a cluster goes on under the name of a second Secret, and is away. Another cluster
// gets an object for one of its hosts: the process must go on (rule 8.4), and the host pools (rule 5.6).
func TestHeirWithSharedHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		main := &feed{name: "local", place: "api"}
		r, s := followSecrets(t, nil, main)
		main.show(hosts{"a": "192.0.2.1"})
		s.show([]*source.Remote{secretOf("east", "e")})
		s.feed("east").show(hosts{"b": "192.0.2.2"})
		s.show([]*source.Remote{secretOf("east", "e"), secretOf("east-1", "e")})
		s.feed("east-1").show(hosts{"b": "192.0.2.2"})
		s.show([]*source.Remote{secretOf("east-1", "e")})
		r.expect("inherited", "b=192.0.2.2")
		main.show(hosts{"a": "192.0.2.1", "b": "192.0.2.3"})
		if got := r.answer("b"); got != "192.0.2.2" && got != "192.0.2.3" {
			t.Errorf("b is %s", got)
		}
	})
}

// TestHeirIsAway: what an heir inherits are objects of a cluster of its name: what is asked for
// by the name of an object's cluster has to be found.
func TestHeirIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := twinWorld(t)
		s.show([]*source.Remote{secretOf("east-1", "e")})
		r.expect("inherited", "b=192.0.2.2")
		names := make(map[string]bool)
		all := r.plugin.engine.snap.Load().Objects().Clusters
		for _, c := range all {
			names[c.Name] = true
		}
		for _, c := range all {
			for name, p := range c.Policies.All() {
				if !names[p.Cluster] {
					t.Errorf("DNSPolicy %s of cluster %q says that it is of %q, which there is not", name, c.Name, p.Cluster)
				}
			}
		}
	})
}

// TestHeirKeepsLeaves: a weightedGeo host of a cluster that goes on under the name of a second Secret has the
// chain that it had (rule 2.3): the cluster is the same.
func TestHeirKeepsLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		main := &feed{name: "local", place: "api"}
		r, s := followSecrets(t, nil, main)
		main.show(hosts{"a": "192.0.2.1"})
		s.show([]*source.Remote{secretOf("east", "e")})
		show := func(f *feed) {
			c := f.cluster(hosts{"b": "192.0.2.2"})
			for k := range c.Listings {
				c.Listings[k] = api.Listed
			}
			p, _ := c.Policies.Get("ns/b")
			p.Strategy, p.DefaultWeight = api.WeightedGeo, 120
			f.send(c)
		}
		chain := func() string {
			reply, _ := ask(t, r.plugin, t.Context(), question("b.example.com.", 1))
			return fmt.Sprint(reply.Answer)
		}
		show(s.feed("east"))
		s.show([]*source.Remote{secretOf("east", "e"), secretOf("east-1", "e")})
		show(s.feed("east-1"))
		before := chain()
		s.show([]*source.Remote{secretOf("east-1", "e")})
		if after := chain(); after != before {
			t.Errorf("the chain was\n%s\nand is\n%s", before, after)
		}
	})
}

// TestHeirInPart: not all of a cluster may be read as the second Secret says. When the first one goes, what came through that
// stays as well, for as long as that lasts.
func TestHeirInPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		main := &feed{name: "local", place: "api"}
		r, s := followSecrets(t, nil, main)
		main.show(hosts{"a": "192.0.2.1"})
		s.show([]*source.Remote{secretOf("east", "e")})
		s.feed("east").show(manyHosts())
		s.show([]*source.Remote{secretOf("east", "e"), secretOf("east-1", "e")})
		s.feed("east-1").show(hosts{"h1": "192.0.2.2"}, api.KindDNSPolicy)
		for range 2 {
			s.show([]*source.Remote{secretOf("east-1", "e")})
			r.expect("listed in part", "h1=192.0.2.2", "h2=192.0.2.2")
		}
		s.feed("east-1").show(hosts{"h1": "192.0.2.2"}, api.KindDNSPolicy)
		r.expect("listed in part still", "h1=192.0.2.2", "h2=192.0.2.2")
		s.feed("east-1").show(manyHosts())
		r.expect("listed", "h1=192.0.2.2", "h2=192.0.2.2")
		if n := len(r.plugin.engine.snap.Load().Objects().Clusters); n != 2 {
			t.Errorf("there are %d clusters", n)
		}
	})
}

// TestTwinAfterReload: two Secrets name one cluster, which is away during a reload. The first is deleted: the
// second names the cluster all the time, and no name of it is denied (rule 7.4, decision 26).
func TestTwinAfterReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, _ := twinWorld(t)
		again := &feed{name: "local", place: "api"}
		second, then := followSecrets(t, first, again)
		again.show(hosts{"a": "192.0.2.1"})
		then.show([]*source.Remote{secretOf("east", "e"), secretOf("east-1", "e")})
		second.expect("after the reload", "b=192.0.2.2")
		then.show([]*source.Remote{secretOf("east-1", "e")})
		if got := second.answer("b"); got == "NXDOMAIN" {
			t.Error("b of a cluster that a Secret names, and that is away, is denied")
		}
	})
}

// TestTwinOfRecalled: a cluster is answered for from the state on disk, as its Secret is faulty; a second
// Secret for it can be used: it is read, and when the first is deleted no name is denied.
func TestTwinOfRecalled(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		stateOfSecrets(t, dir)
		main := &feed{name: "local", place: "api"}
		r, s := beginSecrets(t, dir, nil, main)
		main.show(hosts{"a": "192.0.2.1"})
		others := []*source.Remote{secretOf("north", "n"), secretOf("west", "w")}
		bad := faulty("east", "it has no key kubeconfig")
		s.show(append(others[:2:2], bad, secretOf("east-1", "e")))
		s.feed("north").show(hosts{"n": "192.0.2.21"})
		s.feed("west").show(hosts{"w": "192.0.2.31"})
		heard := s.feed("east-1")
		heard.show(hosts{"a": "192.0.2.11", "e": "192.0.2.14"})
		if got := r.answer("e"); got != "192.0.2.14" {
			t.Errorf("a usable Secret names the cluster, which has been read, and e is %s", got)
		}
		s.show(append(others[:2:2], bad, secretOf("east-1", "e")))
		if s.feed("east-1") != heard {
			t.Error("the same Secrets are published again, and the cluster is read anew")
		}
		s.show(append(others[:2:2], secretOf("east-1", "e")))
		if got := r.answer("e"); got == "NXDOMAIN" {
			t.Error("the faulty Secret is deleted, and e of a cluster that another one names is denied")
		}
		r.e.stop()
	})
}

// TestLostRemoteIsFaulty: a lost cluster's Secret is there again with a mistake in it. That withdraws
// nothing (rule 8.1, decision 26).
func TestLostRemoteIsFaulty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := lostWorld(t)
		s.show([]*source.Remote{missing("east")})
		s.show([]*source.Remote{faulty("east", "it has no key kubeconfig")})
		time.Sleep(defaultGuard + time.Second)
		synctest.Wait()
		if got := r.answer("h1"); got == "NXDOMAIN" {
			t.Error("a Secret names the cluster, and what it had is denied")
		}
	})
}

// TestLostRemoteInCorefile: while a cluster is lost, the Corefile gets a cluster of its name at the same
// server, which is away. No name of a cluster that the Corefile names, and that has not been listed, is denied.
func TestLostRemoteInCorefile(t *testing.T) {
	for _, place := range []string{"https://e", "another"} {
		synctest.Test(t, func(t *testing.T) {
			first, s := lostWorld(t)
			s.show([]*source.Remote{missing("east")})
			again := &feed{name: "local", place: "api"}
			second, then := followSecrets(t, first, again, &feed{name: "east", place: place})
			again.show(hosts{"a": "192.0.2.1"})
			then.show([]*source.Remote{})
			second.expect(place+": after the reload", "h1=192.0.2.2")
			time.Sleep(defaultGuard + time.Second)
			synctest.Wait()
			if got := second.answer("h1"); got == "NXDOMAIN" {
				t.Errorf("%s: the Corefile names the cluster, which is away, and h1 is denied", place)
			}
		})
	}
}

// TestReloadBeforeLostIsCompiled: a reload comes between the word that a Secret is missing and the
// next compile of the engine before.
func TestReloadBeforeLostIsCompiled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, _ := lostWorld(t)
		e := first.plugin.engine
		e.mu.Lock()
		e.loseRemote("east")
		e.mu.Unlock()
		again := &feed{name: "local", place: "api"}
		second, then := followSecrets(t, first, again)
		again.show(hosts{"a": "192.0.2.1"})
		then.show([]*source.Remote{})
		second.expect("the guard's time has not come", "a=192.0.2.1", "h1=192.0.2.2")
	})
}

// TestReloadBeforeFoundIsCompiled: the same of a cluster that has been found, and is away.
func TestReloadBeforeFoundIsCompiled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, s := lostWorld(t)
		s.show([]*source.Remote{missing("east")})
		e := first.plugin.engine
		e.mu.Lock()
		e.findRemote(secretOf("east", "e"))
		e.openRemote(secretOf("east", "e"))
		e.mu.Unlock()
		again := &feed{name: "local", place: "api"}
		second, then := followSecrets(t, first, again)
		again.show(hosts{"a": "192.0.2.1"})
		then.show([]*source.Remote{secretOf("east", "e")})
		time.Sleep(defaultGuard + time.Second)
		synctest.Wait()
		second.expect("found, and away", "a=192.0.2.1", "h1=192.0.2.2")
	})
}

// TestFoundBeforeAnythingIsKnown: an engine that has lost a cluster with a stand-in has no snapshot yet when a
// reload comes. The Secret is there again.
func TestFoundBeforeAnythingIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		main := &feed{name: "local", place: "api"}
		s := &secrets{t: t, feeds: make(map[string]*feed)}
		first := beginWith(t, "", nil, func(e *engine) { s.follow(e); e.keeping.expect("local") }, main)
		s.show([]*source.Remote{secretOf("east", "e")})
		s.feed("east").show(manyHosts())
		renewed := secretOf("east", "e")
		renewed.Config.BearerToken = "new"
		s.show([]*source.Remote{renewed})
		s.show([]*source.Remote{missing("east")})
		then := &secrets{t: t, feeds: make(map[string]*feed)}
		second := beginWith(t, "", first, then.follow, &feed{name: "local", place: "api"})
		defer func() {
			if p := recover(); p != nil {
				second.e.mu.Unlock()
				t.Errorf("panic: %v", p)
			}
		}()
		then.show([]*source.Remote{renewed})
	})
}

// TestFoundAtAnotherServer: a lost cluster's Secret is there again, with another URL. What the new
// server does not have goes when that has been listed, as where only the URL has changed.
func TestFoundAtAnotherServer(t *testing.T) {
	for _, lost := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r, s := lostWorld(t)
			if lost {
				s.show([]*source.Remote{missing("east")})
			}
			s.show([]*source.Remote{secretOf("east", "other")})
			r.expect("before the list", "h1=192.0.2.2")
			s.feed("east").show(hosts{"n": "192.0.2.9"})
			r.expect(fmt.Sprintf("listed, lost %v", lost), "n=192.0.2.9", "h1=NXDOMAIN")
		})
	}
}

// TestPoolsAndServerChange: a Secret changes its URL and where the cluster pools at once. What the new
// server does not have goes when that has been listed.
func TestPoolsAndServerChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := lostWorld(t)
		other := secretOf("east", "other")
		other.Pools = api.PoolsIn("x")
		s.show([]*source.Remote{other})
		r.expect("before the list", "h1=192.0.2.2")
		s.feed("east").show(hosts{"n": "192.0.2.9"})
		r.expect("listed", "n=192.0.2.9", "h1=NXDOMAIN")
	})
}

// TestCorefileTwinInPart: a reload adds a cluster to the Corefile that a Secret names too. Its kinds are
// listed one by one: until all are, what is known through the Secret is answered (rule 8.3).
func TestCorefileTwinInPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, _ := lostWorld(t)
		again, corp := &feed{name: "local", place: "api"}, &feed{name: "corp", place: "corp", uid: "https://e"}
		second, then := followSecrets(t, first, again, corp)
		again.show(hosts{"a": "192.0.2.1"})
		then.show([]*source.Remote{secretOf("east", "e")})
		second.expect("before it is listed", "h1=192.0.2.2")
		corp.show(manyHosts(), api.KindDNSPolicy)
		second.expect("listed in part", "h1=192.0.2.2")
		corp.show(manyHosts())
		second.expect("listed", "h1=192.0.2.2")
	})
}

// TestCorefileTwinGoes: a reload takes the line of a cluster out of the Corefile that a Secret names too, and
// that is away. The cluster is named all the time: no name of it is denied (rule 7.4).
func TestCorefileTwinGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		main, corp := &feed{name: "local", place: "api"}, &feed{name: "corp", place: "https://e"}
		first, s := followSecrets(t, nil, main, corp)
		main.show(hosts{"a": "192.0.2.1"})
		corp.show(hosts{"b": "192.0.2.2"})
		s.show([]*source.Remote{secretOf("east", "e")})
		s.feed("east").show(hosts{"b": "192.0.2.2"})
		first.expect("all is there", "b=192.0.2.2", "no=NXDOMAIN")
		again := &feed{name: "local", place: "api"}
		second, then := followSecrets(t, first, again)
		again.show(hosts{"a": "192.0.2.1"})
		then.show([]*source.Remote{secretOf("east", "e")})
		if got := second.answer("b"); got == "NXDOMAIN" {
			t.Error("b of a cluster that a Secret names, and that has not been listed, is denied")
		}
	})
}

// TestHeirOfHeldObjects: names of a cluster are held back as its list lacks their objects; the cluster
// goes on under the name of a second Secret meanwhile. They are held on (rule 8.5).
func TestHeirOfHeldObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := lostWorld(t)
		s.show([]*source.Remote{secretOf("east", "e"), secretOf("east-1", "e")})
		s.feed("east-1").show(manyHosts())
		s.feed("east").unseen = func(api.Ref) bool { return true }
		s.feed("east").show(hosts{"h0": "192.0.2.2"})
		r.expect("held back", "h0=192.0.2.2", "h1=192.0.2.2")
		s.show([]*source.Remote{secretOf("east-1", "e")})
		r.expect("under another name", "h0=192.0.2.2", "h1=192.0.2.2")
	})
}

// TestCorefileTwinOfRecalled: a cluster is answered for from the state on disk, as its Secret is faulty. The
// Corefile has the same cluster under another name, which has been listed: nothing of it counts twice.
func TestCorefileTwinOfRecalled(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		stateOfSecrets(t, dir)
		main, corp := &feed{name: "local", place: "api"}, &feed{name: "corp", place: "corp", uid: "https://e"}
		r, s := beginSecrets(t, dir, nil, main, corp)
		main.show(hosts{"a": "192.0.2.1"})
		s.show([]*source.Remote{secretOf("north", "n"), secretOf("west", "w"), faulty("east", "it has no key kubeconfig")})
		s.feed("north").show(hosts{"n": "192.0.2.21"})
		s.feed("west").show(hosts{"w": "192.0.2.31"})
		corp.show(hosts{"e": "192.0.2.14"})
		for _, c := range r.e.snap.Load().Objects().Clusters {
			if c.Name == "east" {
				t.Error("the cluster is served twice, once from the state on disk")
			}
		}
		r.stale("all are listed", false)
		r.e.stop()
	})
}

// TestLostRemoteAmongMany: there are more clusters than may be, and one of those that are read is lost and
// found. Its place is its own as long as what it had is held back.
func TestLostRemoteAmongMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		main := &feed{name: "local", place: "api"}
		r, s := followSecrets(t, nil, main)
		main.show(hosts{"a": "192.0.2.1"})
		var all []*source.Remote
		for i := range maxRemotes + 1 {
			all = append(all, secretOf(fmt.Sprintf("c%03d", i), fmt.Sprint(i)))
		}
		s.show(all)
		for i := range maxRemotes {
			if name := fmt.Sprintf("c%03d", i); i == 0 {
				s.feed(name).show(manyHosts())
			} else {
				s.feed(name).show(hosts{})
			}
		}
		s.show(append([]*source.Remote{missing("c000")}, all[1:]...))
		s.show(all)
		time.Sleep(defaultGuard + time.Second)
		synctest.Wait()
		if got := r.answer("h1"); got == "NXDOMAIN" {
			t.Error("a Secret names the cluster, and what it had is denied")
		}
	})
}

// TestThreeTwins: three Secrets name one cluster, which is away when two of them are deleted one by one.
func TestThreeTwins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := twinWorld(t)
		all := []*source.Remote{secretOf("east", "e"), secretOf("east-1", "e"), secretOf("east-2", "e")}
		s.show(all)
		s.feed("east-2").show(hosts{"b": "192.0.2.2"})
		s.show(all[1:])
		r.expect("one is gone", "b=192.0.2.2")
		s.show(all[2:])
		if got := r.answer("b"); got == "NXDOMAIN" {
			t.Error("a third Secret names the cluster, and b is denied")
		}
	})
}

// TestLostTwice: a cluster is lost, found, and lost again before it has been read.
func TestLostTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := lostWorld(t)
		for range 3 {
			s.show([]*source.Remote{missing("east")})
			time.Sleep(time.Minute)
			s.show([]*source.Remote{secretOf("east", "e")})
			time.Sleep(time.Minute)
		}
		s.show([]*source.Remote{missing("east")})
		r.expect("lost again", "h1=192.0.2.2")
		s.show([]*source.Remote{secretOf("east", "e")})
		s.show([]*source.Remote{})
		r.expect("deleted", "h1=NXDOMAIN")
		e := r.plugin.engine
		if len(e.remotes.running)+len(e.remotes.lost)+len(e.handover.standIns) > 0 || len(e.origins) != 1 {
			t.Error("something is left of it")
		}
	})
}
