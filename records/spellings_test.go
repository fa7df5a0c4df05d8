package records

import (
	"fmt"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// TestDuplicatesOfUnknownTypesAreOne: the same data twice count once, and one Record changed is one change, also of types
// without a name and with other data between them (RFC 2181 §5 and §5.2, rule 5.3). The text of such a record has its TTL in
// front of the data, as that of no other type has.
func TestDuplicatesOfUnknownTypesAreOne(t *testing.T) {
	for _, rtype := range []string{"TYPE65280", "TYPE65281"} {
		w := sharedWorld()
		for i, r := range []struct {
			ttl  int64
			data string
		}{{10, `\# 2 0101`}, {10, `\# 2 0202`}, {20, `\# 2 0101`}} {
			rec := &api.Record{DomainName: "x.example.org.", Type: rtype, Class: "IN", TTL: r.ttl, RData: r.data}
			rec.Created = int64(i + 1)
			w.setRecord(0, fmt.Sprintf("a/r%d", i), rec)
		}
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		n, _ := s.Zone("x.example.org.").names.Get("x.example.org.")
		if set := n.static[0].rrs; len(set) != 2 {
			t.Errorf("%s: two data, and %d records: %v", rtype, len(set), set)
		}
		// What a secondary is told: the one with these data goes only with the last that says them.
		w.setRecord(0, "a/r2", nil)
		next := Compile(s, w.objects(), dnsHasZones, testTime)
		z := next.Zone("x.example.org.")
		deltas, ok := z.Since(s.Zone("x.example.org.").Serial())
		if !ok {
			t.Fatal("no journal")
		}
		for _, d := range deltas {
			if len(d.Removed) > 0 {
				t.Errorf("%s: secondaries are told to remove %v, which is still there", rtype, d.Removed)
			}
		}
	}
}

// TestNamesInDataHaveNoCase: two data that differ in the case of a name are one (RFC 4343 §3, RFC 4034 §6.2, RFC 2181 §5):
// BIND, as a secondary, keeps one of them, and has none when one is taken away.
func TestNamesInDataHaveNoCase(t *testing.T) {
	for _, c := range []struct{ rtype, one, two string }{
		{"PTR", "Host.example.net.", "host.example.net."},
		{"RP", "Me.example.net. .", "me.example.net. ."},
		{"KX", "1 Kx.example.net.", "1 kx.example.net."},
		{"AFSDB", "1 Db.example.net.", "1 db.example.net."},
		{"NAPTR", `1 2 "s" "x" "" Next.example.net.`, `1 2 "s" "x" "" next.example.net.`},
		{"MX", "1 Mx.example.net.", "1 mx.example.net."},
	} {
		w := sharedWorld()
		w.record("a/r1", "x.example.org.", c.rtype, c.one, 1)
		w.record("a/r2", "x.example.org.", c.rtype, c.two, 2)
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		n, _ := s.Zone("x.example.org.").names.Get("x.example.org.")
		if set := ofType(n.static, dns.StringToType[c.rtype]); len(set) != 1 {
			t.Errorf("%s: one data in two spellings, and %d records: %v", c.rtype, len(set), set)
		}
	}
}

// TestSpellingsOfOneDataAreOne: what is the same on the wire is one record, however its text is written (RFC 2181 §5): digits of
// either case, parameters in any order, base64 with or without spaces.
func TestSpellingsOfOneDataAreOne(t *testing.T) {
	for _, c := range []struct{ rtype, one, two string }{
		{"TYPE65280", `\# 2 0a0b`, `\# 2 0A0B`},
		{"TLSA", "3 1 0 abcd", "3 1 0 ABCD"},
		{"SMIMEA", "3 1 0 abcd", "3 1 0 ABCD"},
		{"SSHFP", "1 9 abcd", "1 9 ABCD"},
		{"DS", "1 8 9 abcd", "1 8 9 ABCD"},
		{"HTTPS", "1 . alpn=h2 port=80", "1 . port=80 alpn=h2"},
		{"SVCB", "1 . mandatory=alpn,port alpn=h2 port=80", "1 . mandatory=port,alpn alpn=h2 port=80"},
		{"CSYNC", "1 0 A NS", "1 0 NS A"},
		{"TXT", "a", `"\097"`},
		{"PTR", "a.example.net.", `\097.example.net.`},
		{"CERT", "PKIX 1 8 YWJj", "1 1 8 YW Jj"},
		{"DNSKEY", "256 3 8 YWJj", "256 3 8 YW Jj"},
	} {
		w := sharedWorld()
		w.record("a/r1", "x.example.org.", c.rtype, c.one, 1)
		w.record("a/r2", "x.example.org.", c.rtype, c.two, 2)
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		rtype, _ := rdata.Type(c.rtype)
		if set := staticAt(s, rtype); len(set) != 1 {
			t.Errorf("%s: one data in two spellings, and %d records: %v", c.rtype, len(set), set)
		}
		// A secondary that takes in the difference loses the record that is still there.
		w.setRecord(0, "a/r2", nil)
		next := Compile(s, w.objects(), dnsHasZones, testTime)
		deltas, _ := next.Zone("x.example.org.").Since(s.Zone("x.example.org.").Serial())
		for _, d := range deltas {
			if len(d.Removed) > 0 && len(d.Added) == 0 {
				t.Errorf("%s: secondaries are told to remove %v, and %v is still there", c.rtype, d.Removed, staticAt(next, rtype))
			}
		}
	}
}

func staticAt(s *Snapshot, rtype uint16) []dns.RR {
	n, _ := s.Zone("x.example.org.").names.Get("x.example.org.")
	return ofType(n.static, rtype)
}
