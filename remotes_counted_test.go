package kuadrant

import (
	"testing"
	"testing/synctest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// TestCorefileTwinGoesInPart: a cluster of the Corefile, of which one kind may not be listed, keeps all names from being denied
// (rule 7.4). A reload takes its line out, and a Secret names it too, which may list no more: that counts for what is known of it
// (decision 26), be the cluster away.
func TestCorefileTwinGoesInPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		corp := &feed{name: "corp", place: "corp", uid: "https://e"}
		first, s := followBesideLocal(t, nil, corp)
		corp.show(hosts{"b": "192.0.2.2"}, api.KindZone)
		all := []*source.Remote{secretOf("east", "e")}
		s.show(all)
		s.feed("east").show(hosts{"b": "192.0.2.2"}, api.KindZone)
		first.expect("before the reload", "b=192.0.2.2", "no=SERVFAIL")
		second, then := followBesideLocal(t, first)
		then.show(all)
		second.expect("the Secrets are listed", "b=192.0.2.2", "no=NXDOMAIN")
		then.feed("east").show(hosts{"b": "192.0.2.2"}, api.KindZone)
		second.expect("it is listed in part", "b=192.0.2.2", "no=NXDOMAIN")
	})
}
