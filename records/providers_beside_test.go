package records

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestSecretBesideServedOne: a host goes through one Secret. Another with the same domain is made, whose
// zone is not served here. The first goes on to count: a bad object takes no other down (rule 8.1; api.md,
// Providers: nothing else affected).
func TestSecretBesideServedOne(t *testing.T) {
	secret := func(zone string) *api.Secret {
		return &api.Secret{Meta: api.Meta{Labels: map[string]string{"team": "a"}}, Provider: api.ProviderSecret{Zones: []string{zone}, Domain: "app.example.com."}}
	}
	w := newWorld("c")
	w.setGateway(0, "n/gw", gatewayOf([]string{"app.example.com"}, "192.0.2.1"))
	p := parentOf("gw", "u", api.Simple)
	p.Provider = api.Provider{Selector: labels.SelectorFromSet(labels.Set{"team": "a"})}
	w.setPolicy(0, "n/p", p)
	w.setSecret(0, "n/s", secret("example.com."))
	s := Compile(nil, w.objects(), childOptions, testTime)
	if _, ok := s.Owner("app.example.com."); !ok {
		t.Fatal("with its Secret the host is not served")
	}
	w.setSecret(0, "n/t", secret("com."))
	s = Compile(s, w.objects(), childOptions, testTime)
	if _, ok := s.Owner("app.example.com."); !ok {
		t.Errorf("with another Secret, of a zone that is not served, the host is gone: %+v", s.Verdict("c", ofPolicy("n/p")).Records)
	}
}
