package kube

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// beforeWriting is the last commit without write-back.
const beforeWriting = "1176591ca11623015b980e7d9dd4c9fdc5a3c0c6"

// coreDNSOf builds cmd/coredns of a commit, and returns its path. It skips the test if the history
// does not go back so far.
func coreDNSOf(t *testing.T, commit string) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("git", "cat-file", "-e", commit).CombinedOutput(); err != nil {
		t.Skipf("there is no commit %s here, as in a clone without the history: %v\n%s", commit, err, out)
	}
	if out, err := exec.Command("sh", "-c", "git archive "+commit+" | tar -x -C "+dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return peertest.Build(t, dir, "./cmd/coredns")
}

// upgradeObjects are a host with a check, one without, a Zone for one of the Corefile's zones, and
// a Zone below it.
const upgradeObjects = `apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {namespace: dns, name: org}
spec: {domainName: example.org., delegations: [{zones: ["*"], records: [{pattern: "@"}, {pattern: "*"}]}]}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {namespace: dns, name: org-ns}
spec: {domainName: "@", zoneRef: {name: org}, type: NS, rdata: ns1.example.com.}
---
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {namespace: dns, name: sub}
spec: {domainName: sub, zoneRef: {name: org}, delegations: [{records: [{pattern: "@"}, {pattern: "*"}]}]}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {namespace: dns, name: sub-ns}
spec: {domainName: "@", zoneRef: {name: sub}, type: NS, rdata: ns1.example.com.}
---
`

// upgradeVersion returns the objects that differ between versions, in all zones.
func upgradeVersion(version int) string {
	return pairVersion(version) + fmt.Sprintf(`---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {namespace: dns, name: sub-version}
spec: {domainName: version, zoneRef: {name: sub}, type: A, rdata: 192.0.2.%d}
`, version)
}

// upgrade has two places for processes of the version without a writer, and of this one.
type upgrade struct {
	server   *kubetest.Server
	old, new string // binaries
	a, b     *process
	body     string   // of the Corefile, for both versions
	writing  *process // runs the version that keeps serials; nil for none
	version  int
	ledger   *ledger
}

// run runs a binary in a place, and waits until it knows everything.
func (u *upgrade) run(t *testing.T, p *process, binary string) {
	t.Helper()
	p.start(t, binary, "example.com example.net example.org", u.body)
	u.knows(t, p)
	for _, zone := range []string{"example.com.", "example.net.", "example.org.", "sub.example.org."} { // each is published separately
		p.expects(t, "no."+zone, "NXDOMAIN")
	}
	p.expects(t, "busy.example.net.", fmt.Sprintf("198.51.100.%d", busyChanges))
	p.serves()
}

// knows waits until processes answer with the newest version.
func (u *upgrade) knows(t *testing.T, processes ...*process) {
	t.Helper()
	for _, p := range processes {
		for _, zone := range []string{"example.com.", "example.org.", "sub.example.org."} {
			p.expects(t, "version."+zone, fmt.Sprintf("192.0.2.%d", u.version))
		}
	}
}

// change writes versions one after the other, no faster than they are kept: the version without a
// writer starts from the serial in a Zone's status, but counts the changes that it sees by itself.
func (u *upgrade) change(t *testing.T, times int) {
	t.Helper()
	for range times {
		u.version++
		u.server.Apply(t, upgradeVersion(u.version))
		if u.a.cmd != nil && u.b.cmd != nil {
			u.knows(t, u.a, u.b)
		}
		if u.writing != nil {
			u.written(t, u.writing)
		}
	}
}

// replace ends the process in a place, and runs a binary there. Zones in anew may start with any
// serial.
func (u *upgrade) replace(t *testing.T, p *process, binary string, anew ...string) {
	t.Helper()
	p.end(syscall.SIGTERM)
	for _, zone := range anew {
		u.ledger.forget(p, zone)
	}
	u.change(t, 1) // the new process finds it, and the old one has not seen it
	u.run(t, p, binary)
}

