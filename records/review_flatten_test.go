package records

import (
	"testing"

	"github.com/miekg/dns"
)

// TestGroupNameUnderFlatten has a zone with `answer flatten`, and the chain of a policy as
// Kuadrant's operators write it: <g>.klb.H' without an up member answers as the host would
// (rule 2.4), and no member that is forced down is answered while another is not (rule 4.6).
// The policy itself is answered so.
func TestGroupNameUnderFlatten(t *testing.T) {
	const host, klb = "a.example.com", "klb.a.example.com"
	for _, flatten := range []bool{false, true} {
		w, files := newWorld("c1"), make(manifests)
		w.overrides = overridesOf(t, "target 192.0.2.2 down")
		files.apply(t, w, dnsRecordOf("ns1/x", 1, host, chainRows(host, "192.0.2")...))
		opt := openZone()
		opt.Zones[0].Flatten = flatten
		snap := Compile(nil, w.objects(), opt, testTime)
		for _, name := range []string{host, klb, "us." + klb} {
			if got := addressesIn(told(snap, name+".", dns.TypeA, "10.2.0.1", 0)); got != "192.0.2.1" {
				t.Errorf("flatten %v: %s from the United States, which is forced down: %s, want 192.0.2.1", flatten, name, got)
			}
		}
	}
}
