package kube

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// TestStatusIsWritten: the elected replica says in an object's status what became of it, and
// writes nothing more once it stands there.
func TestStatusIsWritten(t *testing.T) {
	server := kubetest.Start(t)
	server.InstallCRDs(t)
	server.Apply(t, fmt.Sprintf(boottest.Gateway, "a.example.com", "192.0.2.1"))
	boottest.Kube(t, server.Kubeconfig, "example.com", "lease default/test")
	const want = "Accepted=True/Accepted Enforced=True/Enforced"
	var policy *unstructured.Unstructured
	boottest.WaitFor(t, "status", func() bool {
		policy = boottest.Object(t, server, "kuadrant.io/v1", "DNSPolicy", "ns", "p")
		return boottest.Conditions(policy) == want
	})
	text, _ := json.Marshal(policy.Object["status"])
	t.Log(string(text))
	var record *unstructured.Unstructured
	boottest.WaitFor(t, "record", func() bool {
		record = boottest.Object(t, server, "kuadrant.io/v1alpha1", "DNSRecord", "ns", "gw-a")
		return boottest.Conditions(record) == "Ready=True/ProviderSuccess"
	})
	text, _ = json.Marshal(record.Object)
	t.Log(string(text))
	boottest.WaitFor(t, "owner", func() bool {
		kept := boottest.Object(t, server, "v1", "ConfigMap", "default", "test-owners-0")
		return kept != nil && strings.HasPrefix(kept.Object["data"].(map[string]any)["owners"].(string), "a.example.com. local DNSPolicy ns/p ")
	})
	if lease := boottest.Object(t, server, "coordination.k8s.io/v1", "Lease", "default", "test"); lease == nil {
		t.Error("there is no Lease")
	}
}

// TestOwnersAreKept: an older policy that moves its host onto a taken name does not take it,
// neither at once nor after a restart (rule 5.4); without the ConfigMaps, it does.
func TestOwnersAreKept(t *testing.T) {
	server := kubetest.Start(t)
	server.InstallCRDs(t)
	addr, stop := boottest.StartKube(t, server.Kubeconfig, "example.com", "lease default/kept")
	answers := func(want string) {
		t.Helper()
		boottest.WaitFor(t, "answer "+want, func() bool { return boottest.AllA(boottest.Exchange(t, addr, "a.example.com.", dns.TypeA)) == want })
	}
	server.Apply(t, boottest.GatewayAt("older", "b.example.com", "192.0.2.1"))
	// Ages count in seconds.
	boottest.WaitFor(t, "next second", func() bool {
		return time.Now().UTC().Truncate(time.Second).After(boottest.Object(t, server, "kuadrant.io/v1", "DNSPolicy", "ns", "older").GetCreationTimestamp().Time)
	})
	server.Apply(t, boottest.GatewayAt("newer", "a.example.com", "192.0.2.2"))
	answers("192.0.2.2")
	owners := func() string {
		kept := boottest.Object(t, server, "v1", "ConfigMap", "default", "kept-owners-0")
		if kept == nil {
			return ""
		}
		text, _, _ := unstructured.NestedString(kept.Object, "data", "owners")
		return text
	}
	boottest.WaitFor(t, "owner on record", func() bool { return strings.Contains(owners(), "a.example.com. local DNSPolicy ns/newer ") })
	server.Apply(t, boottest.GatewayAt("older", "a.example.com", "192.0.2.1"))
	boottest.WaitFor(t, "conflict", func() bool {
		return strings.Contains(fmt.Sprint(boottest.Object(t, server, "kuadrant.io/v1", "DNSPolicy", "ns", "older").Object["status"]), "ns/newer")
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
	boottest.WaitFor(t, "owner on record", func() bool { return strings.Contains(owners(), "a.example.com. local DNSPolicy ns/older ") })
}

// TestColumns: kubectl shows the columns that docs/write-back.md shows.
func TestColumns(t *testing.T) {
	text, err := os.ReadFile("docs/write-back.md")
	if err != nil {
		t.Fatal(err)
	}
	server := kubetest.Shared(t)
	server.InstallCRDs(t)
	client, err := rest.HTTPClientFor(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	for kind, path := range map[string]string{
		"dnspolicy": "kuadrant.io/v1/dnspolicies", "dnsrecord": "kuadrant.io/v1alpha2/dnsrecords",
		"dnshealthcheckprobe": "kuadrant.io/v1alpha1/dnshealthcheckprobes", "zone": "kubi.zone/v1alpha1/zones",
	} {
		_, after, ok := strings.Cut(string(text), "$ kubectl get "+kind+" -A\n")
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
