package kuadrant

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
	statefile "github.com/coredns-kuadrant/kuadrant/state"
)

// stateful is a server that keeps its state in a directory of its own.
type stateful struct {
	t    *testing.T
	dir  string
	addr string
	stop func()
}

// bootStateful starts n servers on the API server with the same Lease.
func bootStateful(t *testing.T, kubeconfig, lease string, servers []*stateful) {
	t.Helper()
	for _, s := range servers {
		s.t = t
		s.addr, s.stop = bootAgain(t, kubeconfig, "example.com", "lease default/"+lease, "guard 0", "state "+s.dir)
	}
}

func (s *stateful) serial() uint32 {
	s.t.Helper()
	reply := exchange(s.t, s.addr, "example.com.", dns.TypeSOA)
	if len(reply.Answer) != 1 {
		return 0
	}
	return reply.Answer[0].(*dns.SOA).Serial
}

// kill ends the server in such a way that the state on disk is the one that it has written while
// it ran, as after the end of a process that nobody has asked to stop.
func (s *stateful) kill() {
	s.t.Helper()
	path := filepath.Join(s.dir, statefile.Name)
	text, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	s.stop()
	writeFile(s.t, path, string(text))
}

// TestStateOfKilledReplicas: two servers that write back, are killed and started while their API
// server is away show the serial that is kept, both, from then until it is back and afterwards;
// then they go on with one serial (rule 6.7).
func TestStateOfKilledReplicas(t *testing.T) {
	server := kubetest.Start(t)
	server.InstallCRDs(t)
	server.Apply(t, fmt.Sprintf(bootGateway, "a.example.com", "192.0.2.1"))
	servers := []*stateful{{dir: t.TempDir()}, {dir: t.TempDir()}}
	bootStateful(t, server.Kubeconfig, "killed", servers)
	shown := func() (all []uint32) {
		for _, s := range servers {
			all = append(all, s.serial())
		}
		return all
	}
	agreed := func() bool {
		kept, all := keptSerial(t, server, "killed"), shown()
		return kept != 0 && all[0] == kept && all[1] == kept
	}
	waitFor(t, "answer", func() bool {
		return allA(exchange(t, servers[0].addr, "a.example.com.", dns.TypeA)) == "192.0.2.1" && agreed()
	})
	kept := keptSerial(t, server, "killed")
	for _, s := range servers {
		waitFor(t, "state with the serial", func() bool {
			c, err := statefile.Read(s.dir)
			return err == nil && maps.Collect(c.Serials)["example.com."].Serial == kept
		})
		s.kill()
		if c, err := statefile.Read(s.dir); err != nil || c.Runs == 0 {
			t.Fatalf("the state says that the server has stopped: %v", err)
		}
	}
	server.Kill()
	log := listen(t)
	bootStateful(t, server.Kubeconfig, "killed", servers)
	for _, s := range servers {
		if got, stale := staleReply(t, s.addr, "a.example.com."); got != "192.0.2.1" || !stale || s.serial() != kept {
			t.Errorf("answered with %s, stale %v, serial %d, and %d is kept", got, stale, s.serial(), kept)
		}
	}
	server.Restart(t)
	for _, s := range servers {
		waitFor(t, "end of what is stale", func() bool {
			if got := s.serial(); got != kept {
				t.Fatalf("serial %d, and %d is kept", got, kept)
			}
			_, stale := staleReply(t, s.addr, "a.example.com.")
			return !stale
		})
	}
	waitFor(t, "a writer", func() bool { return log.has("info", "this replica writes status from now on") })
	server.Apply(t, fmt.Sprintf(bootGateway, "a.example.com", "192.0.2.2"))
	waitFor(t, "the change on both, under one serial that is kept", func() bool {
		for _, s := range servers {
			if allA(exchange(t, s.addr, "a.example.com.", dns.TypeA)) != "192.0.2.2" {
				return false
			}
		}
		return agreed() && servers[0].serial() != kept
	})
	if got := servers[0].serial(); int32(got-kept) <= 0 || got-kept >= 10_000 {
		t.Errorf("serial %d after %d", got, kept)
	}
}

// TestGuardAfterState: what the first list after a start lacks of the state is held back where
// it is much, from a directory as from an API server (rule 8.5).
func TestGuardAfterState(t *testing.T) {
	manifests, dir, port := t.TempDir(), t.TempDir(), freePort(t)
	file := func(i int) string { return filepath.Join(manifests, fmt.Sprintf("%d.yaml", i)) }
	for i := range 20 {
		writeFile(t, file(i), manyGateways(i, i+1))
	}
	corefile := func(more string) string {
		return fmt.Sprintf("example.com:%d {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\nstate %s\n%s\n}\n}\n", port, manifests, dir, more)
	}
	start := func(more string) (stop func()) {
		inst, _ := boot(t, corefile(more))
		stopped := false
		stop = func() {
			if !stopped {
				_ = inst.Stop()
				inst.ShutdownCallbacks()
			}
			stopped = true
		}
		t.Cleanup(stop)
		return stop
	}
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	stop := start("")
	waitFor(t, "all hosts", func() bool { return allHosts(t, addr, 20) })
	stop()
	for i := 2; i < 20; i++ {
		if err := os.Remove(file(i)); err != nil {
			t.Fatal(err)
		}
	}
	stop = start("")
	waitFor(t, "18 held names", func() bool { return heldNames("example.com.") == 18 })
	if !allHosts(t, addr, 20) {
		t.Error("a host that is held is not answered")
	}
	if got, stale := staleReply(t, addr, "h7.example.com."); got != "192.0.2.8" || stale {
		t.Errorf("what is held is answered with %s, stale %v: all has been listed", got, stale)
	}
	stop()
	start("guard 0")
	waitFor(t, "denials", func() bool { return firstA(exchange(t, addr, "h7.example.com.", dns.TypeA)) == "NXDOMAIN" })
}

// TestGuardAfterStateWithAPIServer: the same where the data of the API server were put back
// while the DNS server was down.
func TestGuardAfterStateWithAPIServer(t *testing.T) {
	server := kubetest.Start(t)
	server.InstallCRDs(t)
	server.Apply(t, manyGateways(0, 2))
	restore := server.Backup(t)
	server.Apply(t, manyGateways(2, 20))
	more := []string{"state " + t.TempDir(), "lease default/guarded"}
	addr, stop := bootAgain(t, server.Kubeconfig, "example.com", more...)
	owners := func(n int) bool {
		kept := stands(t, server, "v1", "ConfigMap", "default", "guarded-owners-0")
		return kept != nil && strings.Count(fmt.Sprint(kept.Object["data"]), " DNSPolicy ") == n
	}
	waitFor(t, "all hosts, on record", func() bool { return allHosts(t, addr, 20) && owners(20) })
	stop()
	restore()
	addr, _ = bootAgain(t, server.Kubeconfig, "example.com", more...)
	load := ask20(t, addr)
	waitFor(t, "18 held names", func() bool { return heldNames("example.com.") == 18 })
	waitFor(t, "their owners on record", func() bool { return owners(20) })
	server.Apply(t, manyGateways(2, 20))
	waitFor(t, "the end of the hold", func() bool { return heldNames("example.com.") == 0 })
	load.check(t, "restored")
}
