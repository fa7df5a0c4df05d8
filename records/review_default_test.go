package records

import (
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestTwoDefaultsPool has two weightedGeo objects of a namespace, one for the United States,
// which is its default, and a younger one without a geography: both are members of the host,
// and the older's default is the default (rule 5.6). Where that is down, the other one
// answers (rule 4.6), as it does for the policies themselves.
func TestTwoDefaultsPool(t *testing.T) {
	const host, klb = "a.example.com", "klb.a.example.com"
	w, files := newWorld("c1"), make(manifests)
	w.overrides = overridesOf(t, "target 192.0.2.1 down")
	files.apply(t, w,
		dnsRecordOf("ns1/us", 1, host,
			row(host, "CNAME", klb, "recordTTL: 300"),
			row(klb, "CNAME", "us."+klb, "setIdentifier: US, "+geoCode("US")),
			row(klb, "CNAME", "us."+klb, "setIdentifier: default, "+geoCode("*")),
			row("us."+klb, "CNAME", "one."+klb, weight("one")),
			row("one."+klb, "A", "192.0.2.1", "")),
		dnsRecordOf("ns1/any", 2, host,
			row(host, "CNAME", klb, "recordTTL: 300"),
			row(klb, "CNAME", "default."+klb, "setIdentifier: default, "+geoCode("*")),
			row("default."+klb, "CNAME", "two."+klb, weight("two")),
			row("two."+klb, "A", "192.0.2.2", "")))
	snap := Compile(nil, w.objects(), openZone(), testTime)
	if got := addressesIn(told(snap, host+".", dns.TypeA, "10.9.0.1", 0)); got != "192.0.2.2" {
		t.Errorf("%s, want 192.0.2.2; its owner is told: %s", got, messageOf(snap, api.KindDNSRecord, "ns1/any"))
	}
}
