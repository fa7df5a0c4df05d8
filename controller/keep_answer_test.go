package controller

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestConfigMapAnswerAfterTheEnd: somebody deletes a ConfigMap that is being written, and the watch is
// faster than the answer. What it held is on record no more: it is written anew, and not taken to
// stand there, where each later write is refused, as there is no such version.
func TestConfigMapAnswerAfterTheEnd(t *testing.T) {
	wanted := map[string]api.Owner{"www.example.com.": {Cluster: "local", Kind: api.KindDNSPolicy, Name: "ns/a"}}
	for what, ends := range map[string]func(*keptStore, *corev1.ConfigMap){
		"deleted":    func(s *keptStore, m *corev1.ConfigMap) { _ = s.Add(m); _ = s.Delete(m) },
		"not listed": func(s *keptStore, _ *corev1.ConfigMap) { _ = s.Replace(nil, "3") },
	} {
		var w *Writer
		written := 0
		srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
			m := new(corev1.ConfigMap)
			if err := json.NewDecoder(req.Body).Decode(m); err != nil {
				t.Error(err)
			}
			m.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
			m.UID, m.ResourceVersion = "u", "5"
			if written++; written == 1 {
				ends((*keptStore)(w.keeper), m)
			}
			rw.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(rw).Encode(m)
		}))
		defer srv.Close()
		w, _ = unreachable(t, func(o *Options) { o.Keep, o.Config, o.Burst = true, &rest.Config{Host: srv.URL}, 10 })
		now := w.now()
		w.lease.renewed.Store(&now)
		_ = (*keptStore)(w.keeper).Replace(nil, "1")
		for i := range 2 {
			w.Keep(&wantedKeeps{k: w.keeper, owners: wanted})
			if err := w.keeper.write(t.Context(), 0); (err == nil) != (i == 1) {
				t.Errorf("%s: write %d: %v", what, i, err) // after the first one it is to be tried again
			}
		}
		if written != 2 || w.keeper.owners.values.Len() != 1 {
			t.Errorf("%s: %d writes, %d names are on record", what, written, w.keeper.owners.values.Len())
		}
	}
}

// wantedKeeps wants owners to be kept.
type wantedKeeps struct {
	k      *keeper
	owners map[string]api.Owner
}

func (w *wantedKeeps) Kept() uint64                            { return w.k.generation }
func (w *wantedKeeps) Holdings() map[string]api.Owner          { return w.owners }
func (*wantedKeeps) Serials() map[string]api.Kept              { return nil }
func (*wantedKeeps) Gone(string, api.Owner) (gone, known bool) { return false, true }
func (*wantedKeeps) Unserved(string) bool                      { return false }

// TestConfigMapThatAnotherHasMade: another replica has made a ConfigMap a moment ago, and the watch has
// not told of it. That it is there is no word of a missing label: who believes that deletes it.
func TestConfigMapThatAnotherHasMade(t *testing.T) {
	const labelled, other = "lease-owners-0", "lease-serials"
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusConflict)
		_ = json.NewEncoder(rw).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: 409, Reason: metav1.StatusReasonAlreadyExists})
	}))
	defer srv.Close()
	w, lines := unreachable(t, func(o *Options) { o.Keep, o.Config, o.QPS, o.Burst = true, &rest.Config{Host: srv.URL}, 1000, 10 })
	now := w.now()
	w.lease.renewed.Store(&now)
	save := func(name string) {
		if err := w.keeper.save(t.Context(), name, fieldOwners, "", identity{}); classify(err) != conflict {
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
