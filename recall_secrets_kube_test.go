package kuadrant

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	statefile "github.com/coredns-kuadrant/kuadrant/state"
)

// TestSecretsFromStateWithAPIServers: a start while the API server with the Secret is away
// answers for the cluster that the Secret names; when it is back, the cluster is read on. Where
// the Secret has gone meanwhile, so does the cluster. No credential is on disk.
func TestSecretsFromStateWithAPIServers(t *testing.T) {
	inNamespace(t, "dns")
	main, east := startedServer(t), startedServer(t)
	main.Apply(t, fmt.Sprintf(clusterObjects, "own", "main.example.com", "192.0.2.3", "IE", true))
	east.Apply(t, fmt.Sprintf(clusterObjects, "own", "east.example.com", "192.0.2.4", "IE", true))
	secret := main.Apply(t, clusterSecret("east", "", kubeconfigFor(t, east.Config)))[0]
	dir := t.TempDir()
	more := []string{"guard 0", "state " + dir}
	addr, stop := bootAgain(t, main.Kubeconfig, "example.com", more...)
	asks(t, addr, "main.example.com.", "192.0.2.3")
	asks(t, addr, "east.example.com.", "192.0.2.4")
	asks(t, addr, "no.example.com.", "NXDOMAIN")
	stop()
	text, err := os.ReadFile(filepath.Join(dir, statefile.Name))
	if err != nil || !strings.Contains(string(text), "192.0.2.4") || strings.Contains(string(text), east.Config.BearerToken) {
		t.Errorf("the state has a token, or nothing of the cluster: %v", err)
	}

	main.Kill()
	addr, stop = bootAgain(t, main.Kubeconfig, "example.com", more...)
	for name, want := range map[string]string{"main": "192.0.2.3", "east": "192.0.2.4", "no": "NXDOMAIN"} {
		if got, stale := staleReply(t, addr, name+".example.com."); got != want || !stale {
			t.Errorf("the main API server is away: %s is answered with %s, stale %v", name, got, stale)
		}
	}
	load := keepAsking(addr, "east.example.com.", "192.0.2.4")
	main.Restart(t)
	waitFor(t, "end of what is stale", func() bool { _, stale := staleReply(t, addr, "east.example.com."); return !stale })
	load.Check(t, "until all was listed")
	synced(t, "east", 1)
	east.Apply(t, fmt.Sprintf(clusterObjects, "own", "east.example.com", "192.0.2.5", "IE", true))
	asks(t, addr, "east.example.com.", "192.0.2.5")
	stop()

	if err := main.Resource(t, secret).Delete(t.Context(), "east", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	addr, _ = bootAgain(t, main.Kubeconfig, "example.com", more...)
	asks(t, addr, "east.example.com.", "NXDOMAIN")
	waitFor(t, "end of what is stale", func() bool { _, stale := staleReply(t, addr, "main.example.com."); return !stale })
}
