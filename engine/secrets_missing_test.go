package engine

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns-kuadrant/kuadrant/source"
)

// missing is what is published of a Secret that a new list lacks.
func missing(name string) *source.Remote {
	return &source.Remote{Name: name, Secret: "dns/" + name, Missing: true}
}

// manyHosts are so many names that the guard looks at them.
func manyHosts() hosts {
	all := make(hosts)
	for i := range 12 {
		all[fmt.Sprintf("h%d", i)] = "192.0.2.2"
	}
	return all
}

// lostWorld is a main cluster, and one that a Secret names and that has most names.
func lostWorld(t *testing.T) (*running, *fakeSecrets) {
	r, s := followBesideLocal(t, nil)
	s.show([]*source.Remote{secretOf("east", "e")})
	s.feed("east").show(manyHosts())
	r.expect("all is there", "a=192.0.2.1", "h1=192.0.2.2", "no=NXDOMAIN")
	return r, s
}

// TestLostRemoteInCorefile: while a cluster is lost, the Corefile gets a cluster of its name at the same
// server, which is away. No name of a cluster that the Corefile names, and that has not been listed, is denied.
func TestLostRemoteInCorefile(t *testing.T) {
	for _, place := range []string{"https://e", "another"} {
		synctest.Test(t, func(t *testing.T) {
			first, s := lostWorld(t)
			s.show([]*source.Remote{missing("east")})
			again := &fakeSource{name: "local", place: "api"}
			second, then := followSecrets(t, first, again, &fakeSource{name: "east", place: place})
			again.show(hosts{"a": "192.0.2.1"})
			then.show([]*source.Remote{})
			second.expect(place+": after the reload", "h1=192.0.2.2")
			time.Sleep(heldTime + time.Second)
			synctest.Wait()
			if got := second.answer("h1"); got == "NXDOMAIN" {
				t.Errorf("%s: the Corefile names the cluster, which is away, and h1 is denied", place)
			}
		})
	}
}

// TestFoundBeforeAnythingIsKnown: an engine that has lost a cluster with a stand-in has no snapshot yet when a
// reload comes. The Secret is there again.
func TestFoundBeforeAnythingIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		main := &fakeSource{name: "local", place: "api"}
		s := &fakeSecrets{t: t, feeds: make(map[string]*fakeSource)}
		first := beginWith(t, "", nil, func(e *Engine, to *settings) { keepsFirst(e, to); to.secrets = s.config() }, main)
		s.show([]*source.Remote{secretOf("east", "e")})
		s.feed("east").show(manyHosts())
		renewed := secretOf("east", "e")
		renewed.Config.BearerToken = "new"
		s.show([]*source.Remote{renewed})
		s.show([]*source.Remote{missing("east")})
		then := &fakeSecrets{t: t, feeds: make(map[string]*fakeSource)}
		beginWith(t, "", first, func(_ *Engine, to *settings) { to.secrets = then.config() }, &fakeSource{name: "local", place: "api"})
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
		if e := r.plugin.engine; len(e.feeds) != 1 || len(e.known) != 1 {
			t.Error("something is left of it")
		}
	})
}

// TestLostRemote: a new list of Secrets lacks one that names a cluster (rule 8.5): its names are held back
// for the time that the guard has, and no other name is affected. Then the cluster is withdrawn.
func TestLostRemote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := lostWorld(t)
		s.show([]*source.Remote{missing("east")})
		r.expect("its Secret is missing", "a=192.0.2.1", "h1=192.0.2.2", "no=NXDOMAIN")
		s.show([]*source.Remote{})
		r.expect("and nobody speaks of it any more", "h1=192.0.2.2")
		time.Sleep(heldTime - time.Second)
		synctest.Wait()
		r.expect("just before the time", "h1=192.0.2.2")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		r.expect("the time has come", "a=192.0.2.1", "h1=NXDOMAIN")
		if e := r.plugin.engine; len(e.Snapshot().Objects().Clusters) != 1 || len(e.known) != 1 {
			t.Error("something is left of it")
		}
	})
}

