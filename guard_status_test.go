package kuadrant

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// statusGateway is a Gateway with a generation, addresses and a listener for each number of
// routes.
func statusGateway(generation int64, addresses string, routes ...int32) *api.Gateway {
	g := &api.Gateway{Meta: api.Meta{Name: "ns/g", Cluster: "c", UID: "u", Generation: generation}}
	for _, a := range strings.Fields(addresses) {
		kind := api.IPAddress
		if strings.HasPrefix(a, "lb") {
			kind = api.HostnameAddress
		}
		g.Addresses = append(g.Addresses, api.Address{Type: kind, Value: a})
	}
	for i, n := range routes {
		g.Listeners = append(g.Listeners, api.Listener{Name: fmt.Sprint("l", i), Hostname: fmt.Sprintf("g%d.example.com", i), AttachedRoutes: n})
	}
	return g
}

// TestHoldStatus: what is compiled of a Gateway after one change of its status (rule 8.5).
func TestHoldStatus(t *testing.T) {
	now := time.Unix(1000, 0)
	before := statusGateway(3, "192.0.2.1 192.0.2.2", 2, 0, api.UnknownRoutes)
	other := func(change func(*api.Gateway)) *api.Gateway {
		g := statusGateway(3, "", 0, 0, 0)
		change(g)
		return g
	}
	for _, c := range []struct {
		what      string
		after     *api.Gateway
		addresses string
		routes    []int32
		held      bool
	}{
		{"nothing", before, "192.0.2.1 192.0.2.2", []int32{2, 0, -1}, false},
		{"an address goes", statusGateway(3, "192.0.2.2", 2, 0, -1), "192.0.2.2 192.0.2.1", []int32{2, 0, -1}, true},
		{"an address is replaced", statusGateway(3, "192.0.2.3", 2, 0, -1), "192.0.2.3 192.0.2.1 192.0.2.2", []int32{2, 0, -1}, true},
		{"all go", statusGateway(3, "", 2, 0, -1), "192.0.2.1 192.0.2.2", []int32{2, 0, -1}, true},
		{"routes go", statusGateway(3, "192.0.2.1 192.0.2.2", 0, 0, 0), "192.0.2.1 192.0.2.2", []int32{2, 0, 0}, true},
		{"an entry goes", statusGateway(3, "192.0.2.1 192.0.2.2", -1, 0, -1), "192.0.2.1 192.0.2.2", []int32{-1, 0, -1}, false},
		{"fewer routes", statusGateway(3, "192.0.2.1 192.0.2.2", 1, 0, -1), "192.0.2.1 192.0.2.2", []int32{1, 0, -1}, false},
		{"a new spec", statusGateway(4, "", 0, 0, 0), "", []int32{0, 0, 0}, false},
		{"no generation", statusGateway(0, "", 0, 0, 0), "", []int32{0, 0, 0}, false},
		{"another object", other(func(g *api.Gateway) { g.UID = "v" }), "192.0.2.1 192.0.2.2", []int32{2, 0, 0}, true},
		{"another object with other listeners", other(func(g *api.Gateway) { g.UID, g.Listeners[0].Hostname = "v", "h.example.com" }), "", []int32{0, 0, 0}, false},
		{"another object with an address", other(func(g *api.Gateway) {
			*g = *statusGateway(3, "192.0.2.3", 0, 0, 0)
			g.UID = "v"
		}), "192.0.2.3", []int32{0, 0, 0}, false},
		{"being deleted", other(func(g *api.Gateway) { g.Deleting = true }), "", []int32{0, 0, 0}, false},
		{"another kind of address", statusGateway(3, "lb.example.net", 2, 0, -1), "lb.example.net", []int32{2, 0, -1}, false},
		{"not programmed", other(func(g *api.Gateway) {
			*g = *statusGateway(3, "192.0.2.1 192.0.2.2", 2, 0, -1)
			g.Programmed = api.ConditionFalse
		}), "192.0.2.1 192.0.2.2", []int32{2, 0, -1}, false},
	} {
		got, h := holdStatus(before, c.after, nil, false, now)
		want := statusGateway(c.after.Generation, c.addresses, c.routes...)
		if !slices.Equal(got.Addresses, want.Addresses) || !slices.EqualFunc(got.Listeners, want.Listeners, func(a, b api.Listener) bool { return a.AttachedRoutes == b.AttachedRoutes }) || (h != nil) != c.held {
			t.Errorf("%s: %v %v, held %v", c.what, got.Addresses, got.Listeners, h)
		}
		if h == nil && got != c.after {
			t.Errorf("%s: another object without need", c.what)
		}
		if h != nil && (h.next() != now.Add(statusGuard) || h.until() != now.Add(statusGuard)) {
			t.Errorf("%s: held from %v until %v", c.what, h.next(), h.until())
		}
	}
}

