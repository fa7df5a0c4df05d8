package kuadrant

import (
	"testing"
	"testing/synctest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/source"
)

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
