package source

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// page is an answer with a status that no API server made.
func page(code int, header ...string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		resp, err := answer(r, int32(code), "")
		resp.Body = body("<html><body>something else</body></html>")
		resp.Header = http.Header{"Content-Type": {"text/html"}}
		for i := 0; i+1 < len(header); i += 2 {
			resp.Header.Set(header[i], header[i+1])
		}
		return resp, err
	}
}

// serverErrors are answers that tell nothing about the objects, and pass.
var serverErrors = []struct {
	name  string
	reply func(*http.Request) (*http.Response, error)
}{
	{"500", func(r *http.Request) (*http.Response, error) {
		return answer(r, 500, metav1.StatusReasonInternalError)
	}},
	{"502 of a load balancer", page(502)},
	{"503 that asks for a long wait", page(503, "Retry-After", "3600")},
	{"504", func(r *http.Request) (*http.Response, error) { return answer(r, 504, metav1.StatusReasonTimeout) }},
	{"429", page(429)},
	{"302 to nowhere", page(302)},
	{"200 of something else", page(200)},
	{"403 of something else", page(403)},
	{"404 of something else", page(404)},
	{"418", page(418)},
}

// TestServerErrorsAtStart starts a source while something answers with errors:
// it waits for the server, publishes everything at once, and with the UID.
func TestServerErrorsAtStart(t *testing.T) {
	t.Parallel()
	s := sharedServer(t)
	ns := s.Namespace(t)
	s.Apply(t, manifest(ns, "a")+policyManifest(ns, "a", "v1"))
	for _, tt := range serverErrors {
		t.Run(tt.name, func(t *testing.T) {
			f := newFeed(t, s.Config, Selection{Namespaces: []string{ns}})
			f.line.set(tt.reply)
			f.start()
			eventually(t, "attempts", func() bool {
				return f.line.requests("kube-system") > 2*maxDenials && f.line.requests("GET /apis") > 4*maxDenials
			})
			if f.published() != 0 || f.stats.Synced() {
				t.Fatalf("published without an API server:\n%s", f.report())
			}
			f.line.set(nil)
			c := f.objects("g "+ns+"/a", "p "+ns+"/a")
			if c.UID != systemUID(t, s) || !c.Complete() {
				t.Errorf("UID %q, %d publishes", c.UID, f.published())
			}
			if first := f.first(); !first.Complete() || first.UID != c.UID {
				t.Errorf("the first cluster that is published is not complete, or has UID %q", first.UID)
			}
			eventually(t, "synced", f.stats.Synced)
		})
	}
}

// TestFrozenServer stops the process of a server that has open watches, and one
// that is asked for the first time: both say so, keep what they have, and go on
// when it does.
func TestFrozenServer(t *testing.T) {
	t.Parallel()
	s := kubetest.Start(t)
	s.InstallCRDs(t)
	s.Apply(t, manifest("default", "a")+policyManifest("default", "a", "v1"))
	config := rest.CopyConfig(s.Config)
	config.Dial = (&net.Dialer{}).DialContext // connections of its own
	feeds := []*feed{newFeed(t, s.Config, Selection{}), newFeed(t, config, Selection{})}
	for _, f := range feeds {
		f.src.timing.pulse, f.src.timing.answer, f.src.timing.watch = 50*time.Millisecond, time.Second, time.Second
	}
	feeds[0].start()
	before := feeds[0].objects("g default/a", "p default/a")
	eventually(t, "synced", feeds[0].stats.Synced)

	freeze(t, s)
	feeds[1].start()
	for _, f := range feeds {
		f.log("cannot reach the API server", s.Config.Host)
		eventually(t, "not synced", func() bool { return !f.stats.Synced() })
	}
	if feeds[0].published() != 1 || feeds[1].published() != 0 {
		t.Errorf("published meanwhile:\n%s\n%s", feeds[0].report(), feeds[1].report())
	}

	if err := s.Thaw(); err != nil {
		t.Fatal(err)
	}
	s.Apply(t, manifest("default", "b"))
	for _, f := range feeds {
		f.objects("g default/a", "g default/b", "p default/a")
		f.goodNews("the API server answers")
		eventually(t, "synced", f.stats.Synced)
	}
	if c := feeds[0].objects("g default/a", "g default/b", "p default/a"); gatewayOf(t, c, "default/a") != gatewayOf(t, before, "default/a") {
		t.Error("the gateway lost its pointer")
	}
}

// freeze freezes the server, and makes sure that it ends.
func freeze(t *testing.T, s *kubetest.Server) {
	t.Helper()
	if err := s.Freeze(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Thaw() })
}

// TestWatchThatDoesNotBegin lets every request through but watches, which hang:
// that is said, and one that has begun is not ended.
func TestWatchThatDoesNotBegin(t *testing.T) {
	f, s, ns := newPolicyFeed(t)
	f.src.chunked = true
	f.src.timing.watch = 20 * time.Millisecond
	f.line.set(func(r *http.Request) (*http.Response, error) {
		if r.URL.Query().Get("watch") == "" {
			return nil, nil
		}
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	f.start()
	f.objects("p " + ns + "/a")
	f.log("cannot reach the API server", "no answer within 20ms")
	f.stop()

	f = newFeed(t, s.Config, f.src.opts.Selection)
	f.src.timing.watch, f.src.timing.pulse = 2*time.Second, 100*time.Millisecond
	f.start()
	f.line.watches(t, 1)
	eventually(t, "synced", f.stats.Synced)
	opened, asked := f.line.requests("watch="), f.line.requests("/livez")
	eventually(t, "the time for watches to begin to pass", func() bool { return f.line.requests("/livez") > asked+25 })
	s.Apply(t, policyManifest(ns, "b", "v1"))
	f.objects("p "+ns+"/a", "p "+ns+"/b")
	if n := f.line.requests("watch="); n != opened {
		t.Errorf("%d watches were begun, then %d", opened, n)
	}
}

func TestClassify(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want trouble
	}{
		{nil, none},
		{errors.New("dial"), unreachable},
		{fmt.Errorf("GET /apis: %w", errStranger), stranger},
		{fmt.Errorf("%w: %w", errNotReady, errRefused), busy},
	} {
		if got := classify(tt.err); got != tt.want {
			t.Errorf("classify(%v) = %d, want %d", tt.err, got, tt.want)
		}
	}
}
