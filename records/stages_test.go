package records

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/owner"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/status"
)

// one returns a tree with one object.
func one[V any](key string, v V) tree.Map[V] {
	e := tree.Map[V]{}.Edit()
	e.Set(key, v)
	return e.Map()
}

func meta(name string) api.Meta { return api.Meta{Name: name, Cluster: "c1", UID: "u"} }

// Objects for the stages of a compile, all in cluster c1.
var (
	gatewayG = &api.Gateway{
		Meta: meta("ns/g"), Listeners: []api.Listener{{Name: "l", Hostname: "shop.example.com", AttachedRoutes: 1}},
		Addresses: []api.Address{{Type: api.IPAddress, Value: "192.0.2.1"}},
	}
	policyP = &api.DNSPolicy{Meta: meta("ns/p"), Target: api.Target{Kind: "Gateway", Name: "g"}}
	recordR = &api.Record{Meta: meta("ns/r"), DomainName: "www.example.com.", Type: "TXT", Class: "IN", TTL: 60, RData: `"text"`}
)

// fixture returns the zone example.com and one cluster for a stage that compiles from nothing.
func fixture(c *api.Cluster, administrators ...string) (*zoneSet, clusterSet, *dirty) {
	c.Name, c.UID = "c1", "c1"
	in := &api.Objects{Clusters: []*api.Cluster{c}}
	opt := &endpoint.Options{Zones: []endpoint.ZoneOptions{{Origin: "example.com.", TTL: 60}}, ZoneNamespaces: administrators}
	zones := openZones(nil, endpoint.ResolveZones(*in, nil, opt), in, opt, 1, true)
	return zones, openClusters(nil, in), newDirty(0, func(string) bool { return false })
}

func keysOf(d *dirty) string {
	all := d.keys()
	slices.Sort(all)
	return strings.Join(all, " ")
}

func check[V comparable](t *testing.T, what string, is, want V) {
	t.Helper()
	if is != want {
		t.Errorf("%s: %v, want %v", what, is, want)
	}
}

func TestAttachPolicies(t *testing.T) {
	zones, clusters, dirty := fixture(&api.Cluster{Gateways: one("ns/g", gatewayG), Policies: one("ns/p", policyP)})
	attachPolicies(clusters, zones, dirty)
	target, _ := clusters[0].targets.Get("ns/g")
	check(t, "contenders", len(target.Contenders), 1)
	check(t, "host", target.Contenders[0].Host, "shop.example.com.")
	check(t, "groups", keysOf(dirty), "shop.example.com.")
	check(t, "who enters", dirty.groups["shop.example.com."].add[0], target.Contenders[0])
	check(t, "objects", dirty.sorted()[0], object{"c1", api.Ref{Kind: api.KindDNSPolicy, Name: "ns/p"}})
}

// TestPolicyChanges: a policy of another controller is looked at if its DNSRecord changes, one that is deleted leaves its Gateway.
func TestPolicyChanges(t *testing.T) {
	e := &clusterEdit{
		in:     &api.Cluster{Name: "c1", Changed: []api.Ref{{Kind: api.KindDNSPolicy, Name: "ns/p"}, {Kind: api.KindGateway, Name: "ns/h"}}},
		before: &api.Cluster{Policies: one("ns/p", policyP)},
	}
	dirty := newDirty(0, nil)
	all := e.policyChanges(nil, dirty)
	check(t, "changes", len(all), 2)
	check(t, "the first", all[0], policyChange{gateway: "ns/g", drop: "ns/p"})
	check(t, "the second", all[1], policyChange{gateway: "ns/h"})
	check(t, "objects", len(dirty.objects), 1)
}

