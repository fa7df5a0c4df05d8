package source

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// modes are the two ways to list.
var modes = []struct {
	name    string
	chunked bool
}{{"streaming", false}, {"chunked", true}}

func TestKubernetesFollows(t *testing.T) {
	s := sharedServer(t)
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			ns := s.Namespace(t)
			s.Apply(t, manifest(ns, "a")+policyManifest(ns, "a", "v1")+policyManifest(ns, "b", "v1alpha2"))
			f := newFeed(t, s.Config, Selection{Namespaces: []string{ns}})
			f.src.chunked = mode.chunked
			f.start()
			c := f.objects("g "+ns+"/a", "p "+ns+"/a", "p "+ns+"/b")
			if f.published() != 1 {
				t.Errorf("%d publishes for the first list", f.published())
			}
			if c.Name != "west" || c.UID != systemUID(t, s) || !c.Complete() {
				t.Errorf("name %q, UID %q, listings %v", c.Name, c.UID, c.Listings)
			}
			g := gatewayOf(t, c, ns+"/a")
			if g.Cluster != "west" || g.UID == "" || g.Created == 0 || g.Addresses[0].Value != "192.0.2.1" {
				t.Errorf("gateway %+v", g)
			}
			if p := policyOf(t, c, ns+"/b"); p.Cluster != "west" || p.Target.Name != "b" {
				t.Errorf("policy %+v", p)
			}
			eventually(t, "synced", f.stats.Synced)
			if f.stats.LastEvent().IsZero() {
				t.Error("no last event")
			}

			setAddress(t, s, ns, "a", "192.0.2.9")
			f.wait("the new address", func() bool {
				return gatewayOf(t, f.newest(), ns+"/a").Addresses[0].Value == "192.0.2.9"
			})
			s.Apply(t, manifest(ns, "c"))
			f.objects("g "+ns+"/a", "g "+ns+"/c", "p "+ns+"/a", "p "+ns+"/b")
			removeObject(t, s, manifest(ns, "a"))
			removeObject(t, s, policyManifest(ns, "b", "v1"))
			f.objects("g "+ns+"/c", "p "+ns+"/a")
			f.stop()
			if n := f.line.requests("limit="); mode.chunked == (n == 0) {
				t.Errorf("%d chunked lists", n)
			}
			if n := f.line.requests("sendInitialEvents=true"); mode.chunked != (n == 0) {
				t.Errorf("%d streaming lists", n)
			}
		})
	}
}

// values counts how often something has another value in what was published than before.
func values(r *recorder, of func(*api.Cluster) any) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var last any
	for i, c := range r.clusters {
		if now := of(c); i == 0 || now != last {
			n, last = n+1, now
		}
	}
	return n
}

