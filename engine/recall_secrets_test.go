package engine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/source"
	statefile "github.com/coredns-kuadrant/kuadrant/state"
)

// beginSecrets is beginWith with clusters that Secrets name beside the feeds.
func beginSecrets(t *testing.T, dir string, before *remembering, feeds ...*fakeSource) (*remembering, *fakeSecrets) {
	t.Helper()
	s := &fakeSecrets{t: t, feeds: make(map[string]*fakeSource)}
	return beginWith(t, dir, before, func(_ *Engine, to *settings) { to.secrets = s.config() }, feeds...), s
}

// stateOfSecrets leaves a state in dir with the clusters local, and east, north and west, which
// Secrets name; east pools in ns alone. It returns what the Secrets hold.
func stateOfSecrets(t *testing.T, dir string) []*source.Remote {
	t.Helper()
	all := []*source.Remote{secretOf("east", "e"), secretOf("north", "n"), secretOf("west", "w")}
	all[0].Pools = api.PoolsIn("ns")
	main := &fakeSource{name: "local", place: "api"}
	r, s := beginSecrets(t, dir, nil, main)
	main.show(hosts{"a": "192.0.2.1"})
	s.show(all)
	s.feed("east").show(hosts{"a": "192.0.2.11", "e": "192.0.2.12", "apart/e2": "192.0.2.13"})
	s.feed("north").show(hosts{"n": "192.0.2.21"})
	s.feed("west").show(hosts{"w": "192.0.2.31"})
	r.e.Stop()
	return all
}

// TestSecretsFromState: a start while the main cluster is away answers for clusters that Secrets
// name too, says so, and denies what was denied. When the Secrets are listed, a cluster that
// one names goes on from there, and one that none names any more goes (issue 5, rule 7.4).
func TestSecretsFromState(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		all := stateOfSecrets(t, dir)
		main := &fakeSource{name: "local", place: "api"}
		r, s := beginSecrets(t, dir, nil, main)
		fromState := []string{"e=192.0.2.12", "n=192.0.2.21", "w=192.0.2.31", "no=NXDOMAIN"}
		r.expect("from the state", fromState...)
		r.stale("from the state", true)
		if !r.plugin.Ready() || !r.said("info: Answering for cluster east from the state in "+dir) || !r.said("until the Secret that names it has been read and https://e cluster=east can be listed") {
			t.Errorf("ready %v, logged %q", r.plugin.Ready(), r.log)
		}
		if got := r.e.Current().FromState; !slices.Equal(got, []string{"east", "local", "north", "west"}) {
			t.Errorf("served from the state are %q", got)
		}
		if got := r.addresses("a"); got != "192.0.2.1 192.0.2.11" {
			t.Errorf("a pool of two clusters has %s", got)
		}
		time.Sleep(time.Hour)
		r.expect("for an hour", fromState...)
		main.show(hosts{"a": "192.0.2.2"})
		r.expect("the main cluster is listed", fromState...)
		r.stale("the main cluster is listed", true)
		if s.feed("east") != nil {
			t.Error("east is read, and its Secret is not known")
		}
		s.show(nil)
		r.expect("the Secrets cannot be listed", fromState...)

		s.show(all[:2])
		wait(gatherTime)
		r.expect("the Secrets are listed", "e=192.0.2.12", "n=192.0.2.21", "w=NXDOMAIN", "no=NXDOMAIN")
		if got := r.e.Current().FromState; slices.Contains(got, "west") || !r.said("warning: cluster \"west\": its Secret is missing") {
			t.Errorf("served from the state are %q, logged %q", got, r.log)
		}
		s.feed("east").show(hosts{"a": "192.0.2.11", "e": "192.0.2.14"}, api.KindDNSPolicy)
		r.expect("east is listed in part", "e=192.0.2.14", "n=192.0.2.21")
		s.feed("east").show(hosts{"a": "192.0.2.11", "e": "192.0.2.14"})
		wait(gatherTime)
		r.expect("east is listed", "e=192.0.2.14", "e2=NXDOMAIN", "n=192.0.2.21")
		r.stale("north is away", true)
		s.feed("north").show(hosts{"n": "192.0.2.22"})
		r.expect("all are listed", "e=192.0.2.14", "n=192.0.2.22", "no=NXDOMAIN")
		r.stale("all are listed", false)
		r.e.Stop()
		if c, err := statefile.Read(dir); err != nil || slices.ContainsFunc(c.Clusters, func(c statefile.Cluster) bool { return c.Name == "west" }) {
			t.Errorf("the state has what was withdrawn: %v", err)
		}
	})
}

