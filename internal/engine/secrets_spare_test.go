package engine

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"

	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/internal/controller"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
)

// writings are the writers that run, as the servers that they write to see them, which do not answer.
type writings struct {
	mu   sync.Mutex     // guards here
	here map[string]int // how many there are, by cluster
}

// make makes what writes to a cluster: it waits for the server's first answer for as long as it runs.
func (w *writings) make(t *testing.T, name string) *controller.Writer {
	t.Helper()
	own := &rest.Config{Host: "https://w", Transport: silent(func(r *http.Request) {
		w.count(name, 1)
		<-r.Context().Done()
		w.count(name, -1)
	})}
	drop := func(string, ...any) {}
	made, err := controller.New(controller.Options{
		Cluster: name, Config: own, Identity: "i", Namespace: "dns", Lease: "l", QPS: 1, Burst: 1,
		Warnf: drop, Infof: drop,
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (w *writings) count(cluster string, more int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.here == nil {
		w.here = make(map[string]int)
	}
	if w.here[cluster] += more; w.here[cluster] == 0 {
		delete(w.here, cluster)
	}
}

// silent is an API server that does not answer for as long as the function does not return.
type silent func(*http.Request)

func (f silent) CloseIdleConnections() {}
func (f silent) RoundTrip(r *http.Request) (*http.Response, error) {
	f(r)
	return nil, errors.New("nobody answers")
}

// TestFirstFeedWrites: of the feeds of one cluster the first one alone is written to, and so that none is which is not
// known yet.
func TestFirstFeedWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := new(writings), &fakeSecrets{t: t, feeds: make(map[string]*fakeSource)}
		to := s.config()
		open := to.open
		to.open = func(of *source.Remote) *feed {
			f := open(of)
			f.writer = w.make(t, of.Name)
			return f
		}
		main := &fakeSource{name: "local", place: "api"}
		e := New(log, nil)
		apply(t, e, &settings{opt: simpleOptions(60), secrets: to}, main)
		main.show(hosts{"a": "192.0.2.1"})
		expect := func(when, want string) {
			t.Helper()
			synctest.Wait()
			w.mu.Lock()
			defer w.mu.Unlock()
			if got := fmt.Sprint(w.here); got != want {
				t.Errorf("%s: writers %s, want %s", when, got, want)
			}
		}
		all := []*source.Remote{secretOf("east", "e"), secretOf("east-1", "e")}
		s.show(all)
		expect("nothing is known of them", "map[]")
		s.feed("east-1").show(nil)
		expect("the second is known", "map[east-1:1]")
		s.feed("east").show(nil)
		expect("both are", "map[east:1]")
		s.show(all[1:])
		expect("the first is gone", "map[east-1:1]")
		e.Stop()
		expect("the end", "map[]")
	})
}
