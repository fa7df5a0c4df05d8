package records

import (
	"fmt"
	"slices"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// rowOf is an endpoint with a set identifier.
func rowOf(name, rtype, target, setID, geo string, weight int64) api.Endpoint {
	e := apiEndpoint(name, rtype, target)
	e.SetID, e.Geo, e.Weight = setID, geo, weight
	return e
}

// membersOf returns the members of the only choice at a host: target, group and weight.
func poolMembers(t *testing.T, s *Snapshot, host string) (all []string) {
	t.Helper()
	n, _ := s.Zone(host).names.Get(host)
	if n == nil || n.steered.view == nil {
		t.Fatalf("%s is no choice", host)
	}
	p := n.steered.view.pool
	for i := range p.members {
		all = append(all, fmt.Sprintf("%s %q %d", p.members[i].target, p.groups[p.members[i].group].code, p.members[i].weight))
	}
	return all
}

// TestWeightsBehindAddresses: ways through a name that has addresses of a great weight beside a CNAME keep the weight of the CNAME that leads to them
// (rules 2.6 and 4.6): 3 of 4 clients here.
func TestWeightsBehindAddresses(t *testing.T) {
	w := sharedWorld()
	w.endpoints(
		"shop/e", 1,
		rowOf("h.example.org.", "CNAME", "y.klb.h.example.org", "k", "", 3),
		rowOf("h.example.org.", "CNAME", "lb.example.net", "m", "", 1),
		rowOf("y.klb.h.example.org.", "A", "192.0.2.1", "a", "", 1<<31-1),
		rowOf("y.klb.h.example.org.", "CNAME", "z.klb.h.example.org", "c", "", 1),
		rowOf("z.klb.h.example.org.", "A", "192.0.2.2", "p", "", 1),
		rowOf("z.klb.h.example.org.", "A", "192.0.2.3", "q", "", 1),
	)
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	n, _ := s.zones[0].names.Get("h.example.org.")
	var own, other uint64
	for _, m := range n.steered.view.pool.members {
		if m.target == "lb.example.net." {
			other += m.weight
		} else {
			own += m.weight
		}
	}
	if own < 2*other || own > 4*other {
		t.Errorf("weights 3 and 1 have become %d and %d: %q", own, other, poolMembers(t, s, "h.example.org."))
	}
}

// TestOrderOfEndpoints: which members a host has does not depend on the order of an object's endpoints, where these have set identifiers.
func TestOrderOfEndpoints(t *testing.T) {
	const h = "h.example.org."
	var want []string
	for _, order := range [][3]int{{0, 1, 2}, {1, 0, 2}, {2, 1, 0}, {2, 0, 1}} {
		w := sharedWorld()
		w.endpoints("shop/a", 1, rowOf(h, "CNAME", "t1.example.net", "IE", "IE", -1), rowOf(h, "CNAME", "t1.example.net", "default", "*", -1))
		rows := []api.Endpoint{rowOf(h, "CNAME", "t2.example.net", "IE", "IE", -1), rowOf(h, "CNAME", "t3.example.net", "US", "US", -1), rowOf(h, "CNAME", "t2.example.net", "default", "*", -1)}
		w.endpoints("shop/b", 2, rows[order[0]], rows[order[1]], rows[order[2]])
		got := poolMembers(t, Compile(nil, w.objects(), dnsHasZones, testTime), h)
		if want == nil {
			want = got
		} else if !slices.Equal(want, got) {
			t.Errorf("in the order %v the members are %q, in another %q", order, got, want)
		}
	}
}
