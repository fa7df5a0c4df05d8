package controller

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// TestConfigMapThatAnotherHasMade: another replica has made a ConfigMap a moment ago, and the watch has
// not told of it. That it is there is no word of a missing label: who believes that deletes it.
func TestConfigMapThatAnotherHasMade(t *testing.T) {
	const labelled, other = "lease-owners-0", "lease-serials"
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusConflict)
		_ = json.NewEncoder(rw).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure",
			Code: 409, Reason: metav1.StatusReasonAlreadyExists,
		})
	}))
	defer srv.Close()
	w, lines := unreachable(t, func(o *Options) { o.Keep, o.Config, o.QPS, o.Burst = true, &rest.Config{Host: srv.URL}, 1000, 10 })
	now := w.now()
	w.lease.renewed.Store(&now)
	save := func(name string) {
		if err := w.registry.save(t.Context(), name, fieldOwners, "", identity{}); classify(err) != conflict {
			t.Fatal(err)
		}
	}
	save(labelled)
	save(other)
	if len(*lines) > 0 {
		t.Errorf("at once, the log says %q", *lines)
	}
	save(other) // the watch has told of the other one
	if len(*lines) != 1 || !strings.Contains((*lines)[0], other+" is there") {
		t.Errorf("the second time, the log says %q", *lines)
	}
}