// TestReportedBy: a DNSRecord that goes from one policy of another controller to another has both looked at.
func TestReportedBy(t *testing.T) {
	of := func(policy, uid string) *api.DNSRecord {
		m := meta("ns/r")
		m.Labels = map[string]string{api.LabelManagedBy: api.ManagedBy}
		return &api.DNSRecord{Meta: m, Controller: &api.Controller{Kind: "DNSPolicy", Name: policy, UID: uid}}
	}
	policies := tree.Map[*api.DNSPolicy]{}.Edit()
	for _, name := range []string{"a", "b"} {
		p := &api.DNSPolicy{Meta: meta("ns/" + name), Provider: api.Provider{Kind: "DNSProvider", Name: "x"}}
		p.UID = "u-" + name
		policies.Set(p.Name, p)
	}
	e := &clusterEdit{
		in:     &api.Cluster{Name: "c1", Policies: policies.Map(), DNSRecords: one("ns/r", of("b", "u-b"))},
		before: &api.Cluster{DNSRecords: one("ns/r", of("a", "u-a"))},
	}
	check(t, "policies", strings.Join(e.reportedBy("ns/r"), " "), "ns/a ns/b")
}

func TestPublishEndpoints(t *testing.T) {
	e := &api.DNSEndpoint{Meta: meta("ns/e"), Endpoints: []api.Endpoint{{DNSName: "a.example.com.", Type: "A", Targets: []string{"192.0.2.1"}}}}
	zones, clusters, dirty := fixture(&api.Cluster{DNSEndpoints: one("ns/e", e)})
	publishEndpoints(clusters, &placer{zones: zones, registry: &owner.Registry{In: zones.in}, dirty: dirty, anew: true})
	check(t, "groups", keysOf(dirty), "a.example.com.")
	check(t, "publications", clusters[0].published.Len(), 1)
}

func TestPlaceRecords(t *testing.T) {
	zones, clusters, dirty := fixture(&api.Cluster{Records: one("ns/r", recordR)})
	at := &placer{zones: zones, registry: &owner.Registry{In: zones.in}, dirty: dirty}
	placeRecords(clusters, at)
	check(t, "Records there", len(zones.node("www.example.com.").Records), 1)
	_, moved := dirty.moved["www.example.com."]
	check(t, "moved", moved, true)
	check(t, "groups", keysOf(dirty), "")
	check(t, "as placed", clusters.record("c1", "ns/r"), zones.node("www.example.com.").Records[0])
	other := *recordR
	other.Name = "elsewhere/r"
	clusters[0].place("elsewhere/r", &other, at)
	check(t, "groups, with Records of two namespaces", keysOf(dirty), "www.example.com.")
	clusters[0].before = &api.Cluster{}
	clusters[0].place("ns/r", nil, at)
	zones.sweep()
	check(t, "Records left", len(zones.node("www.example.com.").Records), 1)
}

