package controller

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
	v1 "github.com/coredns-kuadrant/kuadrant/api/v1"
)

// TestSettledStays: what an API server keeps otherwise than it was written is not written again, as
// long as its watch tells of nothing newer.
func TestSettledStays(t *testing.T) {
	var s Cache
	s.init()
	ref := api.Ref{Kind: api.KindRecord, Name: "ns/a"}
	for _, c := range []struct {
		stands, wrote string // versions
		want          string
	}{
		{"5", "5", "written to 5"},
		{"5", "", "written to 5"}, // the watch tells of the same once more
		{"6", "5", ""},            // the watch was faster
		{"6", "6", "written to 6"},
	} {
		s.Stands(ref.Kind, ref.Name, &object{uid: "u", version: c.stands})
		s.wrote(&write{ref: ref, uid: "u", version: c.wrote, settled: "written to " + c.wrote})
		if got := s.get(ref).settled; got != c.want {
			t.Errorf("version %s stands, %q was written to: settled is %q, want %q", c.stands, c.wrote, got, c.want)
		}
	}
}

// TestVersionsComeOnceMore: etcd is set back to an older state, and gives a version that an object
// had once more: to another object of its name, or to the same one in another state. What was
// settled of the first is not settled of that one, or its status is never written.
func TestVersionsComeOnceMore(t *testing.T) {
	status := func(observed int64) *v1.DNSPolicyStatus { return &v1.DNSPolicyStatus{ObservedGeneration: observed} }
	before := object{uid: "u", version: "7", generation: 1, status: status(1)}
	for what, c := range map[string]struct {
		after object
		want  string
	}{
		"itself":         {object{uid: "u", version: "7", generation: 1, status: status(1)}, "what was written"},
		"another object": {object{uid: "v", version: "7", generation: 1, status: status(1)}, ""},
		"another spec":   {object{uid: "u", version: "7", generation: 2, status: status(1)}, ""},
		"another status": {object{uid: "u", version: "7", generation: 1, status: status(0)}, ""},
		"a later one":    {object{uid: "u", version: "8", generation: 1, status: status(1)}, ""},
	} {
		var s Cache
		s.init()
		ref, first := api.Ref{Kind: api.KindDNSPolicy, Name: "ns/a"}, before
		s.Stands(ref.Kind, ref.Name, &first)
		s.wrote(&write{ref: ref, uid: "u", version: "7", settled: "what was written"})
		s.Stands(ref.Kind, ref.Name, &c.after)
		if got := s.get(ref).settled; got != c.want {
			t.Errorf("%s: settled is %q, want %q", what, got, c.want)
		}
		again := before
		s.Listed(ref.Kind, "", map[string]any{ref.Name: &again})
		if got := s.get(ref).settled; got != "" {
			t.Errorf("%s: after a list settled is %q", what, got)
		}
	}
}

// TestStandingStatusIsRead: what is to be said of a policy is worked out while its watch looks at
// the status that stands there, which has conditions of hosts: a race, if either wrote to it.
func TestStandingStatusIsRead(t *testing.T) {
	standing := forms[api.KindDNSPolicy].read([]byte(`{"recordConditions": {"a.example.com": [{"type": "Ready", "status": "True"}], "b.example.com": []}}`))
	said := &Said{Verdict: accepted("accepted")}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			if same(forms[api.KindDNSPolicy].make(said, standing, time.Unix(0, 0)), standing) {
				t.Error("two statuses that differ are the same")
			}
		})
	}
	all.Wait()
}

// unreachable is a Writer that reaches no server.
func unreachable(t *testing.T, change func(*Options)) (w *Writer, lines *[]string) {
	t.Helper()
	lines = new([]string)
	logf := func(format string, args ...any) { *lines = append(*lines, fmt.Sprintf(format, args...)) }
	opts := Options{
		Cluster: "local", Config: &rest.Config{Host: "https://127.0.0.1:1"}, Namespace: "ns", Lease: "lease", Identity: "me",
		QPS: 1, Burst: 1, Warnf: logf, Infof: logf, Kept: func(Kept) {},
	}
	if change != nil {
		change(&opts)
	}
	w, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return w, lines
}

// TestKeptAfterRestore: etcd is set back to an older state. A list tells what the
// ConfigMaps hold now, whatever versions they had before; a registry that goes on to believe the
// newer ones can write none of them again, for their versions never come.
func TestKeptAfterRestore(t *testing.T) {
	var kept Kept
	w, _ := unreachable(t, func(o *Options) { o.Keep, o.Kept = true, func(k Kept) { kept = k } })
	m := func(version, owner string) *corev1.ConfigMap {
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lease-owners-0", UID: "u", ResourceVersion: version},
			Data:       map[string]string{fieldOwners: "www.example.com. local DNSPolicy ns/" + owner + " -\n"},
		}
	}
	store := (*registryStore)(w.registry)
	_ = store.Replace([]any{m("1000", "newer")}, "1000")
	_ = store.Replace([]any{m("400", "older")}, "500") // a list of the restored server
	if o, _ := kept.Owners.Get("www.example.com."); o.Name != "ns/older" {
		t.Errorf("after the restore the owner is %s", o.Name)
	}
	if got := w.registry.owners.volumes["lease-owners-0"].version; got != "400" {
		t.Errorf("the next write is sent for version %s, and the server has 400: a conflict for ever", got)
	}
}

