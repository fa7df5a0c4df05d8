package kuadrant

import (
	"testing"
	"testing/synctest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// TestReloadKnowsTwin: a host is on record as that of an object in a cluster that a Secret names, and that was found to be one of the
// Corefile under another name: nothing is in it. A reload while the cluster is away does not forget that: the host is answered
// as before (rule 8.3).
func TestReloadKnowsTwin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		owners := map[string]api.Owner{"b.example.com.": {Cluster: "east", Kind: api.KindDNSPolicy, Name: "other/b"}}
		all := []*source.Remote{secretOf("east", "e")}
		next := func(before *remembering) (*remembering, *secrets, *feed, *feed) {
			s := &secrets{t: t, feeds: make(map[string]*feed)}
			main, corp := &feed{name: "local", place: "api"}, &feed{name: "corp", place: "corp", uid: "https://e"}
			r := beginWith(t, "", before, func(e *engine) { s.follow(e); e.keeping.expect("local") }, main, corp)
			r.e.takeKept(ownersOnRecord(1, owners))
			main.show(hosts{"a": "192.0.2.1"})
			return r, s, main, corp
		}
		first, s, _, corp := next(nil)
		corp.show(hosts{"b": "192.0.2.2"})
		s.show(all)
		s.feed("east").show(hosts{"b": "192.0.2.2"})
		first.expect("before the reload", "a=192.0.2.1", "b=192.0.2.2", "no=NXDOMAIN")
		second, s, _, _ := next(first)
		s.show(all)
		second.expect("after the reload, and the cluster is away", "a=192.0.2.1", "b=192.0.2.2", "no=NXDOMAIN")
	})
}
