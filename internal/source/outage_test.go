package source

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// errRefused is what a dial to a port nobody listens on returns.
var errRefused = fmt.Errorf("dial: %w", syscall.ECONNREFUSED)

// TestKubernetesOutage starts a source without an API server, and kills and
// restarts the server under it.
func TestKubernetesOutage(t *testing.T) {
	t.Parallel()
	s := kubetest.Start(t)
	s.InstallCRDs(t)
	s.Apply(t, manifest("default", "a")+manifest("default", "b")+policyManifest("default", "a", "v1"))
	s.Stop()

	f := newFeed(t, s.Config, Selection{})
	f.start()
	f.log("cannot reach the API server", s.Config.Host)
	tried := f.line.requests("")
	eventually(t, "more attempts", func() bool { return f.line.requests("") > tried+20 })
	if f.published() != 0 || f.stats.Synced() {
		t.Fatalf("published without an API server:\n%s", f.report())
	}
	if n := f.logged("cannot reach"); n != 1 {
		t.Errorf("said %d times", n)
	}

	s.Restart(t)
	before := f.objects("g default/a", "g default/b", "p default/a")
	if !before.Complete() {
		t.Errorf("listings %v", before.Listings)
	}
	f.log("the API server answers")
	eventually(t, "synced", f.stats.Synced)
	count := f.published()

	// A server that is stopped in good order waits half a minute for its watches.
	for range 2 {
		t.Run("kill", func(t *testing.T) {
			s.Kill()
			eventually(t, "not synced", func() bool { return !f.stats.Synced() })
			if f.published() != count {
				t.Errorf("the end of the server was published:\n%s", f.report())
			}
			s.Restart(t)
			setAddress(t, s, "default", "b", "192.0.2.9")
			f.wait("the new address", func() bool {
				return gatewayOf(t, f.newest(), "default/b").Addresses[0].Value == "192.0.2.9"
			})
			eventually(t, "synced", f.stats.Synced)
			setAddress(t, s, "default", "b", "192.0.2.1")
			f.wait("the old address", func() bool {
				return gatewayOf(t, f.newest(), "default/b").Addresses[0].Value == "192.0.2.1"
			})
			f.mu.Lock()
			defer f.mu.Unlock()
			for _, c := range f.clusters[count-1:] {
				if c.Gateways.Len() != 2 || c.Policies.Len() != 1 || !c.Complete() {
					t.Errorf("objects went meanwhile: %v, %v", names(c), c.Listings)
				}
				if gatewayOf(t, c, "default/a") != gatewayOf(t, before, "default/a") {
					t.Error("an unchanged object lost its pointer")
				}
			}
			count = len(f.clusters)
		})
	}
}

// noKuadrant is a server that does not know DNSPolicies, as one may that starts,
// or that is the wrong one.
func noKuadrant(r *http.Request) (*http.Response, error) {
	switch {
	case strings.HasPrefix(r.URL.Path, "/apis/kuadrant.io"):
		return answer(r, 404, metav1.StatusReasonNotFound)
	case r.URL.Path == "/apis":
		resp, err := answer(r, 200, "")
		resp.Body = body(`{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"apps","versions":[]}]}`)
		return resp, err
	}
	return nil, nil
}

// newPolicyFeed prepares a source of the policies of a new namespace, in which
// there is one, "a".
func newPolicyFeed(t *testing.T) (f *feed, s *kubetest.Server, ns string) {
	s = sharedServer(t)
	ns = s.Namespace(t)
	s.Apply(t, policyManifest(ns, "a", "v1"))
	return newFeed(t, s.Config, Selection{Namespaces: []string{ns}, Kinds: []api.Kind{api.KindDNSPolicy}}), s, ns
}

