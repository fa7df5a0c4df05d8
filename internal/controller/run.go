package controller

import (
	"context"
	"sync"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/klog/v2"
)

// Run takes part in the election until ctx ends, and writes while it holds the Lease. It gives the
// Lease back at the end.
func (w *Writer) Run(ctx context.Context) {
	ctx = klog.NewContext(ctx, quiet)
	defer utilnet.CloseIdleConnectionsFor(w.http.Transport)
	var wg sync.WaitGroup
	defer wg.Wait()
	if w.registry != nil {
		wg.Go(func() { w.registry.follow(ctx) })
	}
	w.lease.run(ctx, w.lead)
}

// lead writes until ctx ends.
func (w *Writer) lead(ctx context.Context) {
	defer w.startEvents(ctx)()
	if w.others.begin(ctx); ctx.Err() != nil {
		return
	}
	k := newWork(w, w.look)
	if w.registry != nil {
		w.registry.lead()
	}
	w.mu.Lock()
	w.work = k
	w.mu.Unlock()
	w.log.info("this replica now writes status (lease %s/%s)", w.opts.Namespace, w.opts.Lease)
	w.lacks.clear()
	w.cache.unsettle()
	w.lookAtAll(k)
	var wg sync.WaitGroup
	wg.Go(func() { w.others.follow(ctx) })
	if w.registry != nil {
		k.add(registryRef)
	}
	k.run(ctx)
	wg.Wait()
	w.mu.Lock()
	w.work = nil
	w.mu.Unlock()
	w.log.info("this replica no longer writes")
}
