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
			main, x := &feed{name: "local", place: "api"}, &feed{name: "x", place: "e"}
			first, s := followSecrets(t, nil, main, x)
			main.show(hosts{"a": "192.0.2.1"})
			x.show(hosts{"b": "192.0.2.2"})
			all := []*source.Remote{secretOf("east", "e"), secretOf("east-1", "e")}
			s.show(all)
			for _, of := range all {
				f := s.feed(of.Name)
				f.uid = "e"
				f.show(hosts{"b": "192.0.2.2"})
			}
			first.expectClusters("local", "x")
			again, corp, other := &feed{name: "local", place: "api"}, &feed{name: "corp", place: "e"}, &feed{name: "x", place: "w"}
			second, then := followSecrets(t, first, again, corp, other)
			again.show(hosts{"a": "192.0.2.1"})
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
