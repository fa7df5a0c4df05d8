package kube

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// TestClustersOfCorefile: the same policy in two clusters is one, with a member in each. Neither
// cluster waits for the other, and no query is lost while one is away.
func TestClustersOfCorefile(t *testing.T) {
	main, east := boottest.APIServer(t), boottest.APIServer(t)
	main.Apply(t, fmt.Sprintf(boottest.ClusterObjects, "ns", "www.example.com", "192.0.2.1", "IE", true))
	east.Apply(t, fmt.Sprintf(boottest.ClusterObjects, "ns", "www.example.com", "192.0.2.2", "US", false))
	main.Apply(t, fmt.Sprintf(boottest.ClusterObjects, "own", "main.example.com", "192.0.2.3", "IE", true))
	east.Apply(t, fmt.Sprintf(boottest.ClusterObjects, "own", "east.example.com", "192.0.2.4", "IE", true))
	nets := filepath.Join(t.TempDir(), "nets")
	boottest.WriteFile(t, nets, "127.0.0.0/8 US\n")
	addr := boottest.Kube(t, main.Kubeconfig, "example.com", "guard 0", "nets "+nets, "cluster east "+east.Kubeconfig+" {\nnamespaces ns own\nwrite-back off\n}")
	boottest.Asks(t, addr, "www.example.com.", "192.0.2.2") // geo comes from each cluster's own policy
	boottest.Asks(t, addr, "main.example.com.", "192.0.2.3")
	boottest.Asks(t, addr, "east.example.com.", "192.0.2.4")
	boottest.Synced(t, "local", 1)
	boottest.Synced(t, "east", 1)

	load := resolve(t, []*process{{addr: addr}}, map[string][]string{"east.example.com.": {"192.0.2.4"}})
	if err := east.Freeze(); err != nil { // the cluster hangs
		t.Fatal(err)
	}
	main.Apply(t, fmt.Sprintf(boottest.ClusterObjects, "own", "main.example.com", "192.0.2.5", "IE", true))
	boottest.Asks(t, addr, "main.example.com.", "192.0.2.5")
	if err := east.Thaw(); err != nil {
		t.Fatal(err)
	}
	east.Kill()
	boottest.Synced(t, "east", 0)
	main.Apply(t, fmt.Sprintf(boottest.ClusterObjects, "own", "main.example.com", "192.0.2.6", "IE", true))
	boottest.Asks(t, addr, "main.example.com.", "192.0.2.6")
	boottest.Asks(t, addr, "no.example.com.", "NXDOMAIN")
	east.Restart(t)
	boottest.Synced(t, "east", 1)
	load.check(t) // while its cluster was away
	east.Apply(t, fmt.Sprintf(boottest.ClusterObjects, "own", "east.example.com", "192.0.2.7", "IE", true))
	boottest.Asks(t, addr, "east.example.com.", "192.0.2.7")
}

// inNamespace gives this process the namespace file of a pod.
func inNamespace(t *testing.T, name string) {
	t.Helper()
	before := engine.NamespaceFile
	engine.NamespaceFile = filepath.Join(t.TempDir(), "namespace")
	boottest.WriteFile(t, engine.NamespaceFile, name)
	t.Cleanup(func() { engine.NamespaceFile = before })
}