// TestKubernetesKindMissingForGood lets the server forget a kind while there
// are objects of it.
func TestKubernetesKindMissingForGood(t *testing.T) {
	f, _, ns := newPolicyFeed(t)
	f.src.timing.confirm = 300 * time.Millisecond
	f.start()
	f.objects("p " + ns + "/a")
	f.line.watches(t, 1)
	f.line.set(noKuadrant)
	f.line.cut()
	f.log(policyResource, "1 objects were not reported as deleted")
	f.objects()
	f.listed(api.NotWatched, api.NotInstalled)
	f.line.set(nil)
	f.objects("p " + ns + "/a")
}

// TestKubernetesKindMissingAtStart: a kind that is not found counts as missing,
// and goes on to until it has been listed: it is found before.
func TestKubernetesKindMissingAtStart(t *testing.T) {
	f, _, ns := newPolicyFeed(t)
	f.src.timing.confirm = time.Hour
	f.line.set(noKuadrant)
	f.start()
	f.listed(api.NotWatched, api.Missing)
	var refused atomic.Int32
	f.line.set(func(r *http.Request) (*http.Response, error) {
		if strings.Contains(r.URL.Path, "dnspolicies") && refused.Add(1) < 4 {
			return nil, errors.New("cut")
		}
		return nil, nil
	})
	f.objects("p " + ns + "/a")
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.clusters {
		if l := c.Listings[api.KindDNSPolicy]; l != api.Missing && l != api.Listed {
			t.Errorf("listings %v", c.Listings)
		}
	}
}

// TestKindListing says how far a kind is listed, by what has been found out.
func TestKindListing(t *testing.T) {
	now := time.Now()
	one := func(n namespaceState) map[string]*namespaceState {
		return map[string]*namespaceState{"a": {listed: true}, "b": &n}
	}
	for _, c := range []struct {
		name  string
		state kindState
		want  api.Listing
	}{
		{"listed", kindState{namespaces: one(namespaceState{listed: true})}, api.Listed},
		{"not in all namespaces", kindState{namespaces: one(namespaceState{})}, api.NotListed},
		{"denied", kindState{namespaces: one(namespaceState{denied: true})}, api.NotListed},
		{"not found of late", kindState{namespaces: one(namespaceState{}), absent: true, since: now}, api.Missing},
		{"not found for long", kindState{namespaces: one(namespaceState{}), absent: true, since: now.Add(-2 * time.Hour)}, api.NotInstalled},
		{"emptied before it went", kindState{namespaces: one(namespaceState{}), absent: true, emptied: true, since: now}, api.NotInstalled},
		{"found again, not listed", kindState{namespaces: one(namespaceState{}), absent: true}, api.Missing},
		{"emptied and found again, not listed", kindState{namespaces: one(namespaceState{}), absent: true, emptied: true}, api.NotInstalled},
		{"found again, denied", kindState{namespaces: one(namespaceState{denied: true}), absent: true}, api.NotListed},
		{"the versions denied", kindState{namespaces: one(namespaceState{}), absent: true, since: now, denied: true}, api.NotListed},
	} {
		if got := c.state.listing(time.Hour); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestKubernetesKindMissingForAMoment(t *testing.T) {
	f, s, ns := newPolicyFeed(t)
	f.src.timing.confirm = time.Hour
	f.start()
	f.objects("p " + ns + "/a")
	f.line.watches(t, 1)
	f.line.set(noKuadrant)
	f.line.cut()
	f.log(policyResource, "not reported as deleted")
	asked := f.line.requests("GET /apis")
	eventually(t, "more looks", func() bool { return f.line.requests("GET /apis") > asked+4 })
	if n := f.logged("not reported as deleted"); n != 1 {
		t.Errorf("said %d times", n)
	}
	f.line.set(nil)
	s.Apply(t, policyManifest(ns, "b", "v1"))
	f.objects("p "+ns+"/a", "p "+ns+"/b")
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.clusters {
		if c.Policies.Len() == 0 || !c.Complete() {
			t.Errorf("objects went meanwhile: %v", c.Listings)
		}
	}
}

// TestKubernetesNotReady asks a server that starts: it has no groups yet, and
// says that it is not ready.
func TestKubernetesNotReady(t *testing.T) {
	f, _, _ := newPolicyFeed(t)
	f.line.set(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/readyz" {
			return answer(r, 500, metav1.StatusReasonInternalError)
		}
		return noKuadrant(r)
	})
	f.start()
	f.log("the API server is not ready")
	f.line.set(nil)
	f.listed(api.NotWatched, api.Listed)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.clusters {
		if c.Listings[api.KindDNSPolicy] != api.Listed {
			t.Error("a server that is not ready was believed")
		}
	}
}

