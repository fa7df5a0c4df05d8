package records

import (
	"net/netip"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestNameServersAreOfTheCorefile: a name server that the Corefile gives an address is not listed as nobody's. One without
// an address is, and so is the apex.
func TestNameServersAreOfTheCorefile(t *testing.T) {
	t.Parallel()
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300, Nameservers: []Nameserver{
		{Name: "ns1.example.com.", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.53")}},
		{Name: "ns2.example.com.", Addresses: []netip.Addr{netip.MustParseAddr("2001:db8::53")}},
		{Name: "ns3.example.com."},
	}}}}
	snap := Compile(nil, api.Objects{Clusters: []*api.Cluster{{Name: "c", UID: "c"}}}, opt, testTime)
	found := make(map[string]bool)
	for n := range snap.Names(snap.Zones()[0], "", "") {
		found[n.Name] = n.Owner != nil && *n.Owner == Object{Kind: "Corefile"}
	}
	for name, want := range map[string]bool{"ns1.example.com": true, "ns2.example.com": true, "ns3.example.com": false, "example.com": false} {
		if found[name] != want {
			t.Errorf("%s is of the Corefile: %v", name, found[name])
		}
		if tree, ok := snap.Tree(name + "."); ok && want && (tree.Owner == nil || tree.Owner.Kind != "Corefile" || len(tree.Records) != 1) {
			t.Errorf("the tree of %s: %+v", name, tree)
		}
	}
}
