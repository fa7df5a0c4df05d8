package kube

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/miekg/dns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// TestOwnersAreKept: an older policy that moves its host to a taken name does not get it, neither
// at once nor after a restart (rule 5.4); without the ConfigMaps, it does.
func TestOwnersAreKept(t *testing.T) {
	server := kubetest.Start(t)
	server.InstallCRDs(t)
	addr, stop := boottest.StartKube(t, server.Kubeconfig, "example.com", "lease default/kept")
	answers := func(want string) {
		t.Helper()
		boottest.WaitFor(t, "answer "+want, func() bool { return boottest.AllA(boottest.Exchange(t, addr, "a.example.com.", dns.TypeA)) == want })
	}
	server.ApplyIn(t, "old", boottest.GatewayAt("older", "b.example.com", "192.0.2.1"))
	nextSecond(t, boottest.Object(t, server, "kuadrant.io/v1", "DNSPolicy", "old", "older"))
	server.Apply(t, boottest.GatewayAt("newer", "a.example.com", "192.0.2.2"))
	answers("192.0.2.2")
	owners := func() string { return kept(t, server, "default", "kept-owners-0") }
	boottest.WaitFor(t, "owner on record", func() bool { return strings.Contains(owners(), "a.example.com. local DNSPolicy ns/newer ") })
	server.ApplyIn(t, "old", boottest.GatewayAt("older", "a.example.com", "192.0.2.1"))
	boottest.WaitFor(t, "conflict", func() bool {
		return strings.Contains(fmt.Sprint(boottest.Object(t, server, "kuadrant.io/v1", "DNSPolicy", "old", "older").Object["status"]), "ns/newer")
	})
	answers("192.0.2.2")
	stop()
	addr, stop = boottest.StartKube(t, server.Kubeconfig, "example.com", "lease default/kept")
	boottest.WaitFor(t, "an answer", func() bool {
		return boottest.AllA(boottest.Exchange(t, addr, "a.example.com.", dns.TypeA)) != "SERVFAIL"
	})
	if got := boottest.AllA(boottest.Exchange(t, addr, "a.example.com.", dns.TypeA)); got != "192.0.2.2" {
		t.Errorf("after a restart: %s", got)
	}
	stop()
	if err := server.Resource(t, boottest.Ref("v1", "ConfigMap", "default")).Delete(t.Context(), "kept-owners-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	addr, _ = boottest.StartKube(t, server.Kubeconfig, "example.com", "lease default/kept")
	answers("192.0.2.1")
	boottest.WaitFor(t, "owner on record", func() bool { return strings.Contains(owners(), "a.example.com. local DNSPolicy old/older ") })
}

// TestConfigMapWithoutLabel: a user removes the label from a ConfigMap with owners. The owners are
// kept again, or the log says why not.
func TestConfigMapWithoutLabel(t *testing.T) {
	server := kubetest.Start(t)
	server.InstallCRDs(t)
	log := boottest.Listen(t)
	server.Apply(t, fmt.Sprintf(boottest.Gateway, "a.example.com", "192.0.2.1"))
	boottest.Kube(t, server.Kubeconfig, "example.com", "lease default/label")
	owners := func() string { return kept(t, server, "default", "label-owners-0") }
	boottest.WaitFor(t, "owner", func() bool { return strings.Contains(owners(), "a.example.com. ") })
	boottest.Merge(t, server, "v1", "ConfigMap", "default", "label-owners-0", `{"metadata":{"labels":{"kuadrant.io/dns-lease":null}}}`)
	server.Apply(t, boottest.GatewayAt("other", "b.example.com", "192.0.2.2"))
	if !kubetest.Comes(func() bool {
		return strings.Contains(owners(), "b.example.com. ") || log.Has("warning", "label-owners-0")
	}) {
		t.Errorf("owners stay as they were, and the log does not say it: %s", owners())
	}
}

// TestColumns: kubectl shows the columns in docs/write-back.md.
func TestColumns(t *testing.T) {
	text := boottest.ReadFile(t, "docs/write-back.md")
	server := kubetest.Shared(t)
	server.InstallCRDs(t)
	client, err := rest.HTTPClientFor(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	for kind, path := range map[string]string{
		"dnspolicy": "kuadrant.io/v1/dnspolicies", "dnsrecord": "kuadrant.io/v1alpha2/dnsrecords",
	} {
		_, after, ok := strings.Cut(text, "$ kubectl get "+kind+" -A\n")
		header, _, _ := strings.Cut(after, "\n")
		want := strings.TrimPrefix(strings.Join(strings.Fields(header), " "), "NAMESPACE ")
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.Config.Host+"/apis/"+path, nil)
		if err != nil || !ok {
			t.Fatal(kind, err)
		}
		request.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		var table metav1.Table
		err = json.NewDecoder(response.Body).Decode(&table)
		response.Body.Close()
		var got []string
		for _, c := range table.ColumnDefinitions {
			if c.Priority == 0 {
				got = append(got, strings.ToUpper(c.Name))
			}
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s has the columns %s, %v; the page shows %s", kind, strings.Join(got, " "), err, want)
		}
	}
}
