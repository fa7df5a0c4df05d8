package kuadrant

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// clusterNames returns the names of the clusters that are answered with.
func (r *running) clusterNames() (all []string) {
	for _, c := range r.plugin.engine.snap.Load().Objects().Clusters {
		all = append(all, c.Name)
	}
	return all
}

func (r *running) expectClusters(want ...string) {
	r.t.Helper()
	if got := r.clusterNames(); !slices.Equal(got, want) {
		r.t.Errorf("answered with are %q, want %q", got, want)
	}
}

// TestFirstOfTwinsMoves: two Secrets name one cluster, and the one that it is read by leads to another server then. The
// other one still names the cluster, which has been listed: none of its names is denied (rule 7.4), be it quiet from
// then on, and it is read anew, so that it is written to.
func TestFirstOfTwinsMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := twinWorld(t)
		second := s.feed("east-1")
		s.show([]*source.Remote{secretOf("east", "other"), secretOf("east-1", "e")})
		r.expect("before the new server is listed", "b=192.0.2.2")
		s.feed("east").show(hosts{"n": "192.0.2.3"})
		r.expect("the new server is listed", "b=192.0.2.2", "n=192.0.2.3", "no=NXDOMAIN")
		r.expectClusters("east", "east-1", "local")
		if s.feed("east-1") == second {
			t.Error("the other one is not read anew")
		}
		if told := r.plugin.engine.remoteProblems(); len(told) > 0 {
			t.Errorf("told is %q", told)
		}
	})
	synctest.Test(t, func(t *testing.T) { // the other one is heard between
		r, s := followBesideLocal(t, nil)
		s.show([]*source.Remote{secretOf("east", "e")})
		s.feed("east").show(hosts{"b": "192.0.2.2"})
		s.show([]*source.Remote{secretOf("east", "other"), secretOf("east-1", "e")})
		s.feed("east-1").show(hosts{"b": "192.0.2.2"})
		s.feed("east").show(hosts{"n": "192.0.2.3"})
		r.expect("both are listed", "b=192.0.2.2", "n=192.0.2.3")
	})
	synctest.Test(t, func(t *testing.T) { // it leads to a server that is read already
		r, s := twinWorld(t)
		all := []*source.Remote{secretOf("east", "w"), secretOf("east-1", "e"), secretOf("west", "w")}
		s.show([]*source.Remote{secretOf("east", "e"), all[1], all[2]})
		s.feed("west").show(hosts{"w": "192.0.2.4"})
		s.show(all)
		s.feed("east").show(hosts{"w": "192.0.2.4"})
		r.expect("all are listed", "b=192.0.2.2", "w=192.0.2.4")
		r.expectClusters("east-1", "local", "west")
	})
}

// TestCorefileTwinMoves: a reload has a cluster of the Corefile lead to another server, while a Secret names the one
// that it was. None of that one's names is denied, be it away.
func TestCorefileTwinMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		corp := &feed{name: "corp", place: "https://e"}
		first, s := followBesideLocal(t, nil, corp)
		corp.show(hosts{"b": "192.0.2.2"})
		s.show([]*source.Remote{secretOf("east", "e")})
		s.feed("east").show(hosts{"b": "192.0.2.2"})
		moved := &feed{name: "corp", place: "other"}
		second, then := followBesideLocal(t, first, moved)
		then.show([]*source.Remote{secretOf("east", "e")})
		second.expect("after the reload", "b=192.0.2.2")
		moved.show(hosts{"n": "192.0.2.3"})
		second.expect("the new server is listed", "b=192.0.2.2", "n=192.0.2.3")
	})
}

// TestMovesToServerThatIsRead: a Secret leads to another server then, which is read under another name already. Once it
// has been listed there, what came from the server before goes, as where that is read by nothing else.
func TestMovesToServerThatIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := followBesideLocal(t, nil)
		s.show([]*source.Remote{secretOf("east", "e"), secretOf("west", "w")})
		s.feed("east").show(hosts{"b": "192.0.2.2"})
		s.feed("west").show(hosts{"w": "192.0.2.3"})
		s.show([]*source.Remote{secretOf("east", "w"), secretOf("west", "w")})
		r.expect("before it is listed", "b=192.0.2.2", "w=192.0.2.3")
		s.feed("east").show(hosts{"w": "192.0.2.3"})
		r.expect("listed", "b=NXDOMAIN", "w=192.0.2.3")
		r.expectClusters("local", "west")
	})
}

// TestTwoSecretsForCorefileCluster: a reload takes the line of a cluster out of the Corefile that two Secrets name too,
// and that is away. It goes on under one of their names: its objects count once.
func TestTwoSecretsForCorefileCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		corp := &feed{name: "corp", place: "https://e"}
		first, s := followBesideLocal(t, nil, corp)
		corp.show(hosts{"b": "192.0.2.2"})
		all := []*source.Remote{secretOf("east", "e"), secretOf("east-1", "e")}
		s.show(all)
		s.feed("east").show(hosts{"b": "192.0.2.2"})
		s.feed("east-1").show(hosts{"b": "192.0.2.2"})
		second, then := followBesideLocal(t, first)
		then.show(all)
		second.expect("after the reload", "b=192.0.2.2")
		second.expectClusters("east", "local")
		then.show(all[1:])
		second.expect("one of the Secrets is deleted", "b=192.0.2.2")
		second.expectClusters("east-1", "local")
	})
}

