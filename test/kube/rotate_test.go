package kube

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// TestClusterSecretRotates: the Secret of a cluster is made with the commands in docs/clusters.md.
// Its kubeconfig is replaced with the line in docs/operations.md, then by deleting the Secret and
// making it again. Clients of that cluster's geography get its address all the while (rule 8.5).
func TestClusterSecretRotates(t *testing.T) {
	create := strings.Join(regexp.MustCompile(`(?m)^kubectl --context main .* secret .*$`).FindAllString(boottest.ReadFile(t, "docs/clusters.md"), -1), "\n")
	create = strings.ReplaceAll(create, " --context main", "")
	replace := regexp.MustCompile(`(?m)^kubectl .* create secret generic east .*\|\n.*$`).FindString(boottest.ReadFile(t, "docs/operations.md"))
	if strings.Count(create, "\n") != 2 || !strings.Contains(replace, "apply") {
		t.Fatalf("the pages have\n%s\n%s", create, replace)
	}
	main, east, dir := boottest.APIServer(t), boottest.APIServer(t), t.TempDir()
	boottest.NeedNamespace(t, main, "kuadrant-dns")
	boottest.NeedNamespace(t, east, "kuadrant-dns")
	main.Apply(t, fmt.Sprintf(boottest.ClusterObjects, "shop", "www.example.com", "192.0.2.1", "IE", true))
	east.Apply(t, fmt.Sprintf(boottest.ClusterObjects, "shop", "www.example.com", "192.0.2.2", "US", false)+"---\n"+boottest.GatewayFile("east", "192.0.2.3"))
	nets := filepath.Join(t.TempDir(), "nets")
	boottest.WriteFile(t, nets, "127.0.0.0/8 US\n")
	log := boottest.Listen(t)
	addr := boottest.Kube(t, main.Kubeconfig, "example.com", "lease kuadrant-dns/kuadrant-dns", "nets "+nets)
	// write runs commands beside a kubeconfig for a user of its own.
	write := func(user, commands string) {
		t.Helper()
		token := east.User(t, "", user, rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}},
			rbacv1.PolicyRule{NonResourceURLs: []string{"*"}, Verbs: []string{"get"}})
		boottest.WriteFile(t, filepath.Join(dir, "east.kubeconfig"), boottest.KubeconfigFor(t, token))
		main.Shell(t, dir, commands)
	}
	write("one", create)
	boottest.Asks(t, addr, "www.example.com.", "192.0.2.2")
	boottest.Asks(t, addr, "east.example.com.", "192.0.2.3")

	load := resolve(t, []*process{{addr: addr}}, map[string][]string{"www.example.com.": {"192.0.2.2"}, "east.example.com.": {"192.0.2.3", "192.0.2.4", "192.0.2.5"}})
	write("two", replace)
	east.Apply(t, boottest.GatewayFile("east", "192.0.2.4"))
	boottest.Asks(t, addr, "east.example.com.", "192.0.2.4")
	main.Shell(t, dir, "kubectl -n kuadrant-dns delete secret east")
	boottest.WaitFor(t, "word of the deletion", func() bool { return log.Has("warning", `cluster "east": its last Secret is gone`) })
	write("three", create)
	east.Apply(t, boottest.GatewayFile("east", "192.0.2.5"))
	boottest.Asks(t, addr, "east.example.com.", "192.0.2.5")
	load.check(t)
}
