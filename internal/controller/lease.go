package controller

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// lease is this replica's part in electing the writer.
//
// A replica that was held up (a paused process, a machine that slept) does not know at once that
// another one has its Lease. So each write begins within the time that the last renewal gives,
// counted from before it was sent, and ends before another replica may begin. The API server
// refuses a late write if the object has changed meanwhile.
type lease struct {
	resourcelock.Interface // wrapped: renewals are noted
	// looks reads the same Lease for look: a lock keeps what it has read, and belongs to the elector's goroutine.
	looks resourcelock.Interface
	w     *Writer
	// renewed is when the last renewal was sent; nil while the Lease is not held.
	renewed atomic.Pointer[time.Time]
	writing atomic.Bool // lead has not returned: the Lease is kept
	// seen is the holder at the last look; nil before it. first is what was there before this replica wrote.
	seen, first atomic.Pointer[sighting]
}

func (l *lease) init(w *Writer, config *rest.Config) error {
	l.w = w
	config = rest.CopyConfig(config)
	config.Timeout = w.timing.renew / 2 // client-go's own choice for managers
	client, err := coordinationv1.NewForConfigAndClient(config, w.http)
	if err != nil {
		return err
	}
	lock := resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: w.opts.Namespace, Name: w.opts.Lease},
		Client:     client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: w.opts.Identity},
	}
	looks := lock
	l.Interface, l.looks = &lock, &looks
	return nil
}

// sighting is one state of the Lease.
type sighting struct {
	holder  string
	renewed metav1.Time
	at      time.Time // when it was first seen, by this clock
}

// see notes the holder of the Lease.
func (l *lease) see(r *resourcelock.LeaderElectionRecord) {
	if before := l.seen.Load(); before == nil || before.holder != r.HolderIdentity || !before.renewed.Equal(&r.RenewTime) {
		l.seen.Store(&sighting{r.HolderIdentity, r.RenewTime, time.Now()})
	}
}

// idleAfter is the time without a renewal after which no writer has watched what was deleted (rule 5.4).
const idleAfter = time.Minute

// wasIdle reports whether the Lease had not been renewed for a minute when it was first read. One that cannot be read counts as renewed.
func (l *lease) wasIdle() bool {
	s := l.first.Load()
	return s != nil && s.at.Sub(s.renewed.Time) >= idleAfter
}

// holder returns the Lease's holder as this replica sees it; "" for none, or if it was not renewed in time.
func (l *lease) holder() string {
	if s := l.seen.Load(); s != nil && elapsed(s.at, time.Now()) < l.w.timing.lease {
		return s.holder
	}
	return ""
}

// quiet drops client-go's own messages.
var quiet klog.Logger

// run takes part in elections until ctx ends, and calls lead while this replica holds the Lease. It
// gives the Lease back after lead has returned.
func (l *lease) run(ctx context.Context, lead func(context.Context)) {
	for ctx.Err() == nil {
		if err := l.term(ctx, lead); err != nil {
			l.w.log.warn("cannot elect a writer: %v; nothing is written", err)
			return
		}
	}
}

// term waits for the Lease, and calls lead while this replica holds it.
func (l *lease) term(ctx context.Context, lead func(context.Context)) error {
	electing, stop := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), quiet))
	defer stop()
	var mu sync.Mutex
	var led chan struct{} // closed once lead has returned; nil before it is called
	var over bool         // lead must not be called any more
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: l, LeaseDuration: l.w.timing.lease, RenewDeadline: l.w.timing.renew, RetryPeriod: l.w.timing.retry, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(held context.Context) {
				held, cancel := context.WithCancel(held)
				defer cancel()
				defer context.AfterFunc(ctx, cancel)()
				mu.Lock()
				begins := !over // client-go calls this in its own goroutine, without waiting for it
				if begins {
					led = make(chan struct{})
				}
				mu.Unlock()
				if !begins {
					return
				}
				l.writing.Store(true)
				lead(held)
				l.writing.Store(false)
				close(led)
				stop()
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		if led == nil {
			stop()
		}
	})()
	elector.Run(electing)
	mu.Lock()
	wait := led
	over = true
	mu.Unlock()
	if wait != nil {
		<-wait
	}
	l.renewed.Store(nil)
	return nil
}

// left returns how long the Lease is certainly still held, and whether a write may begin.
func (l *lease) left() (time.Duration, bool) {
	renewed := l.renewed.Load()
	if renewed == nil {
		return 0, false
	}
	age := elapsed(*renewed, time.Now())
	return l.w.timing.lease - age, age < l.w.timing.renew
}

// elapsed returns the time between two times, by the clock that shows more: the monotonic one
// stands still while a machine sleeps, and the other one can be set. A clock set ahead keeps a
// replica from writing until it has renewed its Lease, which takes two seconds.
func elapsed(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}

// Create implements resourcelock.Interface.
func (l *lease) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.note(r, "create", func() error { return l.Interface.Create(ctx, r) })
}

// Update implements resourcelock.Interface.
func (l *lease) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	if r.HolderIdentity == "" && l.writing.Load() {
		return errLost // an unrenewable one expires by itself
	}
	return l.note(r, "update", func() error { return l.Interface.Update(ctx, r) })
}

// Get implements resourcelock.Interface.
func (l *lease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return l.get(ctx, l.Interface)
}

// look reads the Lease unless it has been read. It may run beside an election, in one goroutine.
func (l *lease) look(ctx context.Context) {
	if l.first.Load() == nil {
		_, _, _ = l.get(ctx, l.looks) // its own errors are logged; the first writer changes it
	}
}

func (l *lease) get(ctx context.Context, by resourcelock.Interface) (*resourcelock.LeaderElectionRecord, []byte, error) {
	r, raw, err := by.Get(ctx)
	if sort := classify(err); sort != missing && ctx.Err() == nil {
		l.w.log.result("lease", l.what("get"), err)
	}
	switch {
	case err == nil:
		l.see(r)
		l.first.CompareAndSwap(nil, l.seen.Load())
	case classify(err) == missing:
		l.first.CompareAndSwap(nil, &sighting{at: time.Now()})
	}
	return r, raw, err
}

// note keeps the sending time of a successful renewal.
func (l *lease) note(r resourcelock.LeaderElectionRecord, verb string, renew func() error) error {
	sent := time.Now()
	err := renew()
	switch {
	case err == nil && r.HolderIdentity == l.Identity():
		l.renewed.Store(&sent)
	case err == nil:
		l.renewed.Store(nil) // given back
	}
	sort := classify(err)
	if sort == none || sort == forbidden { // the right to read does not imply the right to write
		l.w.log.result("write lease", l.what(verb), err)
	}
	if sort != forbidden && sort != conflict { // a conflict: another replica was faster
		l.w.log.result("lease", l.what(verb), err)
	}
	return err
}

// what says what was tried, and the right it needs.
func (l *lease) what(verb string) attempt {
	return attempt{
		doing: fmt.Sprintf("%s lease %s/%s", verb, l.w.opts.Namespace, l.w.opts.Lease),
		grant: fmt.Sprintf("the verbs get, create and update on leases.coordination.k8s.io in namespace %s, or set "+
			"`write-back off`", l.w.opts.Namespace),
	}
}
