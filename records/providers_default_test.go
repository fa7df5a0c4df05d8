package records

import (
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestGoneDefaultSecret: the Secret that is a namespace's default is deleted. That changes nothing that is
// served (api.md, Providers): the host that went through it stays, and says so, and no host appears that it
// kept away.
func TestGoneDefaultSecret(t *testing.T) {
	w := newWorld("c")
	w.setGateway(0, "n/gw", gatewayOf([]string{"app.k.example.com", "app.example.com"}, "192.0.2.1"))
	w.setPolicy(0, "n/p", parentOf("gw", "u", api.Simple))
	w.setSecret(0, "n/s", &api.Secret{Meta: api.Meta{Labels: map[string]string{api.LabelDefaultProvider: api.DefaultProviderOn}}, Provider: api.ProviderSecret{Zones: []string{"k.example.com."}}})
	s := Compile(nil, w.objects(), childOptions, testTime)
	w.writeChildren(s, 0, ofPolicy("n/p"))
	s = Compile(s, w.objects(), childOptions, testTime)
	_, inside := s.Owner("app.k.example.com.")
	_, outside := s.Owner("app.example.com.")
	if !inside || outside {
		t.Fatalf("with the default, served are: %v, %v", inside, outside)
	}
	w.setSecret(0, "n/s", nil)
	s = Compile(s, w.objects(), childOptions, testTime)
	_, inside = s.Owner("app.k.example.com.")
	_, outside = s.Owner("app.example.com.")
	if !inside || outside {
		t.Errorf("without the default, served are: %v, want true; %v, want false", inside, outside)
	}
	told := false
	for _, r := range s.Verdict("c", ofPolicy("n/p")).Records {
		for _, c := range r.Conditions {
			told = told || c.Type == "ProviderAccessAvailable" && c.Reason == "SecretNotFound"
		}
	}
	if !told {
		t.Error("nothing says that the Secret is gone")
	}
}
