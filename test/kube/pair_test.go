package kube

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// pairMember is a cluster's member of www.example.com, with a check, and a host that only this
// cluster has.
const pairMember = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: shop, name: www}
spec:
  gatewayClassName: x
  listeners: [{name: a, hostname: www.example.com, port: 80, protocol: HTTP}]
status: {addresses: [{value: %[1]s}]}
---
apiVersion: kuadrant.io/v1
kind: DNSPolicy
metadata: {namespace: shop, name: www}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: www}
  loadBalancing: {weight: 100, geo: %[2]s, defaultGeo: %[3]v}
  healthCheck: {protocol: HTTP, port: %[4]d, path: /healthz, interval: 2s, failureThreshold: 2}
---
`

// pairZone is a Zone with a Record whose data change.
const pairZone = `apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {namespace: dns, name: org}
spec: {domainName: example.org., delegations: [{records: [{pattern: "@"}, {pattern: "*"}]}]}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {namespace: dns, name: org-ns}
spec: {domainName: "@", zoneRef: {name: org}, type: NS, rdata: ns1.example.com.}
---
`

// pairVersion returns the objects that differ between versions, in both zones. Addresses removed
// from the status of a Gateway would still be served for a while (rule 8.5).
func pairVersion(version int) string {
	return fmt.Sprintf(`apiVersion: kuadrant.io/v1alpha1
