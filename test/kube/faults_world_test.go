package kube

import (
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"strings"
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

// faultLease is the Lease of a faultWorld.
const faultLease = "lease default/faults"

// faultZone is a Zone below that of the Corefile, with one Record.
const faultZone = `apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {namespace: ns, name: z}
spec: {domainName: z.example.com., delegations: [{zones: ["*"], records: [{pattern: "*"}]}]}
---
{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {namespace: ns, name: a}, spec: {domainName: a.z.example.com., type: A, rdata: %s}}
`

// faultWorld is an API server with hosts below example.com, each with a Gateway and a policy of the
// same name, and the results expected of the plugin that writes to it.
type faultWorld struct {
	t      *testing.T
	server *kubetest.Server
	hosts  map[string]string // first label → address
	guard  string            // the property; by default addresses come and go without a delay
}

// newFaultWorld returns a faultWorld with its own API server and n hosts, h0 and so on.
func newFaultWorld(t *testing.T, n int) *faultWorld {
	t.Helper()
	w := &faultWorld{t: t, server: boottest.APIServer(t), hosts: make(map[string]string), guard: "guard 0"}
	w.server.Apply(t, fmt.Sprintf(faultZone, "192.0.2.250"))
	for i := range n {
		w.put(fmt.Sprint("h", i), fmt.Sprintf("192.0.2.%d", 1+i))
	}
	return w
}

// put sets a host's address, at the API server.
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

// boot runs the plugin, which writes back, and returns its address and a function that stops it.
func (w *faultWorld) boot(kubeconfig string, more ...string) (addr string, stop func()) {
	w.t.Helper()
	return boottest.StartKube(w.t, kubeconfig, "example.com", append(more, "zone-namespaces ns", w.guard, faultLease)...)
}

// survives runs the plugin, through the proxy if there is one, and queries it for all hosts while
// fails runs. In the end everything is written, a new plugin finds nothing more to write, and no
// goroutine is left. may has further valid answers, by host.
func (w *faultWorld) survives(proxy *boottest.APIProxy, may map[string][]string, fails func(addr string)) {
	w.t.Helper()
	kubeconfig := w.server.Kubeconfig
	if proxy != nil {
		kubeconfig = proxy.Kubeconfig
	}
	before := w.goroutines()
	addr, stop := w.boot(kubeconfig)
	w.settles(addr)
	load := w.load(addr, may)
	fails(addr)
	load.check(w.t)
	stop()
	w.endsWith(before)
	w.looksFresh()
}

// limited returns a proxy with a token of the account faultUser, which has the rights that the
// plugin needs, and that token.
func (w *faultWorld) limited() (proxy *boottest.APIProxy, token string) {
	w.t.Helper()
	proxy, token = boottest.NewAPIProxy(w.t, w.server), w.server.User(w.t, "", faultUser, faultRights()...).BearerToken
	boottest.WriteFile(w.t, proxy.TokenFile, token)
	return proxy, token
}

// fault returns what is wrong with a host at the API server; "" for nothing.
func (w *faultWorld) fault(host string) string {
	policy := boottest.Object(w.t, w.server, "kuadrant.io/v1", "DNSPolicy", "ns", host)
	record := boottest.Object(w.t, w.server, "kuadrant.io/v1alpha1", "DNSRecord", "ns", host+"-a")
	if got, want := boottest.Conditions(policy), "Accepted=True/Accepted Enforced=True/Enforced"; got != want {
		return fmt.Sprintf("policy %s says %q", host, got)
	}
	if got, want := boottest.Conditions(record), "Ready=True/ProviderSuccess"; got != want {
		return fmt.Sprintf("DNSRecord of %s says %q", host, got)
	}
	if got := w.says("gateway.networking.k8s.io/v1", "Gateway", host); !strings.Contains(got, "kuadrant.io/DNSPolicyAffected=True/Accepted") {
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

// kept returns the text of a ConfigMap of the plugin: owners or serials.
func (w *faultWorld) kept(field string) string {
	name := map[string]string{"owners": "faults-owners-0", "serials": "faults-serials"}[field]
	return kept(w.t, w.server, "default", name)
}

// says returns the conditions of an object in the world's namespace.
func (w *faultWorld) says(apiVersion, kind, name string) string {
	w.t.Helper()
	return boottest.Conditions(boottest.Object(w.t, w.server, apiVersion, kind, "ns", name))
}

// tokenOf requests a token for a ServiceAccount.
func tokenOf(t *testing.T, server *kubetest.Server, account *unstructured.Unstructured) string {
	t.Helper()
	request := boottest.Ref("authentication.k8s.io/v1", "TokenRequest", "")
	request.SetName(account.GetName())
	request.Object["spec"] = map[string]any{}
	got, err := server.Resource(t, account).Create(t.Context(), request, metav1.CreateOptions{}, "token")
	if err != nil {
		t.Fatal(err)
	}
	token, _, _ := unstructured.NestedString(got.Object, "status", "token")
	return token
}

// kept returns the content of a ConfigMap of the plugin, owners or serials; "" if it does not
// exist.
func kept(t *testing.T, server *kubetest.Server, namespace, name string) string {
	t.Helper()
	m := boottest.Object(t, server, "v1", "ConfigMap", namespace, name)
	if m == nil {
		return ""
	}
	data, _, _ := unstructured.NestedStringMap(m.Object, "data")
	return data["owners"] + data["serials"]
}

// nextSecond waits until new objects are younger than an object: ages count in seconds.
func nextSecond(t *testing.T, than *unstructured.Unstructured) {
	t.Helper()
	made := than.GetCreationTimestamp().Time
	boottest.WaitFor(t, "next second", func() bool { return time.Now().UTC().Truncate(time.Second).After(made) })
}

// list returns the objects of a kind in the world's namespace.
func (w *faultWorld) list(apiVersion, kind string) []unstructured.Unstructured {
	w.t.Helper()
	all, err := w.server.Resource(w.t, boottest.Ref(apiVersion, kind, "ns")).List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return all.Items
}

// settles waits until all hosts are answered, everything written about them says so, and nothing is
// written about others.
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

// versions returns the resource versions of all objects that the plugin writes to.
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

// looksFresh has another plugin, which knows nothing of earlier writes, check everything: it writes
// only about one new host.
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
		// A missing kind may have been installed: its owner is then known to have no rival.
		if line = strings.TrimSuffix(line, "\n"); !strings.Contains(kept, line) {
			w.t.Errorf("the owner %q is not on record any more, but %q", line, kept)
		}
	}
}

// load queries all hosts without a break, a missing name, and serials, until check is called. may
// has further valid answers, by host; "no" is the missing name.
func (w *faultWorld) load(addr string, may map[string][]string) *resolver {
	right := map[string][]string{"no.example.com.": {"NXDOMAIN"}, "a.z.example.com.": {"192.0.2.250"}}
	add := func(host string, answers ...string) {
		right[host+".example.com."] = append(right[host+".example.com."], answers...)
	}
	for host, address := range w.hosts {
		add(host, address)
	}
	for host, more := range may {
		add(host, more...)
	}
	return resolve(w.t, []*process{{addr: addr}}, right, "example.com.", "z.example.com.")
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

// goroutines counts the goroutines while no request to the API server is running.
func (w *faultWorld) goroutines() int {
	w.t.Helper()
	client, err := rest.HTTPClientFor(w.server.Config)
	if err != nil {
		w.t.Fatal(err)
	}
	utilnet.CloseIdleConnectionsFor(client.Transport)
	return runtime.NumGoroutine()
}
