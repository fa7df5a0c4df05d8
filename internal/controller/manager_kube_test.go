package controller

import (
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// TestChildrenBesideFieldManager: the Leases of Kuadrant's operators may not be read, and the status
// of a policy says that one of them is at work (api.md, Written back: their field managers or Leases).
// Its DNSRecords are that operator's, and none is written for it.
func TestChildrenBesideFieldManager(t *testing.T) {
	s := kubetest.Shared(t)
	s.InstallCRDs(t)
	ns := s.Namespace(t)
	s.ApplyIn(t, ns, policy("a")+policy("b"))
	status := `{"status":{"conditions":[{"type":"Accepted","status":"True","reason":"Accepted","message":"by the operator","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`
	_, err := s.Resource(t, ref("kuadrant.io/v1", "DNSPolicy", ns)).Patch(t.Context(), "b", types.MergePatchType, []byte(status),
		metav1.PatchOptions{FieldManager: "manager"}, "status")
	if err != nil {
		t.Fatal(err)
	}
	r := newReplica(t, s.Config, ns, nil)
	r.children = func(p *api.DNSPolicy) []api.Child { return []api.Child{recordOf(p, "gw-"+p.BareName(), "192.0.2.1")} }
	r.setBlock(func(req *http.Request) error {
		if strings.Contains(req.URL.RawQuery, "kuadrant.io") && strings.Contains(req.URL.Path, "/leases") {
			return apierrors.NewForbidden(schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}, "", nil)
		}
		return nil
	})
	r.start()
	until(t, "status of a", func() bool { return messageOf(get(t, s, "kuadrant.io/v1", "DNSPolicy", ns, "a"), "Accepted") != "" })
	r.rests()
	if o := get(t, s, "kuadrant.io/v1alpha1", "DNSRecord", ns, "gw-b"); o != nil {
		t.Errorf("a DNSRecord was written for a policy whose status another controller writes: %s", o.GetName())
	}
}
