package kube

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// faultProcess is the plugin in a separate process, with its own proxy to the API server.
type faultProcess struct {
	*process
	proxy *boottest.APIProxy
}

// start runs a faultProcess until the test ends.
func (w *faultWorld) start(binary string) *faultProcess {
	w.t.Helper()
	p := &faultProcess{newProcess(w.t), boottest.NewAPIProxy(w.t, w.server)}
	body := fmt.Sprintf("kuadrant {\nkubeconfig %s\nzone-namespaces ns\n%s\n%s\n}", p.proxy.Kubeconfig, w.guard, faultLease)
	p.process.start(w.t, binary, "example.com", body)
	p.expects(w.t, "h0.example.com.", w.hosts["h0"])
	return p
}

func (p *faultProcess) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// TestFaultReplicaPaused: one of two processes writes. It is suspended in the middle for longer
// than its Lease lasts: the other takes over. When it resumes, it answers with current data, and
// writes nothing until it is elected again.
func TestFaultReplicaPaused(t *testing.T) {
	w := newFaultWorld(t, 2)
	binary := boottest.CoreDNS(t)
	one := w.start(binary)
	w.settles(one.addr)
	two := w.start(binary)
	if all := two.proxy.Written(""); len(all) > 0 {
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
	if len(two.proxy.Written("")) == 0 {
		t.Error("the other process has written nothing")
	}
	until := len(one.proxy.Written(""))
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
	if all := one.proxy.Written(""); len(all) > until {
		t.Errorf("written by the process that was paused: %q", all[until:])
	}
	load.check(t)
	two.end(syscall.SIGTERM)
	by := len(two.proxy.Written(""))
	w.put("back", "192.0.2.200")
	w.settles(one.addr)
	if len(one.proxy.Written("/back")) == 0 || len(two.proxy.Written("")) != by {
		t.Error("the first process has not taken over again")
	}
	onOne.check(t)
	one.end(syscall.SIGTERM)
	w.looksFresh()
}
