package records

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
)

// TestHeaders: a check has the headers of the Secret that its policy names, and goes
// on with what it knows where they change; without them it is not started, and the
// policy says why (rule 4.10, case G9).
func TestHeaders(t *testing.T) {
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	w := newWorld("c")
	w.checkedHost("s", "s.example.com", "", "192.0.2.1")
	p, _ := w.clusters[0].Policies.Get("n/s")
	check := *p.HealthCheck
	check.HeadersSecret = "key"
	p.HealthCheck = &check
	snap := Compile(nil, w.objects(), opt, testTime)
	target := func() *health.Target {
		t.Helper()
		var all []*health.Target
		for _, target := range snap.Checks().All() {
			all = append(all, target)
		}
		if len(all) != 1 {
			t.Fatalf("%d targets", len(all))
		}
		return all[0]
	}
	var cell *health.Cell
	for _, step := range []struct {
		secret *api.Secret
		values string // what is sent
		note   string // a part of what the status says
		change bool   // the prober has to look at the target again
	}{
		{nil, "missing", `Secret n/key, which the health check takes headers from, is not there, lacks the label kuadrant.io/probe-headers: "true", or may not be read`, false},
		{&api.Secret{Headers: []api.Header{{Name: "X-Key", Value: "first-value"}}}, "X-Key=first-value ", "", true},
		{&api.Secret{Headers: []api.Header{{Name: "X-Key", Value: "first-value"}}}, "X-Key=first-value ", "", false},
		{&api.Secret{Headers: []api.Header{{Name: "X-Key", Value: "second-value"}}}, "X-Key=second-value ", "", true},
		{&api.Secret{Invalid: "its key is no header's name"}, "missing", "Secret n/key: its key is no header's name; until then its targets are not checked: what is known of them stays, and new ones count as up", true},
		{nil, "missing", "is not there", false},
	} {
		w.setSecret(0, "n/key", step.secret)
		snap = Compile(snap, w.objects(), opt, testTime)
		at := target()
		if cell == nil {
			cell = at.Cell
			cell.Set(health.Down)
		}
		values := ""
		for _, h := range at.Values {
			values += h.Name + "=" + h.Value + " "
		}
		if at.Missing {
			values += "missing"
		}
		if values != step.values || at.Cell != cell {
			t.Errorf("%q, want %q, with the same cell: %v", values, step.values, at.Cell == cell)
		}
		if changed := len(snap.Checks().Changed()) > 0; changed != step.change {
			t.Errorf("%q: changed %v, want %v", values, changed, step.change)
		}
		said := ""
		for _, r := range snap.Verdict("c", api.Ref{Kind: api.KindDNSPolicy, Name: "n/s"}).Records {
			said += fmt.Sprint(r)
		}
		if (step.note == "") != (said == "") || !strings.Contains(said, step.note) {
			t.Errorf("%q: the status says %q, want %q", values, said, step.note)
		}
		if text := fmt.Sprintf("%v %+v %#v", at.Values, at.Values, *at); strings.Contains(text, "-value") {
			t.Errorf("values are printed: %s", text)
		}
	}
}
