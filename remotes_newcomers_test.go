package kuadrant

import (
	"testing"
	"testing/synctest"

	"github.com/coredns-kuadrant/kuadrant/source"
)

// TestCorefileTwinUnderAnotherName: a reload has the Corefile name a cluster otherwise than before, and gives its old name to
// another one. A Secret names the cluster too. When all are listed, in whichever order they are taken in, it counts once.
func TestCorefileTwinUnderAnotherName(t *testing.T) {
	for range 10 {
		synctest.Test(t, func(t *testing.T) {
			x := &feed{name: "x", place: "e"}
			first, s := followBesideLocal(t, nil, x)
			x.show(hosts{"b": "192.0.2.2"})
			all := []*source.Remote{secretOf("east", "e"), secretOf("east-1", "e")}
			s.show(all)
			for _, of := range all {
				f := s.feed(of.Name)
				f.uid = "e"
				f.show(hosts{"b": "192.0.2.2"})
			}
			first.expectClusters("local", "x")
			corp, other := &feed{name: "corp", place: "e"}, &feed{name: "x", place: "w"}
			second, then := followBesideLocal(t, first, corp, other)
			then.show(all)
			other.show(hosts{"w": "192.0.2.3"})
			corp.show(hosts{"b": "192.0.2.2"})
			second.expect("all are listed", "a=192.0.2.1", "b=192.0.2.2", "w=192.0.2.3")
			second.expectClusters("corp", "local", "x")
			for _, of := range all {
				if told := second.plugin.engine.remoteProblems()[of.Secret]; told != twinProblem("corp") {
					t.Errorf("told of %s is %q", of.Secret, told)
				}
			}
		})
	}
}
