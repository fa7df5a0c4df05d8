package source

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// password begins every value of a Secret in tests, and no log line holds it.
const password = "hunter2"

const headersLabel = `kuadrant.io/probe-headers: "true"`

// secretManifest is a Secret with one header.
func secretManifest(ns, name, labels, value string) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: Secret
metadata: {namespace: %s, name: %s, labels: {%s}}
stringData: {X-Token: %s}
`, ns, name, labels, password+value)
}

// referringPolicy is a policy whose checks send the headers of a Secret.
func referringPolicy(ns, name, secret string) string {
	return fmt.Sprintf(`---
apiVersion: kuadrant.io/v1
kind: DNSPolicy
metadata: {namespace: %s, name: %s}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: a}
  healthCheck: {path: /healthz, additionalHeadersRef: {name: %s}}
`, ns, name, secret)
}

// token is the value of a Secret's header, "" where c does not have the Secret.
func token(c *api.Cluster, name string) string {
	if c == nil {
		return ""
	}
	s, ok := c.Secrets.Get(name)
	if !ok || len(s.Headers) != 1 || s.Headers[0].Name != "X-Token" {
		return ""
	}
	return strings.TrimPrefix(s.Headers[0].Value, password)
}

// token waits for a value of a Secret.
func (r *recorder) token(name, value string) {
	r.t.Helper()
	r.wait(fmt.Sprintf("value %q of %s", value, name), func() bool { return token(r.newest(), name) == value })
}

// keepsSecrets checks that no value was logged.
func (r *recorder) keepsSecrets() {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range r.lines {
		if strings.Contains(line, password) || strings.Contains(line, base64.StdEncoding.EncodeToString([]byte(password))[:8]) {
			r.t.Errorf("logged %q", line)
		}
	}
	for _, c := range r.clusters {
		if text := fmt.Sprintf("%+v %v", c, c.Secrets); strings.Contains(text, password) {
			r.t.Errorf("printed %q", text)
		}
	}
}

// newSecretFeed prepares a source of a new namespace that has some Secrets: the
// policy a refers to the first, which has the label, b to one that has not.
func newSecretFeed(t *testing.T) (f *feed, s *kubetest.Server, ns string) {
	s = sharedServer(t)
	ns = s.Namespace(t)
	s.Apply(t, secretManifest(ns, "first", headersLabel, "1")+secretManifest(ns, "idle", headersLabel, "idle")+
		secretManifest(ns, "plain", "kuadrant.io/probe-headers: 'no'", "plain")+
		referringPolicy(ns, "a", "first")+referringPolicy(ns, "b", "plain"))
	f = newFeed(t, s.Config, Selection{Namespaces: []string{ns}})
	f.src.timing.fetch = f.src.timing.retry
	t.Cleanup(func() { f.keepsSecrets() })
	return f, s, ns
}

// TestSecretsAreFetchedByNeed follows a Secret through all that may become of
// it. What nobody refers to, and what has no label, is never asked for.
func TestSecretsAreFetchedByNeed(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			f, s, ns := newSecretFeed(t)
			f.src.chunked = mode.chunked
			f.start()
			policies := []string{"p " + ns + "/a", "p " + ns + "/b"}
			c := f.objects(append(policies, "secret "+ns+"/first")...)
			f.token(ns+"/first", "1")
			f.wait("the listing", func() bool { return f.newest().Listings[api.KindSecret] == api.Listed })
			f.mu.Lock()
			for _, c := range f.clusters {
				if c.Listings[api.KindSecret] == api.Listed && c.Secrets.Len() == 0 {
					t.Error("listed before it was fetched")
				}
			}
			f.mu.Unlock()
			if m := c.Secrets; m.Len() != 1 {
				t.Errorf("%d Secrets", m.Len())
			}
			eventually(t, "synced", f.stats.Synced)

			s.Apply(t, secretManifest(ns, "first", headersLabel, "2"))
			f.token(ns+"/first", "2")
			if changed := f.latest().Changed; !slices.Equal(changed, []api.Ref{{Kind: api.KindSecret, Name: ns + "/first"}}) {
				t.Errorf("changed %v", changed)
			}
			// What is not kept may change.
			secret := func(c *api.Cluster) any { v, _ := c.Secrets.Get(ns + "/first"); return v }
			before, fetched := values(f.recorder, secret), f.line.requests("secrets/first")
			patchSecret(t, s, ns, "first", `{"metadata":{"annotations":{"kuadrant.io/note":"x"}},"type":"Opaque"}`)
			eventually(t, "another look", func() bool { return f.line.requests("secrets/first") > fetched })
			s.Apply(t, secretManifest(ns, "first", headersLabel, "3"))
			f.token(ns+"/first", "3")
			if n := values(f.recorder, secret); n != before+1 {
				t.Errorf("%d values for one change", n-before)
			}

			s.Apply(t, referringPolicy(ns, "b", "idle"))
			f.objects(append(policies, "secret "+ns+"/first", "secret "+ns+"/idle")...)
			// The label goes, and comes back.
			patchSecret(t, s, ns, "idle", `{"metadata":{"labels":{"kuadrant.io/probe-headers":"false"}}}`)
			f.objects(append(policies, "secret "+ns+"/first")...)
			patchSecret(t, s, ns, "idle", `{"metadata":{"labels":{"kuadrant.io/probe-headers":"true"}}}`)
			f.objects(append(policies, "secret "+ns+"/first", "secret "+ns+"/idle")...)
			// So does the last reference, with the Secret in one cluster.
			s.Apply(t, referringPolicy(ns, "a", "none"))
			c = f.objects(append(policies, "secret "+ns+"/idle")...)
			if policyOf(t, c, ns+"/a").HealthCheck.HeadersSecret == "first" || len(c.Changed) != 2 {
				t.Errorf("changed %v", c.Changed)
			}
			fetched = f.line.requests("secrets/first")
			s.Apply(t, secretManifest(ns, "first", headersLabel, "4"))
			removeObject(t, s, secretManifest(ns, "idle", "", ""))
			f.objects(policies...)
			if n := f.line.requests("secrets/first"); n != fetched {
				t.Errorf("%d requests for what nobody refers to", n-fetched)
			}
			s.Apply(t, referringPolicy(ns, "a", "first"))
			f.token(ns+"/first", "4")

			if n := f.line.requests("secrets/plain"); n != 0 {
				t.Errorf("%d requests for a Secret without the label", n)
			}
			if all, some := f.line.requests("/secrets?"), f.line.requests("/secrets?", "fieldSelector=type%21%3Dhelm.sh"); all != some || all == 0 {
				t.Errorf("%d of %d lists and watches without the Secrets that clusters have most of", some, all)
			}
		})
	}
}

// patchSecret merges a change into a Secret.
func patchSecret(t *testing.T, s *kubetest.Server, ns, name, patch string) {
	t.Helper()
	r := s.Resource(t, kubetest.Parse(t, secretManifest(ns, name, "", ""))[0])
	if _, err := r.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestSecretsAreWatchedWithoutValues looks at what lists and watches send: names,
// and nothing that a Secret holds.
func TestSecretsAreWatchedWithoutValues(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			f, _, ns := newSecretFeed(t)
			f.src.chunked = mode.chunked
			var mu sync.Mutex
			var sent []string
			f.line.set(func(r *http.Request) (*http.Response, error) {
				if strings.HasSuffix(r.URL.Path, "/secrets") {
					mu.Lock()
					defer mu.Unlock()
					sent = append(sent, r.Header.Get("Accept"))
				}
				return nil, nil
			})
			f.start()
			f.token(ns+"/first", "1")
			mu.Lock()
			defer mu.Unlock()
			for _, accept := range sent {
				if strings.Contains(accept, ",") || !strings.Contains(accept, "as=PartialObjectMetadata") {
					t.Errorf("Accept: %s", accept)
				}
			}
			if len(sent) == 0 {
				t.Error("no requests")
			}
		})
	}
	// And should all of it come nonetheless, it is not taken in.
	c := &codec{cluster: "c", kind: api.KindSecret}
	text := `{"kind":"Secret","metadata":{"namespace":"ns","name":"a","resourceVersion":"7"},"stringData":{"a":"` + password + `"}}`
	obj, _, err := c.Decode([]byte(text), nil, nil)
	w, ok := obj.(*wire)
	if err != nil || !ok || w.name != "ns/a" || !reflect.DeepEqual(w.value, secretHead{version: "7"}) {
		t.Errorf("%+v, %v", obj, err)
	}
}

// TestSecretsThatAreForbidden: without rights to read Secrets all else is read,
// it is said once what is missing, and they are taken in once they may be read.
func TestSecretsThatAreForbidden(t *testing.T) {
	_, s, ns := newSecretFeed(t)
	policies := []string{"p " + ns + "/a", "p " + ns + "/b"}
	for _, tt := range []struct {
		name, said    string
		rules         []rbacv1.PolicyRule
		more          []string
		before, after api.Listing
	}{
		{
			"list", `cannot list resource "secrets"`,
			[]rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}},
			[]string{"list", "watch"},
			api.NotListed, api.Listed,
		},
		{"get", `cannot get resource "secrets"`, readOnly(secretResource), []string{"get"}, api.Listed, api.Listed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			user := s.Namespace(t) // a name that is nobody's
			rules := append(readOnly(gatewayResource, policyResource), tt.rules...)
			config := s.User(t, ns, user, rules...)
			f := newFeed(t, config, Selection{Namespaces: []string{ns}})
			f.src.timing.fetch = f.src.timing.retry
			f.start()
			f.objects(policies...)
			f.log("not allowed", tt.said, "grant", "secrets off")
			f.wait("the listing", func() bool {
				return f.newest().Complete() && f.newest().Listings[api.KindSecret] == tt.before
			})
			tried := f.line.requests("secrets")
			eventually(t, "more attempts", func() bool { return f.line.requests("secrets") > tried+3 })
			if f.stats.Synced() {
				t.Error("synced")
			}
			allow(t, s, ns, user, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: tt.more})
			f.objects(append(policies, "secret "+ns+"/first")...)
			f.log("secrets", "can be read")
			f.wait("the listing", func() bool { return f.newest().Listings[api.KindSecret] == tt.after })
			eventually(t, "synced", f.stats.Synced)
			if n := f.logged("not allowed"); n != 1 {
				t.Errorf("said %d times", n)
			}
			f.keepsSecrets()
		})
	}
}

// allow gives a user one more rule in a namespace.
func allow(t *testing.T, s *kubetest.Server, ns, user string, rule rbacv1.PolicyRule) {
	t.Helper()
	s.Apply(t, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {namespace: %[1]s, name: %[2]s-more}
rules:
- {apiGroups: [""], resources: [%[3]s], verbs: [%[4]s]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {namespace: %[1]s, name: %[2]s-more}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %[2]s-more}
subjects: [{kind: ServiceAccount, namespace: default, name: %[2]s}]
`, ns, user, rule.Resources[0], strings.Join(rule.Verbs, ", ")))
}

// TestNoSecrets: nothing is listed or fetched where Secrets are left out.
func TestNoSecrets(t *testing.T) {
	for name, sel := range map[string]Selection{
		"off":   {NoSecrets: true},
		"kinds": {Kinds: []api.Kind{api.KindGateway, api.KindDNSPolicy}},
		"both":  {Kinds: []api.Kind{api.KindDNSPolicy, api.KindSecret}, NoSecrets: true},
	} {
		t.Run(name, func(t *testing.T) {
			f, _, ns := newSecretFeed(t)
			sel.Namespaces = []string{ns}
			f.src.opts.Selection = sel
			f.start()
			c := f.objects("p "+ns+"/a", "p "+ns+"/b")
			if c.Listings[api.KindSecret] != api.NotWatched {
				t.Errorf("listings %v", c.Listings)
			}
			eventually(t, "synced", f.stats.Synced)
			f.stop()
			if n := f.line.requests("secrets"); n != 0 {
				t.Errorf("%d requests for Secrets", n)
			}
		})
	}
}
