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

// TestSettledStays: what an API server keeps otherwise than it was written is not
// written again (work.go, settled). A write that changes nothing leaves the version as it is;
// and where the watch is faster than the answer, it has told of that version already.
func TestSettledStays(t *testing.T) {
	var s Standing
	s.init()
	ref := api.Ref{Kind: api.KindRecord, Name: "ns/a"}
	at := func(version string) *object { return &object{uid: "u", version: version} }
	s.Stands(ref.Kind, ref.Name, at("5"))
	s.written(s.send(ref), at("5"), "what was written") // changed nothing there
	if got := s.get(ref).settled; got != "what was written" {
		t.Errorf("after a write that has changed nothing, settled is %q: it is written again at each look", got)
	}
	s.Stands(ref.Kind, ref.Name, at("6")) // the watch tells of the write first
	s.written(s.send(ref), at("6"), "the next")
	if got := s.get(ref).settled; got != "the next" {
		t.Errorf("where the watch was faster, settled is %q", got)
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
		var s Standing
		s.init()
		ref, first := api.Ref{Kind: api.KindDNSPolicy, Name: "ns/a"}, before
		s.written(s.send(ref), &first, "what was written")
		s.Listed(ref.Kind, "", map[string]any{ref.Name: &c.after})
		if got := s.get(ref).settled; got != c.want {
			t.Errorf("%s: settled is %q, want %q", what, got, c.want)
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
// ConfigMaps hold now, whatever versions they had before; a keeper that goes on to believe the
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
	store := (*keptStore)(w.keeper)
	_ = store.Replace([]any{m("1000", "newer")}, "1000")
	_ = store.Replace([]any{m("400", "older")}, "500") // a list of the restored server
	if o, _ := kept.Owners.Get("www.example.com."); o.Name != "ns/older" {
		t.Errorf("after the restore the owner is %s", o.Name)
	}
	if got := w.keeper.owners.volumes["lease-owners-0"].version; got != "400" {
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
		w.standing.Stands(ref.Kind, ref.Name, &object{uid: "u", version: "1"})
		_ = w.tell(ref, writeStatus, invalid)
		w.standing.Gone(ref.Kind, ref.Name)
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
			w.standing.Stands(ref.Kind, ref.Name, &object{uid: "u", version: "1"})
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

// lockedKeeps tells whether its keeper is locked while it is asked.
type lockedKeeps struct {
	k      *keeper
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
	_ = (*keptStore)(w.keeper).Replace(nil, "1")
	keeps := &lockedKeeps{k: w.keeper}
	w.Keep(keeps)
	if err := w.keeper.write(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if keeps.locked {
		t.Error("the lock that Keep needs is held while all names are gone through")
	}
}
