package engine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// TestBugE6Whose: a policy that is told of a target of another one in its pool is told whose it is.
func TestBugE6Whose(t *testing.T) {
	c := oneChecked(api.ConditionTrue)
	gateways, policies := c.Gateways.Edit(), c.Policies.Edit()
	for i, name := range []string{"p", "q"} {
		g, _ := gateways.Get("n/g")
		p, _ := policies.Get("n/p")
		gateway, policy := *g, *p
		gateway.Name, gateway.Addresses = "n/g"+name, []api.Address{{Type: api.IPAddress, Value: fmt.Sprintf("192.0.2.%d", i+1)}}
		policy.Name, policy.Target.Name, policy.Strategy, policy.DefaultWeight = "n/"+name, "g"+name, api.WeightedGeo, 1
		gateways.Set(gateway.Name, &gateway)
		policies.Set(policy.Name, &policy)
	}
	c.Gateways, c.Policies = gateways.Map(), policies.Map()
	opt := &records.Options{Zones: []records.ZoneOptions{{Origin: "example.com."}}}
	snap := records.Compile(nil, api.Objects{Clusters: []*api.Cluster{c}}, opt, time.Unix(1e9, 0))
	var all []string
	for key, target := range snap.Checks().All() {
		for o, whose := range toldOf(snap, key) {
			all = append(all, o.Name+" of "+target.Address+whose)
		}
	}
	slices.Sort(all)
	want := []string{"n/p of 192.0.2.1", "n/p of 192.0.2.2 of DNSPolicy n/q", "n/q of 192.0.2.1 of DNSPolicy n/p", "n/q of 192.0.2.2"}
	if !slices.Equal(all, want) {
		t.Errorf("told %q, want %q", all, want)
	}
}
