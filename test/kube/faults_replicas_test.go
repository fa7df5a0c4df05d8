package kube

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// faultProcess is the plugin in a process of its own, with its own gate to the API server.
type faultProcess struct {
	addr string
	gate *boottest.APIGate
	cmd  *exec.Cmd
}

// start runs one until the test ends.
func (w *faultWorld) start(binary string) *faultProcess {
	w.t.Helper()
	dir, port := w.t.TempDir(), peertest.FreePort(w.t)
	p := &faultProcess{addr: fmt.Sprintf("127.0.0.1:%d", port), gate: boottest.NewAPIGate(w.t, w.server)}
	corefile := filepath.Join(dir, "Corefile")
	boottest.WriteFile(w.t, corefile, fmt.Sprintf("example.com:%d {\nbind 127.0.0.1\nkuadrant {\nkubeconfig %s\nzone-namespaces ns\n%s\n%s\n}\n}\n", port, p.gate.Kubeconfig, w.guard, faultLease))
	out, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer out.Close()
	p.cmd = exec.Command(binary, "-conf", corefile)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	if err := p.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		p.end(w.t, syscall.SIGKILL)
		if text, err := os.ReadFile(out.Name()); err == nil && w.t.Failed() {
			w.t.Logf("%s", text)
		}
	})
	boottest.WaitFor(w.t, "answer", func() bool { return boottest.AskFirst(p.addr, "h0.example.com.") == w.hosts["h0"] })
	return p
}

// end ends it, unless that has happened.
func (p *faultProcess) end(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if p.cmd.ProcessState == nil {
		p.signal(t, signal)
		_ = p.cmd.Wait()
	}
}

func (p *faultProcess) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// TestFaultReplicaPaused: of two processes one writes. It is stopped in the middle of it for
// longer than its Lease lasts: the other takes over. When it goes on it answers what is new, and
// writes nothing until it is elected again.
func TestFaultReplicaPaused(t *testing.T) {
	w := newFaultWorld(t, 2)
	binary := boottest.CoreDNS(t)
	one := w.start(binary)
	w.settles(one.addr)
	two := w.start(binary)
	if all := two.gate.Written(""); len(all) > 0 {
		t.Errorf("both write: %q", all)
	}
	load := w.load(two.addr, map[string][]string{"h0": {"192.0.2.11", "192.0.2.21"}, "h1": {"NXDOMAIN"}})
	const more = 20
	for i := range more {
		w.put(fmt.Sprint("p", i), fmt.Sprintf("192.0.2.%d", 100+i))
	}
	one.signal(t, syscall.SIGSTOP)
	w.put("h0", "192.0.2.11")
	w.drop("h1")
	w.settles(two.addr)
	if len(two.gate.Written("")) == 0 {
		t.Error("the other process has written nothing")
	}
	until := len(one.gate.Written(""))
	standing := w.versions()
	one.signal(t, syscall.SIGCONT)
	boottest.Asks(t, one.addr, "h0.example.com.", "192.0.2.11")
	onOne := w.load(one.addr, map[string][]string{"h0": {"192.0.2.21"}})
	for name, version := range w.versions() {
		if standing[name] != version {
			t.Errorf("%s was written after that one went on: version %s, and %s before", name, version, standing[name])
		}
	}
	w.put("h0", "192.0.2.21")
	w.settles(two.addr)
	w.settles(one.addr)
	if all := one.gate.Written(""); len(all) > until {
		t.Errorf("written by the process that was paused: %q", all[until:])
	}
	load.check(t)
	two.end(t, syscall.SIGTERM)
	by := len(two.gate.Written(""))
	w.put("back", "192.0.2.200")
	w.settles(one.addr)
	if len(one.gate.Written("/back")) == 0 || len(two.gate.Written("")) != by {
		t.Error("the first process has not taken over again")
	}
	onOne.check(t)
	one.end(t, syscall.SIGTERM)
	w.looksFresh()
}
