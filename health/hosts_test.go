package health

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func ipNets(t *testing.T, list ...string) (all []net.Addr) {
	for _, text := range list {
		ip, n, err := net.ParseCIDR(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &net.IPNet{IP: ip, Mask: n.Mask})
	}
	return all
}

// TestGuardNewOwnAddress: an address that this machine gets is forbidden within a
// minute, and one that it loses is not for longer.
func TestGuardNewOwnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var have []net.Addr
		var trouble error
		asked := 0
		g := new(Guard).NotHere()
		g.own.find = func() ([]net.Addr, error) { asked++; return have, trouble }
		permits := func(address string, want Reason) {
			t.Helper()
			if got := g.permits(netip.MustParseAddr(address), 443); got != want {
				t.Errorf("%s: %q, want %q", address, got, want)
			}
		}
		// Where nothing has been found out yet, nothing is checked, and it is no
		// fault of the target.
		trouble = errors.New("too many open files")
		permits("192.0.2.1", LocalTrouble)
		permits("127.0.0.1", Forbidden)
		trouble, have = nil, ipNets(t, "192.0.2.1/24", "2001:db8::1/64")
		permits("192.0.2.1", Forbidden)
		permits("192.0.2.2", Good)
		permits("2001:db8::1", Forbidden)
		permits("64:ff9b::192.0.2.1", Forbidden)
		before := asked
		for range 1000 {
			permits("192.0.2.3", Good)
		}
		if asked != before {
			t.Errorf("asked %d times for as many checks", asked-before)
		}
		have = ipNets(t, "192.0.2.2/24")
		time.Sleep(time.Minute)
		permits("192.0.2.1", Good)
		permits("192.0.2.2", Forbidden)
		// What was known last counts while there is trouble.
		trouble, have = errors.New("too many open files"), nil
		time.Sleep(time.Minute)
		permits("192.0.2.2", Forbidden)
		permits("192.0.2.1", Good)
	})
}

// names is a resolver of a test: a name without addresses does not resolve.
type names struct {
	mu    sync.Mutex
	addrs map[string][]netip.Addr
	hang  bool
	asked int
}

func (n *names) set(host string, list ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.addrs[host] = nil
	for _, a := range list {
		n.addrs[host] = append(n.addrs[host], netip.MustParseAddr(a))
	}
}

func (n *names) lookup(ctx context.Context, network, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	n.asked++
	var addrs []netip.Addr
	for _, a := range n.addrs[host] {
		if a.Unmap().Is4() == (network == "ip4") {
			addrs = append(addrs, a)
		}
	}
	hang := n.hang
	n.mu.Unlock()
	if hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if len(addrs) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return addrs, nil
}

// guarded returns a running Prober with a guard that has DenyHosts, of which only
// the guard is real, and what asks that guard.
func guarded(t *testing.T, n *names, hosts ...string) (p *Prober, permits func(address string, want Reason)) {
	c := newConnector(Guard{DenyHosts: hosts, Allow: []netip.Prefix{netip.MustParsePrefix("203.0.113.9/32")}})
	c.guard.hosts.lookup = n.lookup
	p = NewProber(Options{})
	p.hosts = c.guard.hosts
	p.run = func(_ context.Context, target *Target) Outcome {
		return Outcome{Reason: c.guard.permits(netip.MustParseAddr(target.Address), 443)}
	}
	running(t, p)
	return p, func(address string, want Reason) {
		t.Helper()
		if got := c.guard.permits(netip.MustParseAddr(address), 443); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}

// TestDenyHosts: the addresses of the API server's name are forbidden, in every
// form, and those that it has a minute later; the last ones count while it does
// not resolve.
func TestDenyHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &names{addrs: make(map[string][]netip.Addr)}
		n.set("api.example.com", "203.0.113.1", "2001:db8::1", "203.0.113.9")
		n.set("other.example.com", "::ffff:198.51.100.1")
		p, permits := guarded(t, n, "api.example.com", "other.example.com")
		a := target("203.0.113.1", time.Hour, 1, 1)
		b := target("203.0.113.2", time.Hour, 1, 1)
		p.Follow(targets(a, b), nil)
		time.Sleep(time.Second)
		synctest.Wait()
		// Not even the first check goes there.
		if w := a.Cell.Load(); w.Reason() != Forbidden || w.State() != Up || w.Checked() {
			t.Errorf("the API server's address: %q, %s", w.Reason(), w.State())
		}
		if w := b.Cell.Load(); w.Reason() != Good || !w.Checked() {
			t.Errorf("another address: %q", w.Reason())
		}
		permits("2001:db8::1", Forbidden)
		permits("::ffff:203.0.113.1", Forbidden)
		permits("64:ff9b::203.0.113.1", Forbidden)
		permits("198.51.100.1", Forbidden)
		permits("203.0.113.2", Good)
		permits("203.0.113.9", Good) // probe-allow goes first
		n.set("api.example.com", "203.0.113.2")
		time.Sleep(time.Minute)
		synctest.Wait()
		permits("203.0.113.1", Forbidden) // a name may have more addresses than an answer
		permits("203.0.113.2", Forbidden)
		time.Sleep(time.Hour)
		synctest.Wait()
		permits("203.0.113.1", Good)
		permits("203.0.113.2", Forbidden)
		n.set("api.example.com")
		time.Sleep(10 * time.Minute)
		permits("203.0.113.2", Forbidden)
		n.mu.Lock()
		n.hang = true
		n.mu.Unlock()
		time.Sleep(10 * time.Minute)
		permits("203.0.113.2", Forbidden)
		permits("203.0.113.1", Good)
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.asked < 4*80 || n.asked > 4*83 {
			t.Errorf("two names were looked up %d times in 81 minutes, for both families", n.asked)
		}
	})
}