// TestToldOfManyObjects: objects that the API server has refused, and that are gone, do not keep
// what the operator must know out of the log.
func TestToldOfManyObjects(t *testing.T) {
	w, lines := unreachable(t, nil)
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "DNSRecord"}, "x", nil)
	for i := range maxTold {
		ref := api.Ref{Kind: api.KindDNSRecord, Name: fmt.Sprintf("tenant/r%d", i)}
		w.cache.Stands(ref.Kind, ref.Name, &object{uid: "u", version: "1"})
		_ = w.tell(ref, writeStatus, invalid)
		w.cache.Gone(ref.Kind, ref.Name)
	}
	*lines = nil
	w.told.result(w, "lease", w.lease.what("update"), apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "lease", nil))
	if len(*lines) == 0 {
		t.Error("that the Lease may not be renewed any more is not said")
	}
}

// TestToldTooOften: where more objects have failures than are kept, each is not said anew at each
// attempt.
func TestToldTooOften(t *testing.T) {
	w, lines := unreachable(t, nil)
	now := time.Unix(1000, 0)
	w.now = func() time.Time { return now }
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "DNSRecord"}, "x", nil)
	const objects = maxTold + 500
	fail := func() (said int) {
		*lines = nil
		for i := range objects {
			ref := api.Ref{Kind: api.KindDNSRecord, Name: fmt.Sprintf("tenant/r%d", i)}
			w.cache.Stands(ref.Kind, ref.Name, &object{uid: "u", version: "1"})
			_ = w.tell(ref, writeStatus, invalid)
		}
		return len(*lines)
	}
	if n := fail(); n != maxTold+1 || !strings.Contains((*lines)[maxTold], "of more nothing is said") {
		t.Errorf("%d lines, the last of which is %q", n, (*lines)[n-1])
	}
	now = now.Add(time.Minute)
	if n := fail(); n != 0 {
		t.Errorf("%d lines at the second attempt", n)
	}
	now = now.Add(forgetful)
	if n := fail(); n != maxTold+1 {
		t.Errorf("%d lines after some time", n)
	}
}

// TestProbeWithoutLastCheck: Kuadrant's CRD of probes has no status.lastCheck. What was
// written is the same after the next check, then, as nothing has changed (rule 4.8).
func TestProbeWithoutLastCheck(t *testing.T) {
	form := forms[api.KindProbe]
	standing := form.read([]byte(`{"healthy":true,"status":200,"observedGeneration":1}`))
	settled := func(at time.Time) string {
		said := &Said{Verdict: new(api.Verdict), Generation: 1, Probe: &api.ProbeStatus{Healthy: api.ConditionTrue, Status: 200, LastCheck: at}}
		value, err := plain(form.make(said, standing, zeroTime))
		if err != nil {
			t.Fatal(err)
		}
		return digest(value)
	}
	if settled(time.Unix(1000, 0)) != settled(time.Unix(1030, 0)) {
		t.Error("each look at a probe after another check is another write")
	}
}

// lockedKeeps reports whether its registry is locked while it is asked.
type lockedKeeps struct {
	k      *registry
	locked bool
}

func (l *lockedKeeps) Kept() uint64 { return l.k.generation }

func (l *lockedKeeps) Holdings() map[string]api.Owner {
	if l.k.mu.TryLock() {
		l.k.mu.Unlock()
	} else {
		l.locked = true
	}
	return nil
}
func (*lockedKeeps) Serials() map[string]api.Kept           { return nil }
func (*lockedKeeps) Gone(string, api.Owner) (gone, is bool) { return true, true }
func (*lockedKeeps) Unserved(string) bool                   { return false }

// TestKeepDoesNotWaitForHoldings: Holdings goes through all names. What publishes the next snapshot
// calls Writer.Keep, and must not wait for that.
func TestKeepDoesNotWaitForHoldings(t *testing.T) {
	w, _ := unreachable(t, func(o *Options) { o.Keep = true })
	_ = (*registryStore)(w.registry).Replace(nil, "1")
	keeps := &lockedKeeps{k: w.registry}
	w.Keep(keeps)
	if err := w.registry.write(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if keeps.locked {
		t.Error("the lock that Keep needs is held while all names are gone through")
	}
}