// TestClustersOfSecrets: a new Secret adds a cluster, and its deletion removes it. A fault in a
// Secret is logged once, without its content, and changes no answer.
func TestClustersOfSecrets(t *testing.T) {
	inNamespace(t, "dns")
	log := boottest.Listen(t)
	main, east := boottest.APIServer(t), boottest.APIServer(t)
	main.Apply(t, fmt.Sprintf(boottest.ClusterObjects, "own", "main.example.com", "192.0.2.3", "IE", true))
	policy := east.Apply(t, fmt.Sprintf(boottest.ClusterObjects, "own", "east.example.com", "192.0.2.4", "IE", true))[1]
	east.Apply(t, fmt.Sprintf(boottest.ClusterObjects, "shop", "east-shop.example.com", "192.0.2.8", "IE", true))
	began := time.Now()
	addr := boottest.Kube(t, main.Kubeconfig, "example.com", "guard 0")
	boottest.Asks(t, addr, "main.example.com.", "192.0.2.3")
	boottest.Asks(t, addr, "east.example.com.", "NXDOMAIN")

	good := boottest.KubeconfigFor(t, east.Config)
	secret := main.Apply(t, boottest.ClusterSecret("east", "", good))[0]
	boottest.Asks(t, addr, "east.example.com.", "192.0.2.4")
	boottest.Synced(t, "east", 1)
	boottest.NeedNamespace(t, east, "dns") // for the Lease there
	policies := east.Resource(t, policy)
	boottest.WaitFor(t, "a status in the other cluster", func() bool {
		o, err := policies.Get(t.Context(), "p", metav1.GetOptions{})
		return err == nil && strings.Contains(fmt.Sprint(o.Object["status"]), "Accepted")
	})
	problem := func(want string) {
		t.Helper()
		boottest.WaitFor(t, "problem "+want, func() bool {
			return log.Has("warning", "cluster Secret dns/east: ") && log.Has("warning", want)
		})
	}
	load := resolve(t, []*process{{addr: addr}}, map[string][]string{"east.example.com.": {"192.0.2.4"}})
	main.Apply(t, boottest.ClusterSecret("east", "", "s3cret garbage: ["))
	problem("neither YAML nor JSON")
	main.Apply(t, boottest.ClusterSecret("east", "", strings.Replace(good, "token:", "exec: {command: s3cret}, token:", 1)))
	problem("users[0].user.exec is refused")
	main.Apply(t, boottest.ClusterSecret("bad", "", strings.Replace(good, "https://", "http://", 1)))
	boottest.WaitFor(t, "a line of the log", func() bool { return log.Has("warning", "server is not the https URL") })
	main.Apply(t, boottest.ClusterSecret("local", "", good))
	boottest.WaitFor(t, "a line of the log", func() bool { return log.Has("warning", `the Corefile has a cluster "local"`) })
	main.Apply(t, boottest.ClusterSecret("same", "", boottest.KubeconfigFor(t, main.Config)))
	boottest.WaitFor(t, "a line of the log", func() bool { return log.Has("warning", `same cluster as "local"`) })
	token := east.User(t, "", "renewed", rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}}, rbacv1.PolicyRule{NonResourceURLs: []string{"*"}, Verbs: []string{"get"}})
	main.Apply(t, boottest.ClusterSecret("east", "", boottest.KubeconfigFor(t, token)))
	boottest.Synced(t, "east", 1)
	load.check(t) // while the Secret was wrong, and was renewed
	east.Apply(t, fmt.Sprintf(boottest.ClusterObjects, "own", "east.example.com", "192.0.2.9", "IE", true))
	boottest.Asks(t, addr, "east.example.com.", "192.0.2.9")

	// A listed namespace pools with that of the main cluster.
	boottest.WaitFor(t, "a second in which nothing was made yet", func() bool { return time.Since(began) >= 2*time.Second })
	main.Apply(t, fmt.Sprintf(boottest.ClusterObjects, "shop", "east-shop.example.com", "192.0.2.10", "US", false))
	boottest.Asks(t, addr, "east-shop.example.com.", "192.0.2.8") // it is older
	main.Apply(t, boottest.ClusterSecret("east", "shop", boottest.KubeconfigFor(t, token)))
	boottest.WaitFor(t, "members of both clusters", func() bool {
		seen := make(map[string]bool)
		for range 20 {
			seen[boottest.AllA(boottest.Exchange(t, addr, "us.klb.east-shop.example.com.", dns.TypeA))] = true
			seen[boottest.AllA(boottest.Exchange(t, addr, "ie.klb.east-shop.example.com.", dns.TypeA))] = true
		}
		return seen["192.0.2.8"] && seen["192.0.2.10"]
	})

	r := main.Resource(t, secret)
	for _, name := range []string{"east", "bad"} { // the second may name the same cluster (rule 5.4)
		if err := r.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	boottest.Asks(t, addr, "east.example.com.", "NXDOMAIN")
	boottest.Asks(t, addr, "main.example.com.", "192.0.2.3")
	if _, there := boottest.Metrics(t)["source_synced{east}"]; there {
		t.Error("the metrics still have the cluster")
	}
	for _, line := range log.All() {
		if strings.Contains(line, "s3cret") || strings.Contains(line, east.Config.BearerToken) || strings.Contains(line, token.BearerToken) {
			t.Errorf("the log has what a Secret holds: %s", line)
		}
	}
}

