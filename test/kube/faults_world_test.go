package kube

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// faultLease is where the Lease of a faultWorld is.
const faultLease = "lease default/faults"

// faultZone is a Zone of its own below that of the Corefile, with one Record.
const faultZone = `apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {namespace: ns, name: z}
spec: {domainName: z.example.com., delegations: [{zones: ["*"], records: [{pattern: "*"}]}]}
---
{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {namespace: ns, name: a}, spec: {domainName: a.z.example.com., type: A, rdata: %s}}
`

// faultWorld is an API server with hosts below example.com, each with a Gateway and a policy of
// its name, and what the plugin that writes to it is to make of them.
type faultWorld struct {
	t      *testing.T
	server *kubetest.Server
	hosts  map[string]string // first label → address
	guard  string            // the property; addresses come and go without any delay otherwise
}

// newFaultWorld returns one with an API server of its own and n hosts, h0 and so on.
func newFaultWorld(t *testing.T, n int) *faultWorld {
	t.Helper()
	w := &faultWorld{t: t, server: boottest.APIServer(t), hosts: make(map[string]string), guard: "guard 0"}
	w.server.Apply(t, fmt.Sprintf(faultZone, "192.0.2.250"))
	for i := range n {
		w.put(fmt.Sprint("h", i), fmt.Sprintf("192.0.2.%d", 1+i))
	}
	return w
}

// put gives a host an address, at the API server.
func (w *faultWorld) put(host, address string) {
	w.t.Helper()
	w.hosts[host] = address
	w.server.Apply(w.t, boottest.GatewayFile(host, address))
}

