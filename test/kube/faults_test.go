package kube

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// TestFaultAPIServerKilled: the API server is killed again and again while objects change just
// before and just after. No query fails, and everything is written in the end.
func TestFaultAPIServerKilled(t *testing.T) {
	w := newFaultWorld(t, 4)
	may := map[string][]string{"h0": {"192.0.2.11", "192.0.2.21", "192.0.2.31", "192.0.2.41"}, "h1": {"NXDOMAIN", "192.0.2.22"}}
	w.survives(nil, may, func(addr string) {
		w.put("h0", "192.0.2.11")
		w.put("new", "192.0.2.100")
		w.server.Kill()
		w.server.Restart(t)
		w.put("h0", "192.0.2.21")
		w.drop("h1")
		w.settles(addr)
		w.put("h0", "192.0.2.31")
		w.put("h1", "192.0.2.22")
		w.drop("new")
		w.server.Kill()
		w.server.Restart(t)
		w.put("h0", "192.0.2.41")
		w.settles(addr)
	})
}

// TestFaultWatchesExpire: while the proxy to the API server is shut, objects change, and the API
// server is restarted: it no longer knows the versions from which watches resume, and says so
// (410). All is listed again; nothing is lost, and nothing is written twice.
func TestFaultWatchesExpire(t *testing.T) {
	w := newFaultWorld(t, 4)
	proxy := boottest.NewAPIProxy(t, w.server)
	w.survives(proxy, map[string][]string{"h0": {"192.0.2.11"}, "h1": {"NXDOMAIN"}}, func(addr string) {
		proxy.Set(true)
		w.put("h0", "192.0.2.11")
		w.put("new", "192.0.2.100")
		w.drop("h1")
		w.server.Restart(t)
		written := len(proxy.Written(""))
		proxy.Set(false)
		w.settles(addr)
		if proxy.Expired410() == 0 {
			t.Error("no watch was told that it has expired")
		}
		for _, write := range proxy.Written("")[written:] {
			if strings.Contains(write, "/h2") || strings.Contains(write, "/h3") {
				t.Errorf("written again: %s", write)
			}
		}
	})
}

// TestFaultEtcdRestored: etcd is restored to an older state while the plugin writes. Objects
// missing then are still answered until they are created again. Serials do not go back, and
// everything written is right in the end, also for objects that have been replaced (rules 6.7 and
// 8.5).
func TestFaultEtcdRestored(t *testing.T) {
	w := newFaultWorld(t, 2)
	w.guard = "guard 5m"
	before := w.goroutines()
	addr, stop := w.boot(w.server.Kubeconfig)
	w.settles(addr)
	restore := w.server.Backup(t)
	for i := 2; i < 20; i++ {
		w.put(fmt.Sprint("h", i), fmt.Sprintf("192.0.2.%d", 1+i))
	}
	w.settles(addr)
	load := w.load(addr, nil)
	restore()
	boottest.WaitFor(t, "18 held names", func() bool { return boottest.Metrics(t)["held_removals{example.com.}"] == 18 })
	for i := 2; i < 20; i++ {
		w.put(fmt.Sprint("h", i), fmt.Sprintf("192.0.2.%d", 1+i))
	}
	boottest.WaitFor(t, "the end of the hold", func() bool { return boottest.Metrics(t)["held_removals{example.com.}"] == 0 })
	w.settles(addr)
	load.check(t)
	stop()
	w.endsWith(before)
	w.looksFresh()
}

// TestFaultCRDDeleted: a kind is removed from the API server, and installed again, while the plugin
// writes: first that of children, which are created again; then that of policies, whose names go
// away, and come back with them.
func TestFaultCRDDeleted(t *testing.T) {
	w := newFaultWorld(t, 3)
	w.guard = "guard 5m" // each deletion is reported: nothing is held (rule 8.5)
	before := w.goroutines()
	addr, stop := w.boot(w.server.Kubeconfig)
	w.settles(addr)
	load := w.load(addr, nil)
	w.reinstall("dnsrecords.kuadrant.io")
	w.settles(addr)
	load.check(t)
	hosts := maps.Clone(w.hosts)
	load = w.load(addr, map[string][]string{"h0": {"NXDOMAIN"}, "h1": {"NXDOMAIN"}, "h2": {"NXDOMAIN"}})
	w.reinstall("dnspolicies.kuadrant.io")
	boottest.Asks(t, addr, "h0.example.com.", "NXDOMAIN")
	for host, address := range hosts {
		w.put(host, address)
	}
	w.settles(addr)
	load.check(t)
	stop()
	w.endsWith(before)
	w.looksFresh()
}

// reinstall deletes a CRD, with all its objects, and installs it again.
func (w *faultWorld) reinstall(name string) {
	w.t.Helper()
	crd := kubetest.Parse(w.t, "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: "+name+"}}")[0]
	crds := w.server.Resource(w.t, crd)
	if err := crds.Delete(w.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
	boottest.WaitFor(w.t, "end of "+name, func() bool {
		_, err := crds.Get(w.t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	if err := w.server.Install(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}