// TestSecretsOfStateHidden: nothing of a Secret is in the state.
func TestSecretsOfStateHidden(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		main := &fakeSource{name: "local", place: "api"}
		r, s := beginSecrets(t, dir, nil, main)
		main.show(hosts{"a": "192.0.2.1"})
		of := secretOf("east", "e")
		of.Config.BearerToken, of.Config.TLSClientConfig.KeyData, of.Config.TLSClientConfig.CAData = "hidden-token", []byte("hidden-key"), []byte("hidden-ca")
		s.show([]*source.Remote{of})
		s.feed("east").show(hosts{"e": "192.0.2.2"})
		r.e.Stop()
		text, err := os.ReadFile(filepath.Join(dir, statefile.Name))
		if err != nil || !strings.Contains(string(text), "192.0.2.2") || strings.Contains(string(text), "hidden") {
			t.Errorf("the state is\n%s\n%v", text, err)
		}
	})
}

// TestSecretsChangedSinceState: what the Secret says when it is read counts: where the cluster
// pools at once, another server once that is listed. One that cannot be used withdraws nothing.
func TestSecretsChangedSinceState(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		all := stateOfSecrets(t, dir)
		main := &fakeSource{name: "local", place: "api"}
		r, s := beginSecrets(t, dir, nil, main)
		main.show(hosts{"a": "192.0.2.1"})
		apart := *all[0]
		apart.Pools = api.PoolsIn()
		s.show([]*source.Remote{&apart, faulty("north", "it has no key kubeconfig"), secretOf("west", "other")})
		if got := r.addresses("a"); got != "192.0.2.1" {
			t.Errorf("it pools nowhere any more, and is answered with %s", got)
		}
		r.expect("before any list", "e=192.0.2.12", "n=192.0.2.21", "w=192.0.2.31")
		if why := problemOf(r.e, "north"); !strings.Contains(why, "the cluster is answered for as it was, and not read") {
			t.Errorf("told is %q", why)
		}
		s.feed("east").show(hosts{"e": "192.0.2.12"})
		if got := strings.Join(r.e.Current().FromState, " "); got != "north west" {
			t.Errorf("served from the state are %s", got)
		}
		again, then := beginSecrets(t, dir, r, &fakeSource{name: "local", place: "api"})
		again.expect("after a reload", "a=192.0.2.1", "e=192.0.2.12", "n=192.0.2.21", "w=192.0.2.31", "no=NXDOMAIN")
		if got := strings.Join(again.e.Current().FromState, " "); got != "north west" {
			t.Errorf("after a reload served from the state are %s", got)
		}
		then.show([]*source.Remote{&apart, secretOf("north", "n"), secretOf("west", "other")})
		then.feed("west").show(hosts{"w": "192.0.2.32"})
		again.expect("another server", "n=192.0.2.21", "w=192.0.2.32")
		then.feed("north").show(hosts{"n": "192.0.2.22"})
		again.expect("the Secret is mended", "n=192.0.2.22")
		again.stale("the Secret is mended", false)
	})
}

