package controller

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// lookingAt returns a Writer of an API server that looks for other controllers without a pause, at one moment.
func lookingAt(t *testing.T, server http.Handler) (w *Writer, lines *[]string) {
	srv := httptest.NewServer(server)
	t.Cleanup(srv.Close)
	w, lines = unreachable(t, func(o *Options) { o.Config = &rest.Config{Host: srv.URL} })
	w.timing.others, w.now = time.Millisecond, func() time.Time { return time.Unix(1000, 0) }
	return w, lines
}

// operatorServer answers as an API server in which an operator renews its Lease in a namespace, a moment later
// at each look. id begins the name of the Lease. Where answers says no, it answers that it cannot.
func operatorServer(t *testing.T, namespace, id string, answers func() bool) (w *Writer, lines *[]string) {
	var looks atomic.Int64
	return lookingAt(t, http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		if !answers() {
			rw.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		all := coordinationv1.LeaseList{TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "LeaseList"}}
		if strings.Contains(req.URL.RawQuery, id) {
			holder, renewed := "operator", metav1.NewMicroTime(time.Unix(looks.Add(1), 0))
			all.Items = []coordinationv1.Lease{{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: id + ".kuadrant.io"},
				Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &renewed},
			}}
		}
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(all)
	}))
}

// TestOperatorStaysAtWork: a replica that loses its Lease and gets it back looks for other controllers
// anew. That one look has not seen whether an operator renews its Lease is no word of its end.
func TestOperatorStaysAtWork(t *testing.T) {
	w, lines := operatorServer(t, "dns-operator-system", "a3f98d6c", func() bool { return true })
	for range 2 {
		w.others.begin(t.Context())
		if w.others.atWork() == "" {
			t.Fatal("the operator is not seen")
		}
	}
	if len(*lines) != 1 || !strings.Contains((*lines)[0], "runs in this cluster") {
		t.Errorf("the log says:\n%s", strings.Join(*lines, "\n"))
	}
}

// TestOperatorIsSeenAfterAFailure (bug B8): the API server does not answer one of the looks for other controllers, as
// one that restarts. Nothing is known then: whoever takes that for nobody writes what an operator writes.
func TestOperatorIsSeenAfterAFailure(t *testing.T) {
	for fails := range int64(4) {
		var asked atomic.Int64
		w, _ := operatorServer(t, "kuadrant-system", "f139389e", func() bool { return asked.Add(1)-1 != fails })
		if w.others.begin(t.Context()); w.others.atWork() == "" {
			t.Errorf("request %d fails: after %d requests the operator is not seen", fails, asked.Load())
		}
	}
}

// TestLooksThatEnd: the looks for other controllers are never answered, or not allowed. Status is
// written all the same, in the second case at once.
func TestLooksThatEnd(t *testing.T) {
	for code, want := range map[int]int64{http.StatusForbidden: 1, http.StatusServiceUnavailable: maxLooks} {
		var asked atomic.Int64
		w, _ := lookingAt(t, http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
			asked.Add(1)
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(code)
			_ = json.NewEncoder(rw).Encode(metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
				Status:   metav1.StatusFailure, Code: int32(code),
				Reason: map[int]metav1.StatusReason{
					http.StatusForbidden:          metav1.StatusReasonForbidden,
					http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable,
				}[code],
			})
		}))
		if w.others.begin(t.Context()); asked.Load() != want {
			t.Errorf("code %d: %d requests, want %d", code, asked.Load(), want)
		}
	}
}
