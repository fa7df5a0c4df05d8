package controller

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/util/workqueue"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// work is the queue of objects to look at while this replica writes: it holds each object once, and
// retries after a failure, each time later. Namespaces take turns.
type work struct {
	w     *Writer
	queue workqueue.TypedRateLimitingInterface[api.Ref]
	// object looks at one object.
	object func(ctx context.Context, ref api.Ref) error
	busy   atomic.Int64 // how many objects are being looked at
	// missed counts, by object, consecutive answers that it does not exist.
	missed sync.Map
}

func newWork(w *Writer, object func(context.Context, api.Ref) error) *work {
	return &work{w: w, object: object, queue: workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[api.Ref](w.timing.backoff, w.timing.most),
		workqueue.TypedRateLimitingQueueConfig[api.Ref]{DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(
			workqueue.TypedDelayingQueueConfig[api.Ref]{Queue: workqueue.NewTypedWithConfig(
				workqueue.TypedQueueConfig[api.Ref]{Queue: &turns{lines: make(map[string][]api.Ref)}},
			)},
		)},
	)}
}

// turns are the queued objects in order: one of each namespace at a time, so that many objects of
// one delay no other's. It implements workqueue.Queue, which guards it.
type turns struct {
	lines map[string][]api.Ref // by namespace; none is empty
	order []string             // of the namespaces' turns
	n     int
}

// Push implements workqueue.Queue.
func (q *turns) Push(ref api.Ref) {
	ns, _ := splitName(ref.Name)
	if len(q.lines[ns]) == 0 {
		q.order = append(q.order, ns)
	}
	q.lines[ns], q.n = append(q.lines[ns], ref), q.n+1
}

// Pop implements workqueue.Queue.
func (q *turns) Pop() (ref api.Ref) {
	ns := q.order[0]
	ref, q.lines[ns] = q.lines[ns][0], q.lines[ns][1:]
	if q.order, q.n = q.order[1:], q.n-1; len(q.lines[ns]) > 0 {
		q.order = append(q.order, ns)
	} else {
		delete(q.lines, ns)
	}
	return ref
}

// Len implements workqueue.Queue.
func (q *turns) Len() int { return q.n }

// Touch implements workqueue.Queue.
func (q *turns) Touch(api.Ref) {}

// add queues an object.
func (k *work) add(ref api.Ref) { k.queue.Add(ref) }

// run looks at objects until ctx ends, and returns once nothing is under way.
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

// look looks at one object, and decides whether to look again.
func (k *work) look(ctx context.Context, ref api.Ref) {
	if ctx.Err() != nil {
		return
	}
	if ref == registryRef {
		again, err := k.w.registry.look(ctx)
		if err != nil {
			k.queue.AddRateLimited(ref)
			return
		}
		k.queue.Forget(ref)
		if again > 0 {
			k.queue.AddAfter(ref, again)
		}
		return
	}
	err := k.object(ctx, ref)
	if !has(err, missing) {
		k.missed.Delete(ref)
	}
	switch {
	case has(err, conflict, forbidden, refused, undoing, lost, away):
		k.queue.AddRateLimited(ref)
	case has(err, missing) && k.w.cache.get(ref) != nil && k.absent(ref):
		k.queue.AddRateLimited(ref)
	default: // only a change helps, which a watch reports
		k.queue.Forget(ref)
	}
}

// maxMissing is how often to retry an object that the API server lacks, although the watch has it:
// some 16 seconds.
const maxMissing = 6

// absent reports whether to look again at an object of which something was not found. Mostly its
// deletion is on its way, or the API server has only begun to serve its kind. If it stays so, its
// kind is not served as it should be.
func (k *work) absent(ref api.Ref) bool {
	n, _ := k.missed.Load(ref)
	times, _ := n.(int)
	if times++; times <= maxMissing {
		k.missed.Store(ref, times)
		return true
	}
	k.missed.Delete(ref)
	resource := ref.Kind.FullResource()
	k.w.log.once("absent "+resource, "%s: cannot write: the API server lists %s but answers 404. "+
		"Add `subresources: {status: {}}` to its CRD (config/crd) and restart", resource, ref.Name)
	return false
}

// has reports whether one of several errors is of one of the given sorts.
func has(err error, sorts ...trouble) bool {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return slices.ContainsFunc(all.Unwrap(), func(err error) bool { return has(err, sorts...) })
	}
	return slices.Contains(sorts, classify(err))
}

// backlog returns how many objects are queued.
func (k *work) backlog() int { return k.queue.Len() + int(k.busy.Load()) }