// TestStateOfLineThatHasGone: a server is stopped, and started with a Corefile that lacks the line of a
// cluster. A Secret may name that now: nothing is denied before it is known whether one does (rule 7.4).
func TestStateOfLineThatHasGone(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		main, corp := &fakeSource{name: "local", place: "api"}, &fakeSource{name: "corp", place: "https://e"}
		first, s := beginSecrets(t, dir, nil, main, corp)
		s.show([]*source.Remote{secretOf("corp", "e")})
		main.show(hosts{"a": "192.0.2.1"})
		corp.show(hosts{"b": "192.0.2.2"})
		first.expect("the Corefile's", "a=192.0.2.1", "b=192.0.2.2", "no=NXDOMAIN")
		first.e.Stop()
		main = &fakeSource{name: "local", place: "api"}
		second, s := beginSecrets(t, dir, nil, main)
		second.expect("from the state", "a=192.0.2.1", "b=SERVFAIL", "no=SERVFAIL")
		main.show(hosts{"a": "192.0.2.1"})
		s.show([]*source.Remote{secretOf("corp", "e")})
		second.expect("a Secret names it", "a=192.0.2.1", "b=SERVFAIL", "no=SERVFAIL")
		s.feed("corp").show(hosts{"b": "192.0.2.2"})
		second.expect("listed", "a=192.0.2.1", "b=192.0.2.2", "no=NXDOMAIN")
	})
}

// TestSecretsOfAnotherPlace: where the Secrets are looked for elsewhere now, or nowhere, what the
// state has of their clusters is not used; a start denies nothing then before it knows which
// clusters there are.
func TestSecretsOfAnotherPlace(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		stateOfSecrets(t, dir)
		s := &fakeSecrets{t: t, feeds: make(map[string]*fakeSource)}
		moved := beginWith(t, dir, nil, func(_ *Engine, to *settings) { to.secrets = s.config(); to.secrets.place = "moved" }, &fakeSource{name: "local", place: "api"})
		moved.expect("another namespace", "a=192.0.2.1", "e=SERVFAIL", "no=SERVFAIL")
		moved.e.Stop()
		off := begin(t, dir, nil, &fakeSource{name: "local", place: "api"})
		off.expect("no Secrets", "a=192.0.2.1", "e=NXDOMAIN", "no=NXDOMAIN")
		off.e.Stop()
		r, _ := beginSecrets(t, dir, nil, &fakeSource{name: "local", place: "api"})
		r.expect("as it was", "e=192.0.2.12")
	})
}

// addresses returns the addresses of a host below example.com, sorted.
func (r *running) addresses(name string) string {
	r.t.Helper()
	reply, _ := ask(r.t, r.plugin, r.t.Context(), question(name+".example.com.", 1))
	all := strings.Fields(allA(reply))
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestCorefileTwiceBesideState: the Corefile has one cluster under two names, and the state on disk has it as a Secret's.
// Nothing of that is answered with beside them, whichever of the two is listed in full.
func TestCorefileTwiceBesideState(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		main := &fakeSource{name: "local", place: "api"}
		first, s := beginSecrets(t, dir, nil, main)
		main.show(hosts{"a": "192.0.2.1"})
		all := []*source.Remote{secretOf("z", "e")}
		s.show(all)
		s.feed("z").show(hosts{"b": "192.0.2.2"})
		first.e.Stop()
		again, one, two := &fakeSource{name: "local", place: "api"}, &fakeSource{name: "x", place: "x", uid: "https://e"}, &fakeSource{name: "corp", place: "corp", uid: "https://e"}
		r, then := beginSecrets(t, dir, nil, again, one, two)
		again.show(hosts{"a": "192.0.2.1"})
		one.show(hosts{"b": "192.0.2.2"}, api.KindGateway)
		then.show(all)
		two.show(hosts{"b": "192.0.2.2"})
		r.expect("one is listed in full", "b=192.0.2.2")
		r.expectClusters("local", "x")
		r.e.Stop()
	})
}
