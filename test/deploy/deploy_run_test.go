package deploy

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// fitted is a Corefile that is to run on a machine that has its ports taken, and
// lacks the directories and the other servers that it names.
type fitted struct {
	text                   string
	health, ready, metrics string // addresses
}

// fit makes a Corefile fit for a test.
func fit(t *testing.T, corefile string) fitted {
	t.Helper()
	f := fitted{text: corefile}
	for port, address := range map[string]*string{":8080": &f.health, ":8181": &f.ready, ":9153": &f.metrics} {
		*address = fmt.Sprintf("127.0.0.1:%d", peertest.FreePort(t))
		f.text = strings.ReplaceAll(f.text, " "+port, " "+*address)
	}
	dir := t.TempDir()
	f.text = strings.NewReplacer(
		"console localhost:8090", fmt.Sprintf("console localhost:%d", peertest.FreePort(t)),
		"/var/lib/kuadrant", dir, "/etc/kuadrant", dir, "/etc/coredns/geo", "examples/geo", "/etc/resolv.conf", "127.0.0.1:1",
	).Replace(f.text)
	f.text = regexp.MustCompile(`(?m)^([^ \n#(].*)\{$`).ReplaceAllString(f.text, "$1{\n    bind 127.0.0.1")
	return f
}

// TestDeployRuns runs the Corefile of each overlay in the way its pods do, with their
// rights on a real API server: it answers for the zone, says who has answered, is
// healthy and ready, counts, and misses nothing.
func TestDeployRuns(t *testing.T) {
	server := kubetest.Shared(t)
	server.InstallCRDs(t, kubetest.GatewayAPI, kubetest.Kuadrant, kubetest.ExternalDNS)
	server.ApplyIn(t, "shop", fmt.Sprintf(boottest.Gateway, "a.example.com", "192.0.2.1"))
	binary := boottest.CoreDNS(t)
	for name := range overlays {
		t.Run(name, func(t *testing.T) {
			o := renderOverlay(t, name)
			user := server.Namespace(t)
			bindTo(t, server, user, o.objects, nil)
			gate := newRightsGate(t, server, user)
			config := gate.Kubeconfig
			corefile := o.corefile
			if !strings.Contains(corefile, "write-back off") { // outside of a pod, nothing says where the Lease is
				corefile = strings.Replace(corefile, "state ", "lease "+o.deploy.Namespace+"\n        state ", 1)
			}
			f := fit(t, corefile)
			// The one plugin that does not know the variable.
			f.text = strings.ReplaceAll(f.text, "pods insecure", "kubeconfig "+config+"\n        pods insecure")
			addr, printed := peertest.RunCoreDNS(t, binary, f.text, "KUBECONFIG="+config, "HOSTNAME=a")
			boottest.WaitFor(t, "answer", func() bool { return boottest.AskFirst(addr, "a.example.com.") == "192.0.2.1" })
			for _, url := range []string{f.health + "/health", f.ready + "/ready", f.metrics + "/metrics"} {
				boottest.WaitFor(t, url, func() bool { return status("http://"+url) == http.StatusOK })
			}
			if name == "cluster-dns" {
				boottest.WaitFor(t, "the cluster's own names", func() bool { return boottest.AskFirst(addr, "kubernetes.default.svc.cluster.local.") == "10.0.0.1" })
				// The others are those of a variant: TestEveryRightIsUsed.
				boottest.WaitFor(t, "rights on these to be used, each verb", func() bool { return len(gate.rights.unused(namesRights)) == 0 })
			} else {
				m := boottest.Question("a.example.com.", dns.TypeA)
				m.SetEdns0(4096, false)
				m.IsEdns0().Option = append(m.IsEdns0().Option, &dns.EDNS0_NSID{Code: dns.EDNS0NSID})
				reply, _, err := boottest.Client("").Exchange(m, addr)
				if err != nil || reply.IsEdns0() == nil || !slices.ContainsFunc(reply.IsEdns0().Option, func(o dns.EDNS0) bool { return o.Option() == dns.EDNS0NSID }) {
					t.Errorf("no NSID in %v, %v", reply, err)
				}
			}
			if log := printed(); regexp.MustCompile(`(?i)forbidden|not allowed|\[ERROR\] plugin/kuad`).MatchString(log) {
				t.Errorf("logged\n%s", log)
			}
		})
	}
}

// TestDeployIsNotReady: while the API server has never been there, a pod lives and gets
// no queries.
func TestDeployIsNotReady(t *testing.T) {
	binary, config := boottest.CoreDNS(t), boottest.Unreachable(t)
	for name := range overlays {
		t.Run(name, func(t *testing.T) {
			f := fit(t, renderOverlay(t, name).corefile)
			f.text = strings.ReplaceAll(f.text, "pods insecure", "kubeconfig "+config+"\n        pods insecure")
			peertest.RunCoreDNS(t, binary, f.text, "KUBECONFIG="+config)
			boottest.WaitFor(t, "health", func() bool { return status("http://"+f.health+"/health") == http.StatusOK })
			boottest.WaitFor(t, "readiness that says no", func() bool { return status("http://"+f.ready+"/ready") != 0 })
			if got := status("http://" + f.ready + "/ready"); got != http.StatusServiceUnavailable {
				t.Errorf("/ready: %d", got)
			}
		})
	}
}

// status returns the status that a URL is answered with, 0 where it is not.
func status(url string) int {
	resp, err := http.Get(url)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}
