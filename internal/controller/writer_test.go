package controller

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// TestWritesWhatDiffers: a status is written where it does not say what is to be said, with
// the time of what has changed, and not again.
func TestWritesWhatDiffers(t *testing.T) {
	r := alone(t, policy("a")+policy("b"), nil)
	var said atomic.Value
	said.Store("first")
	r.verdict = func(*api.DNSPolicy) *api.Verdict { return accepted(said.Load().(string)) }
	r.start()
	until(t, "status", func() bool { return r.accepted("a") == "first" && r.accepted("b") == "first" })
	r.rests()
	if n := len(r.writes()); n != 2 {
		t.Errorf("%d writes for two objects: %v", n, r.writes())
	}
	// The message alone changes: the condition's time stays (KEP-1623).
	before := r.get("DNSPolicy", "a")
	said.Store("second")
	r.again()
	until(t, "news", func() bool { return r.accepted("a") == "second" && r.accepted("b") == "second" })
	r.rests()
	if was, is := transition(before), transition(r.get("DNSPolicy", "a")); was != is || was == "" {
		t.Errorf("a message that changes moves the time of the condition from %q to %q", was, is)
	}
}

func transition(obj *unstructured.Unstructured) string {
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	if len(list) == 0 {
		return ""
	}
	return list[0].(map[string]any)["lastTransitionTime"].(string)
}

// TestNothingIsMadeAnew: an object that goes while its status is on its way does not come
// back, and one that is made anew gets no verdict about the one before it.
func TestNothingIsMadeAnew(t *testing.T) {
	r := alone(t, policy("a"), nil)
	r.verdict = func(p *api.DNSPolicy) *api.Verdict { return accepted("about " + p.UID) }
	var deleted atomic.Bool
	var replace atomic.Bool
	r.setBlock(func(req *http.Request) error {
		if req.Method == http.MethodPatch && deleted.CompareAndSwap(false, true) {
			err := r.all("DNSPolicy").Delete(t.Context(), "a", metav1.DeleteOptions{})
			if err == nil && replace.Load() {
				again := kubetest.Parse(t, policy("a"))[0]
				again.SetNamespace(r.ns)
				_, err = r.all("DNSPolicy").Create(t.Context(), again, metav1.CreateOptions{})
			}
			if err != nil {
				t.Error(err)
			}
		}
		return nil
	})
	r.start()
	until(t, "write", deleted.Load)
	r.rests()
	if o := r.get("DNSPolicy", "a"); o != nil {
		t.Errorf("the object came back: %v", o.Object)
	}
	replace.Store(true)
	deleted.Store(false)
	r.server.ApplyIn(t, r.ns, policy("a"))
	until(t, "verdict about the new object", func() bool {
		o := r.get("DNSPolicy", "a")
		return deleted.Load() && o != nil && messageOf(o, "Accepted") == "about "+string(o.GetUID())
	})
	r.rests()
}

// TestChildren: the objects of a policy are made, follow what they should be, and go with it.
func TestChildren(t *testing.T) {
	// A record of somebody else has one of the names.
	r := alone(t, policy("a")+`---
apiVersion: kuadrant.io/v1alpha1
kind: DNSRecord
metadata: {name: gw-taken}
spec: {rootHost: b.example.com, endpoints: [{dnsName: b.example.com, recordType: A, targets: [192.0.2.9]}]}
`, nil)
	var wanted atomic.Value
	wanted.Store([]string{"gw-a", "gw-b", "gw-taken"})
	var address atomic.Value
	address.Store("192.0.2.1")
	r.children = func(p *api.DNSPolicy) (all []api.Child) {
		for _, name := range wanted.Load().([]string) {
			all = append(all, recordOf(p, name, address.Load().(string)))
		}
		return all
	}
	r.start()
	targets := func(name string) string {
		o := r.record(name)
		if o == nil {
			return "none"
		}
		list, _, _ := unstructured.NestedSlice(o.Object, "spec", "endpoints")
		return fmt.Sprint(list[0].(map[string]any)["targets"])
	}
	until(t, "records", func() bool { return targets("gw-a") == "[192.0.2.1]" && targets("gw-b") == "[192.0.2.1]" })
	r.rests()
	if targets("gw-taken") != "[192.0.2.9]" || len(r.logged("gw-taken")) != 1 {
		t.Errorf("somebody else's record: %s, %v", targets("gw-taken"), r.logged("gw-taken"))
	}
	o := r.record("gw-a")
	if owners := o.GetOwnerReferences(); len(owners) != 1 || owners[0].APIVersion != "kuadrant.io/v1" ||
		owners[0].Kind != "DNSPolicy" || owners[0].Name != "a" {
		t.Errorf("owners: %+v", owners)
	}
	address.Store("192.0.2.2")
	wanted.Store([]string{"gw-a"})
	r.again()
	until(t, "change", func() bool { return targets("gw-a") == "[192.0.2.2]" && targets("gw-b") == "none" })
	r.rests()
	r.remove("DNSPolicy", "a")
	until(t, "end of the policy's records", func() bool { return targets("gw-a") == "none" })
	r.rests()
	if targets("gw-taken") != "[192.0.2.9]" {
		t.Error("somebody else's record has gone")
	}
}

