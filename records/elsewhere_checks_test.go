package records

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
)

// TestElsewhereIsChecked: what another controller publishes is checked where the policy says so, and
// the DNSRecord that it publishes from says how it is: the weight 0 for what is down (rules 4.1 and
// 4.8). With the check all of that goes.
func TestElsewhereIsChecked(t *testing.T) {
	w := newWorld("c")
	w.setGateway(0, "n/gw", gatewayOf([]string{"app.example.net"}, "192.0.2.1"))
	p := parentOf("gw", "u", api.WeightedGeo)
	p.Provider = api.Provider{Kind: "ExternalDNS", Name: "theirs"}
	p.HealthCheck = &api.HealthCheck{Protocol: api.HTTP, Port: 80, Path: "/"}
	w.setPolicy(0, "n/p", p)
	s := w.step(t, nil, childOptions)
	rows := func() (all string) {
		for _, c := range s.Children("c", ofPolicy("n/p")) {
			if c.Kind == api.KindProbe {
				all += "probe " + c.Name + "; "
				continue
			}
			for _, e := range c.Record.Endpoints {
				if len(e.Properties) > 0 {
					all += fmt.Sprintf("%s %v; ", e.Type, e.Properties)
				}
			}
		}
		return all
	}
	status := func() string {
		last := s.StatusNow("c", "n/p").Conditions
		c := last[len(last)-1]
		return c.Type + "=" + c.Status.String() + " " + c.Message
	}
	find := func(state health.State) {
		t.Helper()
		if s.Checks().Len() != 1 {
			t.Fatalf("%d targets are checked", s.Checks().Len())
		}
		for key, target := range s.Checks().All() {
			target.Cell.Set(state)
			followers := slices.Collect(func(yield func(api.Ref) bool) {
				for _, ref := range s.Followers(key) {
					if !yield(ref) {
						return
					}
				}
			})
			if !slices.Contains(followers, ofPolicy("n/p")) {
				t.Errorf("nobody is told but %v", followers)
			}
		}
	}
	find(health.Up)
	const probe = "probe n/gw-l0-192-0-2-1; "
	if got := rows(); !strings.Contains(got, "{weight 120} {health up}") || !strings.HasSuffix(got, probe) {
		t.Errorf("up: %s", got)
	}
	if got := status(); !strings.HasPrefix(got, "SubResourcesHealthy=True") {
		t.Errorf("up: %s", got)
	}
	find(health.Down)
	if got := rows(); !strings.Contains(got, "{weight 0} {health down}") {
		t.Errorf("down: %s", got)
	}
	if got := status(); !strings.HasPrefix(got, "SubResourcesHealthy=False") || !strings.Contains(got, "gw-l0") {
		t.Errorf("down: %s", got)
	}
	w.writeChildren(s, 0, ofPolicy("n/p"))
	s = w.step(t, s, childOptions)
	if st, ok := s.ProbeStatus("c", "n/gw-l0-192-0-2-1", nil); !ok || st.Healthy != api.ConditionFalse {
		t.Errorf("the probe says %+v, %v", st, ok)
	}

	drained := *p
	drained.Annotations = map[string]string{annotationOverride: "drain"}
	w.setPolicy(0, "n/p", &drained)
	s = w.step(t, s, childOptions)
	find(health.Up)
	if got := rows(); !strings.Contains(got, "{weight 0} {health up}") {
		t.Errorf("drained: %s", got)
	}
	unchecked := *p
	unchecked.HealthCheck = nil
	w.setPolicy(0, "n/p", &unchecked)
	s = w.step(t, s, childOptions)
	if got := rows(); s.Checks().Len() != 0 || strings.Contains(got, "health") || strings.Contains(got, "probe") {
		t.Errorf("without a check %d targets are checked: %s", s.Checks().Len(), got)
	}
	w.setPolicy(0, "n/p", p)
	s = w.step(t, s, childOptions)
	w.setGateway(0, "n/gw", nil)
	if s = w.step(t, s, childOptions); s.Checks().Len() != 0 {
		t.Errorf("%d targets are checked without the Gateway", s.Checks().Len())
	}
}

// TestElsewhereHeaders: the headers of such a check follow their Secret.
func TestElsewhereHeaders(t *testing.T) {
	w := newWorld("c")
	w.setGateway(0, "n/gw", gatewayOf([]string{"app.example.net"}, "192.0.2.1"))
	p := parentOf("gw", "u", api.Simple)
	p.Provider = api.Provider{Kind: "ExternalDNS", Name: "theirs"}
	p.HealthCheck = &api.HealthCheck{Protocol: api.HTTP, Port: 80, Path: "/", HeadersSecret: "h"}
	w.setPolicy(0, "n/p", p)
	s := w.step(t, nil, childOptions)
	for _, value := range []string{"a", "b"} {
		w.setSecret(0, "n/h", &api.Secret{Headers: []api.Header{{Name: "X", Value: value}}})
		s = w.step(t, s, childOptions)
		for _, target := range s.Checks().All() {
			if target.Missing || len(target.Values) != 1 || target.Values[0].Value != value {
				t.Errorf("with %s the target has %+v, missing %v", value, target.Values, target.Missing)
			}
		}
	}
}
