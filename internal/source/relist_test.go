package source

import (
	"context"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestKubernetesRelist forces new lists: what did not change keeps its pointer,
// and what was deleted unseen goes.
func TestKubernetesRelist(t *testing.T) {
	s := sharedServer(t)
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			ns := s.Namespace(t)
			s.Apply(t, manifest(ns, "a")+manifest(ns, "b")+manifest(ns, "c")+policyManifest(ns, "a", "v1"))
			f := newFeed(t, s.Config, Selection{Namespaces: []string{ns}})
			f.src.chunked = mode.chunked
			f.start()
			before := f.objects("g "+ns+"/a", "g "+ns+"/b", "g "+ns+"/c", "p "+ns+"/a")

			f.line.watches(t, 3)
			// The way is blocked while objects change; then what was read last is
			// too old to go on from.
			f.line.set(func(r *http.Request) (*http.Response, error) {
				return answer(r, 503, metav1.StatusReasonServiceUnavailable)
			})
			f.line.cut()
			f.log("cannot read", gatewayResource)
			eventually(t, "not synced", func() bool { return !f.stats.Synced() })
			removeObject(t, s, manifest(ns, "b"))
			setAddress(t, s, ns, "c", "192.0.2.9")
			var listed atomic.Bool // Gateways, since then
			f.line.set(func(r *http.Request) (*http.Response, error) {
				q := r.URL.Query()
				switch watch := q.Get("watch") != "" && q.Get("sendInitialEvents") == ""; {
				case watch && !listed.Load():
					return answer(r, 410, metav1.StatusReasonExpired)
				case !watch && strings.HasSuffix(r.URL.Path, "/gateways"):
					listed.Store(true)
				}
				return nil, nil
			})
			after := f.objects("g "+ns+"/a", "g "+ns+"/c", "p "+ns+"/a")
			f.line.set(nil)
			if f.published() != 2 || len(after.Changed) != 2 || !slices.Equal(after.Inferred, []api.Ref{{Kind: api.KindGateway, Name: ns + "/b"}}) {
				t.Errorf("%d publishes, changed %v, inferred %v", f.published(), after.Changed, after.Inferred)
			}
			if gatewayOf(t, after, ns+"/a") != gatewayOf(t, before, ns+"/a") || policyOf(t, after, ns+"/a") != policyOf(t, before, ns+"/a") {
				t.Error("an unchanged object lost its pointer")
			}
			eventually(t, "synced", f.stats.Synced)
			s.Apply(t, manifest(ns, "d"))
			f.objects("g "+ns+"/a", "g "+ns+"/c", "g "+ns+"/d", "p "+ns+"/a")
			// What a watch reports is not inferred.
			removeObject(t, s, manifest(ns, "c"))
			c := f.objects("g "+ns+"/a", "g "+ns+"/d", "p "+ns+"/a")
			if len(c.Inferred) != 0 {
				t.Errorf("inferred %v", c.Inferred)
			}
		})
	}
}

// TestKubernetesEnds leaves no goroutine behind, wherever it is ended.
func TestKubernetesEnds(t *testing.T) {
	s := sharedServer(t)
	ns := s.Namespace(t)
	s.Apply(t, manifest(ns, "a"))
	refused := func(*http.Request) (*http.Response, error) { return nil, errRefused }
	for _, tt := range []struct {
		name    string
		disturb func(*http.Request) (*http.Response, error)
		until   func(f *feed)
	}{
		{"following", nil, func(f *feed) { f.objects("g " + ns + "/a") }},
		{"at once", nil, func(*feed) {}},
		{"unreachable", refused, func(f *feed) { f.log("cannot reach") }},
		{"refused stream", func(r *http.Request) (*http.Response, error) {
			if strings.Contains(r.URL.Path, "/namespaces/"+ns) {
				return nil, errRefused
			}
			return nil, nil
		}, func(f *feed) { f.log("cannot reach") }},
		{"stream that says later", func(r *http.Request) (*http.Response, error) {
			if r.URL.Query().Get("sendInitialEvents") == "" {
				return nil, nil
			}
			resp, err := answer(r, 200, "")
			resp.Body = body(`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429}}`)
			return resp, err
		}, func(f *feed) {
			eventually(f.t, "requests", func() bool { return f.line.requests("sendInitialEvents") > 1 })
		}},
		{
			"forbidden", func(r *http.Request) (*http.Response, error) { return answer(r, 403, metav1.StatusReasonForbidden) },
			func(f *feed) { f.log("not allowed") },
		},
		{"hanging", func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, context.Cause(r.Context())
		}, func(f *feed) { eventually(f.t, "requests", func() bool { return f.line.requests("/apis") > 0 }) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			for range 3 {
				f := newFeed(t, s.Config, Selection{Namespaces: []string{ns}})
				// Long waits must not delay the end.
				f.src.timing.retry.Duration, f.src.timing.retry.Cap = time.Minute, time.Hour
				f.line.set(tt.disturb)
				f.start()
				tt.until(f)
				f.stop()
			}
			client, err := rest.HTTPClientFor(s.Config)
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, "goroutines to end", func() bool {
				// A connection that was being set up at the end is idle now.
				utilnet.CloseIdleConnectionsFor(client.Transport)
				return runtime.NumGoroutine() <= before
			})
		})
	}
}