// TestCorefileTwinInPartGoes: a reload takes the line of a cluster out of the Corefile again that could be listed in part
// only, while what is known through a Secret was answered with beside it. That goes on, once.
func TestCorefileTwinInPartGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, _ := lostWorld(t)
		corp := &feed{name: "corp", place: "corp", uid: "https://e"}
		second, s := followBesideLocal(t, first, corp)
		s.show([]*source.Remote{secretOf("east", "e")})
		corp.show(manyHosts(), api.KindDNSPolicy)
		second.expectClusters("corp", "east", "local")
		more := manyHosts()
		more["n"] = "192.0.2.3"
		s.feed("east").show(more)
		third, then := followBesideLocal(t, second)
		then.show([]*source.Remote{secretOf("east", "e")})
		third.expect("after the second reload", "h1=192.0.2.2", "n=192.0.2.3")
		third.expectClusters("east", "local")
		then.feed("east").show(manyHosts())
		third.expect("listed", "h1=192.0.2.2", "n=NXDOMAIN")
	})
}

// TestTwoSecretsAndCorefile: a reload adds a cluster to the Corefile that two Secrets name, of which the second was
// found to be the first. When that one's Secret is deleted, nothing is answered with but the Corefile's.
func TestTwoSecretsAndCorefile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, _ := twinWorld(t)
		corp := &feed{name: "corp", place: "corp", uid: "https://e"}
		second, s := followBesideLocal(t, first, corp)
		all := []*source.Remote{secretOf("east", "e"), secretOf("east-1", "e")}
		s.show(all)
		corp.show(hosts{"b": "192.0.2.2"})
		if told := second.plugin.engine.remoteProblems()["dns/east-1"]; !strings.Contains(told, `the cluster "corp"`) {
			t.Errorf("told of the second Secret is %q", told)
		}
		s.show(all[1:])
		second.expectClusters("corp", "local")
		corp.show(hosts{"b": "192.0.2.3"})
		second.expect("the Corefile's is read", "b=192.0.2.3")
	})
}

// TestCorefileTwinWaits: a reload has other clusters in the Corefile than before, of which the first to be listed is
// named by a Secret too, and waits for the others. When all are listed, nothing counts twice.
func TestCorefileTwinWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := &feed{name: "old", place: "old"}
		first, s := followBesideLocal(t, nil, old)
		old.show(hosts{"o": "192.0.2.2"})
		s.show([]*source.Remote{secretOf("east", "e")})
		s.feed("east").show(hosts{"b": "192.0.2.3"})
		corp, more := &feed{name: "corp", place: "corp", uid: "https://e"}, &feed{name: "more", place: "more"}
		second, then := followBesideLocal(t, first, corp, more)
		then.show([]*source.Remote{secretOf("east", "e")})
		corp.show(hosts{"b": "192.0.2.3"})
		second.expect("one is listed", "b=192.0.2.3", "o=192.0.2.2")
		more.show(hosts{"m": "192.0.2.4"})
		second.expect("all are listed", "b=192.0.2.3", "m=192.0.2.4", "o=NXDOMAIN")
		second.expectClusters("corp", "local", "more")
	})
}

// TestReloadBeforeHeirIsCompiled: a reload comes after a cluster has gone on under the name of a second Secret, and before
// the next compile of the engine before. The cluster is away: none of its names is denied.
func TestReloadBeforeHeirIsCompiled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, _ := twinWorld(t)
		e := first.plugin.engine
		e.mu.Lock()
		e.inheritRemote("east", secretOf("east-1", "e"))
		e.mu.Unlock()
		second, then := followBesideLocal(t, first)
		then.show([]*source.Remote{secretOf("east-1", "e")})
		second.expect("after the reload", "a=192.0.2.1", "b=192.0.2.2", "no=NXDOMAIN")
		second.expectClusters("east-1", "local")
	})
}

// TestMovesAndChanges: a Secret leads to another server then, and has a new token before that has been listed. What the
// cluster is known as is the new server alone, once that has been listed: its objects, its UID, and what is read of the
// server before under another name.
func TestMovesAndChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := followBesideLocal(t, nil)
		s.show([]*source.Remote{secretOf("east", "e")})
		s.feed("east").show(hosts{"b": "192.0.2.2"})
		moved, renewed := secretOf("east", "other"), secretOf("east", "other")
		renewed.Config.BearerToken = "new"
		s.show([]*source.Remote{moved})
		s.show([]*source.Remote{renewed})
		r.expect("before it is listed", "b=192.0.2.2")
		s.feed("east").show(hosts{"n": "192.0.2.3"})
		if c := r.plugin.engine.snap.Load().Objects().Clusters[0]; c.UID != "https://other" {
			t.Errorf("cluster %s has the UID %s", c.Name, c.UID)
		}
		s.show([]*source.Remote{renewed, secretOf("old", "e")})
		s.feed("old").show(hosts{"b": "192.0.2.2"})
		r.expect("both are listed", "b=192.0.2.2", "n=192.0.2.3")
	})
}

