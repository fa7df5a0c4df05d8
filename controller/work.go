package controller

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/util/workqueue"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// work is what is to be looked at while this replica writes: a queue that holds each object
// once, and tries one again after a failure, each time later.
type work struct {
	w     *Writer
	queue workqueue.TypedRateLimitingInterface[api.Ref]
	busy  atomic.Int64 // how many objects are looked at
}

func newWork(w *Writer) *work {
	return &work{w: w, queue: workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[api.Ref](w.timing.backoff, w.timing.most),
		workqueue.TypedRateLimitingQueueConfig[api.Ref]{},
	)}
}

// add has an object looked at.
func (k *work) add(ref api.Ref) { k.queue.Add(ref) }

// run looks at objects until ctx ends, and returns once nothing is on its way any more.
func (k *work) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, k.queue.ShutDown)
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	for range k.w.timing.workers {
		wg.Go(func() {
			for {
				ref, ended := k.queue.Get()
				if ended {
					return
				}
				k.busy.Add(1)
				k.look(ctx, ref)
				k.queue.Done(ref)
				k.busy.Add(-1)
			}
		})
	}
}

// look looks at one object, and decides whether that is to be done once more.
func (k *work) look(ctx context.Context, ref api.Ref) {
	if ctx.Err() != nil {
		return
	}
	if again(k.w.look(ctx, ref)) {
		k.queue.AddRateLimited(ref)
	} else {
		k.queue.Forget(ref)
	}
}

// again tells whether one of several writes is to be tried again.
func again(err error) bool {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return slices.ContainsFunc(all.Unwrap(), again)
	}
	switch classify(err) {
	case none, missing, contested:
		return false // nothing comes of it before something changes, which a watch tells
	}
	return true
}

// backlog returns how many objects are to be looked at.
func (k *work) backlog() int { return k.queue.Len() + int(k.busy.Load()) }