// TestDenyHostsUnknown: while the API server's name has not resolved, checks find
// nothing out, but not for ever; and a resolver that hangs does not keep a
// Prober from beginning.
func TestDenyHostsUnknown(t *testing.T) {
	for _, hang := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			n := &names{addrs: make(map[string][]netip.Addr), hang: hang}
			p, permits := guarded(t, n, "api.example.com")
			permits("203.0.113.1", ResolverFailed)
			permits("127.0.0.1", Forbidden)
			permits("203.0.113.9", Good)
			a := target("203.0.113.1", time.Hour, 1, 1)
			p.Follow(targets(a), nil)
			time.Sleep(5 * time.Second)
			synctest.Wait()
			if w := a.Cell.Load(); w.State() != Up || w.Checked() || w.Reason() != ResolverFailed || !p.Settled() {
				t.Errorf("%s, checked %v, %q, settled %v", w.State(), w.Checked(), w.Reason(), p.Settled())
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if w := a.Cell.Load(); !w.Checked() || w.Reason() != Good {
				t.Errorf("after a minute: checked %v, %q", w.Checked(), w.Reason())
			}
			n.mu.Lock()
			n.hang = false
			n.mu.Unlock()
			n.set("api.example.com", "203.0.113.1")
			time.Sleep(10 * time.Second)
			synctest.Wait()
			permits("203.0.113.1", Forbidden)
		})
	}
}

// TestDenyHostsOneFamilyFails: the last IPv6 addresses of the API server count while our
// resolver answers for IPv4 alone.
func TestDenyHostsOneFamilyFails(t *testing.T) {
	var broken atomic.Bool
	usual := net.DefaultResolver
	defer func() { net.DefaultResolver = usual }()
	net.DefaultResolver = answering(t, func(qtype byte) (rcode byte, addr netip.Addr) {
		switch {
		case qtype != typeAAAA:
			return 0, netip.MustParseAddr("203.0.113.1")
		case broken.Load():
			return 2, netip.Addr{} // SERVFAIL
		}
		return 0, netip.MustParseAddr("2001:db8::1")
	})
	h := newHostAddresses([]string{"api.example.com"})
	h.began = time.Now()
	permits := func(when string) {
		t.Helper()
		for _, a := range []string{"203.0.113.1", "2001:db8::1"} {
			if r := h.permit(netip.MustParseAddr(a)); r != Forbidden {
				t.Errorf("%s: %s: %q", when, a, r)
			}
		}
	}
	h.refresh(t.Context())
	permits("at first")
	broken.Store(true)
	h.refresh(t.Context())
	permits("while the resolver fails for AAAA")
}

// TestDenyLater: servers that come while checks run are forbidden by their addresses, at
// once or when their names have been looked up, which no check waits for; those that go are
// not any more.
func TestDenyLater(t *testing.T) {
	for _, hosts := range [][]string{nil, {"api.example.com"}} {
		synctest.Test(t, func(t *testing.T) {
			n := &names{addrs: make(map[string][]netip.Addr)}
			n.set("api.example.com", "203.0.113.1")
			n.set("later.example.com", "203.0.113.2")
			p, permits := guarded(t, n, hosts...)
			time.Sleep(time.Second)
			p.Deny([]string{"later.example.com", "none.example.com", "203.0.113.3", "2001:db8::3", "api.example.com", ""})
			permits("203.0.113.3", Forbidden)
			permits("64:ff9b::203.0.113.3", Forbidden)
			permits("2001:db8::3", Forbidden)
			synctest.Wait() // names are looked up beside it
			permits("203.0.113.2", Forbidden)
			permits("203.0.113.1", Forbidden)
			n.set("none.example.com", "203.0.113.4")
			time.Sleep(hostRetry)
			synctest.Wait()
			permits("203.0.113.4", Forbidden)
			p.Deny([]string{"none.example.com"})
			permits("203.0.113.2", Good)
			permits("203.0.113.3", Good)
			permits("203.0.113.4", Forbidden)
		})
	}
}

// TestDenyHostOfOneFamilyInHostsFile: a name that a hosts file has with addresses of one
// family alone is known at once. For the other family the resolver says "no suitable address"
// then, which is an answer, and no failure.
func TestDenyHostOfOneFamilyInHostsFile(t *testing.T) {
	// An address stands for such a name: the resolver treats both in the same way.
	_, none := net.DefaultResolver.LookupNetIP(t.Context(), "ip6", "192.0.2.1")
	if none == nil {
		t.Fatal("no error")
	}
	synctest.Test(t, func(t *testing.T) {
		h := newHostAddresses([]string{"api.example.com"})
		h.lookup = func(_ context.Context, network, _ string) ([]netip.Addr, error) {
			if network == "ip6" {
				return nil, none
			}
			return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil
		}
		h.began = time.Now()
		if !h.refresh(t.Context()) {
			t.Error("the host is not known")
		}
		if r := h.permit(netip.MustParseAddr("192.0.2.1")); r != Forbidden {
			t.Errorf("%q for its address", r)
		}
		if r := h.permit(netip.MustParseAddr("192.0.2.2")); r != Good {
			t.Errorf("%q for another address", r)
		}
	})
}