// TestSecretOfCorefileName: a reload takes the line of a cluster out of the Corefile, and a Secret of its name, which has
// been refused until then, leads to the same server. The cluster is named all the time: no name of it is denied, be it away.
func TestSecretOfCorefileName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		east := &feed{name: "east", place: "https://e"}
		first, s := followBesideLocal(t, nil, east)
		east.show(hosts{"b": "192.0.2.2"})
		all := []*source.Remote{secretOf("east", "e")}
		s.show(all)
		second, then := followBesideLocal(t, first)
		second.expect("after the reload", "b=192.0.2.2")
		then.show(all)
		second.expect("the Secrets are listed", "b=192.0.2.2")
		then.feed("east").show(hosts{"b": "192.0.2.3"})
		second.expect("it is listed", "b=192.0.2.3", "no=NXDOMAIN")
		then.show([]*source.Remote{})
		second.expect("the Secret is deleted", "b=NXDOMAIN")
	})
}

// TestCorefileTwinWaitsBesideSecret: the same, and the Secret's cluster publishes again while the Corefile's waits: it is
// answered with so long, and not beside that once all are listed.
func TestCorefileTwinWaitsBesideSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := &feed{name: "old", place: "old"}
		first, s := followBesideLocal(t, nil, old)
		old.show(hosts{"o": "192.0.2.2"})
		all := []*source.Remote{secretOf("east", "e")}
		s.show(all)
		s.feed("east").show(hosts{"b": "192.0.2.3"})
		corp, more := &feed{name: "corp", place: "corp", uid: "https://e"}, &feed{name: "more", place: "more"}
		second, then := followBesideLocal(t, first, corp, more)
		then.show(all)
		corp.show(hosts{"b": "192.0.2.3"})
		then.feed("east").show(hosts{"b": "192.0.2.4"})
		second.expect("one is listed", "b=192.0.2.4", "o=192.0.2.2")
		more.show(hosts{"m": "192.0.2.5"})
		second.expect("all are listed", "b=192.0.2.3", "m=192.0.2.5", "o=NXDOMAIN")
		second.expectClusters("corp", "local", "more")
	})
}

// TestHeirThatHasListedMost: a cluster has three names, of which the second may list nothing. When the first leads to
// another server, or leaves the Corefile, it goes on under the third: none of its names is denied.
func TestHeirThatHasListedMost(t *testing.T) {
	all := []*source.Remote{secretOf("x", "e"), secretOf("y", "e")}
	show := func(s *secrets) {
		s.feed("x").show(nil, everything()...)
		s.feed("y").show(hosts{"b": "192.0.2.2"})
	}
	synctest.Test(t, func(t *testing.T) {
		r, s := followBesideLocal(t, nil)
		s.show([]*source.Remote{secretOf("z", "e")})
		s.feed("z").show(hosts{"b": "192.0.2.2"})
		s.show(append(all[:2:2], secretOf("z", "e")))
		show(s)
		s.show(append(all[:2:2], secretOf("z", "other")))
		s.feed("z").show(hosts{"n": "192.0.2.3"})
		r.expect("the first leads elsewhere", "b=192.0.2.2", "n=192.0.2.3")
	})
	synctest.Test(t, func(t *testing.T) {
		corp := &feed{name: "corp", place: "corp", uid: "https://e"}
		first, s := followBesideLocal(t, nil, corp)
		corp.show(hosts{"b": "192.0.2.2"})
		s.show(all)
		show(s)
		second, _ := followSecrets(t, first, &feed{name: "local", place: "api"})
		second.expect("the first has left the Corefile", "b=192.0.2.2")
	})
}

// TestHeirThatLeads: the first of two Secrets for a cluster is deleted, and at once the second leads to another server. No
// Secret names the cluster any more: it is withdrawn.
func TestHeirThatLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := followBesideLocal(t, nil)
		s.show([]*source.Remote{secretOf("east", "e")})
		s.feed("east").show(hosts{"b": "192.0.2.2"})
		s.show([]*source.Remote{secretOf("east", "e"), secretOf("east-1", "e")})
		s.feed("east-1").show(hosts{"b": "192.0.2.2"}, api.KindDNSPolicy)
		s.show([]*source.Remote{secretOf("east-1", "other")})
		s.feed("east-1").show(hosts{"n": "192.0.2.3"})
		r.expect("the other server is listed", "b=NXDOMAIN", "n=192.0.2.3")
		r.expectClusters("east-1", "local")
	})
}
