package records

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestManySecretsAreTold: a policy's selector means more Secrets than count. It says so.
func TestManySecretsAreTold(t *testing.T) {
	for _, c := range []struct {
		secrets int
		want    string
	}{{maxProviders, ""}, {maxProviders + 2, "the first 100 by name count, and 2 more do not"}} {
		w := newWorld("c")
		for i := range c.secrets {
			w.setSecret(0, fmt.Sprintf("n/s%03d", i), &api.Secret{
				Meta:     api.Meta{Labels: map[string]string{"dns": "yes"}},
				Provider: api.ProviderSecret{Zones: []string{"example.com."}, Domain: "app.example.com."},
			})
		}
		w.publish("n/p", "app.example.com", &api.DNSPolicy{Provider: api.Provider{Selector: labels.SelectorFromSet(labels.Set{"dns": "yes"})}}, "192.0.2.1")
		s := Compile(nil, w.objects(), childOptions, testTime)
		v := s.Verdict("c", api.Ref{Kind: api.KindDNSPolicy, Name: "n/p"})
		if got := v.Conditions[1].Message; v.TotalRecords != 1 || !strings.Contains(got, c.want) || c.want == "" && strings.Contains(got, "more do not") {
			t.Errorf("%d Secrets: %d records, and it says %q", c.secrets, v.TotalRecords, got)
		}
	}
}
