package deploy

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// usedRights records the rights that requests use, in the form of the lists of rights_test.go. Each
// is recorded with its namespace and name, and without: RBAC may grant it either way.
type usedRights struct {
	mu   sync.Mutex
	used map[string]bool
}

// note records the rights used by a request that an API server has allowed.
func (u *usedRights) note(r *http.Request, status int) {
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		return
	}
	verb, resource, namespace, name := attributesOf(r)
	verbs := []string{verb}
	if verb == "patch" && status == http.StatusCreated {
		verbs = append(verbs, "create") // server-side apply may create
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, verb := range verbs {
		for _, in := range []string{"", " in " + namespace} {
			for _, named := range []string{"", " named " + name} {
				u.used[verb+" "+resource+in+named] = true
			}
		}
	}
}

// unused returns the rights that no request has used.
func (u *usedRights) unused(rights []string) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.DeleteFunc(eachVerb(rights), func(right string) bool { return u.used[right] })
}

// rightsProxy is a proxy to a server that records the rights in use.
type rightsProxy struct {
	*boottest.APIProxy
	rights *usedRights
}

// newRightsProxy returns a proxy to a server that records the rights that a user uses.
func newRightsProxy(t *testing.T, server *kubetest.Server, user string) *rightsProxy {
	t.Helper()
	proxy := &rightsProxy{boottest.NewAPIProxy(t, server), &usedRights{used: make(map[string]bool)}}
	proxy.Passed = proxy.rights.note
	boottest.WriteFile(t, proxy.TokenFile, server.User(t, metav1.NamespaceDefault, user).BearerToken)
	return proxy
}

// attributesOf returns the attributes by which RBAC decides: a short form of k8s.io/apiserver's
// RequestInfo.
func attributesOf(r *http.Request) (verb, resource, namespace, name string) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var group string
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		group, parts = "."+parts[1], parts[3:]
	default: // a path matches exactly, or by a pattern
		if strings.HasPrefix(r.URL.Path, "/apis/") {
			return "get", "path /apis/*", "", ""
		}
		return "get", "path " + r.URL.Path, "", ""
	}
	if parts[0] == "namespaces" && len(parts) > 1 {
		namespace = parts[1]
		if len(parts) > 2 {
			parts = parts[2:]
		}
	}
	resource = parts[0]
	if len(parts) > 1 {
		name = parts[1]
	}
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	query := r.URL.Query()
	verb = map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}[r.Method]
	switch {
	case r.Method == http.MethodGet && name != "":
		verb = "get"
	case r.Method == http.MethodGet:
		verb = "list"
		if query.Get("watch") != "" && query.Get("watch") != "false" {
			verb = "watch"
		}
		name, _ = strings.CutPrefix(query.Get("fieldSelector"), "metadata.name=")
	case r.Method == http.MethodDelete && name == "":
		verb = "deletecollection"
	}
	return verb, resource + group, namespace, name
}

// seldomUsed are the rights that TestEveryRightIsUsed uses in a separate run, and why.
var seldomUsed = map[string]string{
	"get path /readyz": "whether an API server that does not name a kind has none, or has just started",
	"get path /livez":  "whether one is alive, four times a minute: its watches may be silent for long",
}

