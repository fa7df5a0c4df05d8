package controller

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// lastMoment is a Lease that is won at the moment at which the writer is ended.
type lastMoment struct {
	resourcelock.Interface
	end context.CancelFunc
}

func (lastMoment) Identity() string   { return "this" }
func (lastMoment) Describe() string   { return "" }
func (lastMoment) RecordEvent(string) {}

func (lastMoment) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return nil, nil, apierrors.NewNotFound(schema.GroupResource{}, "")
}

func (l lastMoment) Create(ctx context.Context, _ resourcelock.LeaderElectionRecord) error {
	l.end()
	<-ctx.Done() // the election has been told
	return nil
}

func (lastMoment) Update(context.Context, resourcelock.LeaderElectionRecord) error { return nil }

// TestWonAtTheEnd: nothing is written after a writer has ended, though it won the Lease at that moment.
func TestWonAtTheEnd(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			w := &Writer{timing: timing{lease: 15 * time.Second, renew: 10 * time.Second, retry: 2 * time.Second}}
			l := &lease{Interface: lastMoment{end: end}, w: w}
			var ended atomic.Bool
			l.run(ctx, func(context.Context) {
				if ended.Load() {
					t.Error("it leads after its end")
				}
			})
			ended.Store(true)
			synctest.Wait()
		})
	}
}

// readOnly is a Lease that may be read, and not written.
type readOnly struct{ lastMoment }

func (readOnly) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return new(resourcelock.LeaderElectionRecord), nil, nil
}

func (readOnly) Update(context.Context, resourcelock.LeaderElectionRecord) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "lease", nil)
}

// TestLeaseThatMayBeReadAlone: that the Lease may not be written is said once, though it can be read each time.
func TestLeaseThatMayBeReadAlone(t *testing.T) {
	w, lines := unreachable(t, nil)
	l := &lease{Interface: readOnly{}, w: w}
	for range 3 {
		_, _, _ = l.Get(t.Context())
		_ = l.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "i"})
	}
	if len(*lines) != 1 || !strings.Contains((*lines)[0], "not allowed to update lease") {
		t.Errorf("said is %q", *lines)
	}
}

// TestHolder: who holds the Lease is known for as long as it is renewed in its time.
func TestHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{w: &Writer{timing: timing{lease: 15 * time.Second}}}
		for _, step := range []struct {
			renews bool
			want   string
		}{{false, ""}, {true, "pod_1"}, {true, "pod_1"}, {false, "pod_1"}, {false, ""}, {true, "pod_1"}} {
			if time.Sleep(10 * time.Second); step.renews {
				l.see(&resourcelock.LeaderElectionRecord{HolderIdentity: "pod_1", RenewTime: metav1.Now()})
			} else if s := l.seen.Load(); s != nil {
				l.see(&resourcelock.LeaderElectionRecord{HolderIdentity: s.holder, RenewTime: s.renewed})
			}
			if got := l.holder(); got != step.want {
				t.Errorf("%+v: %q holds it", step, got)
			}
		}
	})
}

// renewedAt is a Lease that was renewed at some time, or cannot be read.
type renewedAt struct {
	lastMoment
	at  time.Time
	err error
}

func (r renewedAt) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &resourcelock.LeaderElectionRecord{RenewTime: metav1.NewTime(r.at)}, nil, r.err
}

// TestWasIdle: what the first look at the Lease finds counts, not what this replica makes of it; one that cannot be read counts as renewed.
func TestWasIdle(t *testing.T) {
	none := schema.GroupResource{}
	for _, c := range []struct {
		ago  time.Duration
		err  error
		idle bool
	}{
		{ago: 50 * time.Second},
		{ago: 61 * time.Second, idle: true},
		{err: apierrors.NewNotFound(none, ""), idle: true},
		{ago: time.Hour, err: apierrors.NewForbidden(none, "", nil)},
	} {
		w, _ := unreachable(t, nil)
		w.lease.Interface = renewedAt{at: time.Now().Add(-c.ago), err: c.err}
		_, _, _ = w.lease.Get(t.Context())
		if c.err == nil || c.idle {
			w.lease.Interface = renewedAt{at: time.Now()}
			_, _, _ = w.lease.Get(t.Context())
		}
		if w.lease.wasIdle() != c.idle {
			t.Errorf("renewed %v ago, %v: idle is %v", c.ago, c.err, !c.idle)
		}
	}
}