kind: DNSRecord
metadata: {namespace: ns, name: version, labels: {kuadrant.io/coredns-zone-name: example.com}}
spec:
  rootHost: version.example.com
  endpoints: [{dnsName: version.example.com, recordType: A, recordTTL: 60, targets: [192.0.2.%[1]d]}]
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {namespace: dns, name: version}
spec: {domainName: version, zoneRef: {name: org}, type: A, rdata: 192.0.2.%[1]d}
`, version)
}

// pair is two processes that read the same clusters.
type pair struct {
	main, east, west *kubetest.Server
	targets          map[string]*boottest.Target // by cluster
	a, b             *process
	binary           string
	body             string // of their Corefiles
	version          int
	ledger           *ledger
}

// newPair returns clusters with members of www.example.com, and two processes that serve them. A
// Secret names the cluster east; west is in the Corefile.
func newPair(t *testing.T) *pair {
	t.Helper()
	w := &pair{binary: boottest.CoreDNS(t), targets: make(map[string]*boottest.Target)}
	w.main, w.east, w.west = boottest.APIServer(t), boottest.APIServer(t), boottest.APIServer(t)
	targets := boottest.NewTargets(t, "127.77.8.1", "127.77.8.2", "127.77.8.3")
	geos := map[string]string{"main": "IE", "east": "US", "west": "BR"}
	for i, s := range []*kubetest.Server{w.main, w.east, w.west} {
		cluster := []string{"main", "east", "west"}[i]
		w.targets[cluster] = targets[i]
		s.Apply(t, fmt.Sprintf(pairMember, w.targets[cluster].Address, geos[cluster], cluster == "main", targets[i].Port)+
			boottest.GatewayAt("own-"+cluster, cluster+".example.com", fmt.Sprintf("198.51.100.%d", i+1)))
	}
	// This is the older of two policies; it reaches a name later than the younger one.
	w.main.Apply(t, pairZone)
	w.main.ApplyIn(t, "older", boottest.GatewayAt("a-older", "elsewhere.example.com", "203.0.113.1"))
	w.main.Apply(t, boottest.GatewayAt("b-younger", "taken.example.com", "203.0.113.2"))
	w.change(t)
	w.main.Apply(t, boottest.ClusterSecret("east", "shop,ns", boottest.KubeconfigFor(t, w.east.Config)))
	w.east.ApplyIn(t, "dns", "{apiVersion: v1, kind: ConfigMap, metadata: {name: namespace}}") // for the Lease
	w.west.ApplyIn(t, "dns", "{apiVersion: v1, kind: ConfigMap, metadata: {name: namespace}}")

	nets := filepath.Join(t.TempDir(), "nets")
	boottest.WriteFile(t, nets, "127.0.0.0/8 IE\n")
	w.a, w.b = newProcess(t), newProcess(t)
	w.body = fmt.Sprintf(`kuadrant {
kubeconfig %s
cluster west %s
lease dns/pair
state STATE
nets %s
probe-allow 127.77.8.0/24
owner-txt _owner-
nameserver ns1.example.com 203.0.113.53
}
transfer {
to *
}
errors`, w.main.Kubeconfig, w.west.Kubeconfig, nets)
	w.run(t, w.a)
	w.run(t, w.b)
	return w
}

// run starts a process in its place, and waits until it knows everything.
func (w *pair) run(t *testing.T, p *process) {
	t.Helper()
	p.start(t, w.binary, "example.com example.org", strings.Replace(w.body, "STATE", filepath.Join(p.dir, "state"), 1))
	for name, want := range map[string]string{
		"no.example.com.": "NXDOMAIN", "no.example.org.": "NXDOMAIN", "main.example.com.": "198.51.100.1",
		"east.example.com.": "198.51.100.2", "west.example.com.": "198.51.100.3", "version.example.org.": fmt.Sprintf("192.0.2.%d", w.version),
	} {
		p.expects(t, name, want)
	}
	p.serves()
}

// change writes another version.
func (w *pair) change(t *testing.T) {
	t.Helper()
	w.version++
	w.main.Apply(t, pairVersion(w.version))
}

// changes writes another version, and waits until the processes answer with it and show one serial
// for it.
func (w *pair) changes(t *testing.T, processes ...*process) {
	t.Helper()
	w.change(t)
	want := fmt.Sprintf("192.0.2.%d", w.version)
	for _, p := range processes {
		p.expects(t, "version.example.com.", want)
		p.expects(t, "version.example.org.", want)
	}
	w.ledger.settles(t, want, processes...)
}

// moves waits until both processes answer www.example.com with the target of a cluster.
func (w *pair) moves(t *testing.T, to ...string) {
	t.Helper()
	var want []string
	for _, cluster := range to {
		want = append(want, w.targets[cluster].Address)
	}
	w.a.expects(t, "www.example.com.", want...)
	w.b.expects(t, "www.example.com.", want...)
}

// owners returns the owners of names, as shown by processes and in the ConfigMap.
func (w *pair) owners(t *testing.T, processes ...*process) string {
	t.Helper()
	names := []string{"www.example.com.", "taken.example.com.", "version.example.com.", "east.example.com.", "version.example.org."}
	said := make(map[string]bool)
	for _, p := range processes {
		var all []string
		for _, name := range names {
			all = append(all, name+" "+p.ask("_owner-a-"+name, dns.TypeTXT))
		}
		said[strings.Join(all, "\n")] = true
	}
	if len(said) != 1 {
		t.Errorf("the processes name other owners: %v", said)
	}
	for text := range said {
		return text
	}
	return ""
}

// onRecord returns the lines of the ConfigMap about names that could change owners.
func (w *pair) onRecord(t *testing.T) string {
	t.Helper()
	var all []string
	for line := range strings.Lines(kept(t, w.main, "dns", "pair-owners-0")) {
		if !strings.HasPrefix(line, "elsewhere.") {
			all = append(all, line)
		}
	}
	return strings.Join(all, "")
}

// TestPair: two processes read three clusters. Traffic moves to another cluster when the targets of
// the first one fail, and back. The end of either process, or of an API server, loses no query;
// serials and owners are the same on both throughout.
func TestPair(t *testing.T) {
	w := newPair(t)
	both := []*process{w.a, w.b}
	members := []string{w.targets["main"].Address, w.targets["east"].Address, w.targets["west"].Address}
	w.ledger = keepLedger(t, both, nil, "example.com.", "example.org.")
	queries := resolve(t, both, map[string][]string{
		"www.example.com.": members, "main.example.com.": {"198.51.100.1"}, "east.example.com.": {"198.51.100.2"}, "west.example.com.": {"198.51.100.3"},
		"taken.example.com.": {"203.0.113.2"}, "no.example.com.": {"NXDOMAIN"}, "no.example.org.": {"NXDOMAIN"},
	})
	w.changes(t, both...)
	boottest.WaitOr(t, func() string { return "no owners are on record" }, func() bool {
		return strings.Contains(w.onRecord(t), "taken.example.com. local DNSPolicy ns/b-younger ")
	})
	w.main.ApplyIn(t, "older", boottest.GatewayAt("a-older", "taken.example.com", "203.0.113.1"))
	w.changes(t, both...)
	owners, record := w.owners(t, both...), w.onRecord(t)
	same := func(when string, processes ...*process) {
		t.Helper()
		if got := w.owners(t, processes...); got != owners {
			t.Errorf("%s, owners are\n%s\nand were\n%s", when, got, owners)
		}
		if got := w.onRecord(t); got != record {
			t.Errorf("%s, on record is\n%s\nand was\n%s", when, got, record)
		}
	}

	w.moves(t, "main")
	w.targets["main"].Off.Store(true)
	w.moves(t, "east", "west")
	w.targets["east"].Off.Store(true)
	w.moves(t, "west")
	w.targets["east"].Off.Store(false)
	w.targets["west"].Off.Store(true)
	w.moves(t, "east")
	w.targets["main"].Off.Store(false)
	w.moves(t, "main")
	w.targets["west"].Off.Store(false)
	same("after the moves", both...)

	for i, p := range both {
		other := both[1-i]
		p.end(syscall.SIGKILL)
		w.changes(t, other) // it is elected by now
		same("with one process", other)
		w.run(t, p)
		w.changes(t, both...)
		same("after a process was back", both...)
	}

	w.main.Kill()
	w.targets["main"].Off.Store(true)
	w.moves(t, "east", "west")
	w.east.Apply(t, boottest.GatewayAt("late-east", "late.example.com", "198.51.100.9"))
	w.a.expects(t, "late.example.com.", "198.51.100.9")
	w.b.expects(t, "late.example.com.", "198.51.100.9")
	w.targets["main"].Off.Store(false)
	w.moves(t, "main")
	w.main.Restart(t)
	w.changes(t, both...)
	w.east.Kill()
	w.changes(t, both...)
	w.targets["main"].Off.Store(true)
	w.moves(t, "east", "west")
	w.targets["west"].Off.Store(true)
	w.moves(t, "east")
	w.west.Kill()
	w.changes(t, both...)
	w.east.Restart(t)
	w.west.Restart(t)
	w.changes(t, both...)
	for _, p := range both {
		if got := p.ask("_owner-a-taken.example.com.", dns.TypeTXT); !strings.HasSuffix(got, "=dnspolicy/ns/b-younger") {
			t.Errorf("%s names the owner %q", p.addr, got)
		}
	}
	queries.check(t)
	w.ledger.check(t)
}
