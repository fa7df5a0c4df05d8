package kube

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// childrenWorld is objects of every form that children can have.
type childrenWorld struct {
	api.Cluster
}

func (w *childrenWorld) add(namespace, name, uid string, g api.Gateway, p api.DNSPolicy) {
	g.Name, g.Cluster = namespace+"/"+name, w.Name
	p.Name, p.Cluster, p.UID, p.Target.Name = namespace+"/"+name, w.Name, uid, name
	gateways, policies := w.Gateways.Edit(), w.Policies.Edit()
	gateways.Set(g.Name, &g)
	policies.Set(p.Name, &p)
	w.Gateways, w.Policies = gateways.Map(), policies.Map()
}

// addRecord adds a user's DNSRecord with a check.
func (w *childrenWorld) addRecord(namespace, name, uid string, check *api.HealthCheck, endpoints ...api.Endpoint) {
	r := &api.DNSRecord{
		Meta:     api.Meta{Name: namespace + "/" + name, Cluster: w.Name, UID: uid},
		RootHost: "g.example.com.", ZoneID: "example.com", HealthCheck: check, Endpoints: endpoints,
	}
	edit := w.DNSRecords.Edit()
	edit.Set(r.Name, r)
	w.DNSRecords = edit.Map()
}

// newChildrenWorld returns policies of a namespace: each strategy, form of host, kind of address, check and provider; and
// DNSRecords of users.
func newChildrenWorld(namespace string) *childrenWorld {
	w := &childrenWorld{api.Cluster{Name: "c", UID: "e4e7d0e6-ea65-4f2c-a9d8-3a2b1c0d9e8f"}}
	for k := range w.Listings {
		w.Listings[k] = api.Listed
	}
	gateway := func(kind api.AddressType, addresses ...string) (g api.Gateway) {
		for _, a := range addresses {
			g.Addresses = append(g.Addresses, api.Address{Type: kind, Value: a})
		}
		return g
	}
	listeners := func(g api.Gateway, hosts ...string) api.Gateway {
		for i, h := range hosts {
			g.Listeners = append(g.Listeners, api.Listener{Name: fmt.Sprint("l", i), Hostname: h, AttachedRoutes: 1, Port: 8443, Protocol: api.TLS})
		}
		return g
	}
	whole := &api.HealthCheck{
		Protocol: api.HTTP, Port: 8080, Path: "/?a=b", Host: "check.example.com", Interval: 90 * time.Second, Timeout: 1500 * time.Millisecond,
		FailureThreshold: 3, SuccessThreshold: 2, Expected: []int{200, 204}, AllowInsecureCertificate: true, HeadersSecret: "headers",
	}
	plain := &api.HealthCheck{Protocol: api.HTTPS, Port: 443, Path: "/", Interval: 5 * time.Minute, Timeout: 5 * time.Second, FailureThreshold: 5, SuccessThreshold: 1, Expected: []int{200, 201}}
	tcp, grpc := *plain, *plain
	tcp.Protocol, tcp.Path = api.TCP, ""
	grpc.Protocol, grpc.Path, grpc.Port = api.GRPC, "/my.service/x", 8443
	w.add(namespace, "simple", "11111111-0000-4000-8000-000000000001", listeners(gateway(api.IPAddress, "192.0.2.1", "2001:db8::"), "a.example.com", "*.w.example.com"), api.DNSPolicy{HealthCheck: whole})
	w.add(namespace, "names", "11111111-0000-4000-8000-000000000002", listeners(gateway(api.HostnameAddress, "lb_1.example.net", "lb.example.net"), "b.example.com"), api.DNSPolicy{HealthCheck: &tcp})
	w.add(namespace, "geo", "11111111-0000-4000-8000-000000000003", listeners(gateway(api.IPAddress, "192.0.2.2", "2001:db8::2"), "c.example.com", "*.c.example.com"),
		api.DNSPolicy{Strategy: api.WeightedGeo, DefaultWeight: 120, Geo: "US-CA", DefaultGeo: "US-CA", HealthCheck: &grpc})
	w.add(namespace, "many", "11111111-0000-4000-8000-000000000004", listeners(gateway(api.MultiClusterIPAddress, "east/192.0.2.3", "west/192.0.2.4"), "d.example.com"),
		api.DNSPolicy{Strategy: api.WeightedGeo, HealthCheck: plain})
	w.add(namespace, "theirs", "11111111-0000-4000-8000-000000000005", listeners(gateway(api.IPAddress, "192.0.2.5"), "e.example.net"), api.DNSPolicy{Provider: api.Provider{Kind: "ExternalDNS", Name: "x"}})
	long := strings.Repeat("long-", 48) + "name"
	endpoint := func(name, rtype string, targets ...string) api.Endpoint {
		return api.Endpoint{DNSName: name, Type: rtype, Targets: targets, Weight: api.NoWeight}
	}
	w.addRecord(namespace, "own", "11111111-0000-4000-8000-000000000007", whole, endpoint("g.example.com.", "A", "192.0.2.7"), endpoint("v6.g.example.com.", "AAAA", "2001:db8::7"))
	w.addRecord(namespace, "own."+long, "11111111-0000-4000-8000-000000000008", &grpc, endpoint("lb.g.example.com.", "CNAME", "lb_2.example.net"))
	w.add(namespace, long, "11111111-0000-4000-8000-000000000006", listeners(gateway(api.IPAddress, "192.0.2.6"), "f.example.com"), api.DNSPolicy{HealthCheck: plain})
	return w
}

