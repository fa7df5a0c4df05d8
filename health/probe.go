package health

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

// connector runs checks, each on connections of its own.
type connector struct {
	guard   Guard
	dialer  net.Dialer
	stagger time.Duration
	// resolver is Go's own: the C library's would continue in a thread after ctx ends.
	resolver net.Resolver
	// lookup resolves hostnames.
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// more reports whether a check may have another connection beside its first; less returns
	// connections.
	more func(*Target) bool
	less func(_ *Target, n int)
}

func newConnector(guard Guard) *connector {
	c := &connector{guard: guard, stagger: stagger, more: func(*Target) bool { return true }, less: func(*Target, int) {}}
	c.guard.hosts = newHostAddresses(guard.DenyHosts)
	c.dialer.KeepAliveConfig.Enable = false
	c.dialer.KeepAlive = -1
	c.resolver.PreferGo = true
	c.lookup = c.resolve
	return c
}

// resolve returns the addresses of a hostname, alternating between families. It fails if it finds
// none; if the resolver fails for one family, that is not proof that there is none.
func (c *connector) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	var found [len(hostNetworks)][]netip.Addr
	var failed [len(hostNetworks)]error
	var all sync.WaitGroup
	for i, network := range hostNetworks {
		// With the final dot no search list applies.
		all.Go(func() { found[i], failed[i] = c.resolver.LookupNetIP(ctx, network, host+".") })
	}
	all.Wait()
	var addrs []netip.Addr
	for i := range max(len(found[0]), len(found[1])) {
		for _, list := range found {
			if i < len(list) {
				addrs = append(addrs, list[i])
			}
		}
	}
	if len(addrs) > 0 {
		return addrs, nil
	}
	for _, err := range failed {
		if err != nil && reasonOfLookup(err) != NoSuchHost {
			return nil, err
		}
	}
	return nil, failed[0]
}

// run does one check within the target's timeout. It ends when ctx does.
func (c *connector) run(ctx context.Context, t *Target) Outcome {
	ctx, cancel := context.WithTimeout(ctx, t.timeout())
	defer cancel()
	if t.Missing {
		return Outcome{Reason: HeadersNotFound}
	}
	if addr, err := netip.ParseAddr(t.Address); err == nil {
		return c.at(ctx, t, addr)
	}
	began := time.Now()
	addrs, err := c.lookup(ctx, t.Address)
	took := time.Since(began)
	if err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return Outcome{Reason: ResolverFailed}
		}
		return Outcome{Reason: reasonOf(ctx, err)}
	}
	if len(addrs) == 0 {
		return Outcome{Reason: NoSuchHost}
	}
	o := c.anyOf(ctx, t, addrs)
	if o.Reason == Timeout && took > t.timeout()/2 {
		o.Reason = ResolverFailed // the target had less time than our resolver
	}
	return o
}

// timeout returns how long one check may take.
func (t *Terms) timeout() time.Duration {
	if t.Timeout <= 0 {
		return defaultTimeout
	}
	return t.Timeout
}

// defaultTimeout is for terms without a timeout (rule 4.2).
const defaultTimeout = 5 * time.Second

// at checks the target at one of its addresses.
func (c *connector) at(ctx context.Context, t *Target, addr netip.Addr) Outcome {
	addr = addr.Unmap()
	if r := c.guard.permits(addr, t.Port); r != Good {
		return Outcome{Reason: r}
	}
	to := netip.AddrPortFrom(addr, t.Port).String()
	switch t.Protocol {
	case TCP:
		conn, err := c.dialer.DialContext(ctx, "tcp", to)
		if err == nil {
			_ = conn.Close()
		}
		return Outcome{Reason: reasonOf(ctx, err)}
	case GRPC, GRPCS:
		return c.grpc(ctx, t, to)
	case HTTP, HTTPS:
	}
	return c.web(ctx, t, to)
}
