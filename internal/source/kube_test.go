package source

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

// looseCRD returns a CRD for DNSPolicies that accepts any spec, so that wrong types reach the
// source. The first version is the storage version; one that starts with "-" is not served.
func looseCRD(versions ...string) string {
	var b strings.Builder
	b.WriteString(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: dnspolicies.kuadrant.io}
spec:
  group: kuadrant.io
  scope: Namespaced
  names: {kind: DNSPolicy, listKind: DNSPolicyList, plural: dnspolicies, singular: dnspolicy}
  versions:
`)
	for i, v := range versions {
		name, hidden := strings.CutPrefix(v, "-")
		fmt.Fprintf(&b, `  - name: %s
    served: %t
    storage: %t
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, name, !hidden, i == 0)
	}
	return b.String()
}

// installPolicies installs or changes the CRD for DNSPolicies, and waits until the server applies
// it.
func installPolicies(t testing.TB, s *kubetest.Server, versions ...string) {
	t.Helper()
	crd := kubetest.Parse(t, looseCRD(versions...))[0]
	r := s.Resource(t, crd)
	text, err := crd.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Apply(t.Context(), crd.GetName(), crd, metav1.ApplyOptions{FieldManager: "test", Force: true}); err != nil {
		t.Fatalf("apply %s: %v", text, err)
	}
	eventually(t, "the CRD to be established", func() bool {
		now, err := r.Get(t.Context(), crd.GetName(), metav1.GetOptions{})
		return err == nil && kubetest.Condition(now, "Established")
	})
}