func TestOverridden(t *testing.T) {
	who := &endpoint.Contender{Host: "a.example.com.", By: &gatewayG.Meta, Targets: endpoint.ResolveTargets(gatewayG, policyP, "c1")}
	clusters := []*status.Cluster{{Name: "c1", Targets: one("ns/g", &endpoint.Target{Gateway: gatewayG, Contenders: []*endpoint.Contender{who}})}}
	for text, want := range map[string]string{
		"cluster c1 down": "a.example.com.", "cluster c2 down": "", "gateway ns/g drain": "a.example.com.", "gateway ns/h drain": "",
		"target 192.0.2.1 down": "a.example.com.", "target 192.0.2.2 down": "",
	} {
		overrides, err := api.ParseOverrides("overrides", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		dirty := newDirty(0, nil)
		overridden(&api.Objects{}, &api.Objects{Overrides: overrides}, clusters, dirty)
		check(t, text, keysOf(dirty), want)
	}
}

func TestSecretsMoved(t *testing.T) {
	e := &clusterEdit{in: &api.Cluster{Name: "c1", Changed: []api.Ref{{Kind: api.KindSecret, Name: "ns/s"}}, Secrets: one("other/here", &api.Secret{})}}
	lines := tree.Map[api.Owner]{}.Edit()
	lines.Set("a.example.com.", api.Owner{Kind: api.KindDNSPolicy, Name: "gone/p", Secret: "missing"})
	lines.Set("b.example.com.", api.Owner{Kind: api.KindDNSPolicy, Name: "other/p", Secret: "here"})
	now := &api.Objects{Acquired: lines.Map(), AcquiredChanged: []string{"a.example.com.", "b.example.com."}}
	check(t, "namespaces", strings.Join(e.secretsMoved(&api.Objects{}, now), " "), "ns gone")
}

func TestActivities(t *testing.T) {
	zones, clusters, dirty := fixture(&api.Cluster{Records: one("ns/r", &api.Record{
		Meta: meta("ns/r"), DomainName: api.ActiveGroupsLabel + ".example.com.", Type: "TXT", Class: "IN", TTL: 60, RData: `"version=1;groups=blue"`,
	})}, "ns")
	placeRecords(clusters, &placer{zones: zones, registry: &owner.Registry{In: zones.in}, dirty: dirty, anew: true})
	is := activities(zones, zones.in, nil)["example.com."]
	check(t, "problem", is.Problem, "")
	check(t, "active", is.Active.String(), (&api.ActiveGroups{Names: []string{"blue"}}).String())
	base := &Snapshot{View: status.View{
		In: api.Objects{Clusters: []*api.Cluster{{Group: "green"}}}, Activity: map[string]status.Activity{"example.com.": {}},
		Clusters: []*status.Cluster{{Targets: one("ns/g", &endpoint.Target{Contenders: []*endpoint.Contender{{Host: "a.example.com."}}})}},
	}}
	s := &Snapshot{View: status.View{In: base.In, Table: zones.table, Activity: map[string]status.Activity{"example.com.": is}}}
	markSwitched(base, s, dirty)
	check(t, "groups", keysOf(dirty), "a.example.com.")
}

// TestResolve: of two namespaces, the older one has the host, and the other is told.
func TestResolve(t *testing.T) {
	zones, clusters, _ := fixture(&api.Cluster{})
	s := &Snapshot{View: status.View{In: *zones.in, Opt: zones.opt, Table: zones.table}}
	r := newResolver(s, nil, nil, zones, clusters, new(pool.Checks).Edit(pool.Checks{}, 1, nil))
	who := func(name string, created int64) *endpoint.Contender {
		m := meta(name)
		m.Created = created
		return &endpoint.Contender{Kind: api.KindDNSRecord, By: &m, Host: "a.example.com.", Targets: &endpoint.Targets{}}
	}
	old, young := who("old/a", 1), who("young/a", 2)
	r.dirty.gain(young)
	r.dirty.gain(old)
	r.resolve()
	g, _ := r.groups.Get("a.example.com.")
	check(t, "who lost", g.Lost[0].Contender, young)
	check(t, "the owner", zones.node("a.example.com.").Steered.Owner, old)
}

func TestFinish(t *testing.T) {
	zones, clusters, dirty := fixture(&api.Cluster{Records: one("ns/r", recordR)})
	placeRecords(clusters, &placer{zones: zones, registry: &owner.Registry{In: zones.in}, dirty: dirty, anew: true})
	zones.sweep()
	zones.settle()
	served := zones.finish(&Snapshot{View: status.View{In: *zones.in, Opt: zones.opt}}, nil, time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
	check(t, "serial", served[0].Serial(), 2026010200)
	check(t, "RRsets", len(served[0].Node("www.example.com.").Static), 1)
}

// TestReport: the verdict of an object that was looked at is compared with the one before, and reported.
func TestReport(t *testing.T) {
	zones, clusters, dirty := fixture(&api.Cluster{Records: one("ns/r", recordR)})
	placeRecords(clusters, &placer{zones: zones, registry: &owner.Registry{In: zones.in}, dirty: dirty, anew: true})
	zones.settle()
	s := &Snapshot{View: status.View{In: *zones.in, Opt: zones.opt, Table: zones.table}, complete: true}
	s.Served = zones.finish(s, nil, time.Time{})
	last := &Snapshot{View: status.View{In: api.Objects{}, Opt: zones.opt, Table: endpoint.ResolveZones(api.Objects{}, nil, zones.opt)}}
	report(nil, last, s, zones, clusters, dirty)
	check(t, "changed", len(s.changed), 1)
	check(t, "who", s.changed[0].Ref, api.Ref{Kind: api.KindRecord, Name: "ns/r"})
}
