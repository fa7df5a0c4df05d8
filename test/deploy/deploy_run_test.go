package deploy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// fitted is a Corefile adapted to a machine on which its ports are taken, and the directories and
// other servers that it names do not exist.
type fitted struct {
	text string
	at   map[string]string // the addresses of the plugins that have one
}

var listener = regexp.MustCompile(`(?m)^([ \t]*(health|ready|prometheus|console) )(?:localhost)?:\d+`)

// fit adapts a Corefile for a test. *kubernetes* reads kubeconfig if it is not "": it is the only
// plugin that ignores the variable.
func fit(t *testing.T, corefile, kubeconfig string) fitted {
	t.Helper()
	f := fitted{at: make(map[string]string)}
	f.text = listener.ReplaceAllStringFunc(corefile, func(line string) string {
		m := listener.FindStringSubmatch(line)
		if f.at[m[2]] == "" {
			f.at[m[2]] = fmt.Sprintf("127.0.0.1:%d", peertest.FreePort(t))
		}
		return m[1] + f.at[m[2]]
	})
	dir := t.TempDir()
	f.text = strings.NewReplacer(
		" /var/lib/kuadrant", " "+dir, " /etc/kuadrant", " "+dir, "/etc/coredns/geo", "examples/geo", "/etc/resolv.conf", "127.0.0.1:1",
	).Replace(f.text)
	f.text = regexp.MustCompile(`(?m)^([^ \n#(].*)\{$`).ReplaceAllString(f.text, "$1{\n    bind 127.0.0.1")
	if kubeconfig != "" {
		f.text = regexp.MustCompile(`(?m)^ +kubernetes .*\{$`).ReplaceAllString(f.text, "$0\n        kubeconfig "+kubeconfig)
	}
	return f
}

// checkedPolicy is what the servers serve.
var checkedPolicy = strings.Replace(fmt.Sprintf(boottest.Gateway, "a.example.com", "192.0.2.1"),
	"name: p}", "name: p, labels: {env: test, tier: web}}", 1)

// TestRuns runs CoreDNS with the Corefile of each overlay and set of values, as its pods do and
// with their rights, against a real API server. It answers for the zone, identifies itself, is
// healthy and ready, exports metrics, writes what it should, and lacks no right.
func TestRuns(t *testing.T) {
	server := kubetest.Shared(t)
	server.InstallCRDs(t, kubetest.GatewayAPI, kubetest.Kuadrant, kubetest.ExternalDNS)
	boottest.NeedNamespace(t, server, "lease-home")
	binary := boottest.CoreDNS(t)
	eachRendered(t, func(t *testing.T, r *rendered) {
		server.ApplyIn(t, "shop", checkedPolicy) // fresh each time: no status was written
		user := server.Namespace(t)              // a new name
		bindTo(t, server, user, r.objects, nil)
		proxy := newRightsProxy(t, server, user)
		if !strings.Contains(r.corefile, "write-back off") && !strings.Contains(r.corefile, " lease ") { // no namespace outside a pod
			r.corefile = strings.Replace(r.corefile, "state ", "lease "+r.namespace+"/kuadrant-dns\n        state ", 1)
		}
		f := r.fit(t, proxy.Kubeconfig)
		t.Cleanup(func() { r.forgetLease(t, server) }) // a killed server leaves it behind
		addr, printed := peertest.RunCoreDNS(t, binary, f.text, "KUBECONFIG="+proxy.Kubeconfig, "HOSTNAME=a")
		boottest.WaitFor(t, "answer", func() bool { return boottest.AskFirst(addr, "a.example.com.") == "192.0.2.1" })
		for plugin, path := range map[string]string{"health": "/health", "ready": "/ready", "prometheus": "/metrics"} {
			boottest.WaitFor(t, path, func() bool { return status("http://"+f.at[plugin]+path, "") == http.StatusOK })
		}
		if f.at["console"] != "" {
			url := "http://" + f.at["console"] + "/api/v1/server"
			if without, with := status(url, ""), status(url, consoleToken); without != http.StatusUnauthorized || with != http.StatusOK {
				t.Errorf("%s is answered with %d without the token, and with %d with it", url, without, with)
			}
		}
		if !strings.Contains(f.text, "write-back off") {
			boottest.WaitFor(t, "status written", func() bool { return r.wrote(t, server) })
		}
		if names := regexp.MustCompile(`(?m)^ +kubernetes (\S+)`).FindStringSubmatch(f.text); names != nil {
			own := "kubernetes.default.svc." + names[1] + "."
			boottest.WaitFor(t, "the cluster's own names", func() bool { return boottest.AskFirst(addr, own) == "10.0.0.1" })
			// TestEveryRightIsUsed covers the rights of variants.
			boottest.WaitFor(t, "rights on these to be used, each verb", func() bool { return len(proxy.rights.unused(namesRights)) == 0 })
		}
		if regexp.MustCompile(`(?m)^ +nsid$`).MatchString(f.text) {
			m := boottest.Question("a.example.com.", dns.TypeA)
			m.SetEdns0(4096, false)
			m.IsEdns0().Option = append(m.IsEdns0().Option, &dns.EDNS0_NSID{Code: dns.EDNS0NSID})
			reply, _, err := boottest.Client("").Exchange(m, addr)
			isNSID := func(o dns.EDNS0) bool { return o.Option() == dns.EDNS0NSID }
			if err != nil || reply.IsEdns0() == nil || !slices.ContainsFunc(reply.IsEdns0().Option, isNSID) {
				t.Errorf("no NSID in %v, %v", reply, err)
			}
		} else if r.release == "" && r.namespace == "kuadrant-dns" {
			t.Error("the public servers do not say who has answered")
		}
		wrong := regexp.MustCompile(`(?i)forbidden|not allowed|\[ERROR\] plugin/[^e]|\[WARNING\] plugin/(tsig|dnssec|transfer)`)
		if log := printed(); wrong.MatchString(log) {
			t.Errorf("logged\n%s\nwith the Corefile\n%s", log, f.text)
		}
	})
}

