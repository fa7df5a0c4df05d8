package records

import (
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestUnreadDSOfTheParent: DS at a cut is the parent's (rule 7.1). While the Zone above cannot be read, it is not known that there is none:
// NODATA tells validators that the zone below is not signed.
func TestUnreadDSOfTheParent(t *testing.T) {
	w := newWorld("c", "d")
	w.zone("dns/sub", "sub.example.com.", 1)
	w.kept()
	w.acquireAs(api.ZoneKey("example.com."), ownerIn("d", api.KindZone, "dns/z"))
	w.lackOf(1, api.NotCounted, api.KindZone, api.KindRecord)
	s := Compile(nil, w.objects(), unreadOptions, testTime)
	if got := gives(s, "nothing.example.com.", dns.TypeDS); got != "unlisted" {
		t.Fatalf("beside it DS is %q", got)
	}
	var a Answer
	s.Lookup(s.Zone("example.com."), &Query{Name: "sub.example.com.", Owner: "sub.example.com.", Type: dns.TypeDS}, &a)
	if a.Rcode != dns.RcodeServerFailure || !a.Unlisted {
		t.Errorf("DS of sub.example.com: rcode %d, %v, %v", a.Rcode, a.Answer, a.Ns)
	}
}
