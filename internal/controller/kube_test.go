package controller

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

// until waits for a condition.
func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	if !kubetest.Comes(cond) {
		t.Fatalf("no %s after a minute", what)
	}
}

// replica is a Writer with the source that tells it how objects stand. It says of each policy
// what verdict makes of it, and has the children that children makes.
type replica struct {
	t        testing.TB
	server   *kubetest.Server // nil in a world
	ns       string
	w        *Writer
	src      source.Source
	verdict  func(*api.DNSPolicy) *api.Verdict
	children func(*api.DNSPolicy) []api.Child
	probes   func(*api.DNSRecord) []api.Child // nil for none
	stop     func()

	telling sync.Mutex   // what is newer is told later
	cluster *api.Cluster // the last that was heard of; guarded by telling

	mu    sync.Mutex
	lines []string
	sent  []string // writes: method and path
	block func(*http.Request) error
}

// alone returns a replica that does not run yet in a namespace of its own with these objects, at the API server that tests share.
func alone(t testing.TB, objects string, change func(*Options)) *replica {
	t.Helper()
	s := kubetest.Shared(t)
	s.InstallCRDs(t)
	ns := s.Namespace(t)
	s.ApplyIn(t, ns, objects)
	return newReplica(t, s, ns, change)
}

// newReplica returns a replica that does not run yet. Its Lease is shared by those of one namespace.
func newReplica(t testing.TB, s *kubetest.Server, namespace string, change func(*Options)) *replica {
	t.Helper()
	r := &replica{
		t: t, server: s, ns: namespace, verdict: func(p *api.DNSPolicy) *api.Verdict { return accepted("DNSPolicy has been accepted") },
		children: func(*api.DNSPolicy) []api.Child { return nil },
	}
	config := rest.CopyConfig(s.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return roundTripper{r, next} })
	opts := Options{
		Cluster: "local", Config: config, Namespace: namespace, Lease: "lease", Identity: fmt.Sprintf("%s-%p", t.Name(), r),
		QPS: 1000, Burst: 1000, Warnf: r.logf, Infof: r.logf, Kept: func(Kept) {},
	}
	if change != nil {
		change(&opts)
	}
	w, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	// A busy API server may take seconds to renew a Lease.
	w.timing.lease, w.timing.renew, w.timing.retry = 10*time.Second, 8*time.Second, 200*time.Millisecond
	w.timing.others, w.timing.gather, w.timing.backoff = 500*time.Millisecond, 10*time.Millisecond, 20*time.Millisecond
	r.w = w
	r.src = source.Kubernetes(source.KubernetesOptions{
		Cluster: "local", Config: config, Selection: source.Selection{Namespaces: []string{namespace}, NoSecrets: true},
		Logf: func(string, ...any) {}, Observer: w.Cache(),
	})
	return r
}

// start runs the replica until the test ends, or stop is called.
func (r *replica) start() *replica {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { r.w.Run(ctx) })
	wg.Go(func() {
		_ = r.src.Run(ctx, func(c *api.Cluster) {
			r.telling.Lock()
			defer r.telling.Unlock()
			r.cluster = c
			r.w.Follow(says{r, c}, slices.Clone(c.Changed))
		})
	})
	var once sync.Once
	r.stop = func() { once.Do(func() { cancel(); wg.Wait() }) }
	r.t.Cleanup(r.stop)
	return r
}

// again says everything once more, or what some objects are told.
func (r *replica) again(changed ...api.Ref) {
	r.telling.Lock()
	defer r.telling.Unlock()
	r.w.Follow(says{r, r.cluster}, changed)
}

// heard returns a copy of the cluster as the source last told it.
func (r *replica) heard() api.Cluster {
	r.telling.Lock()
	defer r.telling.Unlock()
	return *r.cluster
}

func (r *replica) logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

// logged returns the lines of the log that hold a text.
func (r *replica) logged(text string) (lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lines {
		if strings.Contains(l, text) {
			lines = append(lines, l)
		}
	}
	return lines
}

// writes returns the writes that were sent, those to the Lease and of Events apart.
func (r *replica) writes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.sent)
}

func (r *replica) leads() bool { return r.w.Leads() }

// setBlock lets requests fail as block says; nil lets all pass.
func (r *replica) setBlock(block func(*http.Request) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.block = block
}

// rests waits until everything stands as it is said: until a look at all of it writes nothing. What
// the watch has not told yet may lead to a write more, at any moment before.
func (r *replica) rests() {
	r.t.Helper()
	r.idles()
	until(r.t, "look that writes nothing", func() bool {
		before := len(r.writes())
		r.again()
		r.idles()
		return len(r.writes()) == before
	})
}

// idles waits until nothing is to be looked at, and sees it twice: an object that a worker has just
// taken is neither in the queue nor counted yet.
func (r *replica) idles() {
	r.t.Helper()
	seen := 0
	until(r.t, "rest", func() bool {
		if k := r.w.leading(); k == nil || k.backlog() > 0 {
			seen = 0
			return false
		}
		seen++
		return seen > 1
	})
}

// roundTripper notes and disturbs requests.
type roundTripper struct {
	r    *replica
	next http.RoundTripper
}

func (rt roundTripper) WrappedRoundTripper() http.RoundTripper { return rt.next }

func (rt roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	rt.r.mu.Lock()
	block := rt.r.block
	rt.r.mu.Unlock()
	if block != nil {
		if err := block(req); err != nil {
			return nil, err
		}
	}
	if req.Method != http.MethodGet && !strings.Contains(req.URL.Path, "/leases") && !strings.Contains(req.URL.Path, "/events") {
		rt.r.mu.Lock()
		rt.r.sent = append(rt.r.sent, req.Method+" "+req.URL.Path)
		rt.r.mu.Unlock()
	}
	return rt.next.RoundTrip(req)
}

