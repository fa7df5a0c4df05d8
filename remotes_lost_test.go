package kuadrant

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
func lostWorld(t *testing.T) (*running, *secrets) {
	main := &feed{name: "local", place: "api"}
	r, s := followSecrets(t, nil, main)
	main.show(hosts{"a": "192.0.2.1"})
	s.show([]*source.Remote{secretOf("east", "e")})
	s.feed("east").show(manyHosts())
	r.expect("all is there", "a=192.0.2.1", "h1=192.0.2.2", "no=NXDOMAIN")
	return r, s
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
		time.Sleep(defaultGuard - time.Second)
		synctest.Wait()
		r.expect("just before the time", "h1=192.0.2.2")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		r.expect("the time has come", "a=192.0.2.1", "h1=NXDOMAIN")
		if e := r.plugin.engine; len(e.snap.Load().Objects().Clusters) != 1 || len(e.remotes.lost) > 0 || len(e.origins) != 1 {
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

// TestLostRemoteWithFewNames: what is no great loss goes at once (rule 8.5).
func TestLostRemoteWithFewNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		main := &feed{name: "local", place: "api"}
		r, s := followSecrets(t, nil, main)
		main.show(manyHosts())
		s.show([]*source.Remote{secretOf("east", "e")})
		s.feed("east").show(hosts{"b": "192.0.2.3"})
		r.expect("all is there", "b=192.0.2.3")
		s.show([]*source.Remote{missing("east")})
		r.expect("its Secret is missing", "b=NXDOMAIN", "h1=192.0.2.2")
		if n := len(r.plugin.engine.snap.Load().Objects().Clusters); n != 1 {
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
		again := &feed{name: "local", place: "api"}
		second, then := followSecrets(t, first, again)
		again.show(hosts{"a": "192.0.2.1"})
		then.show([]*source.Remote{})
		second.expect("after the reload", "a=192.0.2.1", "h1=192.0.2.2", "no=NXDOMAIN")
		then.show([]*source.Remote{secretOf("east", "e")})
		time.Sleep(defaultGuard + time.Second)
		synctest.Wait()
		second.expect("found after the reload, and away", "h1=192.0.2.2")
	})
	synctest.Test(t, func(t *testing.T) {
		first, _ := lostWorld(t)
		again := &feed{name: "local", place: "api"}
		second, then := followSecrets(t, first, again)
		again.show(hosts{"a": "192.0.2.1"})
		then.show([]*source.Remote{})
		second.expect("the first list lacks it", "a=192.0.2.1", "h1=192.0.2.2")
		time.Sleep(defaultGuard + time.Second)
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
		time.Sleep(2 * defaultGuard)
		synctest.Wait()
		r.expect("for good", "h1=192.0.2.4", "no=NXDOMAIN")
		if n := len(r.plugin.engine.snap.Load().Objects().Clusters); n != 2 {
			t.Errorf("there are %d clusters", n)
		}
	})
}
