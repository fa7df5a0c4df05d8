package records

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
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

// TestZoneOfOneSecretGoes: a host goes through two Secrets, with a DNSRecord for each. One of them names
// another zone then, which is not served here: its DNSRecord goes, and it is told once, whatever hosts it
// has. When the other one goes, nothing is left: no host is remembered for a Secret that is there.
func TestZoneOfOneSecretGoes(t *testing.T) {
	secret := func(zone string) *api.Secret {
		return &api.Secret{Meta: api.Meta{Labels: map[string]string{"team": "a"}}, Provider: api.ProviderSecret{Zones: []string{zone}, Domain: "example.com."}}
	}
	w := newWorld("c")
	w.setGateway(0, "n/gw", gatewayOf([]string{"app.example.com", "b.example.com"}, "192.0.2.1"))
	p := parentOf("gw", "u", api.Simple)
	p.Provider = api.Provider{Selector: labels.SelectorFromSet(labels.Set{"team": "a"})}
	w.setPolicy(0, "n/p", p)
	w.setSecret(0, "n/s", secret("example.com."))
	w.setSecret(0, "n/t", secret("example.com."))
	var s *Snapshot
	compile := func() {
		t.Helper()
		s = Compile(s, w.objects(), childOptions, testTime)
		if got, want := dump(s), dump(Compile(nil, w.objects(), childOptions, testTime)); got != want {
			t.Fatal(differing(got, want))
		}
	}
	names := func() (all []string) {
		w.writeChildren(s, 0, ofPolicy("n/p"))
		for _, c := range s.Children("c", ofPolicy("n/p")) {
			all = append(all, c.Name+" "+c.Record.Provider.Name)
		}
		return all
	}
	compile()
	second := "-" + endpoint.Hash("t") + " t"
	if got := names(); !slices.Equal(got, []string{"n/gw-l0 s", "n/gw-l0" + second, "n/gw-l1 s", "n/gw-l1" + second}) {
		t.Fatalf("the children are %v", got)
	}
	w.setSecret(0, "n/t", secret("com."))
	compile()
	if got := names(); !slices.Equal(got, []string{"n/gw-l0 s", "n/gw-l1 s"}) {
		t.Errorf("without the zone of one, the children are %v", got)
	}
	v := s.Verdict("c", ofPolicy("n/p"))
	want := api.Condition{Type: "ProviderAccessAvailable", Status: api.ConditionFalse, Reason: "ZoneNotServed", Message: "the zone that it has for app.example.com is not served here: these are: example.com, k.example.com"}
	if v.TotalRecords != 2 || len(v.Records) != 3 || v.Records[2].Host != "secret/t" || len(v.Records[2].Conditions) != 1 || v.Records[2].Conditions[0] != want {
		t.Errorf("the verdict is %+v", v)
	}
	compile()
	w.setSecret(0, "n/t", secret("example.com."))
	compile()
	names()
	w.setSecret(0, "n/s", secret("com."))
	compile()
	if got := s.Verdict("c", ofPolicy("n/p")); got.TotalRecords != 2 {
		t.Errorf("with the other's zone not served, the verdict is %+v", got)
	}
	w.setSecret(0, "n/t", secret("com."))
	compile()
	if v := s.Verdict("c", ofPolicy("n/p")); v.TotalRecords != 0 || len(v.Records) != 2 || v.Records[0].Conditions[0].Reason != "ZoneNotServed" {
		t.Errorf("with no zone that is served, the verdict is %+v", v)
	}
}