// TestEveryRightIsUsed: a server uses each right that a variant grants, each verb separately. An
// unused verb would serve only an attacker. TestRightsOfVariants checks that the lists match the
// files.
func TestEveryRightIsUsed(t *testing.T) {
	main, further := kubetest.Start(t), kubetest.Start(t)
	for _, s := range []*kubetest.Server{main, further} {
		s.InstallCRDs(t)
		boottest.NeedNamespace(t, s, "kuadrant-dns")
	}
	main.ApplyIn(t, "shop", fmt.Sprintf(boottest.Gateway, "a.example.com", "192.0.2.1")+rightsHeaders)
	for _, c := range []struct {
		variant, options string
		server           *kubetest.Server
		seldom           bool // no kind of external-dns is installed; only seldomUsed applies
	}{
		{"parts/read", "secrets off\nwrite-back off", main, true},
		{"parts/read", "secrets off\nwrite-back off", main, false},
		{"read-only", "write-back off", main, false},
		{"namespaced", "namespaces shop\nwrite-back off\nlease kuadrant-dns", main, false},
		{"full", "lease kuadrant-dns/kuadrant-dns", main, false},
		{"remote", "lease kuadrant-dns/kuadrant-dns", further, false},
	} {
		t.Run(c.variant+map[bool]string{true: " seldom"}[c.seldom], func(t *testing.T) {
			if !c.seldom {
				c.server.InstallCRDs(t, kubetest.ExternalDNS)
			}
			ns := c.server.Namespace(t)
			bindTo(t, c.server, ns, kustomize(t, filepath.Join("config", "rbac", c.variant)), nil)
			proxy := newRightsProxy(t, c.server, ns)
			config, options := proxy.Kubeconfig, []string{c.options, "probe-allow 127.0.0.1", "nameserver ns1.example.com 192.0.2.53"}
			if c.server == further {
				config, options = main.Kubeconfig, append(options, "cluster far "+config)
			}
			log := boottest.Listen(t)
			boottest.Kube(t, config, "example.com", options...)
			if slices.Contains(variants[c.variant], writeRights[0]) {
				writesAll(t, c.server, ns)
			}
			var unused []string
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("not used: %q\nlogged %q", unused, log.All())
				}
			})
			boottest.WaitFor(t, "every right to be used", func() bool {
				unused = slices.DeleteFunc(proxy.rights.unused(variants[c.variant]), func(right string) bool { return (seldomUsed[right] != "") != c.seldom })
				return len(unused) == 0
			})
		})
	}
}

// writesAll makes a server write everything that it can write: children that come and go, more
// owners, and a repeated Event.
func writesAll(t *testing.T, server *kubetest.Server, ns string) {
	t.Helper()
	says := func(reason string, times int64) {
		t.Helper()
		boottest.WaitFor(t, fmt.Sprintf("Event %s, %d times", reason, times), func() bool {
			events, err := server.Resource(t, boottest.Ref("v1", "Event", ns)).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return slices.ContainsFunc(events.Items, func(e unstructured.Unstructured) bool {
				n, _, _ := unstructured.NestedInt64(e.Object, "count")
				return n >= times && e.Object["reason"] == reason && strings.HasPrefix(fmt.Sprint(e.Object["message"]), `host "a.`)
			})
		})
	}
	server.Apply(t, fmt.Sprintf(rightsWritten, ns)+strings.ReplaceAll(rightsHeaders, "namespace: ns", "namespace: "+ns))
	boottest.WaitFor(t, "children", func() bool {
		done := writtenWith(t, server, ns)
		return done["patch dnsrecords/status.kuadrant.io"] && done["patch dnshealthcheckprobes/status.kuadrant.io"]
	})
	says("FailOpen", 1)
	gateway := func(annotations string) {
		_, text, _ := strings.Cut(rightsWritten, "---\napiVersion: gateway.networking.k8s.io/v1\n")
		text, _, _ = strings.Cut(text, "---\n")
		text = strings.Replace(text, "name: gw}", "name: gw, annotations: {"+annotations+"}}", 1)
		text = strings.Replace(text, "listeners: [", "listeners: [{name: b, hostname: b.%[1]s.example.com, port: 80, protocol: HTTP}, ", 1)
		server.Apply(t, "apiVersion: gateway.networking.k8s.io/v1\n"+fmt.Sprintf(text, ns))
	}
	gateway("kuadrant.io/health-override: up")
	says("FailOpenEnded", 1)
	gateway("")
	says("FailOpen", 2)
	policy := boottest.Ref("kuadrant.io/v1", "DNSPolicy", ns)
	if err := server.Resource(t, policy).Delete(t.Context(), "p", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}