// drop deletes a host's policy.
func (w *faultWorld) drop(host string) {
	w.t.Helper()
	delete(w.hosts, host)
	err := w.server.Resource(w.t, boottest.Ref("kuadrant.io/v1", "DNSPolicy", "ns")).Delete(w.t.Context(), host, metav1.DeleteOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
}

// boot runs the plugin, which writes back, and returns its address and what ends it.
func (w *faultWorld) boot(kubeconfig string, more ...string) (addr string, stop func()) {
	w.t.Helper()
	return boottest.StartKube(w.t, kubeconfig, "example.com", append(more, "zone-namespaces ns", w.guard, faultLease)...)
}

// fault says what of a host is not as it should be at the API server; "" for nothing.
func (w *faultWorld) fault(host string) string {
	policy := boottest.Object(w.t, w.server, "kuadrant.io/v1", "DNSPolicy", "ns", host)
	record := boottest.Object(w.t, w.server, "kuadrant.io/v1alpha1", "DNSRecord", "ns", host+"-a")
	if got, want := boottest.Conditions(policy), "Accepted=True/Accepted Enforced=True/Enforced"; got != want {
		return fmt.Sprintf("policy %s says %q", host, got)
	}
	if got, want := boottest.Conditions(record), "Ready=True/ProviderSuccess"; got != want {
		return fmt.Sprintf("DNSRecord of %s says %q", host, got)
	}
	if got := boottest.Conditions(boottest.Object(w.t, w.server, "gateway.networking.k8s.io/v1", "Gateway", "ns", host)); !strings.Contains(got, "kuadrant.io/DNSPolicyAffected=True/Accepted") {
		return fmt.Sprintf("Gateway %s says %q", host, got)
	}
	for _, obj := range []*unstructured.Unstructured{policy, record} {
		if seen, _, _ := unstructured.NestedInt64(obj.Object, "status", "observedGeneration"); seen != obj.GetGeneration() {
			return fmt.Sprintf("%s %s is of generation %d, its status of %d", obj.GetKind(), obj.GetName(), obj.GetGeneration(), seen)
		}
	}
	for _, part := range []string{"spec", "status"} {
		list, _, _ := unstructured.NestedSlice(record.Object, part, "endpoints")
		if len(list) != 1 || fmt.Sprint(list[0].(map[string]any)["targets"]) != "["+w.hosts[host]+"]" {
			return fmt.Sprintf("DNSRecord of %s, %s: %v", host, part, list)
		}
	}
	if owners := record.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != policy.GetUID() {
		return fmt.Sprintf("DNSRecord of %s belongs to %v", host, owners)
	}
	if line := host + ".example.com. local DNSPolicy ns/" + host + " " + string(policy.GetUID()); !strings.Contains(w.kept("owners"), line) {
		return fmt.Sprintf("%q is not on record", line)
	}
	return ""
}

// kept returns the text of a ConfigMap of the plugin's: owners or serials.
func (w *faultWorld) kept(field string) string {
	name := map[string]string{"owners": "faults-owners-0", "serials": "faults-serials"}[field]
	m := boottest.Object(w.t, w.server, "v1", "ConfigMap", "default", name)
	if m == nil {
		return ""
	}
	text, _, _ := unstructured.NestedString(m.Object, "data", field)
	return text
}

// list returns the objects of a kind in the namespace of all.
func (w *faultWorld) list(apiVersion, kind string) []unstructured.Unstructured {
	w.t.Helper()
	all, err := w.server.Resource(w.t, boottest.Ref(apiVersion, kind, "ns")).List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return all.Items
}

// settles waits until all hosts are answered, all that is written about them says so, and
// nothing is written about others.
func (w *faultWorld) settles(addr string) {
	w.t.Helper()
	for host, address := range w.hosts {
		boottest.Asks(w.t, addr, host+".example.com.", address)
	}
	last := ""
	defer func() {
		if last != "" {
			w.t.Log(last)
		}
	}()
	boottest.WaitFor(w.t, "all that is to be written", func() bool {
		for host := range w.hosts {
			if last = w.fault(host); last != "" {
				return false
			}
		}
		if n := len(w.list("kuadrant.io/v1alpha1", "DNSRecord")); n != len(w.hosts) {
			last = fmt.Sprintf("%d DNSRecords, want %d", n, len(w.hosts))
			return false
		}
		zone := boottest.Object(w.t, w.server, "kubi.zone/v1alpha1", "Zone", "ns", "z")
		serial, _, _ := unstructured.NestedInt64(zone.Object, "status", "serial")
		if served := boottest.SerialOf(boottest.Exchange(w.t, addr, "z.example.com.", dns.TypeSOA)); int64(served) != serial || serial == 0 {
			last = fmt.Sprintf("serial %d is served, %d stands in the Zone: %v", served, serial, zone.Object["status"])
			return false
		}
		main := fmt.Sprint(boottest.SerialOf(boottest.Exchange(w.t, addr, "example.com.", dns.TypeSOA)))
		if text := w.kept("serials"); !strings.HasPrefix(text, "example.com. ") || !strings.HasSuffix(strings.TrimSpace(text), " "+main) {
			last = fmt.Sprintf("serial %s is served, kept is %q", main, text)
			return false
		}
		last = ""
		return true
	})
}

// versions returns the resource versions of all objects that are written to.
func (w *faultWorld) versions() map[string]string {
	all := make(map[string]string)
	for kind, apiVersion := range map[string]string{
		"Gateway": "gateway.networking.k8s.io/v1", "DNSPolicy": "kuadrant.io/v1", "DNSRecord": "kuadrant.io/v1alpha1",
		"Zone": "kubi.zone/v1alpha1", "Record": "kubi.zone/v1alpha1",
	} {
		for _, obj := range w.list(apiVersion, kind) {
			all[kind+" "+obj.GetName()] = obj.GetResourceVersion()
		}
	}
	return all
}

// looksFresh has another plugin, which knows nothing of what was written, look at everything:
// it finds nothing to write, but for one more host.
func (w *faultWorld) looksFresh() {
	w.t.Helper()
	before, owners := w.versions(), w.kept("owners")
	addr, stop := w.boot(w.server.Kubeconfig)
	w.put("witness", "192.0.2.251")
	w.settles(addr)
	stop()
	after := w.versions()
	maps.DeleteFunc(after, func(name, _ string) bool { return strings.Contains(name, " witness") })
	if !maps.Equal(before, after) {
		w.t.Errorf("a fresh look finds something to write: before\n%v\nafter\n%v", before, after)
	}
	kept := w.kept("owners")
	for line := range strings.Lines(owners) {
		// A kind that was missing may be there by now: an owner is known to be alone then.
		if line = strings.TrimSuffix(line, "\n"); !strings.Contains(kept, line) {
			w.t.Errorf("the owner %q is not on record any more, but %q", line, kept)
		}
	}
}

// faultLoad asks for all hosts of a faultWorld without a break, for a name that there is not,
// and for serials.
type faultLoad struct {
	stop   context.CancelFunc
	done   sync.WaitGroup
	mu     sync.Mutex
	asked  int
	faults []string
}

// load begins to ask. may has further answers that are right, by host; "" is the right answer
// for the name that there is not.
func (w *faultWorld) load(addr string, may map[string][]string) *faultLoad {
	l := new(faultLoad)
	ctx, stop := context.WithCancel(w.t.Context())
	l.stop = stop
	right := map[string][]string{"no": {"NXDOMAIN"}, "a.z": {"192.0.2.250"}}
	for host, address := range w.hosts {
		right[host] = append(right[host], address)
	}
	for host, more := range may {
		right[host] = append(right[host], more...)
	}
	l.done.Go(func() {
		l.repeat(ctx, func(client *dns.Client) {
			for host, answers := range right {
				m, _, err := client.Exchange(boottest.Question(host+".example.com.", dns.TypeA), addr)
				got := fmt.Sprint(err)
				if err == nil {
					got = boottest.AllA(m)
				}
				l.note(slices.Contains(answers, got), "%s: %s", host, got)
			}
		})
	})
	newest := make(map[string]uint32)
	l.done.Go(func() {
		l.repeat(ctx, func(client *dns.Client) {
			for _, origin := range []string{"example.com.", "z.example.com."} {
				m, _, err := client.Exchange(boottest.Question(origin, dns.TypeSOA), addr)
				if err != nil || boottest.SerialOf(m) == 0 {
					l.note(false, "SOA of %s: %v, %v", origin, err, m)
					continue
				}
				serial := boottest.SerialOf(m)
				l.note(newest[origin] == 0 || int32(serial-newest[origin]) >= 0, "the serial of %s goes back from %d to %d", origin, newest[origin], serial)
				newest[origin] = serial
			}
		})
	})
	return l
}

// repeat runs one round after the other until ctx ends, and leaves the API server some time.
func (l *faultLoad) repeat(ctx context.Context, round func(*dns.Client)) {
	client := &dns.Client{Timeout: 10 * time.Second}
	pace := time.NewTicker(20 * time.Millisecond)
	defer pace.Stop()
	for ctx.Err() == nil {
		round(client)
		<-pace.C
	}
}

func (l *faultLoad) note(right bool, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	if !right {
		l.faults = append(l.faults, fmt.Sprintf(format, args...))
	}
}

// check ends the asking, and fails the test where an answer was not right.
func (l *faultLoad) check(t *testing.T) {
	t.Helper()
	boottest.WaitFor(t, "20 answers", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.asked >= 20
	})
	l.stop()
	l.done.Wait()
	if len(l.faults) > 0 {
		t.Errorf("%d of %d queries failed: %q", len(l.faults), l.asked, l.faults[:min(len(l.faults), 5)])
	}
}

// endsWith waits until no more goroutines run than before.
func (w *faultWorld) endsWith(before int) {
	w.t.Helper()
	client, err := rest.HTTPClientFor(w.server.Config)
	if err != nil {
		w.t.Fatal(err)
	}
	left := true
	defer func() {
		if left {
			stacks := make([]byte, 1<<20)
			w.t.Logf("%s", stacks[:runtime.Stack(stacks, true)])
		}
	}()
	boottest.WaitFor(w.t, fmt.Sprintf("end of all goroutines but %d", before), func() bool {
		utilnet.CloseIdleConnectionsFor(client.Transport)
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		return runtime.NumGoroutine() <= before
	})
	left = false
}

// goroutines counts those that run while nothing is asked of the API server.
func (w *faultWorld) goroutines() int {
	w.t.Helper()
	client, err := rest.HTTPClientFor(w.server.Config)
	if err != nil {
		w.t.Fatal(err)
	}
	utilnet.CloseIdleConnectionsFor(client.Transport)
	return runtime.NumGoroutine()
}
