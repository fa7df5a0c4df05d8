package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// kubeCommands control an API server, and the connection to it.
var kubeCommands = map[string]func(*script, []string){
	"server": func(s *script, all []string) { // one of its own, with these sets of CRDs
		s.t.Parallel()
		s.server = kubetest.Start(s.t)
		if all[0] != "bare" {
			s.server.InstallCRDs(s.t, map[string][]kubetest.CRDs{
				"all": nil, "everything": {kubetest.GatewayAPI, kubetest.Kuadrant, kubetest.ExternalDNS},
			}[all[0]]...)
		}
	},
	"crds": func(s *script, _ []string) { s.server.InstallCRDs(s.t, kubetest.GatewayAPI) },
	"crd": func(s *script, all []string) { // the versions of DNSPolicy
		if len(all) == 0 {
			deletePolicyCRD(s.t, s.server)
		} else {
			installPolicies(s.t, s.server, all...)
		}
	},
	"apply":  func(s *script, all []string) { s.at().Apply(s.t, s.text(all)) },
	"create": func(s *script, all []string) { applyPolicy(s.t, s.server, s.text(all)) },
	"delete": func(s *script, all []string) {
		for _, word := range all {
			removeObject(s.t, s.at(), s.text([]string{word}))
		}
	},
	"status": func(s *script, all []string) { // of a Gateway: its address
		ns, name, _ := strings.Cut(s.place(all[0]), "/")
		setAddress(s.t, s.at(), ns, name, all[1])
	},
	"patch": func(s *script, all []string) {
		obj := kubetest.Parse(s.t, s.text(all[:1]))[0]
		_, err := s.at().Resource(s.t, obj).Patch(s.t.Context(), obj.GetName(), types.MergePatchType, []byte(all[1]), metav1.PatchOptions{})
		s.must(err)
	},
	"rights": func(s *script, all []string) { // NAMESPACE|* RIGHT...: the next feed is a user with only these
		if all[0] == "*" {
			all[0] = ""
		}
		s.user, s.rights = s.at().Namespace(s.t), all // a new name
	},
	"grant": func(s *script, all []string) { // NAMESPACE|* RIGHT: one more right
		grant(s.t, s.at(), s.space(strings.TrimPrefix(all[0], "*")), s.user, rules(all[1:])[0])
	},
	"feed":    func(s *script, all []string) { s.newFeed(all) },
	"use":     func(s *script, all []string) { s.use(s.feeds[all[0]]) },
	"disturb": func(s *script, all []string) { s.feed.line.set(s.disturbance(all)) },
	"cut":     func(s *script, _ []string) { s.feed.line.cut() },
	"watches": func(s *script, all []string) { s.feed.line.watches(s.t, number(all[0])) },
	"asked":   func(s *script, all []string) { s.check(s.feed.line.requests(s.expand(all[1])), all[0]) },
	"asks": func(s *script, all []string) { // N WORD: wait for N more requests
		before := s.feed.line.requests(s.expand(all[1]))
		eventually(s.t, s.line, func() bool { return s.feed.line.requests(s.expand(all[1])) >= before+number(all[0]) })
	},
	"asking": func(s *script, all []string) { s.asked = s.feed.line.requests(s.expand(all[0])) },
	"await": func(s *script, all []string) { // N WORD: wait for N requests in all
		eventually(s.t, s.line, func() bool { return s.feed.line.requests(s.expand(all[1])) == number(all[0]) })
	},
	"more": func(s *script, all []string) { // more than asking counted
		eventually(s.t, s.line, func() bool { return s.feed.line.requests(s.expand(all[0])) > s.asked })
	},
	"every": func(s *script, all []string) { // WORD WORD: each request with the first word has the second
		n := s.feed.line.requests(all[0])
		s.check(s.feed.line.requests(all...), n)
		s.check(n > 0, true)
	},
	"lists": func(s *script, all []string) { // MODE
		s.check(s.feed.line.requests("limit=") > 0, all[0] == "chunked")
		s.check(s.feed.line.requests("sendInitialEvents=true") > 0, all[0] == "streaming")
	},
	"no-more": func(s *script, all []string) { s.check(s.feed.line.requests(s.expand(all[0])), s.asked) },
	"end":     func(s *script, _ []string) { s.server.Stop() },
	"kill":    func(s *script, _ []string) { s.server.Kill() },
	"restart": func(s *script, _ []string) { s.server.Restart(s.t) },
	"freeze": func(s *script, _ []string) {
		s.must(s.server.Freeze())
		s.t.Cleanup(func() { _ = s.server.Thaw() })
	},
	"thaw":    func(s *script, _ []string) { s.must(s.server.Thaw()) },
	"backup":  func(s *script, _ []string) { s.restore = s.server.Backup(s.t) },
	"restore": func(s *script, _ []string) { s.restore() },
}

// disturbance returns a function that answers requests by rules WHERE=>REPLY. The first rule
// applies whose WHERE occurs in the request's method and URI; a WHERE that ends in $ must end the
// path. Other requests pass.
func (s *script) disturbance(all []string) func(*http.Request) (*http.Response, error) {
	if s.over != nil {
		close(s.over)
	}
	over := make(chan struct{})
	s.over = over
	return func(r *http.Request) (*http.Response, error) {
		for _, word := range all {
			at, reply, _ := strings.Cut(word, "=>")
			end, ends := strings.CutSuffix(at, "$")
			is := strings.Contains(r.Method+" "+r.URL.RequestURI(), strings.TrimPrefix(at, "*"))
			if ends {
				is = strings.HasSuffix(r.URL.Path, end)
			}
			if is {
				return replyTo(r, reply, over)
			}
		}
		return nil, nil
	}
}

