package records

import (
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestUnreadTold: docs/write-back.md: whoever wants a name that is kept back has OwnerUnreadable in its status, and who is answered has not.
// A `zone:` line keeps back all names but those that have a line of their own.
func TestUnreadTold(t *testing.T) {
	for _, c := range []struct {
		name  string
		has   func(*world)
		line  string
		of    api.Ref
		ask   string
		qtype uint16
	}{
		{"NS records on record", func(w *world) { w.record("e/o", "cut.example.com.", "NS", "ns.example.net.", 1) }, api.ZoneKey("example.com."), api.Ref{Kind: api.KindRecord, Name: "e/o"}, "www.cut.example.com.", dns.TypeA},
		{"a wildcard Record on record", func(w *world) {
			w.record("e/o", "*.example.com.", "A", "192.0.2.1", 1)
			w.gateway("b/p", "*.example.com", api.Simple, 2, api.IPAddress, "192.0.2.66")
		}, api.ZoneKey("example.com."), api.Ref{Kind: api.KindRecord, Name: "e/o"}, "x.example.com.", dns.TypeA},
		{"a text of a DNSEndpoint", func(w *world) { w.endpoints("e/o", 1, endpoint("txt.example.com.", "TXT", "x")) }, api.ZoneKey("example.com."), api.Ref{Kind: api.KindDNSEndpoint, Name: "e/o"}, "txt.example.com.", dns.TypeTXT},
		{"a text of a DNSRecord", func(w *world) {
			w.setDNSRecord(0, "e/o", &api.DNSRecord{
				Meta: api.Meta{Created: 1, Labels: map[string]string{api.LabelZoneName: "example.com"}}, RootHost: "txt.example.com.",
				Endpoints: []api.Endpoint{endpoint("txt.example.com.", "TXT", "x")},
			})
		}, api.ZoneKey("example.com."), api.Ref{Kind: api.KindDNSRecord, Name: "e/o"}, "txt.example.com.", dns.TypeTXT},
		{"a Zone", func(w *world) { w.zone("e/o", "sub.example.com.", 1) }, api.ZoneKey("sub.example.com."), api.Ref{Kind: api.KindZone, Name: "e/o"}, "sub.example.com.", dns.TypeSOA},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld("c", "d")
			c.has(w)
			w.kept()
			w.acquireAs(c.line, ownerIn("d", api.KindZone, "dns/z"))
			w.lackOf(1, api.NotCounted, api.KindZone, api.KindRecord)
			s := Compile(nil, w.objects(), unreadOptions, testTime)
			got, said := gives(s, c.ask, c.qtype), verdictText(s, c.of.Kind, c.of.Name)
			if kept, told := got == "unlisted", strings.Contains(said, reasonOwnerUnread); kept != told {
				t.Errorf("%s is %q, and its object says %s", c.ask, got, said)
			}
		})
	}
}
