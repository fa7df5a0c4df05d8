package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// logged decodes documents of Gateways and policies, as the sources do, compiles
// them after before, and returns the snapshot with what is logged for it.
func logged(t *testing.T, before *records.Snapshot, documents ...string) (*records.Snapshot, []string) {
	t.Helper()
	c := &api.Cluster{Name: "c", UID: "c"}
	for k := range c.Listings {
		c.Listings[k] = api.Listed
	}
	gateways, policies := c.Gateways.Edit(), c.Policies.Edit()
	for _, d := range documents {
		if strings.Contains(d, `"DNSPolicy"`) {
			p, err := api.DecodePolicy("c", []byte(d))
			if err != nil {
				t.Fatal(err)
			}
			policies.Set(p.Name, p)
			continue
		}
		g, err := api.DecodeGateway("c", []byte(d))
		if err != nil {
			t.Fatal(err)
		}
		gateways.Set(g.Name, g)
	}
	c.Gateways, c.Policies = gateways.Map(), policies.Map()
	opt := &records.Options{Zones: []records.ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	snap := records.Compile(before, api.Objects{Clusters: []*api.Cluster{c}}, opt, New(log, nil).Now())
	var lines []string
	logVerdicts(func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }, before, snap)
	return snap, lines
}

func gatewayJSON(name, listeners, addresses string) string {
	return fmt.Sprintf(`{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {"namespace": "ns", "name": %q},
"spec": {"listeners": [%s]}, "status": {"addresses": [%s]}}`, name, listeners, addresses)
}

func policyJSON(name, more string) string {
	return fmt.Sprintf(`{"apiVersion": "kuadrant.io/v1", "kind": "DNSPolicy", "metadata": {"namespace": "ns", "name": %q},
"spec": {"targetRef": {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": %q}%s}}`, name, name, more)
}

// TestLogVerdicts: whatever keeps a policy from being served in full is said in
// one line, once, and nothing is said of policies that are (rule 8.1).
func TestLogVerdicts(t *testing.T) {
	const listener, address = `{"name": "l", "hostname": "a.example.com"}`, `{"value": "192.0.2.3"}`
	good := gatewayJSON("p", listener, address)
	for _, c := range []struct {
		name, gateway, policy string
		want                  []string // parts of the line; none for no line
	}{
		{"served", good, "", nil},
		{"malformed address", gatewayJSON("p", listener, `{"value": "192.0.2.300"}, `+address), "", []string{"enforced, but", `"192.0.2.300" is not an IP address`}},
		{"unknown address type", gatewayJSON("p", listener, `{"type": "Foo", "value": "x"}, `+address), "", []string{"enforced, but", `"Foo"`}},
		{"unreadable listener", gatewayJSON("p", `{"name": "x", "hostname": 12}, `+listener, address), "", []string{"enforced, but", "Gateway ns/p", "hostname"}},
		{"no addresses", gatewayJSON("p", listener, ""), "", []string{"enforced, but no valid status addresses to use on gateway"}},
		{"no hostname", gatewayJSON("p", `{"name": "l"}`, address), "", []string{"enforced, but no listener with a hostname"}},
		{"another provider", good, `, "providerRefs": [{"name": "x", "kind": "ExternalDNS"}]`, []string{"Enforced=Unknown", "ExternalDNS"}},
		{"no Gateway", gatewayJSON("other", listener, address), "", []string{"Accepted=False (TargetNotFound)", "p was not found"}},
		{"outside the zones", gatewayJSON("p", listener+`, {"name": "o", "hostname": "o.example.org"}`, address), "", []string{"partially enforced", "p-o", "o.example.org: Ready=False (NotServed)", "example.com"}},
		{"wrong geo code", good, `, "loadBalancing": {"weight": 1, "geo": "UK", "defaultGeo": true}`, []string{"a.example.com: GeoCodesAccepted=False (UnknownGeoCode)", "GB"}},
		{"two Gateways' hosts", gatewayJSON("p", `{"name": "l", "hostname": "x y"}, {"name": "m", "hostname": "b.example.org"}`, address), "", []string{"Enforced=False"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			documents := []string{c.gateway, policyJSON("p", c.policy)}
			snap, lines := logged(t, nil, documents...)
			if len(lines) != min(len(c.want), 1) {
				t.Fatalf("logged %q", lines)
			}
			for _, part := range c.want {
				if !strings.HasPrefix(lines[0], "DNSPolicy ns/p of cluster c: ") || !strings.Contains(lines[0], part) {
					t.Errorf("logged %q, want %q in it", lines[0], part)
				}
			}
			snap, lines = logged(t, snap, documents...)
			if len(lines) > 0 {
				t.Errorf("logged again: %q", lines)
			}
			// One host more changes the status, not the fault.
			more := strings.Replace(c.gateway, `]}, "status"`, `, {"name": "more", "hostname": "more.example.com"}]}, "status"`, 1)
			if c.want != nil && snap.Verdict("c", api.Ref{Kind: api.KindDNSPolicy, Name: "ns/p"}).TotalRecords > 0 {
				if _, lines = logged(t, snap, more, documents[1]); len(lines) > 0 {
					t.Errorf("logged again for a host more: %q", lines)
				}
			}
		})
	}
}

