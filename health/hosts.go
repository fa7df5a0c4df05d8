package health

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// hostAddresses are the addresses of hosts that no check may go to. A Prober
// looks them up while it runs; checks only read them. Any number of goroutines
// may use it.
type hostAddresses struct {
	// lookup resolves a name in the way of this machine's other programs, search
	// list and all: that is how the API server is found.
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)

	mu    sync.Mutex
	began time.Time               // when they were asked for first; zero for not yet
	hosts map[string][]netip.Addr // nil for a host of which none is known yet
}

const (
	hostRefresh = time.Minute
	hostRetry   = 5 * time.Second // while no address of a host is known
	hostTimeout = 5 * time.Second // for one lookup
	hostHead    = 2 * time.Second // by which the first lookup may delay the first check
	// hostGrace is how long checks wait for the first lookup of each host. A name
	// that never resolves must not keep all targets unchecked for ever.
	hostGrace = 30 * time.Second
)

func newHostAddresses(names []string) *hostAddresses {
	h := &hostAddresses{hosts: make(map[string][]netip.Addr, len(names))}
	h.lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}
	for _, name := range names {
		h.hosts[name] = nil
	}
	return h
}

// permit returns Forbidden for an address of one of the hosts, and
// ResolverFailed while one of them is not known and may yet be.
func (h *hostAddresses) permit(addr netip.Addr) Reason {
	h.mu.Lock()
	defer h.mu.Unlock()
	unknown := false
	for _, addrs := range h.hosts {
		if slices.Contains(addrs, addr) {
			return Forbidden
		}
		unknown = unknown || addrs == nil
	}
	if unknown && (h.began.IsZero() || time.Since(h.began) < hostGrace) {
		return ResolverFailed
	}
	return Good
}

// watch keeps the addresses up to date until ctx ends. It returns when the checks
// may begin; all is done when it has ended.
func (h *hostAddresses) watch(ctx context.Context, all *sync.WaitGroup) {
	h.mu.Lock()
	h.began = time.Now()
	h.mu.Unlock()
	first := make(chan struct{})
	all.Go(func() { h.keep(ctx, first) })
	head := time.NewTimer(hostHead)
	defer head.Stop()
	select {
	case <-ctx.Done():
	case <-first:
	case <-head.C:
	}
}

// keep looks the hosts up again and again, and closes first after the first
// time.
func (h *hostAddresses) keep(ctx context.Context, first chan struct{}) {
	for ctx.Err() == nil {
		wait := hostRefresh
		if !h.refresh(ctx) {
			wait = hostRetry
		}
		if first != nil {
			close(first)
			first = nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// refresh looks all hosts up, and tells whether an address of each is known. The
// last addresses of a host count while it does not resolve.
func (h *hostAddresses) refresh(ctx context.Context) (known bool) {
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	h.mu.Lock()
	names := make([]string, 0, len(h.hosts))
	for name := range h.hosts {
		names = append(names, name)
	}
	h.mu.Unlock()
	var all sync.WaitGroup
	for _, name := range names {
		all.Go(func() {
			found, err := h.lookup(ctx, name)
			if err != nil || len(found) == 0 {
				return
			}
			for i, addr := range found {
				found[i] = unwrap(addr)
			}
			h.mu.Lock()
			h.hosts[name] = found
			h.mu.Unlock()
		})
	}
	all.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, addrs := range h.hosts {
		if addrs == nil {
			return false
		}
	}
	return true
}
