package controller

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// childServer is an API server with one child, which a finalizer may hold.
type childServer struct {
	held    bool           // by a finalizer
	child   map[string]any // nil for none
	version int
	sent    []string
	// dying counts what is written to a child that is being deleted.
	dying int
}

// ServeHTTP implements http.Handler.
func (s *childServer) ServeHTTP(rw http.ResponseWriter, req *http.Request) {
	s.sent = append(s.sent, req.Method)
	s.version++
	var answer any
	switch {
	case req.Method == http.MethodDelete && s.held:
		meta := s.child["metadata"].(map[string]any)
		meta["deletionTimestamp"], meta["resourceVersion"] = "2026-01-01T00:00:00Z", fmt.Sprint(s.version)
		answer = s.child
	case req.Method == http.MethodDelete:
		s.child = nil
		answer = metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess}
	default:
		var body map[string]any
		_ = json.NewDecoder(req.Body).Decode(&body)
		meta := body["metadata"].(map[string]any)
		meta["uid"] = fmt.Sprintf("u%d", s.version)
		if s.child != nil {
			before := s.child["metadata"].(map[string]any)
			meta["uid"] = before["uid"]
			if at := before["deletionTimestamp"]; at != nil {
				s.dying++
				meta["deletionTimestamp"] = at
			}
		}
		meta["resourceVersion"] = fmt.Sprint(s.version)
		s.child, answer = body, body
	}
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(answer)
}

// childWriter is a Writer of the children of the policy ns/a, which a childServer has.
func childWriter(t *testing.T, children *[]api.Child) (*childServer, *Writer, func() error) {
	s := &childServer{}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	w, _ := unreachable(t, func(o *Options) { o.Config, o.QPS, o.Burst = &rest.Config{Host: srv.URL}, 1000, 1000 })
	now := time.Now()
	w.lease.renewed.Store(&now)
	w.cache.Serves(api.KindDNSRecord, "v1alpha1")
	w.cache.Stands(api.KindDNSPolicy, "ns/a", &object{apiVersion: "kuadrant.io/v1", uid: "p", version: "1"})
	c := &api.Cluster{Name: "local"}
	c.Listings[api.KindDNSPolicy], c.Listings[api.KindDNSRecord] = api.Listed, api.Listed
	edit := c.Policies.Edit()
	edit.Set("ns/a", &api.DNSPolicy{Meta: api.Meta{Cluster: "local", Name: "ns/a", UID: "p"}})
	c.Policies = edit.Map()
	says := says{&replica{children: func(*api.DNSPolicy) []api.Child { return *children }}, c}
	return s, w, func() error {
		err := w.lookAtChildren(t.Context(), says, api.Ref{Kind: api.KindDNSPolicy, Name: "ns/a"})
		if text := encoded(s.child); s.child != nil { // the watch
			w.cache.Stands(api.KindDNSRecord, "ns/gw-a", w.cache.Read(api.KindDNSRecord, text))
		} else if len(s.sent) > 0 {
			w.cache.Gone(api.KindDNSRecord, "ns/gw-a")
		}
		return err
	}
}

func childOfA(p *[]api.Child) { // the child of the policy
	*p = []api.Child{recordOf(&api.DNSPolicy{Meta: api.Meta{Name: "ns/a", UID: "p"}}, "gw-a", "192.0.2.1")}
}

// TestDyingChildIsNotWritten: a child that is to go first has a finalizer: whoever publishes it takes
// that out of the world by what it says. Until it is gone nothing is made in its place, which would
// be written to the one that is about to go, and have others' records taken out instead.
func TestDyingChildIsNotWritten(t *testing.T) {
	var children []api.Child
	childOfA(&children)
	s, w, look := childWriter(t, &children)
	if err := look(); err != nil || s.child == nil {
		t.Fatal(err)
	}
	s.held = true
	children[0].Replace, children[0].Replaced = true, s.child["metadata"].(map[string]any)["uid"].(string)
	for range 3 { // the watch has not told of anything yet
		if err := look(); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(s.sent, " "); got != "PATCH DELETE" || s.dying > 0 {
		t.Errorf("%s were sent; %d writes to the one that goes", got, s.dying)
	}
	s.child, s.held = nil, false
	w.cache.Gone(api.KindDNSRecord, "ns/gw-a")
	if err := look(); err != nil || s.child == nil {
		t.Errorf("once it has gone none is made: %v", err)
	}
}

// TestWantedAgainIsNotUndone: a child is wanted and not wanted in turn, as a Gateway loses its routes and
// has them again. Nobody undoes what is written: it was deleted for its policy's sake.
func TestWantedAgainIsNotUndone(t *testing.T) {
	var children []api.Child
	s, w, look := childWriter(t, &children)
	at := time.Unix(1000, 0)
	w.now = func() time.Time { return at }
	for i := range 2 * maxSame {
		childOfA(&children)
		if err := look(); err != nil || s.child == nil {
			t.Fatalf("time %d: it is not made: %v", i+1, err)
		}
		children = nil
		if err := look(); err != nil || s.child != nil {
			t.Fatalf("time %d: it is not deleted: %v", i+1, err)
		}
	}
	// Somebody else deletes it.
	childOfA(&children)
	var err error
	for i := range 2 * maxSame {
		if err = look(); err != nil {
			if i != maxSame {
				t.Errorf("%v after %d times", err, i)
			}
			break
		}
		w.cache.Gone(api.KindDNSRecord, "ns/gw-a")
	}
	if classify(err) != undoing {
		t.Errorf("that somebody deletes it is not seen: %v", err)
	}
}

// TestFieldThatTheCRDLacks: the CRD that is installed, an operator's, lacks a field. Several writes find that out at a time, and each
// goes on without it.
func TestFieldThatTheCRDLacks(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		rw.Header().Set("Content-Type", "application/json")
		if !strings.Contains(string(body), "zoneID") {
			_, _ = rw.Write(body)
			return
		}
		both.Done()
		both.Wait()
		rw.WriteHeader(http.StatusInternalServerError)
		_ = json.NewEncoder(rw).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
			Message: "failed to create typed patch object: .spec.zoneID: field not declared in schema",
		})
	}))
	t.Cleanup(srv.Close)
	w, _ := unreachable(t, func(o *Options) { o.Config, o.QPS, o.Burst = &rest.Config{Host: srv.URL}, 1000, 1000 })
	now := time.Now()
	w.lease.renewed.Store(&now)
	var writes sync.WaitGroup
	for _, name := range []string{"ns/a", "ns/b"} {
		writes.Go(func() {
			p := &write{ref: api.Ref{Kind: api.KindDNSRecord, Name: name}, apiVersion: "kuadrant.io/v1alpha1", field: "spec", settled: name}
			p.value = map[string]any{"rootHost": "a.example.com", "zoneID": "example.com"}
			if err := w.apply(t.Context(), p); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	writes.Wait()
}
