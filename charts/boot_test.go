package charts

import (
	"context"
	"fmt"
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

	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// world is what the servers are to answer from.
const world = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec:
  gatewayClassName: any
  listeners: [{name: a, hostname: a.example.com, port: 80, protocol: HTTP}]
status: {addresses: [{value: 192.0.2.1}]}
---
apiVersion: kuadrant.io/v1
kind: DNSPolicy
metadata: {name: web, labels: {env: test, tier: web}}
spec: {targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: web}}
`

// TestRuns runs CoreDNS with the Corefile and the rights of each set of values, against a real API server: it answers for
// the zone, is healthy and ready, counts, writes what it is to write, and misses nothing.
func TestRuns(t *testing.T) {
	server := kubetest.Shared(t)
	server.InstallCRDs(t, kubetest.GatewayAPI, kubetest.ExternalDNS)
	install(t, server, renderFile(t, helms[0], "public").of("CustomResourceDefinition"))
	needNamespace(t, server, "lease-home")
	binary := peertest.CoreDNS(t, kubetest.ModuleRoot())
	for values := range valuesFiles(t) {
		t.Run(values, func(t *testing.T) {
			r := renderFile(t, helms[0], values)
			server.ApplyIn(t, "shop", world) // anew each time: nobody has written to it
			config := r.user(t, server)
			f := r.fit(t, config)
			t.Cleanup(func() { r.forgetLease(t, server) }) // a server that is killed leaves it behind
			addr, printed := peertest.RunCoreDNS(t, binary, f.text, "KUBECONFIG="+config, "HOSTNAME=a")
			waitFor(t, "answer", func() bool { return askFirst(addr, "a.example.com.") == "192.0.2.1" })
			for _, url := range []string{f.health + "/health", f.ready + "/ready", f.metrics + "/metrics"} {
				waitFor(t, url, func() bool { return get(http.DefaultClient, "http://"+url) == http.StatusOK })
			}
			if f.console != "" {
				checkConsole(t, "http://"+f.console+"/api/v1/server")
			}
			if strings.Contains(f.text, "write-back all") || strings.Contains(f.text, "write-back status") {
				waitFor(t, "status written", func() bool { return r.wrote(t, server) })
			}
			if strings.Contains(f.text, "    kubernetes ") {
				name := "kubernetes.default.svc." + regexp.MustCompile(`kubernetes (\S+)`).FindStringSubmatch(f.text)[1] + "."
				waitFor(t, "the cluster's own names", func() bool { return askFirst(addr, name) == "10.0.0.1" })
			}
			if log := printed(); regexp.MustCompile(`(?i)forbidden|not allowed|\[ERROR\] plugin/[^e]|\[WARNING\] plugin/(tsig|dnssec|transfer)`).MatchString(log) {
				t.Errorf("logged\n%s\nwith the Corefile\n%s", log, f.text)
			}
		})
	}
}

// lease returns the client of the namespace of the release's Lease, and its name, "" where the Corefile names none.
func (r *rendered) lease(t *testing.T, server *kubetest.Server) (dynamic.ResourceInterface, string) {
	t.Helper()
	name := regexp.MustCompile(`(?m)^ +lease ([^/\n]+)/(\S+)$`).FindStringSubmatch(r.corefile)
	if name == nil {
		return nil, ""
	}
	lease := &unstructured.Unstructured{}
	lease.SetAPIVersion("coordination.k8s.io/v1")
	lease.SetKind("Lease")
	lease.SetNamespace(name[1])
	return server.Resource(t, lease), name[2]
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

// wrote tells whether the Lease of this release is held, which is taken before anything is written, and a policy's status is written.
func (r *rendered) wrote(t *testing.T, server *kubetest.Server) bool {
	t.Helper()
	leases, name := r.lease(t, server)
	kept, err := leases.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return false
	}
	holder, _, _ := unstructured.NestedString(kept.Object, "spec", "holderIdentity")
	policy := kubetest.Parse(t, "{apiVersion: kuadrant.io/v1, kind: DNSPolicy, metadata: {name: web, namespace: shop}}")[0]
	written, err := server.Resource(t, policy).Get(t.Context(), "web", metav1.GetOptions{})
	return err == nil && holder != "" && kubetest.Condition(written, "Accepted")
}

// user binds the roles of the release to a user of its own in place of its account, for as long as the test takes, and returns the path of
// a kubeconfig for it.
func (r *rendered) user(t *testing.T, server *kubetest.Server) string {
	t.Helper()
	name := server.Namespace(t) // a name that is nobody's
	user := server.User(t, metav1.NamespaceDefault, name)
	roles := slices.Concat(r.of("ClusterRole"), r.of("Role"), r.of("ClusterRoleBinding"), r.of("RoleBinding"))
	for i, obj := range roles {
		obj = obj.DeepCopy()
		roles[i] = obj
		if strings.HasSuffix(obj.GetKind(), "Binding") {
			subject := map[string]any{"kind": "ServiceAccount", "namespace": metav1.NamespaceDefault, "name": name}
			obj.Object["subjects"] = []any{subject}
		}
		obj.SetName(obj.GetName() + ":" + name)
		if to, ok, _ := unstructured.NestedString(obj.Object, "roleRef", "name"); ok {
			_ = unstructured.SetNestedField(obj.Object, to+":"+name, "roleRef", "name")
		}
		if ns := obj.GetNamespace(); ns != "" {
			needNamespace(t, server, ns)
		}
		if _, err := server.Resource(t, obj).Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	server.AwaitRights(t, name, roles)
	return kubetest.WriteKubeconfig(t, user)
}

// fitted is a Corefile that is to run on a machine that has its ports taken, and lacks the volumes and the other servers that it names.
type fitted struct {
	text                            string
	health, ready, metrics, console string // addresses; console is "" where there is none
}

// fit makes the Corefile fit for a test: each volume is a directory, with what its ConfigMap has, or with files such as its Secret would have.
func (r *rendered) fit(t *testing.T, config string) fitted {
	t.Helper()
	f := fitted{text: r.corefile}
	for name, address := range map[string]*string{"health": &f.health, "ready": &f.ready, "metrics": &f.metrics, "console": &f.console} {
		if r.port(name) == 0 {
			continue
		}
		*address = fmt.Sprintf("127.0.0.1:%d", peertest.FreePort(t))
		f.text = strings.ReplaceAll(f.text, fmt.Sprintf(" :%d", r.port(name)), " "+*address)
	}
	root := t.TempDir()
	for _, m := range r.server.VolumeMounts {
		dir := filepath.Join(root, m.MountPath)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		r.fill(t, r.volume(t, m.Name).Name, dir, config)
		f.text = strings.ReplaceAll(f.text, " "+m.MountPath, " "+dir)
	}
	f.text = regexp.MustCompile(`(?m)^( +forward \.) .*\{$`).ReplaceAllString(f.text, "$1 127.0.0.1:1 {")
	f.text = regexp.MustCompile(`(?m)^([^ \n#(].*)\{$`).ReplaceAllString(f.text, "$1{\n    bind 127.0.0.1")
	// The one plugin that does not know the variable.
	f.text = regexp.MustCompile(`(?m)^ +kubernetes .*\{$`).ReplaceAllString(f.text, "$0\n        kubeconfig "+config)
	return f
}

// fill writes the files of a volume.
func (r *rendered) fill(t *testing.T, volume, dir, config string) {
	t.Helper()
	v := r.volume(t, volume)
	for _, obj := range r.of("ConfigMap") {
		data, _, _ := unstructured.NestedStringMap(obj.Object, "data")
		for key, text := range data {
			if v.ConfigMap != nil && v.ConfigMap.Name == obj.GetName() {
				writeFile(t, filepath.Join(dir, key), text)
			}
		}
	}
	switch {
	case strings.HasPrefix(volume, "tsig-"):
		for _, key := range []string{"keys", "others"} {
			writeFile(t, filepath.Join(dir, key), "key \"transfer.example.com.\" {\n  secret \"NoTCJU+DMqFWywaPyxSijrDEA/eC3nK0xi3AMEZuPVk=\";\n};\n")
		}
	case strings.HasPrefix(volume, "dnssec-"):
		writeKey(t, filepath.Join(dir, "csk"))
	case strings.HasPrefix(volume, "cluster-"):
		text, err := os.ReadFile(config)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, "kubeconfig"), string(text))
	case volume == "console":
		writeFile(t, filepath.Join(dir, "token"), consoleToken)
	case volume == "geo":
		text, err := os.ReadFile(filepath.Join(kubetest.ModuleRoot(), "examples", "geo.mmdb"))
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, "geo.mmdb"), string(text))
	}
}