// TestClustersDoc: the rights and the kubeconfig in docs/clusters.md are enough.
func TestClustersDoc(t *testing.T) {
	inNamespace(t, "kuadrant-dns")
	text := boottest.ReadFile(t, "docs/clusters.md")
	form := regexp.MustCompile(`(?s)<<EOF\n(.*?)EOF\n`).FindStringSubmatch(text)
	if form == nil || !strings.Contains(text, "apply -k config/rbac/remote\n") {
		t.Fatal("docs/clusters.md has no rights, or no kubeconfig")
	}
	rights := ""
	for _, file := range []string{"remote/account.yaml", "parts/read/read.yaml", "parts/secrets/secrets.yaml", "parts/write/write.yaml", "remote/lease.yaml"} {
		rights += boottest.ReadFile(t, "config/rbac/"+file) + "\n---\n"
	}
	main, east := boottest.APIServer(t), boottest.APIServer(t)
	east.InstallCRDs(t, kubetest.ExternalDNS)
	east.Apply(t, fmt.Sprintf(boottest.ClusterObjects, "own", "east.example.com", "192.0.2.4", "IE", true))
	var account *unstructured.Unstructured
	for _, obj := range kubetest.Parse(t, rights) {
		if obj.GetKind() == "Namespace" {
			continue // it exists
		}
		obj.SetNamespace("kuadrant-dns")
		data, err := obj.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if written := east.Apply(t, string(data))[0]; obj.GetKind() == "ServiceAccount" {
			account = written
		}
	}
	token := tokenOf(t, east, account)
	config := rest.CopyConfig(east.Config)
	if err := rest.LoadTLSFiles(config); err != nil {
		t.Fatal(err)
	}
	kubeconfig := strings.NewReplacer("$server", config.Host, "$ca", base64.StdEncoding.EncodeToString(config.CAData), "$token", token).Replace(form[1])
	log := boottest.Listen(t)
	main.ApplyIn(t, "kuadrant-dns", boottest.ClusterSecret("east", "shop,payments", kubeconfig))
	addr := boottest.Kube(t, main.Kubeconfig, "example.com")
	boottest.Asks(t, addr, "east.example.com.", "192.0.2.4")
	boottest.Synced(t, "east", 1)
	for _, line := range log.All() {
		if strings.Contains(line, `"east"`) && strings.HasPrefix(line, "warning") {
			t.Errorf("told is: %s", line)
		}
	}
}

// TestOverrideWithoutAPIServer: the override file works while the API server is away.
func TestOverrideWithoutAPIServer(t *testing.T) {
	server := kubetest.Start(t)
	server.InstallCRDs(t)
	server.Apply(t, fmt.Sprintf(boottest.Gateway, "a.example.com", "192.0.2.1}, {value: 192.0.2.2"))
	file := filepath.Join(t.TempDir(), "override")
	addr := boottest.Kube(t, server.Kubeconfig, "example.com", "override "+file)
	boottest.Asks(t, addr, "a.example.com.", "192.0.2.1 192.0.2.2")
	server.Kill()
	boottest.WriteFile(t, file, "target 192.0.2.1 down\n")
	boottest.Asks(t, addr, "a.example.com.", "192.0.2.2")
	boottest.WriteFile(t, file, "")
	boottest.Asks(t, addr, "a.example.com.", "192.0.2.1 192.0.2.2")
	server.Restart(t) // so that its objects can be deleted
}
