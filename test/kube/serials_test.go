package kube

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// serials is a process that serves example.org, which has a Zone and another one below it, and example.com, which has none. Another one is
// its replica.
type serials struct {
	t       *testing.T
	server  *kubetest.Server
	p, q    *process
	ledger  *ledger
	version int
}

const serialsZones = `apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {namespace: dns, name: org}
spec: {domainName: example.org., delegations: [{zones: ["*"], records: [{pattern: "*"}]}]}
---
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {namespace: dns, name: sub}
spec: {domainName: sub.example.org., delegations: [{records: [{pattern: "*"}]}]}
`

// run starts processes, with the properties more, after those before have ended, and changes the zones. Each may have a state of its own.
func (s *serials) run(processes []*process, state bool, more string) {
	s.t.Helper()
	s.stop()
	for _, p := range processes {
		if state {
			s.start(p, more+"\nstate "+stateOf(p))
		} else {
			s.start(p, more)
		}
	}
	s.change()
}

// stateOf returns the directory of a process's state.
func stateOf(p *process) string { return filepath.Join(p.dir, "state") }

// start starts a process.
func (s *serials) start(p *process, more string) {
	s.t.Helper()
	p.start(s.t, boottest.CoreDNS(s.t), "example.com example.org", fmt.Sprintf(`kuadrant {
kubeconfig %s
zone-namespaces dns
nameserver ns1.example.com 203.0.113.53
%s
}
transfer {
to *
}
errors`, s.server.Kubeconfig, more))
	p.serves()
}

// running returns the processes that run.
func (s *serials) running() []*process {
	return slices.DeleteFunc([]*process{s.p, s.q}, func(p *process) bool { return p.cmd == nil })
}

// stop ends the processes.
func (s *serials) stop() {
	for _, p := range s.running() {
		p.end(syscall.SIGTERM)
	}
}

// change publishes another version of each zone, and waits until it is shown.
func (s *serials) change() {
	s.t.Helper()
	s.version++
	s.server.Apply(s.t, upgradeVersion(s.version))
	s.ledger.settles(s.t, fmt.Sprintf("192.0.2.%d", s.version), s.running()...)
}

// zone returns the serial and the hash in the status of a Zone.
func (s *serials) zone(name string) (serial int64, hash string) {
	s.t.Helper()
	o := boottest.Object(s.t, s.server, "kubi.zone/v1alpha1", "Zone", "dns", name)
	serial, _, _ = unstructured.NestedInt64(o.Object, "status", "serial")
	hash, _, _ = unstructured.NestedString(o.Object, "status", "hash")
	return serial, hash
}

// patched writes a serial into the status of a Zone, and waits until the server shows it or a later
// one, none below its own, and has that in the status.
func (s *serials) patched(name, domain, hash string, serial uint32) {
	s.t.Helper()
	shown := s.ledger.serial(s.p, domain)
	zones := s.server.Resource(s.t, boottest.Ref("kubi.zone/v1alpha1", "Zone", "dns"))
	patch := fmt.Sprintf(`{"status": {"serial": %d, "hash": %q}}`, serial, hash)
	if _, err := zones.Patch(s.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "somebody"}, "status"); err != nil {
		s.t.Fatal(err)
	}
	got := int64(0)
	boottest.WaitOr(s.t, func() string {
		return fmt.Sprintf("Zone %s has the serial %d, hash %q; %d is shown, after %d; somebody wrote %d", name, got, hash, s.ledger.serial(s.p, domain), shown, serial)
	}, func() bool {
		got, hash = s.zone(name)
		return got == int64(s.ledger.serial(s.p, domain)) && got >= int64(max(serial, shown)) && len(hash) == 32
	})
}

// configMaps returns the names of the ConfigMaps with owners and serials, as namespace/name.
func (s *serials) configMaps() (all []string) {
	s.t.Helper()
	list, err := s.server.Resource(s.t, boottest.Ref("v1", "ConfigMap", "")).List(s.t.Context(), metav1.ListOptions{LabelSelector: "kuadrant.io/dns-lease"})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, o := range list.Items {
		all = append(all, o.GetNamespace()+"/"+o.GetName())
	}
	return all
}

// deletes deletes an object while no server runs.
func (s *serials) deletes(apiVersion, kind, name string) {
	s.t.Helper()
	s.stop()
	namespace, name, _ := strings.Cut(name, "/")
	if err := s.server.Resource(s.t, boottest.Ref(apiVersion, kind, namespace)).Delete(s.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// TestSerialsNeverGoBack: the serials of all zones rise, and are the same on two replicas, through another name and namespace of the Lease,
// after a clock that was ahead, and while one of ConfigMaps, Zone statuses and state is left. A crash of a server that has nothing but state
// costs 32 (rule 6.7). Somebody's serial in the status of a Zone is overwritten.
func TestSerialsNeverGoBack(t *testing.T) {
	s := &serials{t: t, server: boottest.APIServer(t), p: newProcess(t), q: newProcess(t)}
	alone, both := []*process{s.p}, []*process{s.p, s.q}
	boottest.NeedNamespace(t, s.server, "one")
	boottest.NeedNamespace(t, s.server, "two")
	s.server.Apply(t, serialsZones)
	// Far above those that begin with the date, which a server would begin with that finds nothing: what a clock left that was ahead.
	y, m, d := time.Now().UTC().Date()
	ahead := uint32(y*1_000_000 + int(m)*10_000 + d*100 + 5_000)
	s.server.Apply(t, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {namespace: one, name: a-serials, labels: {kuadrant.io/dns-lease: a}}, "+
		"data: {serials: 'example.com. unknown %d'}}", ahead))
	s.ledger = keepLedger(t, both, nil, "example.com.", "example.org.", "sub.example.org.")

	s.run(both, false, "lease one/a")
	for zone, domain := range map[string]string{"org": "example.org.", "sub": "sub.example.org."} {
		_, hash := s.zone(zone)
		s.patched(zone, domain, hash, ahead)
		s.patched(zone, domain, "somebody's", ahead+100)
		s.patched(zone, domain, hash, 7)
		s.patched(zone, domain, "somebody's", 8)
	}
	s.run(both, false, "lease one/b")
	s.run(both, false, "lease two/b")
	s.run(both, true, "lease two/b")
	for _, name := range s.configMaps() {
		s.deletes("v1", "ConfigMap", name)
		s.run(both, true, "lease two/b")
	}
	for _, name := range s.configMaps() {
		s.deletes("v1", "ConfigMap", name)
	}
	s.deletes("kubi.zone/v1alpha1", "Zone", "dns/sub")
	s.server.Apply(t, serialsZones)
	s.run(both, true, "lease two/b")
	s.stop()
	for _, p := range both {
		if err := os.RemoveAll(stateOf(p)); err != nil {
			t.Fatal(err)
		}
	}
	s.run(both, true, "lease two/b")

	s.run(alone, true, "write-back off")
	for range 3 {
		s.change()
	}
	before := s.ledger.serial(s.p, "example.com.")
	s.p.end(syscall.SIGKILL)
	s.run(alone, true, "write-back off")
	if got := s.ledger.serial(s.p, "example.com."); got-before > 33 {
		t.Errorf("after a crash and a change, the serial is %d; it was %d", got, before)
	}
	s.ledger.check(t)
}
