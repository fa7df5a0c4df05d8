package records_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// TestNameServersAreOfTheCorefile: a name server that the Corefile gives an address is not listed as nobody's. One without an address is, and
// so is the apex.
func TestNameServersAreOfTheCorefile(t *testing.T) {
	opt := recordstest.Zones("example.com.")
	opt.Zones[0].Nameservers = []records.Nameserver{
		{Name: "ns1.example.com.", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.53")}},
		{Name: "ns2.example.com.", Addresses: []netip.Addr{netip.MustParseAddr("2001:db8::53")}},
		{Name: "ns3.example.com."},
	}
	s := recordstest.New(t, opt).Step(t)
	found := make(map[string]bool)
	for n := range s.Names(s.Zones()[0], "", nil) {
		found[n.Name] = n.Owner != nil && *n.Owner == records.Object{Kind: "Corefile"}
	}
	for name, want := range map[string]bool{"ns1.example.com": true, "ns2.example.com": true, "ns3.example.com": false, "example.com": false} {
		if found[name] != want {
			t.Errorf("%s is of the Corefile: %v", name, found[name])
		}
		if tree, ok := s.Tree(name + "."); ok && want && (tree.Owner == nil || tree.Owner.Kind != "Corefile" || len(tree.Records) != 1) {
			t.Errorf("the tree of %s: %+v", name, tree)
		}
	}
}

// TestLosses counts the names that would go from each zone: hosts and names of Records, not of chains (rule 8.5).
func TestLosses(t *testing.T) {
	opt := recordstest.Zones("example.com.")
	opt.Zones[0].Nameservers = []records.Nameserver{{Name: "ns1.example.com."}}
	w := recordstest.New(t, opt, `gateway n/g host=a.b.example.com,*.b.example.com addr=192.0.2.1
policy n/g weight=1
zone n/z z.example.com. delegate=*
record n/r r.z.example.com. A 192.0.2.2
dnsendpoint n/e e.example.com TXT '"x"'`)
	before := w.Step(t)
	w.Apply(t, "delete policy n/g\ndelete record n/r")
	if got, want := before.Losses(w.Step(t)), map[string]records.Loss{"example.com.": {Names: 3, Gone: 2}, "z.example.com.": {Names: 1, Gone: 1}}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if again := before.Losses(before); len(again) > 0 {
		t.Errorf("from itself: %v", again)
	}
	w.Apply(t, "record n/r r.z.example.com. A 192.0.2.2")
	before = w.Step(t)
	w.Apply(t, "delete record n/r")
	if got := before.Losses(w.Step(t)); len(got) != 1 || got["z.example.com."].Gone != 1 {
		t.Errorf("from the zone below alone: %v", got)
	}
}
