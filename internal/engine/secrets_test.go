package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
	statefile "github.com/coredns-kuadrant/kuadrant/internal/state"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// secrets stand for the Secrets that name clusters: each cluster is a feed.
type fakeSecrets struct {
	t       *testing.T
	publish func([]*source.Remote)
	mu      sync.Mutex
	feeds   map[string]*fakeSource // the newest by name
}

// show publishes what the Secrets hold, and waits until that has been taken in; nil is that
// they cannot be listed.
func (s *fakeSecrets) show(all []*source.Remote) {
	s.publish(all)
	synctest.Wait()
}

func (s *fakeSecrets) feed(name string) *fakeSource {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.feeds[name]
}

// secretOf returns what a Secret of that name holds, which leads to a server.
func secretOf(name, server string) *source.Remote {
	return &source.Remote{Name: name, Secret: "dns/" + name, Config: &rest.Config{Host: "https://" + server}}
}

// config has an engine follow the Secrets.
func (s *fakeSecrets) config() secretsConfig {
	return secretsConfig{
		place: "main", same: feedSettings{text: fmt.Sprintf("%p", s)},
		follow: func(ctx context.Context, publish func([]*source.Remote)) error {
			s.publish = publish
			<-ctx.Done()
			return nil
		},
		open: func(r *source.Remote) *feed {
			f := &fakeSource{name: r.Name, place: r.Config.Host, pools: r.Pools}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.feeds[r.Name+"'"], s.feeds[r.Name] = s.feeds[r.Name], f
			return fed(f)
		},
	}
}

// TestSecretsRefused: a name that the Corefile has is taken, and so is one cluster too many until another goes.
func TestSecretsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := beginSecrets(t, "")
		all := []*source.Remote{secretOf("local", "x")}
		for i := range maxSecrets + 1 {
			all = append(all, secretOf(fmt.Sprintf("c%03d", i), fmt.Sprint(i)))
		}
		s.show([]*source.Remote{})
		s.show(all)
		if r.said("cluster Secret dns/local: the Corefile has") != 1 || r.said("cluster Secret dns/c100: only 100 clusters") != 1 {
			t.Errorf("said %q", r.log)
		}
		s.show(append(all[:1:1], all[2:]...))
		if len(r.e.problems) != 1 || s.feed("c100") == nil {
			t.Errorf("one has gone, and told is %q", r.e.problems)
		}
	})
}

// beginSecrets starts an engine on the main cluster, which has been listed, and on those that Secrets name.
func beginSecrets(t *testing.T, dir string) (*running, *fakeSecrets) {
	s := &fakeSecrets{t: t, feeds: make(map[string]*fakeSource)}
	main := &fakeSource{name: "local", place: "api"}
	r := beginWith(t, dir, nil, func(_ *Engine, to *settings) { to.secrets = s.config() }, main)
	main.show(hosts{"a": "192.0.2.1"})
	return r, s
}

// TestSecretsOfStateHidden: nothing of a Secret is in the state.
func TestSecretsOfStateHidden(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r, s := beginSecrets(t, dir)
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

// TestSecretsOffAfterReload: a Corefile that no longer reads Secrets sends nothing of
// those that were read before it, from the first moment on.
func TestSecretsOffAfterReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		before := begin(t, "", nil, f)
		f.show(hosts{"a": "192.0.2.1"})
		edit := tree.Map[*api.Secret]{}.Edit()
		edit.Set("ns/key", &api.Secret{Headers: []api.Header{{Name: "X-Key", Value: "v"}}})
		withSecret := *f.last
		withSecret.Secrets = edit.Map()
		withSecret.Changed = []api.Ref{{Kind: api.KindSecret, Name: "ns/key"}}
		f.send(&withSecret)
		synctest.Wait()
		count := func(e *Engine) int { return e.Snapshot().Objects().Clusters[0].Count(api.KindSecret) }
		if n := count(before.e); n != 1 {
			t.Fatalf("%d Secrets before the reload", n)
		}
		for _, off := range []bool{false, true} {
			e := before.e
			apply(t, e, &settings{opt: simpleOptions(60), reads: source.Selection{NoSecrets: off}}, &fakeSource{name: "c", place: "api"})
			if n := count(e); (n == 0) != off {
				t.Errorf("Secrets off %v: %d after the reload", off, n)
			}
		}
	})
}