// says is what a replica says of a cluster.
type says struct {
	r *replica
	c *api.Cluster
}

func (s says) Of(ref api.Ref) *Report {
	meta := s.c.MetaOf(ref)
	p, ok := s.c.Policies.Get(ref.Name)
	if !ok || ref.Kind != api.KindDNSPolicy {
		return nil
	}
	return &Report{Verdict: s.r.verdict(p), UID: meta.UID, Generation: meta.Generation, Deleting: meta.Deleting}
}

func (s says) Objects(kind api.Kind, yield func(string) bool) { s.c.Names(kind, "")(yield) }

func (s says) Meta(ref api.Ref) *api.Meta { return s.c.MetaOf(ref) }

func (s says) Settled(api.Ref) bool { return true }

func (s says) Children(of api.Ref) []api.Child {
	if p, ok := s.c.Policies.Get(of.Name); ok && of.Kind == api.KindDNSPolicy {
		return s.r.children(p)
	}
	if r, ok := s.c.DNSRecords.Get(of.Name); ok && of.Kind == api.KindDNSRecord && s.r.probes != nil {
		return s.r.probes(r)
	}
	return nil
}

func (s says) Listed(kind api.Kind) bool { return s.c.Listings[kind] == api.Listed }

// accepted is a verdict with a message.
func accepted(message string) *api.Verdict {
	return &api.Verdict{TotalRecords: 1, Conditions: []api.Condition{{
		Type: "Accepted", Status: api.ConditionTrue,
		Reason: "Accepted", Message: message,
	}}}
}

// recordOf is a child DNSRecord of a policy with an address.
func recordOf(p *api.DNSPolicy, name, address string) api.Child {
	return api.Child{
		Kind: api.KindDNSRecord, Name: p.Namespace() + "/" + name, Owner: api.ChildOwner{Kind: api.KindDNSPolicy, Name: p.Name, UID: p.UID},
		Labels: map[string]string{api.LabelManagedBy: api.ManagedBy},
		Record: &api.ChildRecord{
			RootHost: "a.example.com", ZoneID: "example.com",
			Endpoints: []api.WrittenEndpoint{{DNSName: "a.example.com", Type: "A", TTL: 60, Targets: []string{address}}},
		},
	}
}

// policy is a DNSPolicy as a manifest.
func policy(name string) string {
	return fmt.Sprintf(`---
apiVersion: kuadrant.io/v1
kind: DNSPolicy
metadata: {name: %s}
spec: {targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: gw}}
`, name)
}

// versions are those in which tests read and write.
var versions = map[string]string{
	"DNSPolicy": "kuadrant.io/v1", "DNSRecord": "kuadrant.io/v1alpha1", "DNSHealthCheckProbe": "kuadrant.io/v1alpha1",
	"Gateway": "gateway.networking.k8s.io/v1", "Lease": "coordination.k8s.io/v1", "Event": "v1", "CustomResourceDefinition": "apiextensions.k8s.io/v1",
}

// all is the admin's client for the objects of a kind in r's namespace.
func (r *replica) all(kind string) dynamic.ResourceInterface {
	obj := new(unstructured.Unstructured)
	obj.SetAPIVersion(versions[kind])
	obj.SetKind(kind)
	obj.SetNamespace(r.ns)
	return r.server.Resource(r.t, obj)
}

// get reads an object; nil where there is none.
func (r *replica) get(kind, name string) *unstructured.Unstructured {
	got, err := r.all(kind).Get(r.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return got
}

// record reads a DNSRecord.
func (r *replica) record(name string) *unstructured.Unstructured { return r.get("DNSRecord", name) }

// uid is that of a DNSRecord, "" for none.
func (r *replica) uid(name string) string {
	if o := r.record(name); o != nil {
		return string(o.GetUID())
	}
	return ""
}

// accepted is what the condition of a policy says, "" for none.
func (r *replica) accepted(name string) string {
	return messageOf(r.get("DNSPolicy", name), "Accepted")
}

// patch changes an object as a field manager: by a list of JSON patches, or by what is merged.
func (r *replica) patch(kind, name, manager, patch string, subresource ...string) *unstructured.Unstructured {
	r.t.Helper()
	how := types.MergePatchType
	if patch[0] == '[' {
		how = types.JSONPatchType
	}
	o, err := r.all(kind).Patch(r.t.Context(), name, how, []byte(patch), metav1.PatchOptions{FieldManager: manager}, subresource...)
	if err != nil {
		r.t.Fatal(err)
	}
	return o
}

// remove deletes an object.
func (r *replica) remove(kind, name string) {
	r.t.Helper()
	if err := r.all(kind).Delete(r.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		r.t.Fatal(err)
	}
}

// has gives each policy a DNSRecord of that name, in which * is the policy's.
func (r *replica) has(name string) {
	r.children = func(p *api.DNSPolicy) []api.Child {
		return []api.Child{recordOf(p, strings.ReplaceAll(name, "*", p.BareName()), "192.0.2.1")}
	}
}

// operatorStatus is what Kuadrant's operator has written of a policy.
const operatorStatus = `{"status":{"conditions":[{"type":"Accepted","status":"True","reason":"Accepted","message":"by the operator",` +
	`"lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`

// messageOf returns the message of a condition; "" for none.
func messageOf(obj *unstructured.Unstructured, condition string) string {
	if obj == nil {
		return ""
	}
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, c := range list {
		if c := c.(map[string]any); c["type"] == condition {
			return c["message"].(string)
		}
	}
	return ""
}
