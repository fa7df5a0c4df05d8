package engine

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// TestPoolsOfFaultySecret: a Secret's kubeconfig cannot be used any more, and its cluster is read as before.
// The annotation that lets it pool is taken away: that counts at once even so (docs/clusters.md, decision 26).
func TestPoolsOfFaultySecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := followBesideLocal(t, nil)
		good := secretOf("east", "e")
		good.Pools = api.PoolsIn("ns")
		s.show([]*source.Remote{good})
		s.feed("east").show(hosts{"a": "192.0.2.2"})
		addresses := func(when, want string) {
			t.Helper()
			reply, _ := ask(t, r.plugin, context.Background(), question("a.example.com.", 1))
			got := strings.Fields(allA(reply))
			slices.Sort(got)
			if got := strings.Join(got, " "); got != want {
				t.Errorf("%s: %s, want %s", when, got, want)
			}
		}
		addresses("it pools", "192.0.2.1 192.0.2.2")
		bad := faulty("east", "kubeconfig: it is neither YAML nor JSON")
		bad.Pools = api.PoolsIn("ns")
		s.show([]*source.Remote{bad})
		addresses("its kubeconfig is bad", "192.0.2.1 192.0.2.2")
		worse := faulty("east", "kubeconfig: it is neither YAML nor JSON")
		worse.Pools = api.PoolsIn()
		s.show([]*source.Remote{worse})
		addresses("and it pools nowhere any more", "192.0.2.1")
	})
}

// TestPoolsOfFaultySecretFromState: the same of a cluster that is answered for from the state on disk, which
// nothing reads as long as its Secret is bad.
func TestPoolsOfFaultySecretFromState(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		stateOfSecrets(t, dir)
		main := &fakeSource{name: "local", place: "api"}
		r, s := beginSecrets(t, dir, nil, main)
		main.show(hosts{"a": "192.0.2.1"})
		bad := faulty("east", "it has no key kubeconfig")
		bad.Pools = api.PoolsIn("ns")
		s.show([]*source.Remote{bad})
		if got := r.addresses("a"); got != "192.0.2.1 192.0.2.11" {
			t.Errorf("its kubeconfig is bad, and its pool has %s", got)
		}
		bad = faulty("east", "it has no key kubeconfig")
		bad.Pools = api.PoolsIn()
		s.show([]*source.Remote{bad})
		if got := r.addresses("a"); got != "192.0.2.1" {
			t.Errorf("it pools nowhere any more, and the pool has %s", got)
		}
		r.expect("what it has alone stays", "e=192.0.2.12")
		r.stale("it is not read", true)
		s.show([]*source.Remote{secretOf("east", "e")})
		s.feed("east").show(hosts{"a": "192.0.2.11", "e": "192.0.2.14"})
		r.expect("its Secret is good again", "e=192.0.2.14")
		r.stale("it is read", false)
		r.e.Stop()
	})
}
