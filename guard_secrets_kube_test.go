package kuadrant

import (
	"testing"
)

// TestGuardSecretRestored: the data of the main API server are put back to a state in which the Secret that
// names a cluster is missing. Nobody has reported its deletion: what comes from the cluster is held back as
// anything is that a new list lacks (rule 8.5), and no query fails until the Secret is made again.
func TestGuardSecretRestored(t *testing.T) {
	inNamespace(t, "dns")
	main, east := startedServer(t), startedServer(t)
	needNamespace(t, main, "dns")
	restore := main.Backup(t)
	east.Apply(t, manyGateways(0, 20))
	secret := clusterSecret("east", "*", kubeconfigFor(t, east.Config))
	main.Apply(t, secret)
	addr := bootKube(t, main.Kubeconfig, "example.com")
	waitFor(t, "all hosts", func() bool { return allHosts(t, addr, 20) })
	synced(t, "local", 1)
	log := listen(t)
	load := ask20(t, addr)
	restore()
	waitFor(t, "word of the Secret, or of names that are held", func() bool {
		return log.has("info", "its Secret is gone") || heldNames("example.com.") > 0
	})
	main.Apply(t, secret)
	waitFor(t, "the end of the hold", func() bool { return heldNames("example.com.") == 0 && allHosts(t, addr, 20) })
	load.check(t, "restored")
}