// TestDeployIsNotReady: until the API server has answered once, a pod is alive but gets no queries.
func TestDeployIsNotReady(t *testing.T) {
	binary, config := boottest.CoreDNS(t), boottest.Unreachable(t)
	for name := range overlays {
		t.Run(name, func(t *testing.T) {
			f := fit(t, renderOverlay(t, name).corefile, config)
			peertest.RunCoreDNS(t, binary, f.text, "KUBECONFIG="+config)
			ready := "http://" + f.at["ready"] + "/ready"
			boottest.WaitFor(t, "health", func() bool { return status("http://"+f.at["health"]+"/health", "") == http.StatusOK })
			boottest.WaitFor(t, "readiness that says no", func() bool { return status(ready, "") != 0 })
			if got := status(ready, ""); got != http.StatusServiceUnavailable {
				t.Errorf("/ready: %d", got)
			}
		})
	}
}

// status returns the HTTP status of a URL, requested with token unless that is ""; 0 if there is no
// answer.
func status(url, token string) int {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// lease returns a client for the namespace of the release's Lease, and its name, "" if the Corefile
// has none.
func (r *rendered) lease(t *testing.T, server *kubetest.Server) (dynamic.ResourceInterface, string) {
	t.Helper()
	name := regexp.MustCompile(`(?m)^ +lease ([^/\n]+)/(\S+)$`).FindStringSubmatch(r.corefile)
	if name == nil {
		return nil, ""
	}
	return server.Resource(t, boottest.Ref("coordination.k8s.io/v1", "Lease", name[1])), name[2]
}

func (r *rendered) forgetLease(t *testing.T, server *kubetest.Server) {
	t.Helper()
	leases, name := r.lease(t, server)
	if name == "" {
		return
	}
	if err := leases.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}

// wrote reports whether the Lease is held, which precedes all writes, and a policy's status is
// written.
func (r *rendered) wrote(t *testing.T, server *kubetest.Server) bool {
	t.Helper()
	leases, name := r.lease(t, server)
	kept, err := leases.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return false
	}
	holder, _, _ := unstructured.NestedString(kept.Object, "spec", "holderIdentity")
	policy := boottest.Object(t, server, "kuadrant.io/v1", "DNSPolicy", "shop", "p")
	return holder != "" && policy != nil && kubetest.Condition(policy, "Accepted")
}

// fit adapts the Corefile of a deployment: each volume is a directory, with the content of its
// ConfigMap, or with files as in its Secret.
func (r *rendered) fit(t *testing.T, config string) fitted {
	t.Helper()
	text, root := strings.ReplaceAll(r.corefile, "apps.example.com", "example.com"), t.TempDir() // the zone of checkedPolicy
	for _, m := range r.server.VolumeMounts {
		dir := filepath.Join(root, m.MountPath)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		r.fill(t, r.volume(t, m.Name).Name, dir, config)
		text = strings.ReplaceAll(text, " "+m.MountPath, " "+dir)
	}
	return fit(t, regexp.MustCompile(`(?m)^( +forward \.) .*\{$`).ReplaceAllString(text, "$1 127.0.0.1:1 {"), config)
}

// fill writes the files of a volume.
func (r *rendered) fill(t *testing.T, volume, dir, config string) {
	t.Helper()
	v := r.volume(t, volume)
	for _, obj := range r.of("ConfigMap") {
		data, _, _ := unstructured.NestedStringMap(obj.Object, "data")
		for key, text := range data {
			if v.ConfigMap != nil && v.ConfigMap.Name == obj.GetName() {
				boottest.WriteFile(t, filepath.Join(dir, key), text)
			}
		}
	}
	switch {
	case strings.HasPrefix(volume, "tsig-"):
		for _, key := range []string{"keys", "others"} {
			boottest.WriteFile(t, filepath.Join(dir, key), tsigKey)
		}
	case strings.HasPrefix(volume, "dnssec-"):
		_, key := boottest.NewKey(t, dir, "example.com.", dns.ZONE|dns.SEP)
		for _, end := range []string{".key", ".private"} {
			boottest.WriteFile(t, filepath.Join(dir, "csk"+end), boottest.ReadFile(t, key+end))
		}
	case strings.HasPrefix(volume, "cluster-"):
		boottest.WriteFile(t, filepath.Join(dir, "kubeconfig"), boottest.ReadFile(t, config))
	case volume == "console":
		boottest.WriteFile(t, filepath.Join(dir, "token"), consoleToken)
	case volume == "geo":
		boottest.WriteFile(t, filepath.Join(dir, "geo.mmdb"), boottest.ReadFile(t, "examples/geo.mmdb"))
	}
}

const (
	consoleToken = "0123456789abcdef0123456789abcdef"
	tsigKey      = "key \"transfer.example.com.\" {\n  secret \"NoTCJU+DMqFWywaPyxSijrDEA/eC3nK0xi3AMEZuPVk=\";\n};\n"
)
