package kuadrant

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/coredns/caddy"
	"github.com/miekg/dns"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/engine"
	"github.com/coredns-kuadrant/kuadrant/internal/doctest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// TestClustersOfCorefile: the same policy in two clusters is one, with a member of each.
// Neither cluster waits for the other, and one that is away loses no query.
func TestClustersOfCorefile(t *testing.T) {
	main, east := startedServer(t), startedServer(t)
	main.Apply(t, fmt.Sprintf(clusterObjects, "ns", "www.example.com", "192.0.2.1", "IE", true))
	east.Apply(t, fmt.Sprintf(clusterObjects, "ns", "www.example.com", "192.0.2.2", "US", false))
	main.Apply(t, fmt.Sprintf(clusterObjects, "own", "main.example.com", "192.0.2.3", "IE", true))
	east.Apply(t, fmt.Sprintf(clusterObjects, "own", "east.example.com", "192.0.2.4", "IE", true))
	nets := filepath.Join(t.TempDir(), "nets")
	writeFile(t, nets, "127.0.0.0/8 US\n")
	addr := bootKube(t, main.Kubeconfig, "example.com", "guard 0", "nets "+nets, "cluster east "+east.Kubeconfig+" {\nnamespaces ns own\nwrite-back off\n}")
	asks(t, addr, "www.example.com.", "192.0.2.2") // geo comes from each cluster's own policy
	asks(t, addr, "main.example.com.", "192.0.2.3")
	asks(t, addr, "east.example.com.", "192.0.2.4")
	synced(t, "local", 1)
	synced(t, "east", 1)

	load := keepAsking(addr, "east.example.com.", "192.0.2.4")
	if err := east.Freeze(); err != nil { // a cluster that hangs
		t.Fatal(err)
	}
	main.Apply(t, fmt.Sprintf(clusterObjects, "own", "main.example.com", "192.0.2.5", "IE", true))
	asks(t, addr, "main.example.com.", "192.0.2.5")
	if err := east.Thaw(); err != nil {
		t.Fatal(err)
	}
	east.Kill()
	synced(t, "east", 0)
	main.Apply(t, fmt.Sprintf(clusterObjects, "own", "main.example.com", "192.0.2.6", "IE", true))
	asks(t, addr, "main.example.com.", "192.0.2.6")
	asks(t, addr, "no.example.com.", "NXDOMAIN")
	east.Restart(t)
	synced(t, "east", 1)
	load.Check(t, "while its cluster was away")
	east.Apply(t, fmt.Sprintf(clusterObjects, "own", "east.example.com", "192.0.2.7", "IE", true))
	asks(t, addr, "east.example.com.", "192.0.2.7")
}

// inNamespace lets this process find the name of a pod's namespace.
func inNamespace(t *testing.T, name string) {
	t.Helper()
	before := engine.NamespaceFile
	engine.NamespaceFile = filepath.Join(t.TempDir(), "namespace")
	writeFile(t, engine.NamespaceFile, name)
	t.Cleanup(func() { engine.NamespaceFile = before })
}

