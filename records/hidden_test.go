package records

import (
	"fmt"
	"slices"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestHiddenDataAreTold: whoever has data at or below NS records of another zone, or below a DNAME, is told that nobody is answered
// from them, at the change that hides them, and when it is over; the addresses that referrals have are served.
func TestHiddenDataAreTold(t *testing.T) {
	w := newWorld("c")
	w.zone("dns/z", "example.org.", 0, api.Delegation{Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}})
	w.record("dns/ns", "example.org.", "NS", "ns.example.net.", 1)
	w.record("dns/at", "sub.example.org.", "TXT", `"at"`, 2)
	w.record("dns/key", "sub.example.org.", "DS", "1 8 2 ABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABAB", 2)
	w.record("dns/below", "www.sub.example.org.", "TXT", `"below"`, 2)
	w.record("dns/glue", "ns.sub.example.org.", "A", "192.0.2.1", 2)
	w.record("dns/beside", "www.example.org.", "TXT", `"beside"`, 2)
	w.endpoints("dns/mail", 2, apiEndpoint("mail.sub.example.org.", "MX", "10 mx.example.net."), apiEndpoint("mail.example.org.", "MX", "10 mx.example.net."))
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.org.", TTL: 60}}}
	var snap *Snapshot
	hidden := func(what string, changed bool, want ...string) {
		t.Helper()
		snap = w.step(t, snap, opt)
		var all, told []string
		for _, c := range w.clusters {
			for _, kind := range []api.Kind{api.KindRecord, api.KindDNSEndpoint} {
				for name := range c.Names(kind, "") {
					c := snap.Verdict("c", api.Ref{Kind: kind, Name: name}).Conditions[0]
					if c.Reason == reasonHidden {
						all = append(all, fmt.Sprintf("%s %s", name, c.Status))
					}
				}
			}
		}
		for _, r := range snap.Changed() {
			told = append(told, r.Ref.Name)
		}
		if !slices.Equal(all, want) {
			t.Errorf("%s: hidden are %q, want %q", what, all, want)
		}
		for _, name := range []string{"dns/below", "dns/mail"} {
			if changed && !slices.Contains(told, name) {
				t.Errorf("%s: %s is not among the changed: %q", what, name, told)
			}
		}
	}
	cut := func(server string) { w.record("dns/cut", "sub.example.org.", "NS", server, 1) }
	hidden("nothing leads elsewhere", false)
	cut("ns.sub.example.org.")
	hidden("a cut", true, "dns/at False", "dns/below False", "dns/mail True")
	cut("ns.example.net.")
	hidden("the cut has another server", false, "dns/at False", "dns/below False", "dns/glue False", "dns/mail True")
	w.setRecord(0, "dns/cut", nil)
	hidden("no cut any more", true)
	w.record("dns/away", "sub.example.org.", "DNAME", "example.net.", 1)
	hidden("a DNAME", true, "dns/below False", "dns/glue False", "dns/mail True")
	w.setRecord(0, "dns/away", nil)
	hidden("no DNAME any more", true)
}
