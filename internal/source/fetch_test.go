package source

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestSecretFaults: a Secret that cannot be fetched is tried again, keeps its
// headers meanwhile, and holds nothing up.
func TestSecretFaults(t *testing.T) {
	leaky := func(code int) func(*http.Request) (*http.Response, error) {
		return func(r *http.Request) (*http.Response, error) {
			resp, err := page(code)(r)
			resp.Body = body(`{"kind":"Secret","metadata":{"name":"x","labels":{"kuadrant.io/probe-headers":"true"}},"stringData":{"a":"` +
				password + `"}} ` + password)
			return resp, err
		}
	}
	replies := append(slices.Clone(serverErrors), []struct {
		name  string
		reply func(*http.Request) (*http.Response, error)
	}{
		{"200 with a Secret", leaky(200)},
		{"403 with a Secret", leaky(403)},
		{"404 with a Secret", leaky(404)},
		{"500 with a Secret", leaky(500)},
		{"502 with a Secret", leaky(502)},
		{"cut", func(*http.Request) (*http.Response, error) { return nil, errors.New("cut") }},
		{"another kind", func(r *http.Request) (*http.Response, error) {
			resp, err := answer(r, 200, "")
			resp.Body = body(`{"kind":"ConfigMap","metadata":{"name":"first"}}`)
			return resp, err
		}},
	}...)
	f, s, ns := newSecretFeed(t)
	f.start()
	f.token(ns+"/first", "1")
	eventually(t, "synced", f.stats.Synced)
	for i, tt := range replies {
		t.Run(tt.name, func(t *testing.T) {
			f.line.set(func(r *http.Request) (*http.Response, error) {
				if strings.Contains(r.URL.Path, "/secrets/") {
					return tt.reply(r)
				}
				return nil, nil
			})
			was, now := token(f.latest(), ns+"/first"), fmt.Sprint("fault", i)
			tried := f.line.requests("secrets/first")
			s.Apply(t, secretManifest(ns, "first", headersLabel, now))
			eventually(t, "more attempts", func() bool { return f.line.requests("secrets/first") > tried+2 })
			s.Apply(t, manifest(ns, "g")) // goes with the subtest
			f.wait("the Gateway", func() bool { return f.newest().Gateways.Len() == 1 })
			if got := token(f.latest(), ns+"/first"); got != was {
				t.Errorf("value %q, want %q until it can be read", got, was)
			}
			f.line.set(nil)
			f.token(ns+"/first", now)
			eventually(t, "synced", f.stats.Synced)
			s.Apply(t, secretManifest(ns, "first", headersLabel, now))
		})
		s.Apply(t, secretManifest(ns, "first", headersLabel, "1"))
		f.wait("the next turn", func() bool { return f.newest().Gateways.Len() == 0 && token(f.newest(), ns+"/first") == "1" })
	}
}