// TestHoldStatusOfReturned: a Gateway that was held back, and is created anew without a status,
// keeps that of the one before while somebody writes it; not with other listeners.
func TestHoldStatusOfReturned(t *testing.T) {
	now := time.Unix(1000, 0)
	before, anew := statusGateway(3, "192.0.2.1", 2), statusGateway(1, "", api.UnknownRoutes)
	anew.UID = "v"
	got, h := holdStatus(before, anew, nil, true, now)
	if len(got.Addresses) != 1 || got.UID != "v" || h == nil {
		t.Errorf("%+v, held %v", got, h)
	}
	next, h := holdStatus(got, anew, h, false, now.Add(statusGuard))
	if next != anew || h != nil {
		t.Errorf("after its time: %+v, held %v", next, h)
	}
	with := statusGateway(1, "192.0.2.7", 1)
	if got, h := holdStatus(before, with, nil, true, now); got != with || h != nil {
		t.Errorf("with a status: %+v, held %v", got, h)
	}
	anew.Listeners[0].Hostname = "other.example.com"
	if got, h := holdStatus(before, anew, nil, true, now); got != anew || h != nil {
		t.Errorf("with another host: %+v, held %v", got, h)
	}
}

// TestHoldStatusBounds: addresses that come and go all the time do not pile up.
func TestHoldStatusBounds(t *testing.T) {
	now := time.Unix(1000, 0)
	g := statusGateway(3, "192.0.2.1", 1)
	var h *heldStatus
	for i := range 10_000 {
		now = now.Add(time.Millisecond)
		g, h = holdStatus(g, statusGateway(3, fmt.Sprintf("10.0.%d.%d", i/256, i%256), 1), h, false, now)
	}
	if len(g.Addresses) != 1+maxHeldAddresses || g.Addresses[0].Value != "10.0.39.15" || g.Addresses[1].Value != "10.0.39.14" {
		t.Errorf("%d addresses, %v ...", len(g.Addresses), g.Addresses[:2])
	}
}

// TestGuardOfStatus: what vanishes from a Gateway's status is answered for 30 s beside what is
// new; what comes back in that time was never away.
func TestGuardOfStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		r := follow(t, nil, 60, f)
		policy := &api.DNSPolicy{Meta: api.Meta{Name: "ns/p", Cluster: "c"}, Target: api.Target{Name: "g"}}
		show := func(g *api.Gateway) {
			c := &api.Cluster{Name: "c", UID: "api"}
			for k := range c.Listings {
				c.Listings[k] = api.Listed
			}
			gateways, policies := c.Gateways.Edit(), c.Policies.Edit()
			if g != nil {
				gateways.Set("ns/g", g)
			}
			policies.Set("ns/p", policy)
			c.Gateways, c.Policies = gateways.Map(), policies.Map()
			f.send(c)
		}
		expect := func(when, host, want string) {
			t.Helper()
			reply := r.all(host)
			if reply != want {
				t.Errorf("%s: %s is answered with %s, want %s", when, host, reply, want)
			}
		}
		show(statusGateway(1, "192.0.2.1 192.0.2.2", 1, 1))
		show(statusGateway(1, "192.0.2.3", 1, 0))
		expect("changed", "g0", "192.0.2.1 192.0.2.2 192.0.2.3")
		expect("changed", "g1", "192.0.2.1 192.0.2.2 192.0.2.3")
		if n := r.held("example.com."); n != 2 {
			t.Errorf("%d names are held", n)
		}
		time.Sleep(20 * time.Second)
		show(statusGateway(1, "192.0.2.1", 1, 1))
		expect("one is back", "g0", "192.0.2.1 192.0.2.2 192.0.2.3")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		expect("30 s after the first", "g0", "192.0.2.1 192.0.2.3")
		expect("30 s after the first", "g1", "192.0.2.1 192.0.2.3")
		time.Sleep(20 * time.Second)
		synctest.Wait()
		expect("30 s after the second", "g0", "192.0.2.1")
		if n := r.held("example.com."); n != 0 {
			t.Errorf("%d names are held at the end", n)
		}
		show(statusGateway(1, "", 0, 0))
		expect("empty", "g0", "192.0.2.1")
		show(statusGateway(2, "", 0, 0))
		expect("a new spec", "g0", "NXDOMAIN")
		show(statusGateway(2, "192.0.2.1", 1, 1))
		show(statusGateway(2, "", 1, 1))
		expect("empty again", "g0", "192.0.2.1")
		show(nil)
		expect("deleted", "g0", "NXDOMAIN")
	})
}

// TestGuardOfStatusOff: neither a directory's statuses nor those under `guard 0` are held.
func TestGuardOfStatusOff(t *testing.T) {
	for _, byHand := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeSource{name: "c", place: "api"}
			r := follow(t, nil, 60, f)
			g := r.plugin.engine.guard
			if g.byHand["c"] = byHand; !byHand {
				g.period = 0
			}
			h := hosts{"a": "192.0.2.1"}
			f.show(h)
			c := f.cluster(h)
			c.Listings = f.last.Listings
			gateways := c.Gateways.Edit()
			old, _ := c.Gateways.Get("ns/a")
			with := *old
			with.Generation = 1
			gateways.Set("ns/a", &with)
			c.Gateways = gateways.Map()
			f.send(c)
			without := with
			without.Addresses = nil
			next := *c
			gateways = next.Gateways.Edit()
			gateways.Set("ns/a", &without)
			next.Gateways = gateways.Map()
			f.send(&next)
			r.expect("without addresses", "a=NOERROR")
		})
	}
}

// all returns the addresses of a host below example.com, sorted, or the rcode.
func (r *running) all(host string) string {
	r.t.Helper()
	reply, _ := ask(r.t, r.plugin, r.t.Context(), question(host+".example.com.", 1))
	all := strings.Fields(allA(reply))
	slices.Sort(all)
	return strings.Join(all, " ")
}