// TestStatusOnly: with write-back status, no object is made.
func TestStatusOnly(t *testing.T) {
	r := alone(t, policy("a"), func(o *Options) { o.StatusOnly = true })
	r.has("gw-a")
	r.start()
	until(t, "status", func() bool { return r.accepted("a") != "" })
	r.rests()
	for _, w := range r.writes() {
		if !strings.HasSuffix(w, "/status") {
			t.Errorf("written: %s", w)
		}
	}
}

// TestOneWriter: of two replicas one writes; one that cannot renew the Lease stops before the
// other begins, and what it had on its way is not written.
func TestOneWriter(t *testing.T) {
	t.Parallel()
	by := func(name string) func(*api.DNSPolicy) *api.Verdict {
		return func(*api.DNSPolicy) *api.Verdict { return accepted("by " + name) }
	}
	one := alone(t, policy("a"), nil)
	two := newReplica(t, one.server, one.ns, nil)
	one.verdict, two.verdict = by("one"), by("two")
	one.start()
	until(t, "the first replica's status", func() bool { return one.accepted("a") == "by one" })
	two.start()
	one.rests()
	if two.leads() || len(two.writes()) > 0 {
		t.Fatal("both write")
	}
	until(t, "the holder of the Lease", func() bool { return two.w.Holder() == one.w.opts.Identity })
	// The first one's requests to its Lease fail from now on.
	one.setBlock(func(req *http.Request) error {
		if strings.Contains(req.URL.Path, "/leases") {
			return errors.New("cut off")
		}
		return nil
	})
	until(t, "the other replica's status", func() bool { return one.accepted("a") == "by two" })
	if one.leads() {
		t.Error("the first replica still leads")
	}
	before := len(one.writes())
	one.again()
	two.rests()
	if n := len(one.writes()); n != before {
		t.Errorf("the first replica goes on to write: %v", one.writes()[before:])
	}
	if one.accepted("a") != "by two" {
		t.Errorf("it says %q", one.accepted("a"))
	}
	// It comes back, and takes over once the other one ends, which gives the Lease back.
	one.setBlock(nil)
	two.stop()
	if holder, _, _ := unstructured.NestedString(one.get("Lease", "lease").Object, "spec", "holderIdentity"); holder == two.w.opts.Identity {
		t.Error("the Lease is not given back")
	}
	until(t, "the first replica's status", func() bool { return one.accepted("a") == "by one" })
}

// TestLateWrite: a replica that was paused in the middle of a write does not undo what
// another one has written meanwhile.
func TestLateWrite(t *testing.T) {
	one := alone(t, policy("a"), nil)
	held, resumed := make(chan struct{}), make(chan struct{})
	var once atomic.Bool
	one.setBlock(func(req *http.Request) error {
		if strings.HasSuffix(req.URL.Path, "/status") && once.CompareAndSwap(false, true) {
			close(held)
			<-resumed
			// As if the context's timer had been paused, too.
			*req = *req.WithContext(t.Context())
		}
		return nil
	})
	one.verdict = func(*api.DNSPolicy) *api.Verdict { return accepted("late") }
	one.start()
	<-held
	// Another writer, whatever its lease says.
	body := `{"apiVersion":"kuadrant.io/v1","kind":"DNSPolicy","metadata":{"name":"a"},"status":{"conditions":[{"type":"Accepted","status":"True","reason":"Accepted","message":"in time","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`
	_, err := one.all("DNSPolicy").Patch(t.Context(), "a", types.ApplyPatchType, []byte(body),
		metav1.PatchOptions{FieldManager: FieldManager}, "status")
	if err != nil {
		t.Fatal(err)
	}
	one.verdict = func(*api.DNSPolicy) *api.Verdict { return accepted("in time") }
	one.again()
	close(resumed)
	one.rests()
	if got := one.accepted("a"); got != "in time" {
		t.Errorf("it says %q", got)
	}
}

