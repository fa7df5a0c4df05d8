package kuadrant

import (
	"testing"
	"testing/synctest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// TestCorefileTwinInPartAndSecretGoes: two Secrets name a cluster, and a reload adds it to the Corefile, which may list a part only:
// what is known through the first Secret is answered with beside that. When that is deleted, the other one names the
// cluster still, and has listed it: none of its names is denied.
func TestCorefileTwinInPartAndSecretGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, _ := twinWorld(t)
		corp := &feed{name: "corp", place: "corp", uid: "https://e"}
		second, s := followBesideLocal(t, first, corp)
		all := []*source.Remote{secretOf("east", "e"), secretOf("east-1", "e")}
		s.show(all)
		corp.show(hosts{"b": "192.0.2.2"}, api.KindDNSPolicy)
		second.expect("listed in part", "b=192.0.2.2")
		s.show(all[1:])
		second.expect("the first Secret is deleted", "b=192.0.2.2")
		second.expectClusters("corp", "east-1", "local")
		corp.show(hosts{"b": "192.0.2.2"})
		second.expect("listed", "b=192.0.2.2")
		second.expectClusters("corp", "local")
	})
	synctest.Test(t, func(t *testing.T) { // both are deleted
		first, _ := twinWorld(t)
		corp := &feed{name: "corp", place: "corp", uid: "https://e"}
		second, s := followBesideLocal(t, first, corp)
		all := []*source.Remote{secretOf("east", "e"), secretOf("east-1", "e")}
		s.show(all)
		corp.show(hosts{"b": "192.0.2.2"}, api.KindDNSPolicy)
		s.show(all[1:])
		s.show([]*source.Remote{})
		second.expectClusters("corp", "local")
	})
}