// children returns what all policies and DNSRecords should have.
func (w *childrenWorld) children(s *records.Snapshot) (all []api.Child) {
	for _, kind := range [...]api.Kind{api.KindDNSPolicy, api.KindDNSRecord} {
		for name := range w.Names(kind, "") {
			all = append(all, s.Children(w.Name, api.Ref{Kind: kind, Name: name})...)
		}
	}
	return all
}

func (w *childrenWorld) compile() *records.Snapshot {
	c := w.Cluster
	return records.Compile(nil, api.Objects{Clusters: []*api.Cluster{&c}}, &records.Options{
		Zones: []records.ZoneOptions{{Origin: "example.com.", TTL: records.DefaultTTL, LoadBalancedTTL: records.DefaultLoadBalancedTTL}},
	}, time.Unix(0, 0))
}

// childObject returns a child as an object for an API server.
func childObject(t *testing.T, c *api.Child) *unstructured.Unstructured {
	t.Helper()
	namespace, name, _ := strings.Cut(c.Name, "/")
	_, owner, _ := strings.Cut(c.Owner.Name, "/")
	obj := new(unstructured.Unstructured)
	text, err := json.Marshal(map[string]any{"spec": c.Spec()})
	if err == nil {
		err = json.Unmarshal(text, &obj.Object)
	}
	if err != nil {
		t.Fatal(err)
	}
	obj.SetAPIVersion("kuadrant.io/v1alpha1")
	obj.SetKind(c.Kind.String())
	obj.SetNamespace(namespace)
	obj.SetName(name)
	obj.SetLabels(c.Labels)
	yes := true
	obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "kuadrant.io/v1", Kind: c.Owner.Kind.String(), Name: owner, UID: types.UID(c.Owner.UID), Controller: &yes}})
	return obj
}

// TestChildrenAreAccepted: an API server with our CRDs applies every child as it is, and what is read back is the child
// that is wanted, and starts no check of its own.
func TestChildrenAreAccepted(t *testing.T) {
	server := kubetest.Shared(t)
	server.InstallCRDs(t)
	w := newChildrenWorld(server.Namespace(t))
	s := w.compile()
	all := w.children(s)
	const dnsRecords, probes = 8, 11
	kinds := make(map[api.Kind]int)
	dns, probed := w.DNSRecords.Edit(), w.Probes.Edit()
	for i := range all {
		kinds[all[i].Kind]++
		obj := childObject(t, &all[i])
		applied, err := server.Resource(t, obj).Apply(t.Context(), obj.GetName(), obj, metav1.ApplyOptions{FieldManager: "test"})
		if err != nil {
			t.Errorf("apply %s %s: %v\n%v", all[i].Kind, all[i].Name, err, obj.Object["spec"])
			continue
		}
		text, err := applied.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if all[i].Kind == api.KindProbe {
			p, err := api.DecodeProbe(w.Name, text)
			if err != nil || p.Invalid != "" || p.Fault != "" || !p.Own() {
				t.Fatalf("probe %s is read back as %+v: %v", all[i].Name, p, err)
			}
			probed.Set(p.Name, p)
			continue
		}
		r, err := api.DecodeDNSRecord(w.Name, text)
		if err != nil || r.Invalid != "" || r.Fault != "" || r.CheckInvalid != "" || !r.Own() || len(r.Endpoints) != len(all[i].Record.Endpoints) {
			t.Fatalf("DNSRecord %s is read back as %+v: %v", all[i].Name, r, err)
		}
		dns.Set(r.Name, r)
	}
	if kinds[api.KindDNSRecord] != dnsRecords || kinds[api.KindProbe] != probes {
		t.Errorf("there are %v children, want %d DNSRecords and %d probes", kinds, dnsRecords, probes)
	}
	before := s.Checks().Len()
	w.DNSRecords, w.Probes = dns.Map(), probed.Map()
	s = w.compile()
	if n := s.Checks().Len(); n != before {
		t.Errorf("with children %d targets are checked, not %d", n, before)
	}
	again := w.children(s)
	for i := range all {
		if a, b := fmt.Sprint(childObject(t, &all[i])), fmt.Sprint(childObject(t, &again[i])); a != b || again[i].Replace {
			t.Errorf("with children there, one is to be\n%s\nand was\n%s", b, a)
		}
		if all[i].Kind == api.KindProbe {
			if _, ok := s.ProbeStatus(w.Name, all[i].Name, func(key string) time.Time {
				if _, known := s.Checks().Get(key); !known {
					t.Errorf("probe %s is not of a target that is checked", all[i].Name)
				}
				return time.Time{}
			}); !ok {
				t.Errorf("probe %s has no status", all[i].Name)
			}
		}
	}
}
