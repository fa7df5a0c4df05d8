package console

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
)

// refusing refuses the first requests with 429 and passes on the others.
type refusing struct {
	next  http.Handler
	after string // the Retry-After header
	left  atomic.Int64
	told  chan struct{} // receives once per refusal
}

func (r *refusing) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if r.left.Add(-1) < 0 {
		r.next.ServeHTTP(w, req)
		return
	}
	secure(w.Header())
	w.Header().Set("Retry-After", r.after)
	fail(w, req, http.StatusTooManyRequests, "too many requests")
	r.told <- struct{}{}
}

// TestClientWaits: a client retries any request to a busy server until its time is up.
func TestClientWaits(t *testing.T) {
	r := &refusing{next: New(Options{Source: newServer(t)}), told: make(chan struct{}, 3)}
	server := httptest.NewServer(r)
	defer server.Close()
	c, err := NewClient(server.URL, "", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for what, ask := range map[string]func(context.Context) error{
		"explain": func(ctx context.Context) error {
			_, err := c.Explain(ctx, inspect.Question{Name: "a.example.com"})
			return err
		},
		"preview": func(ctx context.Context) error {
			found, err := c.Preview(ctx, PreviewRequest{Manifests: []byte("12")})
			if err == nil && found.Added != 2 { // the retry sends the manifests again
				t.Errorf("after three refusals the preview is %+v", found)
			}
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			r.after = "0"
			r.left.Store(3)
			if err := ask(t.Context()); err != nil {
				t.Errorf("after three refusals: %v", err)
			}
			for range 3 {
				<-r.told
			}
			r.after = "3600"
			r.left.Store(1)
			ctx, cancel := context.WithCancel(t.Context())
			cancelled := make(chan error)
			go func() { cancelled <- ask(ctx) }()
			<-r.told
			cancel()
			if err := <-cancelled; err == nil || !strings.Contains(err.Error(), "canceled") {
				t.Errorf("while it waits: %v", err)
			}
		})
	}
}
