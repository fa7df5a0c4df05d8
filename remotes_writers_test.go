package kuadrant

import (
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"

	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/controller"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// writings are the writers that run, as the servers that they write to see them, which do not answer.
type writings struct {
	mu   sync.Mutex     // guards what follows
	here map[string]int // how many there are, by server
}

// make makes what writes to a cluster: it waits for the server's first answer for as long as it runs.
func (w *writings) make(name string, config *rest.Config) (made *writer, err error) {
	made = &writer{cluster: name}
	own := &rest.Config{Host: config.Host, Transport: silent(func(r *http.Request) {
		w.count(config.Host, 1)
		<-r.Context().Done()
		w.count(config.Host, -1)
	})}
	drop := func(string, ...any) {}
	made.Writer, err = controller.New(controller.Options{
		Cluster: name, Config: own, Identity: "i", Namespace: "dns", Lease: "l", QPS: 1, Burst: 1,
		Leading: made.leading.Store, Warnf: drop, Infof: drop,
	})
	return made, err
}

func (w *writings) count(host string, more int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.here == nil {
		w.here = make(map[string]int)
	}
	if w.here[host] += more; w.here[host] == 0 {
		delete(w.here, host)
	}
}

// silent is an API server that does not answer for as long as the function does not return.
type silent func(*http.Request)

func (f silent) CloseIdleConnections() {}
func (f silent) RoundTrip(r *http.Request) (*http.Response, error) {
	f(r)
	return nil, errors.New("nobody answers")
}

// TestMovedBesideCorefile: a Secret leads to another server then, which is away, and a reload adds the one before to the
// Corefile. The Secret's cluster is no twin of that: it is answered with and written to once it has been listed.
func TestMovedBesideCorefile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, s := followBesideLocal(t, nil)
		s.show([]*source.Remote{secretOf("east", "e")})
		s.feed("east").show(hosts{"b": "192.0.2.2"})
		all := []*source.Remote{secretOf("east", "other")}
		s.show(all)
		again, corp := &feed{name: "local", place: "api"}, &feed{name: "corp", place: "corp", uid: "https://e"}
		then, w := &secrets{t: t, feeds: make(map[string]*feed)}, new(writings)
		second := beginWith(t, "", &remembering{e: first.plugin.engine}, func(e *engine) { then.follow(e); e.remotes.write = w.make }, again, corp)
		again.show(hosts{"a": "192.0.2.1"})
		then.show(all)
		second.expect("before it is listed", "b=192.0.2.2")
		corp.show(hosts{"b": "192.0.2.2"}, api.KindDNSPolicy)
		second.expect("the Corefile's is listed in part", "b=192.0.2.2")
		corp.show(hosts{"b": "192.0.2.2"})
		second.expect("it is listed", "b=192.0.2.2")
		second.expectClusters("corp", "local")
		if told := second.e.remoteProblems(); len(told) > 0 {
			t.Errorf("told is %q", told)
		}
		then.feed("east").show(hosts{"n": "192.0.2.3"})
		second.expect("the other server is listed", "b=192.0.2.2", "n=192.0.2.3")
		if w.here["https://other"] != 1 {
			t.Errorf("writers: %v", w.here)
		}
	})
}