// TestLogVerdictsOnceAcrossReload: a reload repeats nothing.
func TestLogVerdictsOnceAcrossReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		first := follow(t, nil, 60, f)
		f.show(hosts{"a": "192.0.2.300"})
		again := &fakeSource{name: "c", place: "api"}
		second := follow(t, first, 30, again)
		var lines []string
		second.plugin.engine.warnf = func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
		again.show(hosts{"a": "192.0.2.300"})
		if len(lines) > 0 {
			t.Errorf("logged again: %q", lines)
		}
		again.show(hosts{"a": "192.0.2.301"})
		if len(lines) != 1 || !strings.Contains(lines[0], "192.0.2.301") {
			t.Errorf("logged %q, want the new fault", lines)
		}
	})
}

// TestLogVerdictsBounded: a list full of faults takes a bounded number of lines,
// of which the last tells how many more there are and why; so does one with a
// Gateway full of faults.
func TestLogVerdictsBounded(t *testing.T) {
	var documents []string
	for i := range 30 {
		name := fmt.Sprintf("p%02d", i)
		documents = append(documents, policyJSON(name, ""))
		if i%2 == 1 {
			documents = append(documents, gatewayJSON(name, fmt.Sprintf(`{"name": "l", "hostname": "h%d.example.com"}`, i), ""))
		}
	}
	_, lines := logged(t, nil, documents...)
	if len(lines) != maxLoggedVerdicts+1 {
		t.Fatalf("%d lines", len(lines))
	}
	const want = "10 more objects are not served in full either, by reason: 5 NothingServed, 5 TargetNotFound"
	if last := lines[maxLoggedVerdicts]; last != want {
		t.Errorf("the last line is %q, want %q", last, want)
	}
	addresses := slices.Repeat([]string{`{"value": "not an address"}`}, 1000)
	_, lines = logged(t, nil, policyJSON("p", ""), gatewayJSON("p", `{"name": "l", "hostname": "a.example.com"}`, strings.Join(addresses, ",")))
	if len(lines) != 1 || len(lines[0]) > maxLoggedText+100 {
		t.Errorf("%d lines, the first of %d bytes", len(lines), len(lines[0]))
	}
}

// TestLogOpen: that a zone is open is said once, and not before the Zones of all clusters
// are known.
func TestLogOpen(t *testing.T) {
	zone, err := api.DecodeZone("c", []byte(`{"metadata": {"namespace": "dns", "name": "z"}, "spec": {"domainName": "example.com."}}`))
	if err != nil {
		t.Fatal(err)
	}
	opt := &records.Options{Zones: []records.ZoneOptions{{Origin: "example.com.", TTL: 60}, {Origin: "example.org.", TTL: 60}}}
	var before *records.Snapshot
	for _, step := range []struct {
		zones api.Listing
		want  string
	}{
		{api.NotListed, ""},
		{api.Listed, "Every namespace may publish in example.org.: a line publish, or a Zone with delegations, limits that"},
		{api.Listed, ""},
	} {
		c := &api.Cluster{Name: "c", UID: "c"}
		c.Listings[api.KindZone] = step.zones
		if step.zones == api.Listed {
			zones := c.Zones.Edit()
			zones.Set(zone.Name, zone)
			c.Zones = zones.Map()
		}
		c.Changed = []api.Ref{{Kind: api.KindZone, Name: zone.Name}}
		snap := records.Compile(before, api.Objects{Clusters: []*api.Cluster{c}}, opt, New(log, nil).Now())
		said := ""
		logOpen(func(format string, args ...any) { said += fmt.Sprintf(format, args...) }, before, snap)
		if said != step.want {
			t.Errorf("with Zones %v: %q, want %q", step.zones, said, step.want)
		}
		before = snap
	}
}