func deletePolicyCRD(t testing.TB, s *kubetest.Server) {
	t.Helper()
	crd := kubetest.Parse(t, looseCRD("v1"))[0]
	r := s.Resource(t, crd)
	if err := r.Delete(t.Context(), crd.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the CRD to be gone", func() bool {
		_, err := r.Get(t.Context(), crd.GetName(), metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// crdsOnce guards the shared server's CRDs.
var crdsOnce sync.Once

// sharedServer returns the shared server with both kinds installed, and with policies in both
// versions.
func sharedServer(t testing.TB) *kubetest.Server {
	t.Helper()
	s := kubetest.Shared(t)
	crdsOnce.Do(func() {
		s.InstallCRDs(t, kubetest.GatewayAPI)
		installPolicies(t, s, "v1", "v1alpha2")
	})
	return s
}

// feed is a Kubernetes source under test.
type feed struct {
	subject
	src  *kubernetes
	line *line
}

// newFeed prepares a source that reads the server in config, over a line that tests can disturb.
func newFeed(t *testing.T, config *rest.Config, sel Selection) *feed {
	f := &feed{subject: newSubject(t), line: &line{}}
	config = rest.CopyConfig(config)
	config.Wrap(f.line.wrap)
	f.src = Kubernetes(KubernetesOptions{
		Cluster: "west", Config: config, Selection: sel, Logf: f.logf, Infof: f.infof,
		Stats: f.stats,
	}).(*kubernetes)
	f.src.timing.retry = wait.Backoff{Duration: 10 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 50 * time.Millisecond}
	f.src.timing.recheck = wait.Backoff{Duration: 20 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 10, Cap: 50 * time.Millisecond}
	// Wait for all kinds, however slow the machine is.
	f.src.timing.spare = time.Hour
	f.source = f.src
	return f
}

// line is the connection to the API server. It counts requests, and tests can disturb it.
type line struct {
	mu      sync.Mutex
	seen    []string // "METHOD path?query Accept" of all requests
	disturb func(*http.Request) (*http.Response, error)
	streams map[*stream]bool // of open watches
}

func (l *line) wrap(next http.RoundTripper) http.RoundTripper { return &disturbed{l, next} }

// disturbed is a line as an HTTP transport.
type disturbed struct {
	*line
	next http.RoundTripper
}

// WrappedRoundTripper lets the client find the connections to close.
func (l *disturbed) WrappedRoundTripper() http.RoundTripper { return l.next }

func (l *disturbed) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	l.seen = append(l.seen, r.Method+" "+r.URL.RequestURI()+" "+strings.Join(r.Header["Accept"], ","))
	disturb := l.disturb
	l.mu.Unlock()
	if disturb != nil {
		if resp, err := disturb(r); resp != nil || err != nil {
			return resp, err
		}
	}
	resp, err := l.next.RoundTrip(r)
	if err == nil && r.URL.Query().Get("watch") != "" {
		resp.Body = l.track(resp.Body)
	}
	return resp, err
}

// track wraps the body of a watch so that cut can end it.
func (l *line) track(body io.ReadCloser) io.ReadCloser {
	s := &stream{ReadCloser: body, line: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.streams == nil {
		l.streams = make(map[*stream]bool)
	}
	l.streams[s] = true
	return s
}

// set makes f answer requests; a request passes if f returns nil, nil.
func (l *line) set(f func(*http.Request) (*http.Response, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.disturb = f
}

// cut ends all watches, as a load balancer might.
func (l *line) cut() {
	l.mu.Lock()
	open := make([]*stream, 0, len(l.streams))
	for s := range l.streams {
		open = append(open, s)
	}
	l.mu.Unlock()
	for _, s := range open {
		s.broken.Store(true)
		_ = s.ReadCloser.Close()
	}
}

// watches waits until n watches are open.
func (l *line) watches(t *testing.T, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d watches", n), func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.streams) == n
	})
}

// requests counts the requests so far that contain all of the words.
func (l *line) requests(words ...string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.seen {
		ok := true
		for _, w := range words {
			ok = ok && strings.Contains(r, w)
		}
		if ok {
			n++
		}
	}
	return n
}

// stream is the body of a watch.
type stream struct {
	io.ReadCloser
	line   *line
	broken atomic.Bool
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if s.broken.Load() {
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

func (s *stream) Close() error {
	s.line.mu.Lock()
	delete(s.line.streams, s)
	s.line.mu.Unlock()
	return s.ReadCloser.Close()
}

// answer returns an API server's response with the given status.
func answer(r *http.Request, code int32, reason metav1.StatusReason) (*http.Response, error) {
	body, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: code, Reason: reason, Message: "made by the test",
	})
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: int(code), Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(bytes.NewReader(body)),
	}, nil
}

const (
	gatewayResource = "gateways.gateway.networking.k8s.io"
	policyResource  = "dnspolicies.kuadrant.io"
	secretResource  = "secrets"
)

// setAddress changes a Gateway's status, through the subresource.
func setAddress(t *testing.T, s *kubetest.Server, ns, name, address string) {
	t.Helper()
	obj := kubetest.Parse(t, manifest(ns, name))[0]
	r := s.Resource(t, obj)
	now, err := r.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedSlice(now.Object, []any{map[string]any{"type": "IPAddress", "value": address}}, "status",
		"addresses"); err != nil {
		t.Fatal(err)
	}
	written, err := r.UpdateStatus(t.Context(), now, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.AwaitCached(t, written)
}

// removeObject deletes an object.
func removeObject(t *testing.T, s *kubetest.Server, text string) {
	t.Helper()
	obj := kubetest.Parse(t, text)[0]
	if err := s.Resource(t, obj).Delete(t.Context(), obj.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// systemUID is the UID of the server's namespace kube-system.
func systemUID(t *testing.T, s *kubetest.Server) string {
	t.Helper()
	ns := kubetest.Parse(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: kube-system}")[0]
	var uid string
	eventually(t, "namespace kube-system", func() bool {
		now, err := s.Resource(t, ns).Get(t.Context(), "kube-system", metav1.GetOptions{})
		if err == nil {
			uid = string(now.GetUID())
		}
		return err == nil
	})
	return uid
}

// body is a response body.
func body(text string) io.ReadCloser { return io.NopCloser(strings.NewReader(text)) }

// create creates the objects in manifests, several at a time.
func create(t testing.TB, s *kubetest.Server, manifests iter.Seq[string]) {
	t.Helper()
	jobs := make(chan string)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for text := range jobs {
				obj := kubetest.Parse(t, text)[0]
				status := obj.Object["status"]
				r := s.Resource(t, obj)
				made, err := r.Create(t.Context(), obj, metav1.CreateOptions{})
				if err == nil && status != nil {
					made.Object["status"] = status
					_, err = r.UpdateStatus(t.Context(), made, metav1.UpdateOptions{})
				}
				if err != nil {
					t.Errorf("create %s: %v", obj.GetName(), err)
				}
			}
		})
	}
	for text := range manifests {
		jobs <- text
	}
	close(jobs)
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// applyPolicy creates a policy; the CRD may have changed a moment ago.
func applyPolicy(t *testing.T, s *kubetest.Server, text string) {
	t.Helper()
	obj := kubetest.Parse(t, text)[0]
	eventually(t, "the policy to be accepted", func() bool {
		_, err := s.Resource(t, obj).Create(t.Context(), obj, metav1.CreateOptions{})
		return err == nil
	})
}

// zoneManifests are a Zone, a Record, a DNSRecord in each version and a DNSEndpoint.
func zoneManifests(ns string) string {
	return fmt.Sprintf(`
---
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: z, namespace: %[1]s}
spec: {domainName: example.org., delegations: [{records: [{pattern: "*"}]}]}
status: {hash: abc, serial: 2026010100}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: r, namespace: %[1]s}
spec: {domainName: www, zoneRef: {name: z}, type: A, rdata: 192.0.2.1}
---
apiVersion: kuadrant.io/v1alpha1
kind: DNSRecord
metadata: {name: one, namespace: %[1]s, labels: {kuadrant.io/coredns-zone-name: example.org}}
spec: {rootHost: one.example.org, endpoints: [{dnsName: one.example.org, recordType: A, targets: [192.0.2.1]}]}
---
apiVersion: kuadrant.io/v1alpha2
kind: DNSRecord
metadata: {name: two, namespace: %[1]s}
spec: {providerRef: {name: p, namespace: %[1]s}, zoneID: example.org, endpoints: [{dnsName: two.example.org, recordType: A, targets: [192.0.2.1]}]}
---
apiVersion: externaldns.k8s.io/v1alpha1
kind: DNSEndpoint
metadata: {name: e, namespace: %[1]s}
spec: {endpoints: [{dnsName: e.example.org, recordType: A, recordTTL: 60, targets: [192.0.2.1]}]}
`, ns)
}

// zoneObjects are the names of the objects in zoneManifests.
func zoneObjects(ns string) []string {
	return []string{
		"zone " + ns + "/z", "record " + ns + "/r", "dnsrecord " + ns + "/one", "dnsrecord " + ns + "/two",
		"endpoint " + ns + "/e",
	}
}

// probeManifest is a probe of 192.0.2.1 with the given status.
func probeManifest(ns, name, status string) string {
	return fmt.Sprintf(`---
apiVersion: kuadrant.io/v1alpha1
kind: DNSHealthCheckProbe
metadata: {namespace: %s, name: %s}
spec: {address: 192.0.2.1, host: a.example.com}
status: {%s}
`, ns, name, status)
}
