package source

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// TestKubernetesCRDs follows kinds whose CRDs come, change their versions, go
// and come back.
func TestKubernetesCRDs(t *testing.T) {
	t.Parallel()
	s := kubetest.Start(t)
	f := newFeed(t, s.Config, Selection{})
	f.src.timing.confirm = time.Hour
	f.start()
	c := f.listed(api.Missing, api.Missing)
	if !c.Complete() || c.Gateways.Len() != 0 || f.published() != 1 {
		t.Errorf("%d publishes, %v", f.published(), names(c))
	}
	f.log(gatewayResource, "is not installed")
	f.log(policyResource, "is not installed")
	eventually(t, "synced", f.stats.Synced)

	s.InstallCRDs(t, kubetest.GatewayAPI)
	f.listed(api.Listed, api.Missing)
	f.goodNews(gatewayResource + " is installed now; reading version v1")
	s.Apply(t, manifest("default", "a"))
	f.wait("the status", func() bool {
		g, ok := f.newest().Gateways.Get("default/a")
		return ok && len(g.Addresses) > 0
	})
	first := f.objects("g default/a")

	f.changeVersions(s)

	// All of it goes, and comes back.
	deletePolicyCRD(t, s)
	f.objects("g default/a")
	c = f.listed(api.Listed, api.NotInstalled) // at once: all deletions were reported
	if gatewayOf(t, c, "default/a") != gatewayOf(t, first, "default/a") {
		t.Error("the gateway lost its pointer")
	}
	installPolicies(t, s, "v1")
	f.bothListed()
	applyPolicy(t, s, policyManifest("default", "s", "v1"))
	f.objects("g default/a", "p default/s")
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.clusters {
		if !c.Complete() {
			t.Errorf("there were moments with %v", c.Listings)
		}
	}
}

// changeVersions lets the versions of DNSPolicy come and go; there is the
// Gateway default/a already.
func (f *feed) changeVersions(s *kubetest.Server) {
	t := f.t
	t.Helper()
	// The older version alone.
	installPolicies(t, s, "v1alpha2")
	f.bothListed()
	applyPolicy(t, s, policyManifest("default", "p", "v1alpha2"))
	f.objects("g default/a", "p default/p")
	if n := f.line.requests("/kuadrant.io/v1/dnspolicies"); n != 0 {
		t.Errorf("%d requests for a version that is not served", n)
	}

	// A better one beside it: the one in use stays.
	installPolicies(t, s, "v1alpha2", "v1")
	applyPolicy(t, s, policyManifest("default", "q", "v1"))
	f.objects("g default/a", "p default/p", "p default/q")

	// The one in use goes.
	installPolicies(t, s, "-v1alpha2", "v1")
	eventually(t, "requests for v1", func() bool { return f.line.requests("/kuadrant.io/v1/dnspolicies") > 0 })
	applyPolicy(t, s, policyManifest("default", "r", "v1"))
	c := f.objects("g default/a", "p default/p", "p default/q", "p default/r")
	if !c.Complete() {
		t.Errorf("listings %v", c.Listings)
	}
}

// applyPolicy creates a policy; the CRD may have changed a moment ago.
func applyPolicy(t *testing.T, s *kubetest.Server, text string) {
	t.Helper()
	obj := kubetest.Parse(t, text)[0]
	until(t, "the policy to be accepted", func() bool {
		_, err := s.Resource(t, obj).Create(t.Context(), obj, metav1.CreateOptions{})
		return err == nil
	})
}
