package records

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestTransferOfZonesBelow: a transfer has the NS records of the zones below, and the
// addresses of their servers where these lie there, but nothing of a zone without any
// (rule 6.6, cases E8 and E15).
func TestTransferOfZonesBelow(t *testing.T) {
	all := []api.Delegation{{Zones: []string{"*"}, Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}}}
	w := newWorld("c")
	w.zone("dns/z", "example.com.", 1, all...)
	w.record("dns/z-ns", "example.com.", "NS", "ns.example.net.", 1)
	for _, zone := range []string{"elsewhere", "inside", "bare"} {
		w.zone("dns/"+zone, zone+".example.com.", 1, all...)
		w.record("dns/"+zone+"-www", "www."+zone+".example.com.", "A", "192.0.2.9", 1)
	}
	w.record("dns/e-ns", "elsewhere.example.com.", "NS", "ns.example.net.", 1)
	w.record("dns/i-ns", "inside.example.com.", "NS", "ns.inside.example.com.", 1)
	w.record("dns/i-a", "ns.inside.example.com.", "A", "192.0.2.1", 1)
	s := Compile(nil, w.objects(), &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60}}}, testTime)
	var got []string
	for rrs := range s.Zone("example.com.").Transfer() {
		for _, rr := range rrs {
			got = append(got, strings.ReplaceAll(rr.String(), "\t", " "))
		}
	}
	want := []string{
		"example.com. 360 IN NS ns.example.net.",
		"elsewhere.example.com. 360 IN NS ns.example.net.",
		"inside.example.com. 360 IN NS ns.inside.example.com.",
		"ns.inside.example.com. 360 IN A 192.0.2.1",
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("the transfer has %q, want %q", got, want)
	}
	if text := verdictText(s, api.KindZone, "dns/bare"); !strings.Contains(text, "NoNameservers") {
		t.Errorf("the zone without name servers: %s", text)
	}
}
