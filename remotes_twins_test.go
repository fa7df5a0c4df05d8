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
	r, s := followBesideLocal(t, nil)
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
		r, s := followBesideLocal(t, nil)
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
		r, s := followBesideLocal(t, nil)
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
		second, then := followBesideLocal(t, first)
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

// TestCorefileTwinInPart: a reload adds a cluster to the Corefile that a Secret names too. Its kinds are
// listed one by one: until all are, what is known through the Secret is answered (rule 8.3).
func TestCorefileTwinInPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, _ := lostWorld(t)
		corp := &feed{name: "corp", place: "corp", uid: "https://e"}
		second, then := followBesideLocal(t, first, corp)
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
		corp := &feed{name: "corp", place: "https://e"}
		first, s := followBesideLocal(t, nil, corp)
		corp.show(hosts{"b": "192.0.2.2"})
		s.show([]*source.Remote{secretOf("east", "e")})
		s.feed("east").show(hosts{"b": "192.0.2.2"})
		first.expect("all is there", "b=192.0.2.2", "no=NXDOMAIN")
		second, then := followBesideLocal(t, first)
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

// TestRemoteRenamed: a cluster gets a Secret of another name, first beside the old one, which is then
// deleted. The cluster is named all the time, and its names exist: none is denied while it is read under
// its new name, be it away for a while (rule 7.4).
func TestRemoteRenamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := followBesideLocal(t, nil)
		s.show([]*source.Remote{secretOf("east", "e")})
		s.feed("east").uid = "u"
		s.feed("east").show(hosts{"b": "192.0.2.2"})
		both := []*source.Remote{secretOf("east", "e"), secretOf("east-1", "e")}
		s.show(both)
		s.feed("east-1").uid = "u"
		s.feed("east-1").show(hosts{"b": "192.0.2.2"})
		time.Sleep(remotePatience + time.Second)
		synctest.Wait()
		r.expect("two Secrets name it", "b=192.0.2.2", "no=NXDOMAIN")
		s.show(both[1:])
		if got := r.answer("b"); got == "NXDOMAIN" {
			t.Errorf("the old Secret is gone, and b, of a cluster that another one names, is %s", got)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := r.answer("b"); got == "NXDOMAIN" {
			t.Errorf("its API server is away, and b is %s", got)
		}
	})
}

// TestTwinHeardFirst: a Secret names a cluster that the Corefile has, and is heard before that. It is not
// read twice (docs/clusters.md): what it has is taken out when the Corefile's is heard, and that is told.
func TestTwinHeardFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		main := &feed{name: "local", place: "api"}
		r, s := followSecrets(t, nil, main)
		copied := secretOf("copy", "api")
		copied.Pools = api.Pools{}
		s.show([]*source.Remote{copied})
		s.feed("copy").uid = "api"
		s.feed("copy").show(hosts{"a": "192.0.2.1"})
		main.show(hosts{"a": "192.0.2.1"})
		r.expect("both are heard", "a=192.0.2.1")
		if told := r.plugin.engine.remoteProblems()["dns/copy"]; told == "" {
			t.Error("nothing is told of the Secret")
		}
		if n := len(r.plugin.engine.snap.Load().Objects().Clusters); n != 1 {
			t.Errorf("%d clusters are served, want the main one alone", n)
		}
	})
}