// TestKubernetesNotAnAPIServer has something else stand at the server's address
// for a while, which knows no page.
func TestKubernetesNotAnAPIServer(t *testing.T) {
	f, _, ns := newPolicyFeed(t)
	f.start()
	f.objects("p " + ns + "/a")
	f.line.watches(t, 1)
	f.line.set(func(r *http.Request) (*http.Response, error) {
		resp, err := answer(r, 404, metav1.StatusReasonNotFound)
		if r.URL.Path == "/apis" {
			resp.StatusCode, resp.Body = 200, body("<html>")
		}
		return resp, err
	})
	f.line.cut()
	f.log("is not an API server", "GET /apis")
	f.line.set(nil)
	f.log("the API server answers")
	if f.published() != 1 {
		t.Errorf("published:\n%s", f.report())
	}
}

// TestKubernetesLastingRefusal has a kind whose lists the API server refuses: the
// other kind does not wait for it for ever.
func TestKubernetesLastingRefusal(t *testing.T) {
	s := sharedServer(t)
	ns := s.Namespace(t)
	s.Apply(t, manifest(ns, "a")+policyManifest(ns, "a", "v1"))
	f := newFeed(t, s.Config, Selection{Namespaces: []string{ns}})
	f.line.set(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/dnspolicies") {
			return answer(r, 405, metav1.StatusReasonMethodNotAllowed)
		}
		return nil, nil
	})
	f.start()
	f.listed(api.Listed, api.NotListed)
	f.log("cannot read "+policyResource, "made by the test")
	f.line.set(nil)
	f.bothListed()
	f.log(policyResource, "can be read")
}

// TestKubernetesUnauthorized says once that the credentials are refused, and
// goes on when they are not any more.
func TestKubernetesUnauthorized(t *testing.T) {
	s := sharedServer(t)
	ns := s.Namespace(t)
	f := newFeed(t, s.Config, Selection{Namespaces: []string{ns}})
	f.line.set(func(r *http.Request) (*http.Response, error) { return answer(r, 401, metav1.StatusReasonUnauthorized) })
	f.start()
	f.log("refuses the credentials")
	tried := f.line.requests("")
	eventually(t, "more attempts", func() bool { return f.line.requests("") > tried+10 })
	if f.published() != 0 || f.logged("") != 1 {
		t.Errorf("published %d, logged:\n%s", f.published(), f.report())
	}
	f.line.set(nil)
	f.bothListed()
}

// TestKubernetesRestored: an API server comes back with an older state of etcd, without ever
// refusing a connection: what a watch goes on from does not exist yet. That is noticed when the
// watch begins again, whatever else happens at the server.
func TestKubernetesRestored(t *testing.T) {
	t.Parallel()
	s := kubetest.Start(t)
	s.InstallCRDs(t)
	s.Apply(t, manifest("default", "a"))
	f := newFeed(t, s.Config, Selection{})
	f.start()
	f.objects("g default/a")
	restore := s.Backup(t)
	f.log("the API server answers")
	s.Apply(t, manifest("default", "b")+manifest("default", "c")+policyManifest("default", "a", "v1"))
	f.objects("g default/a", "g default/b", "g default/c", "p default/a")
	back := make(chan struct{})
	f.line.set(func(r *http.Request) (*http.Response, error) {
		select {
		case <-back:
			return nil, nil
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	})
	restore()
	close(back)
	f.objects("g default/a")
	f.log("put back to an older state")
}