// TestSecretsHoldNothingUp: neither a list of Secrets that does not come nor
// Secrets that do not come keep others waiting, and only some are asked for at a
// time.
func TestSecretsHoldNothingUp(t *testing.T) {
	const many = 3 * maxFetches
	f, s, ns := newSecretFeed(t)
	var text strings.Builder
	want := []string{"p " + ns + "/a", "p " + ns + "/b", "secret " + ns + "/first"}
	for i := range many {
		name := fmt.Sprintf("s%02d", i)
		text.WriteString(secretManifest(ns, name, headersLabel, "x") + referringPolicy(ns, name, name))
		want = append(want, "p "+ns+"/"+name, "secret "+ns+"/"+name)
	}
	s.Apply(t, text.String())

	get := make(chan struct{})
	var mu sync.Mutex
	inside, most := 0, 0
	f.line.set(func(r *http.Request) (*http.Response, error) {
		if !strings.Contains(r.URL.Path, "/secrets/") {
			return nil, nil
		}
		mu.Lock()
		inside++
		most = max(most, inside)
		mu.Unlock()
		defer func() { mu.Lock(); inside--; mu.Unlock() }()
		select {
		case <-get:
			return nil, nil
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	})
	f.start()
	f.wait("the policies", func() bool { return f.newest() != nil && f.newest().Policies.Len() == many+2 })
	if c := f.latest(); !c.Complete() || c.Listings[api.KindSecret] != api.NotListed {
		t.Errorf("listings %v", c.Listings)
	}
	eventually(t, "fetches", func() bool { mu.Lock(); defer mu.Unlock(); return inside == maxFetches })
	s.Apply(t, manifest(ns, "g"))
	f.wait("the Gateway", func() bool { return f.newest().Gateways.Len() == 1 })
	close(get)
	f.objects(append(want, "g "+ns+"/g")...)
	f.wait("the listing", func() bool { return f.newest().Listings[api.KindSecret] == api.Listed })
	mu.Lock()
	defer mu.Unlock()
	if most != maxFetches {
		t.Errorf("%d requests at a time", most)
	}
}

// TestSecretTroublesAreSaidOnce: however many Secrets cannot be fetched, one line
// says so, and another that they can again; what comes after something else is
// said, too.
func TestSecretTroublesAreSaidOnce(t *testing.T) {
	f, s, ns := newSecretFeed(t)
	s.Apply(t, referringPolicy(ns, "b", "idle"))
	var mu sync.Mutex
	replies := map[string]int32{"first": 0, "idle": 0}
	set := func(first, idle int32) {
		mu.Lock()
		defer mu.Unlock()
		replies["first"], replies["idle"] = first, idle
	}
	f.line.set(func(r *http.Request) (*http.Response, error) {
		_, name, ok := strings.Cut(r.URL.Path, "/secrets/")
		if !ok {
			return nil, nil
		}
		mu.Lock()
		code := replies[name]
		mu.Unlock()
		switch code {
		case 0:
			return nil, errRefused
		case 200:
			return nil, nil
		}
		return answer(r, code, metav1.StatusReasonForbidden)
	})
	turns := func() {
		t.Helper()
		first, idle := f.line.requests("secrets/first"), f.line.requests("secrets/idle")
		eventually(t, "more attempts", func() bool {
			return f.line.requests("secrets/first") > first+2 && f.line.requests("secrets/idle") > idle+2
		})
	}
	f.start()
	f.log("cannot reach")
	turns()
	set(403, 0)
	f.log("not allowed to read secrets by their names")
	set(403, 403)
	turns()
	if n := f.logged("not allowed"); n != 1 {
		t.Errorf("said %d times", n)
	}
	set(403, 200)
	f.token(ns+"/idle", "idle")
	if f.logged("secrets", "can be read") > 0 || f.stats.Synced() {
		t.Error("all is well with one that cannot be read")
	}
	set(500, 200)
	f.log("cannot read secrets by their names")
	set(200, 200)
	f.log("secrets by their names", "can be read")
	f.token(ns+"/first", "1")
	eventually(t, "synced", f.stats.Synced)
}

// TestFetchEnds: what is not wanted any more is given up, and its trouble with
// it.
func TestFetchEnds(t *testing.T) {
	f, s, ns := newSecretFeed(t)
	f.src.timing.fetch = wait.Backoff{Duration: time.Hour}
	f.line.set(func(r *http.Request) (*http.Response, error) {
		if strings.Contains(r.URL.Path, "/secrets/") {
			return answer(r, 500, metav1.StatusReasonInternalError)
		}
		return nil, nil
	})
	f.start()
	f.log("cannot read secrets by their names")
	if f.stats.Synced() {
		t.Error("synced")
	}
	s.Apply(t, referringPolicy(ns, "a", "none"))
	f.wait("the listing", func() bool { return f.newest().Listings[api.KindSecret] == api.Listed })
	eventually(t, "synced", f.stats.Synced)
	s.Apply(t, referringPolicy(ns, "a", "first"))
	eventually(t, "not synced", func() bool { return !f.stats.Synced() })
	f.stop() // in the middle of an hour
}