// consoleToken is the token of the console in tests.
const consoleToken = "0123456789abcdef0123456789abcdef"

// checkConsole checks that the console lets in those who have the token, and nobody else.
func checkConsole(t *testing.T, url string) {
	t.Helper()
	if got := get(http.DefaultClient, url); got != http.StatusUnauthorized {
		t.Errorf("without the token, %s is answered with %d", url, got)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+consoleToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("with the token, %s is answered with %s", url, resp.Status)
	}
}

// writeKey makes a key for example.com in two files, as dnssec-keygen does.
func writeKey(t *testing.T, path string) {
	t.Helper()
	key := &dns.DNSKEY{
		Hdr:   dns.RR_Header{Name: "example.com.", Rrtype: dns.TypeDNSKEY, Class: dns.ClassINET, Ttl: 3600},
		Flags: dns.ZONE | dns.SEP, Protocol: 3, Algorithm: dns.ECDSAP256SHA256,
	}
	private, err := key.Generate(256)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, path+".key", key.String()+"\n")
	writeFile(t, path+".private", key.PrivateKeyString(private))
}

// askFirst returns the first address for a name, "" where nobody answers.
func askFirst(addr, name string) string {
	m := new(dns.Msg)
	m.SetQuestion(name, dns.TypeA)
	reply, _, err := new(dns.Client).Exchange(m, addr)
	if err != nil {
		return ""
	}
	for _, rr := range reply.Answer {
		if a, ok := rr.(*dns.A); ok {
			return a.A.String()
		}
	}
	return ""
}