// written waits until a process shows the newest version of the zones with Zones, and their status
// matches. The status has a kept version a moment later.
func (u *upgrade) written(t *testing.T, p *process) {
	t.Helper()
	for name, zone := range map[string]string{"org": "example.org.", "sub": "sub.example.org."} {
		var said int64
		var shown uint32
		var text string
		boottest.WaitOr(t, func() string {
			return fmt.Sprintf("the status of Zone %s has serial %d, %s shows %d:\n%s", name, said, p.addr, shown, text)
		}, func() bool {
			if obj := boottest.Object(t, u.server, "kubi.zone/v1alpha1", "Zone", "dns", name); obj != nil {
				said, _, _ = unstructured.NestedInt64(obj.Object, "status", "serial")
			}
			shown, text = transferOf(p.addr, zone)
			return said == int64(shown) && strings.Contains(text, fmt.Sprintf("192.0.2.%d", u.version))
		})
	}
}

// busyChanges is how often example.net changes before anybody keeps serials: more often than
// serials are dated ahead.
const busyChanges = 24

// busy changes example.net again and again.
func (u *upgrade) busy(t *testing.T) {
	t.Helper()
	for n := 1; n <= busyChanges; n++ {
		u.server.Apply(t, fmt.Sprintf(`{apiVersion: kuadrant.io/v1alpha1, kind: DNSRecord, metadata: {namespace: ns, name: busy, labels: {kuadrant.io/coredns-zone-name: example.net}}, spec: {
  rootHost: busy.example.net, endpoints: [{dnsName: busy.example.net, recordType: A, recordTTL: 60, targets: [198.51.100.%d]}]}}`, n))
		for _, p := range []*process{u.a, u.b} {
			if p.cmd != nil {
				p.expects(t, "busy.example.net.", fmt.Sprintf("198.51.100.%d", n))
			}
		}
	}
}

// tell tells the processes that will keep serials how far a zone is, as docs/transfer.md says.
func (u *upgrade) tell(t *testing.T, zone string) {
	t.Helper()
	u.ledger.askSOA(u.a, zone)
	u.ledger.askSOA(u.b, zone)
	serial := max(u.ledger.serial(u.a, zone), u.ledger.serial(u.b, zone))
	u.server.ApplyIn(t, "default", fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: kuadrant-dns-serials, labels: {kuadrant.io/dns-lease: kuadrant-dns}}, data: {serials: %s unknown %d}}", zone, serial))
}

// TestUpgrade: the version without a writer and this one run side by side, and replace each other
// in both orders, while objects change. No query fails; at no address a serial goes back. Zones
// without a Zone are excepted if the older version replaces this one: it reads only the status of
// Zones.
func TestUpgrade(t *testing.T) {
	peertest.NeedBuilds(t)
	u := &upgrade{old: coreDNSOf(t, beforeWriting), new: boottest.CoreDNS(t), server: boottest.APIServer(t)}
	alive := boottest.NewTargets(t, "127.77.9.1")[0]
	u.server.Apply(t, fmt.Sprintf(pairMember, alive.Address, "IE", true, alive.Port)+upgradeObjects)
	u.a, u.b = newProcess(t), newProcess(t)
	u.body = fmt.Sprintf("kuadrant {\nkubeconfig %s\nzone-namespaces dns\nprobe-allow 127.77.9.0/24\nnameserver ns1.example.com 203.0.113.53\n}\ntransfer {\nto *\n}\nerrors", u.server.Kubeconfig)
	both := []*process{u.a, u.b}
	u.ledger = keepLedger(t, both, func(*process) bool { return false }, "example.com.", "example.net.", "example.org.", "sub.example.org.")
	u.change(t, 1)
	u.busy(t)
	u.run(t, u.a, u.old)
	u.run(t, u.b, u.old)
	u.busy(t)
	queries := resolve(t, both, map[string][]string{
		"www.example.com.": {alive.Address}, "no.example.com.": {"NXDOMAIN"}, "no.example.org.": {"NXDOMAIN"}, "no.sub.example.org.": {"NXDOMAIN"},
		"no.example.net.": {"NXDOMAIN"},
	})
	u.change(t, 3)
	u.tell(t, "example.net.")
	u.replace(t, u.a, u.new)
	u.writing = u.a
	u.change(t, 2)
	u.replace(t, u.b, u.new)
	u.change(t, 2)
	u.written(t, u.b)
	u.writing = u.b
	u.replace(t, u.a, u.old, "example.com.", "example.net.")
	u.change(t, 2)
	u.writing = nil
	u.replace(t, u.b, u.old, "example.com.", "example.net.")
	u.change(t, 2)
	queries.check(t)
	u.ledger.check(t)
}
