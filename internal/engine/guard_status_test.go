package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// statusGateway is a Gateway with a generation, addresses and a listener for each number of routes.
func statusGateway(generation int64, addresses string, routes ...int32) *api.Gateway {
	g := &api.Gateway{Meta: api.Meta{Name: "ns/g", Cluster: "c", UID: "u", Generation: generation}}
	for _, a := range strings.Fields(addresses) {
		g.Addresses = append(g.Addresses, api.Address{Type: api.IPAddress, Value: a})
	}
	for i, n := range routes {
		g.Listeners = append(g.Listeners, api.Listener{Name: string(rune('a' + i)), Hostname: string(rune('a'+i)) + ".example.com", AttachedRoutes: n})
	}
	return g
}

// with is g with a change.
func with(g *api.Gateway, change func(*api.Gateway)) *api.Gateway {
	change(g)
	return g
}

// TestWithStatus: what is missing of a Gateway's status is what became empty, while the spec is the same; what was replaced, and
// what others are left of, applies (rule 8.5).
func TestWithStatus(t *testing.T) {
	before := func() *api.Gateway { return statusGateway(3, "192.0.2.1 192.0.2.2", 2, 0, api.UnknownRoutes) }
	for _, c := range []struct {
		what          string
		before, after *api.Gateway
		addresses     string // "" for nothing missing
		routes        []int32
	}{
		{"nothing", before(), before(), "", nil},
		{"an address goes", before(), statusGateway(3, "192.0.2.2", 2, 0, -1), "", nil},
		{"the addresses are replaced", before(), statusGateway(3, "192.0.2.3", 2, 0, -1), "", nil},
		{"all addresses go", before(), statusGateway(3, "", 2, 0, -1), "192.0.2.1 192.0.2.2", []int32{2, 0, -1}},
		{"all routes go", before(), statusGateway(3, "192.0.2.3", 0, 0, 0), "192.0.2.3", []int32{2, 0, 0}},
		{"everything goes", before(), statusGateway(3, "", 0, 0, 0), "192.0.2.1 192.0.2.2", []int32{2, 0, 0}},
		{"the routes of one of two go", statusGateway(3, "192.0.2.1", 1, 1), statusGateway(3, "192.0.2.1", 0, 1), "", nil},
		{"a new spec", before(), statusGateway(4, "", 0, 0, 0), "", nil},
		{"written by hand", statusGateway(0, "192.0.2.1", 1), statusGateway(0, "", 0), "", nil},
		{"created anew", before(), with(statusGateway(1, "", -1, -1, -1), func(g *api.Gateway) { g.UID = "v" }), "192.0.2.1 192.0.2.2", []int32{-1, -1, -1}},
		{"created anew with an address", before(), with(statusGateway(1, "192.0.2.3", -1, -1, -1), func(g *api.Gateway) { g.UID = "v" }), "", nil},
		{"created anew for other hosts", before(), with(statusGateway(1, "", -1, -1), func(g *api.Gateway) { g.UID = "v" }), "", nil},
		{"being deleted", before(), with(statusGateway(3, "", 0, 0, 0), func(g *api.Gateway) { g.Deleting = true }), "", nil},
		{"withdrawn before", with(before(), func(g *api.Gateway) { g.Deleting = true }), with(statusGateway(1, "", -1, -1, -1), func(g *api.Gateway) { g.UID = "v" }), "", nil},
		{"new", nil, statusGateway(1, "", 0), "", nil},
	} {
		got := withStatus(c.after, c.before)
		if got == nil {
			if c.addresses != "" {
				t.Errorf("%s: nothing is missing", c.what)
			}
			continue
		}
		want := statusGateway(c.after.Generation, c.addresses, c.routes...)
		if !slices.Equal(got.Addresses, want.Addresses) || !slices.Equal(got.Listeners, want.Listeners) || got.UID != c.after.UID {
			t.Errorf("%s: %v %v", c.what, got.Addresses, got.Listeners)
		}
	}
}

// TestGuardOfStatus: a replaced address is the only one with the next answer (the old one was answered beside it for 30 s). A
// status that became empty is as it was for 30 s, and longer where too many names would go.
func TestGuardOfStatus(t *testing.T) {
	guardedTest(t, func(f *fakeSource, r *running) {
		show := func(g *api.Gateway) {
			c := &api.Cluster{Name: "c", UID: "api"}
			for k := range c.Listings {
				c.Listings[k] = api.Listed
			}
			gateways, policies := c.Gateways.Edit(), c.Policies.Edit()
			if g != nil {
				gateways.Set("ns/g", g)
			}
			policies.Set("ns/p", &api.DNSPolicy{Meta: api.Meta{Name: "ns/p", Cluster: "c"}, Target: api.Target{Name: "g"}})
			c.Gateways, c.Policies = gateways.Map(), policies.Map()
			f.send(c)
		}
		show(statusGateway(1, "192.0.2.1 192.0.2.2", 1, 1))
		for _, address := range []string{"192.0.2.3", "192.0.2.4", "192.0.2.5"} {
			show(statusGateway(1, address, 1, 1))
			reply := r.reply("a")
			if got := allA(reply); strings.TrimSpace(got) != address {
				t.Errorf("answered with %s, want %s", got, address)
			}
		}
		show(statusGateway(1, "192.0.2.5", 1, 0))
		r.expect("one of two listeners lost its routes", "a=192.0.2.5", "b=NXDOMAIN")
		show(statusGateway(1, "", 0, 0))
		r.expect("empty", "a=192.0.2.5")
		wait(gatherTime - time.Second)
		show(with(statusGateway(1, "", 0, 0), func(g *api.Gateway) { g.Labels = map[string]string{"a": "b"} }))
		r.expect("another label", "a=192.0.2.5")
		wait(time.Second)
		r.expect("after 30 s", "a=NXDOMAIN")
		show(statusGateway(1, "192.0.2.1", 1, 1, 1))
		r.expect("back", "a=192.0.2.1", "c=192.0.2.1")
		show(statusGateway(1, "", 1, 1, 1))
		wait(gatherTime)
		if r.expect("three of three names", "a=192.0.2.1", "c=192.0.2.1"); r.held("example.com.") != 3 {
			t.Errorf("%d names are held", r.held("example.com."))
		}
		show(statusGateway(1, "192.0.2.9", 1, 1, 1))
		if r.expect("other addresses", "a=192.0.2.9"); r.held("example.com.") != 0 {
			t.Errorf("%d names are held", r.held("example.com."))
		}
		show(statusGateway(1, "", 1, 1, 1))
		show(statusGateway(2, "", 0, 0, 0))
		r.expect("a new spec", "a=NXDOMAIN")
		show(statusGateway(2, "192.0.2.1", 1, 1, 1))
		show(statusGateway(2, "", 1, 1, 1))
		show(nil)
		r.expect("deleted", "a=NXDOMAIN")
	})
}
