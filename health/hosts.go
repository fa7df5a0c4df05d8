package health

import (
	"context"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// hostAddresses are the addresses of hosts that no check may go to. A Prober resolves them while it
// runs; checks only read them. Any number of goroutines may use it.
type hostAddresses struct {
	// lookup resolves a name like this machine's other programs, with the search list: that finds
	// the API server. network is ip4 or ip6.
	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)

	mu    sync.Mutex
	began time.Time // of the first look-up; zero before it
	hosts map[string]*hostKnown
	fixed map[netip.Addr]bool // of those that have come later: the addresses
	woken chan struct{}       // one place: there are new ones
}

// hostKnown is what is known of a host.
type hostKnown struct {
	later    bool // added while checks run: no check waits for it
	seen     map[netip.Addr]seenAddress
	answered [len(hostNetworks)]bool // a look-up has returned addresses, or that there are none
}

// seenAddress is when a look-up last returned an address, and in which of hostNetworks.
type seenAddress struct {
	at      time.Time
	network int
}

// known reports whether all addresses of the host are known.
func (h *hostKnown) known() bool {
	return len(h.seen) > 0 && !slices.Contains(h.answered[:], false)
}

// hostNetworks are looked up separately: if our resolver fails for one, its last addresses count.
var hostNetworks = [...]string{"ip4", "ip6"}

const (
	hostRefresh = time.Minute
	hostRetry   = 5 * time.Second // while no address of a host is known
	hostTimeout = 5 * time.Second // for one lookup
	hostHead    = 2 * time.Second // by which the first lookup may delay the first check
	// hostMemory is how long an address counts after a look-up last returned it: of a name with
	// many addresses, each answer may have others.
	hostMemory = time.Hour
	// hostGrace is how long checks wait for the first look-up of each host. A name that never
	// resolves must not block all checks for ever.
	hostGrace = 30 * time.Second
)

func newHostAddresses(names []string) *hostAddresses {
	h := &hostAddresses{hosts: make(map[string]*hostKnown, len(names)), woken: make(chan struct{}, 1)}
	h.lookup = net.DefaultResolver.LookupNetIP
	for _, name := range names {
		h.hosts[name] = &hostKnown{seen: make(map[netip.Addr]seenAddress)}
	}
	return h
}

// permit returns Forbidden for an address of one of the hosts, and ResolverFailed while a host's
// addresses are unknown and may yet be found.
func (h *hostAddresses) permit(addr netip.Addr) Reason {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fixed[addr] {
		return Forbidden
	}
	unknown := false
	for _, host := range h.hosts {
		if _, ok := host.seen[addr]; ok {
			return Forbidden
		}
		unknown = unknown || !host.later && !host.known()
	}
	if unknown && (h.began.IsZero() || time.Since(h.began) < hostGrace) {
		return ResolverFailed
	}
	return Good
}

// setLater replaces the hosts added while checks run, names or addresses.
func (h *hostAddresses) setLater(hosts []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before, asked := maps.Clone(h.hosts), false
	h.fixed = make(map[netip.Addr]bool)
	maps.DeleteFunc(h.hosts, func(_ string, known *hostKnown) bool { return known.later })
	for _, host := range hosts {
		if addr, err := netip.ParseAddr(host); err == nil {
			for _, form := range Forms(addr) {
				h.fixed[form] = true
			}
			continue
		}
		if host == "" || h.hosts[host] != nil {
			continue
		}
		known := before[host]
		if known == nil {
			known, asked = &hostKnown{later: true, seen: make(map[netip.Addr]seenAddress)}, true
		}
		h.hosts[host] = known
	}
	if asked {
		select {
		case h.woken <- struct{}{}:
		default:
		}
	}
}

// watch keeps the addresses up to date until ctx ends. It returns when checks may begin; all is
// done when it has ended.
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

// keep looks up the hosts repeatedly, and closes first after the first time.
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
		case <-h.woken:
		case <-time.After(wait):
		}
	}
}

// refresh looks up all hosts, and reports whether the addresses of each are known.
func (h *hostAddresses) refresh(ctx context.Context) (known bool) {
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	h.mu.Lock()
	names := slices.Collect(maps.Keys(h.hosts))
	h.mu.Unlock()
	var all sync.WaitGroup
	for _, name := range names {
		for i, network := range hostNetworks {
			all.Go(func() {
				found, err := h.lookup(ctx, network, name)
				h.note(name, i, found, err)
			})
		}
	}
	all.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, host := range h.hosts {
		if !host.known() {
			return false
		}
	}
	return true
}

// note records the result of looking up a host in one of hostNetworks. The last addresses count for
// a while; if look-ups fail, for as long as they do.
func (h *hostAddresses) note(name string, network int, found []netip.Addr, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	host, now := h.hosts[name], time.Now()
	if host == nil {
		return // the host was removed meanwhile
	}
	if err != nil && reasonOfLookup(err) != NoSuchHost {
		return
	}
	host.answered[network] = true
	if len(found) == 0 {
		return // a name without addresses any more is more likely a mistake
	}
	for _, addr := range found {
		for _, form := range Forms(addr) {
			host.seen[form] = seenAddress{now, network}
		}
	}
	for addr, seen := range host.seen {
		if seen.network == network && now.Sub(seen.at) >= hostMemory {
			delete(host.seen, addr)
		}
	}
}
