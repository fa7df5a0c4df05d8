package controller

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// shiftClock gives a replica another clock: what it writes into its Lease, and into statuses, is
// so much later.
func (r *replica) shiftClock(by time.Duration) {
	r.w.now = func() time.Time { return time.Now().Add(by) }
	r.setBlock(func(req *http.Request) error {
		if !strings.Contains(req.URL.Path, "/leases") || req.Body == nil {
			return nil
		}
		text, err := io.ReadAll(req.Body)
		if err != nil {
			return err
		}
		var lease map[string]any
		if json.Unmarshal(text, &lease) == nil {
			for _, field := range []string{"renewTime", "acquireTime"} {
				at, _, _ := unstructured.NestedString(lease, "spec", field)
				if t, err := time.Parse(metav1.RFC3339Micro, at); err == nil {
					_ = unstructured.SetNestedField(lease, t.Add(by).UTC().Format(metav1.RFC3339Micro), "spec", field)
				}
			}
			if text, err = json.Marshal(lease); err != nil {
				return err
			}
		}
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		req.GetBody = nil
		return nil
	})
}

// TestClocksDiffer: of two replicas whose clocks are an hour apart one writes at a time, whichever
// of them is ahead; what one has written, times and all, the other one leaves as it is.
func TestClocksDiffer(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var status atomic.Int32
			status.Store(int32(api.ConditionTrue))
			verdict := func(*api.DNSPolicy) *api.Verdict {
				v := accepted("said by both")
				v.Conditions[0].Status = api.ConditionStatus(status.Load())
				return v
			}
			wrong := alone(t, policy("a"), nil)
			right := newReplica(t, wrong.server, wrong.ns, nil)
			wrong.shiftClock(by)
			wrong.verdict, right.verdict = verdict, verdict
			wrong.start()
			standing := func() *unstructured.Unstructured { return wrong.get("DNSPolicy", "a") }
			until(t, "status", func() bool { return messageOf(standing(), "Accepted") != "" })
			wrong.rests()
			since, err := time.Parse(time.RFC3339, transition(standing()))
			if off := time.Since(since) + by; err != nil || off < -time.Minute || off > time.Minute {
				t.Errorf("the condition changed at %v", since)
			}
			var looks atomic.Int32
			right.setBlock(func(req *http.Request) error {
				if req.Method == http.MethodGet && strings.HasSuffix(req.URL.Path, "/leases/lease") {
					looks.Add(1)
				}
				return nil
			})
			right.start()
			lease := func() (holder, renewed string) {
				o := wrong.get("Lease", "lease")
				holder, _, _ = unstructured.NestedString(o.Object, "spec", "holderIdentity")
				renewed, _, _ = unstructured.NestedString(o.Object, "spec", "renewTime")
				return holder, renewed
			}
			// The other one has looked at the Lease for longer than it lasts.
			enough := int32(right.w.timing.lease/right.w.timing.retry) + 1
			until(t, "looks at the Lease", func() bool { return looks.Load() > enough })
			holder, renewed := lease()
			if at, err := time.Parse(metav1.RFC3339Micro, renewed); err != nil || holder != wrong.w.opts.Identity ||
				time.Since(at)+by > time.Minute || time.Since(at)+by < -time.Minute {
				t.Errorf("the Lease is held by %s, renewed at %s", holder, renewed)
			}
			if right.leads() || !wrong.leads() || len(right.writes()) > 0 {
				t.Errorf("beside a clock that is off: %v", right.writes())
			}
			wrong.stop()
			until(t, "the other replica", right.leads)
			right.rests()
			if n := len(right.writes()); n > 0 {
				t.Errorf("what stands there was written again: %v", right.writes())
			}
			// What changes now has the time of who writes it, though that be earlier.
			status.Store(int32(api.ConditionFalse))
			right.again()
			until(t, "news", func() bool { return transition(standing()) != since.UTC().Format(time.RFC3339) })
			right.rests()
			if now, err := time.Parse(time.RFC3339, transition(standing())); err != nil || time.Since(now) > time.Minute ||
				time.Since(now) < -time.Minute {
				t.Errorf("the condition changed at %v", now)
			}
		})
	}
}