// TestLostRemoteIsFound: the Secret is there again, while the cluster is away: what was known of it stays
// for as long as that takes.
func TestLostRemoteIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := lostWorld(t)
		s.show([]*source.Remote{missing("east")})
		s.show([]*source.Remote{secretOf("east", "e")})
		time.Sleep(time.Hour)
		synctest.Wait()
		r.expect("found, and away", "h1=192.0.2.2", "no=NXDOMAIN")
		found := manyHosts()
		found["h1"] = "192.0.2.3"
		s.feed("east").show(found)
		r.expect("found, and read", "h1=192.0.2.3", "h2=192.0.2.2")
		s.show([]*source.Remote{})
		r.expect("deleted", "h1=NXDOMAIN", "a=192.0.2.1")
	})
}

// TestLostRemoteWithFewNames: what is no great loss goes after 30 s (rule 8.5).
func TestLostRemoteWithFewNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		main := &fakeSource{name: "local", place: "api"}
		r, s := followSecrets(t, nil, main)
		main.show(manyHosts())
		s.show([]*source.Remote{secretOf("east", "e")})
		s.feed("east").show(hosts{"b": "192.0.2.3"})
		r.expect("all is there", "b=192.0.2.3")
		s.show([]*source.Remote{missing("east")})
		r.expect("its Secret is missing", "b=192.0.2.3", "h1=192.0.2.2")
		wait(gatherTime)
		r.expect("30 s later", "b=NXDOMAIN", "h1=192.0.2.2")
		if n := len(r.plugin.engine.Snapshot().Objects().Clusters); n != 1 {
			t.Errorf("%d clusters are left", n)
		}
	})
}

// TestLostRemoteAndReload: a reload goes on with what is held back; and what the first list of Secrets
// after a reload lacks has not been reported either.
func TestLostRemoteAndReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, s := lostWorld(t)
		s.show([]*source.Remote{missing("east")})
		second, then := followBesideLocal(t, first)
		then.show([]*source.Remote{})
		second.expect("after the reload", "a=192.0.2.1", "h1=192.0.2.2", "no=NXDOMAIN")
		then.show([]*source.Remote{secretOf("east", "e")})
		time.Sleep(heldTime + time.Second)
		synctest.Wait()
		second.expect("found after the reload, and away", "h1=192.0.2.2")
	})
	synctest.Test(t, func(t *testing.T) {
		first, _ := lostWorld(t)
		second, then := followBesideLocal(t, first)
		then.show([]*source.Remote{})
		second.expect("the first list lacks it", "a=192.0.2.1", "h1=192.0.2.2")
		time.Sleep(heldTime + time.Second)
		synctest.Wait()
		second.expect("the time has come", "a=192.0.2.1", "h1=NXDOMAIN")
	})
}

// TestLostRemoteIsAnother: an older Secret of another name comes back for the same cluster: its names go
// on as that one's, be it away or not.
func TestLostRemoteIsAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := lostWorld(t)
		s.show([]*source.Remote{missing("east"), secretOf("old", "e")})
		r.expect("its Secret is missing", "h1=192.0.2.2")
		s.feed("old").show(hosts{"h1": "192.0.2.4"})
		r.expect("read under the older name", "h1=192.0.2.4")
		time.Sleep(2 * DefaultGuard)
		synctest.Wait()
		r.expect("for good", "h1=192.0.2.4", "no=NXDOMAIN")
		if n := len(r.plugin.engine.Snapshot().Objects().Clusters); n != 2 {
			t.Errorf("there are %d clusters", n)
		}
	})
}

// TestDeletedAfterFaulty: a cluster is answered for from what was known of it, as its Secret is faulty. When that
// Secret is deleted, this has been reported: the cluster is withdrawn at once (decision 26), as any is.
func TestDeletedAfterFaulty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := lostWorld(t)
		s.show([]*source.Remote{missing("east")})
		s.show([]*source.Remote{faulty("east", "it has no key kubeconfig")})
		wait(heldTime + time.Second)
		r.expect("faulty", "h1=192.0.2.2")
		s.show([]*source.Remote{})
		r.expect("deleted", "a=192.0.2.1", "h1=NXDOMAIN")
	})
	synctest.Test(t, func(t *testing.T) { // a new list lacks it
		r, s := lostWorld(t)
		s.show([]*source.Remote{missing("east")})
		s.show([]*source.Remote{faulty("east", "it has no key kubeconfig")})
		s.show([]*source.Remote{missing("east")})
		r.expect("missing again", "h1=192.0.2.2")
		time.Sleep(heldTime + time.Second)
		synctest.Wait()
		r.expect("the time has come", "h1=NXDOMAIN")
	})
}
