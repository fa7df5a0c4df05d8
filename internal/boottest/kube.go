package boottest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// ClusterObjects are a Gateway with one host and one address, and its policy: weightedGeo, one
// geography.
const ClusterObjects = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: %[1]s, name: gw}
spec:
  gatewayClassName: x
  listeners: [{name: a, hostname: %[2]s, port: 80, protocol: HTTP}]
status: {addresses: [{value: %[3]s}]}
---
apiVersion: kuadrant.io/v1
kind: DNSPolicy
metadata: {namespace: %[1]s, name: p}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: gw}
  loadBalancing: {weight: 100, geo: %[4]s, defaultGeo: %[5]v}
`

// StartKube starts CoreDNS with the objects of an API server. It returns its address and a function
// that stops it, which also runs when the test ends. more are further properties.
func StartKube(t testing.TB, kubeconfig, zone string, more ...string) (addr string, stop func()) {
	t.Helper()
	port := peertest.FreePort(t)
	inst, _ := Start(t, fmt.Sprintf("%s:%d {\nbind 127.0.0.1\nkuadrant {\nkubeconfig %s\n%s\n}\n}\n", zone, port, kubeconfig, strings.Join(more, "\n")))
	stop = sync.OnceFunc(func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	})
	t.Cleanup(stop)
	return fmt.Sprintf("127.0.0.1:%d", port), stop
}

// Kube is StartKube for tests that run CoreDNS to their end.
func Kube(t testing.TB, kubeconfig, zone string, more ...string) string {
	t.Helper()
	addr, _ := StartKube(t, kubeconfig, zone, more...)
	return addr
}

// APIServer starts an API server for this test, with all CRDs.
func APIServer(t testing.TB) *kubetest.Server {
	t.Helper()
	s := kubetest.Start(t)
	s.InstallCRDs(t)
	return s
}

// GatewayAt is a Gateway with a host and an address, and a policy of the same name.
func GatewayAt(name, host, address string) string {
	return strings.NewReplacer("name: gw", "name: "+name, "name: p}", "name: "+name+"}").Replace(fmt.Sprintf(Gateway, host, address))
}

// GatewayFile is GatewayAt for a simple host below example.com.
func GatewayFile(name, address string) string { return GatewayAt(name, name+".example.com", address) }

// KubeconfigFor returns a kubeconfig, all inline, with the credentials of config.
func KubeconfigFor(t testing.TB, config *rest.Config) string {
	t.Helper()
	config = rest.CopyConfig(config)
	if err := rest.LoadTLSFiles(config); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: u, user: {token: %s}}]
`, config.Host, base64.StdEncoding.EncodeToString(config.CAData), config.BearerToken)
}

// ClusterSecret is a Secret that adds a cluster, which pools in the namespaces.
func ClusterSecret(name, namespaces, kubeconfig string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata:
  namespace: dns
  name: %s
  labels: {kuadrant.io/multicluster-kubeconfig: "true"}
  annotations: {kuadrant.io/namespaces: "%s"}
data: {kubeconfig: %s}
`, name, namespaces, base64.StdEncoding.EncodeToString([]byte(kubeconfig)))
}

// Ref returns an object that identifies a resource.
func Ref(apiVersion, kind, namespace string) *unstructured.Unstructured {
	obj := new(unstructured.Unstructured)
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	obj.SetNamespace(namespace)
	return obj
}

// Object reads an object from the API server; nil for none.
func Object(t testing.TB, s *kubetest.Server, apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	got, err := s.Resource(t, Ref(apiVersion, kind, namespace)).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return got
}

// Conditions returns the conditions of an object's status as text, without times and messages.
func Conditions(obj *unstructured.Unstructured) string {
	if obj == nil {
		return "no object"
	}
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	var all []string
	for _, c := range list {
		c := c.(map[string]any)
		all = append(all, fmt.Sprintf("%s=%s/%s", c["type"], c["status"], c["reason"]))
	}
	return strings.Join(all, " ")
}

// Asks waits until a name has these addresses, or this rcode.
func Asks(t testing.TB, addr, name, want string) {
	t.Helper()
	WaitFor(t, fmt.Sprintf("answer %s for %s", want, name), func() bool { return AllA(Exchange(t, addr, name, dns.TypeA)) == want })
}

// Metrics returns the plugin's Prometheus series, by name without its prefix, and label values.
func Metrics(t testing.TB) map[string]float64 {
	t.Helper()
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			if name, ok := strings.CutPrefix(f.GetName(), "coredns_"+plugin+"_"); ok {
				series[name+"{"+strings.Join(labels, ",")+"}"] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return series
}

// Synced waits until a cluster counts as synced or not, as want says.
func Synced(t testing.TB, cluster string, want float64) {
	t.Helper()
	WaitFor(t, fmt.Sprintf("source_synced{%s} of %v", cluster, want), func() bool { return Metrics(t)["source_synced{"+cluster+"}"] == want })
}

// NeedNamespace creates a namespace, which stays: no controller runs that would empty it.
func NeedNamespace(t testing.TB, server *kubetest.Server, name string) {
	t.Helper()
	server.ApplyIn(t, name, "{apiVersion: v1, kind: ConfigMap, metadata: {name: namespace-is-there}}")
}

// Merge patches an object.
func Merge(t testing.TB, s *kubetest.Server, apiVersion, kind, namespace, name, patch string) *unstructured.Unstructured {
	t.Helper()
	o, err := s.Resource(t, Ref(apiVersion, kind, namespace)).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// Observed returns the observed generation of an object's condition.
func Observed(o *unstructured.Unstructured, condition string) int64 {
	if o == nil {
		return -1
	}
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range list {
		if c := c.(map[string]any); c["type"] == condition {
			n, _ := c["observedGeneration"].(int64)
			return n
		}
	}
	return -1
}

// StatusText returns the status of an object as JSON.
func StatusText(o *unstructured.Unstructured) string {
	if o == nil {
		return ""
	}
	text, _ := json.Marshal(o.Object["status"])
	return string(text)
}
