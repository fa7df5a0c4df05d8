package engine

import (
	"testing"
	"testing/synctest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// TestSecretsOffAfterReload: a Corefile that no longer reads Secrets sends nothing of
// those that were read before it, from the first moment on.
func TestSecretsOffAfterReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		before := follow(t, nil, 60, f)
		f.show(hosts{"a": "192.0.2.1"})
		edit := tree.Map[*api.Secret]{}.Edit()
		edit.Set("ns/key", &api.Secret{Headers: []api.Header{{Name: "X-Key", Value: "v"}}})
		withSecret := *f.last
		withSecret.Secrets = edit.Map()
		withSecret.Changed = []api.Ref{{Kind: api.KindSecret, Name: "ns/key"}}
		f.send(&withSecret)
		synctest.Wait()
		count := func(e *Engine) int { return e.Snapshot().Objects().Clusters[0].Count(api.KindSecret) }
		if n := count(before.plugin.engine); n != 1 {
			t.Fatalf("%d Secrets before the reload", n)
		}
		for _, off := range []bool{false, true} {
			e := before.plugin.engine
			apply(t, e, &settings{opt: simpleOptions(60), reads: source.Selection{NoSecrets: off}}, &fakeSource{name: "c", place: "api"})
			if n := count(e); (n == 0) != off {
				t.Errorf("Secrets off %v: %d after the reload", off, n)
			}
		}
	})
}