// TestOtherControllers: beside Kuadrant's operators, nothing is written that they write, and
// one Event says so; what they have left behind does not count.
func TestOtherControllers(t *testing.T) {
	t.Parallel()
	s := kubetest.Start(t)
	s.InstallCRDs(t)
	ns := s.Namespace(t)
	s.ApplyIn(t, ns, policy("a")+policy("b")+`---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: a3f98d6c.kuadrant.io}
spec: {holderIdentity: operator, leaseDurationSeconds: 15, renewTime: "2020-01-01T00:00:00.000000Z"}
`)
	r := newReplica(t, s, ns, nil)
	r.has("gw-*")
	// The operator has written the status of one policy.
	b := r.get("DNSPolicy", "b")
	err := json.Unmarshal([]byte(operatorStatus), &b.Object)
	if err == nil {
		_, err = r.all("DNSPolicy").UpdateStatus(t.Context(), b, metav1.UpdateOptions{FieldManager: "manager"})
	}
	if err != nil {
		t.Fatal(err)
	}
	r.w.now = func() time.Time { return time.Now().Add(time.Hour) } // another clock than the operator's
	var looks atomic.Int32
	r.setBlock(func(req *http.Request) error {
		if strings.Contains(req.URL.RawQuery, "a3f98d6c.kuadrant.io") {
			_, err := r.all("Lease").Patch(t.Context(), "a3f98d6c.kuadrant.io", types.MergePatchType,
				fmt.Appendf(nil, `{"spec":{"renewTime":"2020-01-01T00:00:%02d.000000Z"}}`, looks.Add(1)%60), metav1.PatchOptions{})
			if err != nil && t.Context().Err() == nil {
				t.Error(err)
			}
		}
		return nil
	})
	r.start()
	until(t, "word of the operator", func() bool { return len(r.logged("dns-operator (lease "+ns+"/a3f98d6c.kuadrant.io) runs")) == 1 })
	r.rests()
	if len(r.writes()) > 0 {
		t.Errorf("beside the operator this was written: %v", r.writes())
	}
	until(t, "Event", func() bool {
		list, err := r.all("Event").List(t.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) == 1 && strings.Contains(fmt.Sprint(list.Items[0].Object["message"]), "dns-operator")
	})
	// The operator is gone; its Lease stays, as does what it wrote.
	r.setBlock(nil)
	until(t, "record", func() bool { return r.record("gw-a") != nil })
	until(t, "status", func() bool { return r.accepted("a") != "" })
	r.rests()
	if got := r.accepted("b"); got != "by the operator" {
		t.Errorf("the operator's status was overwritten: %q", got)
	}
	// Bug B2: what docs/write-back.md says gives the policy free.
	text, err := os.ReadFile(filepath.Join(kubetest.ModuleRoot(), "docs", "write-back.md"))
	release := regexp.MustCompile(`kubectl patch dnspolicy -n \$ns \$name --subresource=status --type=merge -p '([^']*)'`).FindSubmatch(text)
	if err != nil || release == nil {
		t.Fatalf("docs/write-back.md has no command: %v", err)
	}
	r.patch("DNSPolicy", "b", "kubectl-patch", string(release[1]), "status")
	until(t, "status of b", func() bool { return strings.Contains(r.accepted("b"), "accepted") })
}

// TestChildrenBesideFieldManager: the Leases of Kuadrant's operators may not be read, and the status
// of a policy says that one of them is at work (docs/write-back.md: their field managers or Leases).
// Its DNSRecords are that operator's, and none is written for it.
func TestChildrenBesideFieldManager(t *testing.T) {
	r := alone(t, policy("a")+policy("b"), nil)
	r.patch("DNSPolicy", "b", "manager", operatorStatus, "status")
	r.has("gw-*")
	r.setBlock(func(req *http.Request) error {
		if strings.Contains(req.URL.RawQuery, "kuadrant.io") && strings.Contains(req.URL.Path, "/leases") {
			return apierrors.NewForbidden(schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}, "", nil)
		}
		return nil
	})
	r.start()
	until(t, "status of a", func() bool { return r.accepted("a") != "" })
	r.rests()
	if o := r.record("gw-b"); o != nil {
		t.Errorf("a DNSRecord was written for a policy whose status another controller writes: %s", o.GetName())
	}
}

// TestGatewayConditionIsTakenOver: kuadrant-operator, which is gone, has written the condition on a Gateway, and nobody can release that
// as the status of a policy.
func TestGatewayConditionIsTakenOver(t *testing.T) {
	r := alone(t, `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw}
spec: {gatewayClassName: c, listeners: [{name: a, port: 80, protocol: HTTP}]}
`, nil)
	affected := func(message string) gatewayStatus {
		return gatewayStatus{Conditions: []metav1.Condition{{
			Type: "kuadrant.io/DNSPolicyAffected", Status: "True", Reason: "Accepted", Message: message, LastTransitionTime: metav1.Now(),
		}}}
	}
	o := r.patch("Gateway", "gw", "manager", `{"status":`+string(encoded(affected("by the operator")))+`}`, "status")
	r.start()
	until(t, "lead", r.leads)
	err := r.w.apply(t.Context(), &write{
		ref: api.Ref{Kind: api.KindGateway, Name: r.ns + "/gw"}, apiVersion: versions["Gateway"], uid: string(o.GetUID()),
		version: o.GetResourceVersion(), subresource: "status", field: "status", value: affected("by us"),
	})
	if got := messageOf(r.get("Gateway", "gw"), "kuadrant.io/DNSPolicyAffected"); err != nil || got != "by us" {
		t.Errorf("%q, %v", got, err)
	}
}
