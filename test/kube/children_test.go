package kube

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// childrenWorld has objects with every form of children.
type childrenWorld struct {
	*api.Cluster
}

// newChildrenWorld returns the objects of testdata/children.yaml in a namespace.
func newChildrenWorld(t *testing.T, namespace string) *childrenWorld {
	t.Helper()
	file := filepath.Join(t.TempDir(), "children.yaml")
	boottest.ReplaceIn(t, "test/kube/testdata/children.yaml", file, "NAMESPACE", namespace, "LONG", strings.Repeat("long-", 48)+"name")
	c, _, err := source.ReadManifests(source.DirectoryOptions{Cluster: "c", Logf: t.Errorf, Infof: t.Logf}, strings.NewReader(""), file)
	if err != nil {
		t.Fatal(err)
	}
	c.UID = "e4e7d0e6-ea65-4f2c-a9d8-3a2b1c0d9e8f"
	return &childrenWorld{c}
}

// children returns the children that all policies and DNSRecords should have.
func (w *childrenWorld) children(s *records.Snapshot) (all []api.Child) {
	for _, kind := range [...]api.Kind{api.KindDNSPolicy, api.KindDNSRecord} {
		for name := range w.Names(kind, "") {
			all = append(all, s.Children(w.Name, api.Ref{Kind: kind, Name: name})...)
		}
	}
	return all
}

func (w *childrenWorld) compile() *records.Snapshot {
	c := *w.Cluster
	return records.Compile(nil, api.Objects{Clusters: []*api.Cluster{&c}}, &records.Options{
		Zones: []records.ZoneOptions{{Origin: "example.com.", TTL: records.DefaultTTL, LoadBalancedTTL: records.DefaultLoadBalancedTTL}},
	}, time.Unix(0, 0))
}

// childObject returns a child in the form of an API server's object.
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

// TestChildrenAreAccepted: an API server with our CRDs accepts every child as it is. What is read
// back equals the wanted child, and starts no check of its own.
func TestChildrenAreAccepted(t *testing.T) {
	server := kubetest.Shared(t)
	server.InstallCRDs(t)
	w := newChildrenWorld(t, server.Namespace(t))
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
