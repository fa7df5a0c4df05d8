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

// TestOperatorStaysAtWork: a replica that loses its Lease and gets it back looks for other controllers
// anew. That one look has not seen whether an operator renews its Lease is no word of its end.
func TestOperatorStaysAtWork(t *testing.T) {
	var looks atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		all := coordinationv1.LeaseList{TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "LeaseList"}}
		if strings.Contains(req.URL.RawQuery, "a3f98d6c") {
			holder, renewed := "operator", metav1.NewMicroTime(time.Unix(looks.Add(1), 0))
			all.Items = []coordinationv1.Lease{{
				ObjectMeta: metav1.ObjectMeta{Namespace: "dns-operator-system", Name: "a3f98d6c.kuadrant.io"},
				Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &renewed},
			}}
		}
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(all)
	}))
	defer srv.Close()
	w, lines := unreachable(t, func(o *Options) { o.Config = &rest.Config{Host: srv.URL} })
	w.timing.others = time.Millisecond
	now := time.Unix(1000, 0)
	w.now = func() time.Time { return now }
	for range 2 {
		w.others.begin(t.Context())
		if w.others.atWork() == "" {
			t.Fatal("the operator is not seen")
		}
	}
	if len(*lines) != 1 || !strings.Contains((*lines)[0], "is at work") {
		t.Errorf("the log says:\n%s", strings.Join(*lines, "\n"))
	}
}