// replyTo answers a request: with an API server's error code, with a page that no API server made,
// or otherwise.
func replyTo(r *http.Request, what string, over <-chan struct{}) (*http.Response, error) {
	kind, number, _ := strings.Cut(what, "-")
	code, _ := strconv.Atoi(cmp.Or(number, kind))
	switch kind {
	case "pass":
		return nil, nil
	case "refused":
		return nil, errRefused
	case "cut":
		return nil, errors.New("cut")
	case "hang":
		select {
		case <-over:
			return nil, nil
		case <-r.Context().Done():
			return nil, context.Cause(r.Context())
		}
	}
	resp, err := answer(r, int32(code), reasons[code])
	switch kind {
	case "groups": // from a server without DNSPolicies
		resp.StatusCode, resp.Body = 200, body(`{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"apps","versions":[]}]}`)
	case "map":
		resp.StatusCode, resp.Body = 200, body(`{"kind":"ConfigMap","metadata":{"name":"first"}}`)
	case "later":
		resp.StatusCode, resp.Body = 200, body(`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure",`+
			`"reason":"TooManyRequests","code":429}}`)
	case "page":
		resp.Header = http.Header{"Content-Type": {"text/html"}, "Retry-After": {"3600"}}
		resp.Body = body("<html><body>something else</body></html>")
	case "leak":
		resp.Header.Set("Content-Type", "text/html")
		resp.Body = body(`{"kind":"Secret","metadata":{"name":"x","labels":{"kuadrant.io/probe-headers":"true"}},"stringData":{"a":"` +
			password + `"}} ` + password)
	}
	return resp, err
}

var reasons = map[int]metav1.StatusReason{
	401: metav1.StatusReasonUnauthorized, 403: metav1.StatusReasonForbidden, 404: metav1.StatusReasonNotFound,
	405: metav1.StatusReasonMethodNotAllowed, 410: metav1.StatusReasonExpired, 500: metav1.StatusReasonInternalError,
	503: metav1.StatusReasonServiceUnavailable, 504: metav1.StatusReasonTimeout,
}

// rules returns the rules for words: RESOURCE grants list and watch, get=RESOURCE grants get, uid
// grants get of the namespace kube-system.
func rules(all []string) (rules []rbacv1.PolicyRule) {
	for _, word := range all {
		rule := rbacv1.PolicyRule{Verbs: []string{"list", "watch"}}
		name, gets := strings.CutPrefix(word, "get=")
		if word == "uid" {
			name, gets, rule.ResourceNames = "namespaces", true, []string{"kube-system"}
		}
		if gets {
			rule.Verbs = []string{"get"}
		}
		resource, group, _ := strings.Cut(name, ".")
		rule.Resources, rule.APIGroups = []string{resource}, []string{group}
		rules = append(rules, rule)
	}
	return rules
}

// grant gives a user one more rule in a namespace; "" means all.
func grant(t *testing.T, s *kubetest.Server, ns, user string, rule rbacv1.PolicyRule) {
	t.Helper()
	kind := "Role"
	if ns == "" {
		kind, ns = "ClusterRole", "default"
	}
	s.Apply(t, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: %[1]s
metadata: {namespace: %[2]s, name: %[3]s-more}
rules:
- {apiGroups: [%[4]q], resources: [%[5]s], verbs: [%[6]s]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: %[1]sBinding
metadata: {namespace: %[2]s, name: %[3]s-more}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: %[1]s, name: %[3]s-more}
subjects: [{kind: ServiceAccount, namespace: default, name: %[3]s}]
`, kind, ns, user, rule.APIGroups[0], rule.Resources[0], strings.Join(rule.Verbs, ", ")))
}

// newFeed prepares a feed of the server, as the flags say.
func (s *script) newFeed(flags []string) {
	sel, others := s.selection(flags)
	if _, all := others["everywhere"]; len(sel.Namespaces) == 0 && !all {
		sel.Namespaces = []string{s.space("ns")}
	}
	config := s.at().Config
	if s.rights != nil {
		config = s.at().User(s.t, s.space(s.rights[0]), s.user, rules(s.rights[1:])...)
		s.rights = nil
	}
	if _, alone := others["alone"]; alone { // with connections of its own
		config = rest.CopyConfig(config)
		config.Dial = (&net.Dialer{}).DialContext
	}
	f := newFeed(s.t, config, sel)
	f.src.timing.fetch = f.src.timing.retry
	_, f.src.chunked = others["chunked"]
	times := map[string]*time.Duration{
		"confirm": &f.src.timing.confirm, "spare": &f.src.timing.spare, "watch": &f.src.timing.watch, "pulse": &f.src.timing.pulse,
		"answer": &f.src.timing.answer, "retry": &f.src.timing.retry.Duration, "fetch": &f.src.timing.fetch.Duration,
	}
	for key, value := range others {
		if times[key] != nil {
			d, err := time.ParseDuration(value)
			s.must(err)
			*times[key] = d
		}
	}
	s.feeds[others["name"]] = f
	s.use(f)
}

func (s *script) use(f *feed) { s.feed, s.subject = f, &f.subject }
