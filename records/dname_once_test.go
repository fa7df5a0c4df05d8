package records

import (
	"slices"
	"testing"

	"github.com/miekg/dns"
)

// TestDNAMEOnce: a chain that a DNAME leads back to its own owner has that record once,
// where it is what is asked for, as every other record (RFC 2181 §5). BIND, NSD and
// PowerDNS answer so.
func TestDNAMEOnce(t *testing.T) {
	for _, c := range []struct{ target, name string }{
		{"example.com.", "a.a.example.com."},   // leads to a
		{"example.com.", "a.a.a.example.com."}, // leads to a.a, and that to a
		{"b.example.com.", "c.a.example.com."}, // leads to c.b, whose CNAME leads to a
	} {
		w, opt := oneZone(t)
		w.put("dname", "a", "DNAME", c.target)
		w.put("cname", "*.b", "CNAME", "a.example.com.")
		s := Compile(nil, w.objects(), opt, testTime)
		var a Answer
		s.Lookup(s.Zone(c.name), &Query{Name: c.name, Owner: c.name, Type: dns.TypeDNAME}, &a)
		dnames := slices.DeleteFunc(slices.Clone(a.Answer), func(rr dns.RR) bool { return rr.Header().Rrtype != dns.TypeDNAME })
		if a.Rcode != dns.RcodeSuccess || len(dnames) != 1 {
			t.Errorf("DNAME %s, asked for %s: rcode %d, %d DNAME records in %v", c.target, c.name, a.Rcode, len(dnames), a.Answer)
		}
	}
}