// TestClustersOfSecrets: a Secret that appears adds a cluster, one that goes withdraws it. What
// is wrong with a Secret is told once, with no word of what it holds, and changes nothing that
// is served.
func TestClustersOfSecrets(t *testing.T) {
	inNamespace(t, "dns")
	log := listen(t)
	main, east := startedServer(t), startedServer(t)
	main.Apply(t, fmt.Sprintf(clusterObjects, "own", "main.example.com", "192.0.2.3", "IE", true))
	policy := east.Apply(t, fmt.Sprintf(clusterObjects, "own", "east.example.com", "192.0.2.4", "IE", true))[1]
	east.Apply(t, fmt.Sprintf(clusterObjects, "shop", "east-shop.example.com", "192.0.2.8", "IE", true))
	addr := bootKube(t, main.Kubeconfig, "example.com", "guard 0")
	asks(t, addr, "main.example.com.", "192.0.2.3")
	asks(t, addr, "east.example.com.", "NXDOMAIN")

	good := kubeconfigFor(t, east.Config)
	secret := main.Apply(t, clusterSecret("east", "", good))[0]
	asks(t, addr, "east.example.com.", "192.0.2.4")
	synced(t, "east", 1)
	needNamespace(t, east, "dns") // for the Lease there
	policies := east.Resource(t, policy)
	waitFor(t, "a status in the other cluster", func() bool {
		o, err := policies.Get(t.Context(), "p", metav1.GetOptions{})
		return err == nil && strings.Contains(fmt.Sprint(o.Object["status"]), "Accepted")
	})
	problem := func(want string) {
		t.Helper()
		waitFor(t, "problem "+want, func() bool { return strings.Contains(answering.Load().engine.SecretProblems()["dns/east"], want) })
	}
	load := keepAsking(addr, "east.example.com.", "192.0.2.4")
	main.Apply(t, clusterSecret("east", "", "s3cret garbage: ["))
	problem("neither YAML nor JSON")
	main.Apply(t, clusterSecret("east", "", strings.Replace(good, "token:", "exec: {command: s3cret}, token:", 1)))
	problem("users[0].user.exec is refused")
	main.Apply(t, clusterSecret("bad", "", strings.Replace(good, "https://", "http://", 1)))
	waitFor(t, "a line of the log", func() bool { return log.has("warning", "server is not the https URL") })
	main.Apply(t, clusterSecret("local", "", good))
	waitFor(t, "a line of the log", func() bool { return log.has("warning", `"local" is the name of the main cluster`) })
	main.Apply(t, clusterSecret("same", "", kubeconfigFor(t, main.Config)))
	waitFor(t, "a line of the log", func() bool { return log.has("warning", `it is the cluster "local" under another name`) })
	token := east.User(t, "", "renewed", rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}}, rbacv1.PolicyRule{NonResourceURLs: []string{"*"}, Verbs: []string{"get"}})
	main.Apply(t, clusterSecret("east", "", kubeconfigFor(t, token)))
	waitFor(t, "no problem", func() bool { return answering.Load().engine.SecretProblems()["dns/east"] == "" })
	synced(t, "east", 1)
	load.Check(t, "while the Secret was wrong, and was renewed")
	east.Apply(t, fmt.Sprintf(clusterObjects, "own", "east.example.com", "192.0.2.9", "IE", true))
	asks(t, addr, "east.example.com.", "192.0.2.9")

	// A namespace that is listed is one with that of the main cluster.
	main.Apply(t, fmt.Sprintf(clusterObjects, "shop", "east-shop.example.com", "192.0.2.10", "US", false))
	asks(t, addr, "east-shop.example.com.", "192.0.2.8") // it is older
	main.Apply(t, clusterSecret("east", "shop", kubeconfigFor(t, token)))
	waitFor(t, "members of both clusters", func() bool {
		seen := make(map[string]bool)
		for range 20 {
			seen[allA(exchange(t, addr, "us.klb.east-shop.example.com.", dns.TypeA))] = true
			seen[allA(exchange(t, addr, "ie.klb.east-shop.example.com.", dns.TypeA))] = true
		}
		return seen["192.0.2.8"] && seen["192.0.2.10"]
	})

	r := main.Resource(t, secret)
	if err := r.Delete(t.Context(), "east", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	asks(t, addr, "east.example.com.", "NXDOMAIN")
	asks(t, addr, "main.example.com.", "192.0.2.3")
	if _, there := scraped(t, answering.Load().engine)["source_synced{east}"]; there {
		t.Error("the metrics still have the cluster")
	}
	for _, line := range log.all() {
		if strings.Contains(line, "s3cret") || strings.Contains(line, east.Config.BearerToken) || strings.Contains(line, token.BearerToken) {
			t.Errorf("the log has what a Secret holds: %s", line)
		}
	}
}

