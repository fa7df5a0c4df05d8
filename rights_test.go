package kuadrant

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/miekg/dns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// TestRights runs CoreDNS with exactly the rights of a file of config/rbac: all
// is read, and nothing is missed. With one rule less, the log says what is, names
// that are known are answered, and others are denied where they cannot come from
// what is missed.
func TestRights(t *testing.T) {
	server := kubetest.Shared(t)
	server.InstallCRDs(t, kubetest.GatewayAPI, kubetest.Kuadrant, kubetest.ExternalDNS)
	server.ApplyIn(t, "shop", fmt.Sprintf(bootGateway, "a.example.com", "192.0.2.1")+rightsHeaders)
	// What a rule of a file, from the first, is about. Without the first two, there
	// are no names; without the next ones, there may be more.
	about := []string{
		"gateways.gateway.networking.k8s.io", "dnspolicies.kuadrant.io",
		"zones.kubi.zone", "not allowed to read records.kubi.zone", "dnsrecords.kuadrant.io", "dnsendpoints.externaldns.k8s.io",
		"dnshealthcheckprobes.kuadrant.io", `cannot list resource "secrets"`, `cannot get resource "secrets"`, "namespace kube-system",
	}
	for _, c := range []struct{ file, option string }{
		{"cluster.yaml", ""},
		{"namespaced.yaml", "namespaces shop"},
	} {
		for less := range len(about) + 1 {
			t.Run(fmt.Sprintf("%s less %d", c.file, less), func(t *testing.T) {
				text, err := os.ReadFile(filepath.Join("config", "rbac", c.file))
				if err != nil {
					t.Fatal(err)
				}
				user := server.Namespace(t) // a name that is nobody's
				if rules := bindTo(t, server, user, string(text), less); rules != len(about) {
					t.Fatalf("found %d rules, want %d", rules, len(about))
				}
				log := listen(t)
				port := freePort(t)
				inst, _ := boot(t, fmt.Sprintf("example.com:%d {\nbind 127.0.0.1\nkuadrant {\nkubeconfig %s\n%s\n}\n}\n",
					port, userKubeconfig(t, server, user), c.option))
				defer func() {
					_ = inst.Stop()
					inst.ShutdownCallbacks()
				}()
				addr := fmt.Sprintf("127.0.0.1:%d", port)
				if less > 0 {
					what := about[less-1]
					waitFor(t, "warning of "+what, func() bool { return log.has("warning", what) })
				}
				if 0 < less && less <= 2 {
					return
				}
				waitFor(t, "answer", func() bool { return allA(exchange(t, addr, "a.example.com.", dns.TypeA)) == "192.0.2.1" })
				want := "NXDOMAIN"
				if 2 < less && less <= 6 {
					want = "SERVFAIL"
				}
				if got := allA(exchange(t, addr, "no.example.com.", dns.TypeA)); got != want {
					t.Errorf("a name that is not there: %s, want %s", got, want)
				}
				if less == 0 && log.has("warning", "") || log.has("error", "") {
					t.Errorf("logged %q", log.all())
				}
			})
		}
	}
}

// rightsHeaders is a Secret that a probe refers to.
const rightsHeaders = `
---
apiVersion: v1
kind: Secret
metadata: {namespace: ns, name: headers, labels: {kuadrant.io/probe-headers: "true"}}
stringData: {X-Token: a}
---
apiVersion: kuadrant.io/v1alpha1
kind: DNSHealthCheckProbe
metadata: {namespace: ns, name: p}
spec: {address: 192.0.2.1, port: 80, additionalHeadersRef: {name: headers}}
`

// bindTo creates the roles and bindings of a text for a user in place of the
// text's own, without the rule of the given number, from 1; 0 is none. It
// returns how many rules the text has.
func bindTo(t *testing.T, server *kubetest.Server, user, text string, without int) (rules int) {
	t.Helper()
	for _, obj := range kubetest.Parse(t, text) {
		if subjects, ok, _ := unstructured.NestedSlice(obj.Object, "subjects"); ok && len(subjects) == 1 {
			subjects[0] = map[string]any{"kind": "ServiceAccount", "namespace": metav1.NamespaceDefault, "name": user}
			obj.Object["subjects"] = subjects
		}
		if all, ok, _ := unstructured.NestedSlice(obj.Object, "rules"); ok {
			kept := []any{}
			for _, r := range all {
				if rules++; rules != without {
					kept = append(kept, r)
				}
			}
			obj.Object["rules"] = kept
		}
		resource := server.Resource(t, obj)
		if _, err := resource.Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := resource.Delete(context.Background(), obj.GetName(), metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	return rules
}

// userKubeconfig makes a user without rights of its own, and returns the path of
// a kubeconfig for it.
func userKubeconfig(t *testing.T, server *kubetest.Server, user string) string {
	t.Helper()
	c := server.User(t, metav1.NamespaceDefault, user)
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: c.Host, CertificateAuthority: c.CAFile, CertificateAuthorityData: c.CAData}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: c.BearerToken}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}
