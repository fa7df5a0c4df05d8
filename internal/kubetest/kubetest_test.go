package kubetest_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

const gateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: shop}
spec:
  gatewayClassName: any
  listeners: [{name: api, hostname: api.example.org, port: 80, protocol: HTTP}]
status:
  addresses: [{type: IPAddress, value: 192.0.2.1}]
`

func address(t *testing.T, obj *unstructured.Unstructured) string {
	t.Helper()
	list, _, err := unstructured.NestedSlice(obj.Object, "status", "addresses")
	if err != nil || len(list) != 1 {
		t.Fatalf("status.addresses of %v: %v, %v", obj.Object["status"], list, err)
	}
	return list[0].(map[string]any)["value"].(string)
}

func TestApplyWritesStatus(t *testing.T) {
	s := kubetest.Shared(t)
	s.InstallCRDs(t, kubetest.GatewayAPI)
	obj := s.Apply(t, gateway)[0]
	got, err := s.Resource(t, obj).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if a := address(t, got); a != "192.0.2.1" {
		t.Errorf("address is %s", a)
	}
}

// TestApplyIsInTheCache lists from the server's cache, as watches do when they begin.
func TestApplyIsInTheCache(t *testing.T) {
	s := kubetest.Shared(t)
	s.InstallCRDs(t, kubetest.GatewayAPI)
	ns := s.Namespace(t)
	for i := range 50 {
		want := s.ApplyIn(t, ns, strings.Replace(gateway, "192.0.2.1", fmt.Sprint("192.0.2.", i+1), 1))[0]
		all, err := s.Resource(t, want).List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			t.Fatal(err)
		}
		if len(all.Items) != 1 || all.Items[0].GetResourceVersion() != want.GetResourceVersion() {
			t.Fatalf("%d: the cache has %d objects, or not version %s", i, len(all.Items), want.GetResourceVersion())
		}
	}
}

func TestApplyRemovesItsObjects(t *testing.T) {
	s := kubetest.Shared(t)
	s.InstallCRDs(t, kubetest.GatewayAPI)
	ns := s.Namespace(t)
	var obj *unstructured.Unstructured
	t.Run("apply", func(t *testing.T) { obj = s.ApplyIn(t, ns, gateway)[0] })
	if obj.GetNamespace() != ns {
		t.Fatalf("applied in %s, not in %s", obj.GetNamespace(), ns)
	}
	_, err := s.Resource(t, obj).Get(t.Context(), "web", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the object of a test that has ended: %v", err)
	}
}

func TestUserMayDoWhatTheRulesSay(t *testing.T) {
	s := kubetest.Shared(t)
	mine, other := s.Namespace(t), s.Namespace(t)
	rule := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}
	for _, test := range []struct {
		name, namespace string
		other           bool // may list elsewhere
	}{
		{"namespaced", mine, false},
		{"everywhere", "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := kubernetes.NewForConfig(s.User(t, test.namespace, mine+"-"+test.name, rule))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.CoreV1().ConfigMaps(mine).List(t.Context(), metav1.ListOptions{}); err != nil {
				t.Errorf("list in the own namespace: %v", err)
			}
			_, err = c.CoreV1().ConfigMaps(other).List(t.Context(), metav1.ListOptions{})
			if test.other != (err == nil) || err != nil && !apierrors.IsForbidden(err) {
				t.Errorf("list elsewhere: %v", err)
			}
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}}
			if _, err := c.CoreV1().ConfigMaps(mine).Create(t.Context(), cm, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
				t.Errorf("create, which no rule allows: %v", err)
			}
		})
	}
}

func TestRestartKeepsObjectsAndAddress(t *testing.T) {
	s := kubetest.Start(t)
	s.InstallCRDs(t, kubetest.GatewayAPI)
	obj := s.Apply(t, gateway)[0]
	host, token := s.Config.Host, s.Config.BearerToken
	for _, end := range []struct {
		name string
		end  func()
	}{{"in good order", func() {}}, {"after a crash", s.Kill}, {"after a stop", s.Stop}} {
		t.Run(end.name, func(t *testing.T) {
			end.end()
			s.Restart(t)
			if s.Config.Host != host || s.Config.BearerToken != token {
				t.Errorf("now at %s, before at %s, or another token", s.Config.Host, host)
			}
			got, err := s.Resource(t, obj).Get(t.Context(), "web", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got.GetUID() != obj.GetUID() || address(t, got) != "192.0.2.1" {
				t.Errorf("the object is another: %v", got)
			}
		})
	}
}

func TestStopEndsTheServer(t *testing.T) {
	s := kubetest.Start(t)
	c, err := kubernetes.NewForConfig(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Discovery().ServerVersion(); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	if v, err := c.Discovery().ServerVersion(); err == nil {
		t.Errorf("it still answers: %v", v)
	}
	s.Stop() // a second Stop does nothing
}