// TestClusterReload: a reload while a cluster that a Secret names is away forgets nothing.
func TestClusterReload(t *testing.T) {
	inNamespace(t, "dns")
	main, east := startedServer(t), startedServer(t)
	main.Apply(t, fmt.Sprintf(clusterObjects, "own", "main.example.com", "192.0.2.3", "IE", true))
	east.Apply(t, fmt.Sprintf(clusterObjects, "own", "east.example.com", "192.0.2.4", "IE", true))
	main.Apply(t, clusterSecret("east", "", kubeconfigFor(t, east.Config)))
	port := freePort(t)
	corefile := func(ttl int) string {
		return fmt.Sprintf("example.com:%d {\nbind 127.0.0.1\nkuadrant {\nkubeconfig %s\nttl %d\n}\n}\n", port, main.Kubeconfig, ttl)
	}
	inst, _ := boot(t, corefile(60))
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	asks(t, addr, "east.example.com.", "192.0.2.4")
	load := keepAsking(addr, "east.example.com.", "192.0.2.4")
	denied := keepAsking(addr, "no.example.com.", "NXDOMAIN")
	east.Kill()
	synced(t, "east", 0)
	inst, err := inst.Restart(caddy.CaddyfileInput{Contents: []byte(corefile(30)), Filepath: "Corefile", ServerTypeName: "dns"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	})
	synced(t, "local", 1)
	main.Kill()
	synced(t, "local", 0)
	if inst, err = inst.Restart(caddy.CaddyfileInput{Contents: []byte(corefile(20)), Filepath: "Corefile", ServerTypeName: "dns"}); err != nil {
		t.Fatal(err)
	}
	main.Restart(t)
	east.Restart(t)
	synced(t, "local", 1)
	synced(t, "east", 1)
	load.Check(t, "through two reloads")
	denied.Check(t, "a name that there is not")
}

// TestClustersDoc: the rights and the kubeconfig that docs/clusters.md shows are enough.
func TestClustersDoc(t *testing.T) {
	inNamespace(t, "kuadrant-dns")
	text, err := os.ReadFile("docs/clusters.md")
	if err != nil {
		t.Fatal(err)
	}
	rights, form := doctest.YAML.FindStringSubmatch(string(text)), regexp.MustCompile(`(?s)<<EOF\n(.*?)EOF\n`).FindStringSubmatch(string(text))
	if rights == nil || form == nil {
		t.Fatal("docs/clusters.md has no rights, or no kubeconfig")
	}
	main, east := startedServer(t), startedServer(t)
	east.InstallCRDs(t, kubetest.ExternalDNS)
	east.Apply(t, fmt.Sprintf(clusterObjects, "own", "east.example.com", "192.0.2.4", "IE", true))
	var account *unstructured.Unstructured
	for _, obj := range kubetest.Parse(t, rights[1]) {
		if obj.GetKind() == "Secret" {
			continue // nobody fills it in here
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
	request := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": map[string]any{"name": account.GetName()}, "spec": map[string]any{}}}
	got, err := east.Resource(t, account).Create(t.Context(), request, metav1.CreateOptions{}, "token")
	if err != nil {
		t.Fatal(err)
	}
	token, _, _ := unstructured.NestedString(got.Object, "status", "token")
	config := rest.CopyConfig(east.Config)
	if err := rest.LoadTLSFiles(config); err != nil {
		t.Fatal(err)
	}
	kubeconfig := strings.NewReplacer("$server", config.Host, "$ca", base64.StdEncoding.EncodeToString(config.CAData), "$token", token).Replace(form[1])
	log := listen(t)
	main.ApplyIn(t, "kuadrant-dns", clusterSecret("east", "shop,payments", kubeconfig))
	addr := bootKube(t, main.Kubeconfig, "example.com")
	asks(t, addr, "east.example.com.", "192.0.2.4")
	synced(t, "east", 1)
	for _, line := range log.all() {
		if strings.Contains(line, `"east"`) && strings.HasPrefix(line, "warning") {
			t.Errorf("told is: %s", line)
		}
	}
}