func TestKubernetesSelection(t *testing.T) {
	s := sharedServer(t)
	one, two, other := s.Namespace(t), s.Namespace(t), s.Namespace(t)
	for _, ns := range []string{one, two, other} {
		s.Apply(t, manifest(ns, "g")+policyManifest(ns, "p", "v1")+
			strings.Replace(policyManifest(ns, "q", "v1"), "name: q}", "name: q, labels: {dns: public}}", 1))
	}
	public := labels.SelectorFromSet(labels.Set{"dns": "public"})
	for _, tt := range []struct {
		name string
		sel  Selection
		want []string
	}{
		{"namespaces", Selection{Namespaces: []string{two, one, two}}, []string{"g " + one + "/g", "g " + two + "/g", "p " + one +
			"/p", "p " + one + "/q", "p " + two + "/p", "p " + two + "/q"}},
		{"policies", Selection{Namespaces: []string{one}, Policies: public}, []string{"g " + one + "/g", "p " + one + "/q"}},
		{"kinds", Selection{Namespaces: []string{one}, Kinds: []api.Kind{api.KindDNSPolicy}}, []string{"p " + one + "/p", "p " + one + "/q"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFeed(t, s.Config, tt.sel)
			f.start()
			c := f.objects(tt.want...)
			if f.published() != 1 || !c.Complete() {
				t.Errorf("%d publishes, listings %v", f.published(), c.Listings)
			}
			if tt.name == "kinds" && c.Listings[api.KindGateway] != api.NotWatched {
				t.Errorf("listings %v", c.Listings)
			}
		})
	}

	// A policy whose label goes is gone, and comes back with it.
	f := newFeed(t, s.Config, Selection{Namespaces: []string{one}, Policies: public, Kinds: []api.Kind{api.KindDNSPolicy}})
	f.start()
	f.objects("p " + one + "/q")
	q := kubetest.Parse(t, policyManifest(one, "q", "v1"))[0]
	label := func(value string) {
		t.Helper()
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{"dns":%s}}}`, value)
		if _, err := s.Resource(t, q).Patch(t.Context(), "q", "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	label("null")
	f.objects()
	label(`"public"`)
	f.objects("p " + one + "/q")
}

func TestKubernetesForbidden(t *testing.T) {
	s := sharedServer(t)
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			ns := s.Namespace(t)
			s.Apply(t, manifest(ns, "a")+policyManifest(ns, "a", "v1"))
			rules := append(readOnly(gatewayResource, secretResource), rbacv1.PolicyRule{
				APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{"kube-system"}, Verbs: []string{"get"},
			})
			f := newFeed(t, s.User(t, "", ns, rules...), Selection{})
			f.src.chunked = mode.chunked
			f.start()
			c := f.listed(api.Listed, api.NotListed)
			gatewayOf(t, c, ns+"/a")
			if c.UID != systemUID(t, s) || c.Complete() || f.published() != 1 {
				t.Errorf("UID %q, %d publishes", c.UID, f.published())
			}
			f.log(policyResource, "not allowed", "list", `User "system:serviceaccount:default:`+ns+`"`, "grant")
			if f.stats.Synced() {
				t.Error("synced")
			}
			// Granted later: picked up, and the others keep their pointers.
			tried := f.line.requests("dnspolicies")
			eventually(t, "more attempts", func() bool { return f.line.requests("dnspolicies") > tried+3 })
			grant(t, s, ns, readOnly(policyResource))
			now := f.bothListed()
			policyOf(t, now, ns+"/a")
			if gatewayOf(t, now, ns+"/a") != gatewayOf(t, c, ns+"/a") {
				t.Error("the gateway lost its pointer")
			}
			f.log(policyResource, "can be read")
			eventually(t, "synced", f.stats.Synced)
			if n := f.logged("not allowed"); n != 1 {
				t.Errorf("said %d times", n)
			}
		})
	}
}

// grant gives the user of that name more rights everywhere.
func grant(t *testing.T, s *kubetest.Server, user string, rules []rbacv1.PolicyRule) {
	t.Helper()
	name := user + "-more"
	for _, obj := range kubetest.Parse(t, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s}
rules:
- {apiGroups: [%[3]q], resources: [%[4]q], verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{kind: ServiceAccount, namespace: default, name: %[2]s}]
`, name, user, rules[0].APIGroups[0], rules[0].Resources[0])) {
		if _, err := s.Resource(t, obj).Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKubernetesNamespacedRole has rights in one namespace alone (rule 8.2).
func TestKubernetesNamespacedRole(t *testing.T) {
	s := sharedServer(t)
	mine, other := s.Namespace(t), s.Namespace(t)
	s.Apply(t, manifest(mine, "a")+policyManifest(mine, "a", "v1")+manifest(other, "b"))
	user := s.User(t, mine, mine, readOnly(gatewayResource, policyResource, secretResource)...)

	f := newFeed(t, user, Selection{Namespaces: []string{mine}})
	f.start()
	c := f.objects("g "+mine+"/a", "p "+mine+"/a")
	if !c.Complete() || c.UID != "west" || f.published() != 1 {
		t.Errorf("UID %q, listings %v, %d publishes", c.UID, c.Listings, f.published())
	}
	f.log("cannot read the UID", `"west"`, "grant", `User "system:serviceaccount:`)
	s.Apply(t, manifest(mine, "c"))
	f.objects("g "+mine+"/a", "g "+mine+"/c", "p "+mine+"/a")
	eventually(t, "synced", f.stats.Synced)

	// One of two namespaces is refused: its objects may be anything.
	f = newFeed(t, user, Selection{Namespaces: []string{mine, other}})
	f.start()
	c = f.listed(api.NotListed, api.NotListed)
	gatewayOf(t, c, mine+"/a")
	if want := [api.NumKinds][]string{
		api.KindGateway: {mine}, api.KindDNSPolicy: {mine},
		api.KindSecret: {mine},
	}; !reflect.DeepEqual(c.ListedIn, want) {
		t.Errorf("listed in %q, want %q", c.ListedIn, want)
	}
	f.log("not allowed", gatewayResource+" in namespace "+other)
	f.log("not allowed", policyResource+" in namespace "+other)
	if n := f.logged("namespace " + mine); n != 0 {
		t.Errorf("%d lines about the namespace that can be read", n)
	}
}

func TestKubernetesCannotWork(t *testing.T) {
	for name, config := range map[string]*rest.Config{
		"no configuration": nil,
		"missing CA file":  {Host: "https://127.0.0.1:1", TLSClientConfig: rest.TLSClientConfig{CAFile: "/nonexistent/ca"}},
		"bad host":         {Host: "https://[::1"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Kubernetes(KubernetesOptions{Cluster: "west", Config: config}).Run(t.Context(), func(*api.Cluster) { t.Error("published") })
			if err == nil || !strings.Contains(err.Error(), `"west"`) {
				t.Errorf("Run: %v", err)
			}
		})
	}
}

func TestKubernetesIdentity(t *testing.T) {
	one := Kubernetes(KubernetesOptions{Cluster: "c", Config: &rest.Config{Host: "h", BearerToken: "secret-token", Password: "secret-word"}})
	if one.Name() != "c" || strings.Contains(one.Identity(), "secret") {
		t.Errorf("name %q, identity %q", one.Name(), one.Identity())
	}
	same := Kubernetes(KubernetesOptions{Cluster: "c", Config: &rest.Config{Host: "h", BearerToken: "another"}})
	if one.Identity() != same.Identity() {
		t.Errorf("%q and %q", one.Identity(), same.Identity())
	}
	for _, other := range []KubernetesOptions{
		{Cluster: "d", Config: &rest.Config{Host: "h"}},
		{Cluster: "c", Config: &rest.Config{Host: "i"}},
	} {
		if id := Kubernetes(other).Identity(); id == one.Identity() {
			t.Errorf("%+v has the identity %q too", other, id)
		}
	}
}
