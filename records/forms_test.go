package records

import (
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestForms: what a message gives as an example can be read, and the message about data that
// cannot speaks of nothing that their owner has not written.
func TestForms(t *testing.T) {
	for rtype, form := range forms {
		rr, err := parseRData(rtype, form, "example.org.")
		if err == nil {
			*rr.Header() = header("a.example.org.", rtype, 60)
			_, err = asPacked(rr)
		}
		if err != nil {
			t.Errorf("%s %s: %v", dns.Type(rtype), form, err)
		}
	}
	long := strings.Repeat("x", 100)
	for _, test := range []struct {
		rtype      uint16
		data, want string
	}{
		{dns.TypeMX, "mail", `it cannot be read at "mail": write it in the form of a zone file, such as 10 mail.example.net.`},
		{dns.TypeMX, "10 mail " + long, `it cannot be read at "` + long[:64] + `": write it in the form of a zone file, such as 10 mail.example.net.`},
		{dns.TypeTXT, `"v=1`, `it cannot be read: a quote is missing: each " that begins a text needs one that ends it`},
		{dns.TypeNSAPPTR, "a..b", `bad NSAP-PTR Ptr at "a..b"`},
		{dns.TypeMX, "", "there is none"},
	} {
		if _, err := parseRData(test.rtype, test.data, "example.org."); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %q: %v\nwant %s", dns.Type(test.rtype), test.data, err, test.want)
		}
	}
}

// TestTextTargets: a text of an endpoint without quotes is one text, octet for octet (rule 6.10,
// case F14). With quotes it has the form of a zone file.
func TestTextTargets(t *testing.T) {
	many := strings.Repeat("0123456789", 60)
	for target, want := range map[string][]string{
		"foo=bar":                       {"foo=bar"},
		"v=DMARC1; p=none":              {"v=DMARC1; p=none"},
		` a\b "c" \# 3 `:                {`a\b "c" \# 3`},
		"\u00e9\n.":                     {"\u00e9\n."},
		many:                            {many[:255], many[255:510], many[510:]},
		`"v=DMARC1; p=none"`:            {"v=DMARC1; p=none"},
		`"a" "b\"c"`:                    {"a", `b"c`},
		`"` + many + `"`:                {many[:255], many[255:510], many[510:]},
		strings.Repeat(`"`, 2) + ` "x"`: {"", "x"},
	} {
		w := writing{origin: ".", wholeText: true}
		rr, err := w.parse(dns.TypeTXT, target)
		if err != nil {
			t.Errorf("%q: %v", target, err)
			continue
		}
		*rr.Header() = header("a.example.org.", dns.TypeTXT, 60)
		var got []string
		for wire := rdataOf(t, rr); len(wire) > 0; wire = wire[1+int(wire[0]):] {
			got = append(got, string(wire[1:1+int(wire[0])]))
		}
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%q is %q, want %q", target, got, want)
		}
	}
	for _, target := range []string{" ", `"a`, `"a" b"`} {
		w := writing{origin: ".", wholeText: true}
		if rr, err := w.parse(dns.TypeTXT, target); err == nil {
			t.Errorf("%q is %s", target, rr)
		}
	}
}

// FuzzTextTarget: nothing of a text without quotes is lost, and no message is longer than what its
// owner can read (rules 6.10 and 8.4).
func FuzzTextTarget(f *testing.F) {
	f.Add("v=DMARC1; p=none", uint16(dns.TypeTXT))
	f.Add(strings.Repeat(`\"`, 300), uint16(dns.TypeTXT))
	f.Add("mail", uint16(dns.TypeMX))
	f.Fuzz(func(t *testing.T, text string, rtype uint16) {
		w := writing{origin: ".", wholeText: true}
		rr, err := w.parse(rtype, text)
		if err != nil {
			if len(err.Error()) > 1000 || strings.Contains(err.Error(), "at line: ") && !strings.Contains(text, "at line: ") {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		text = strings.TrimSpace(text)
		if rtype != dns.TypeTXT || strings.HasPrefix(text, `"`) || len(text) > 60_000 {
			return
		}
		*rr.Header() = header("a.example.org.", rtype, 60)
		var got strings.Builder
		for wire := rdataOf(t, rr); len(wire) > 0; wire = wire[1+int(wire[0]):] {
			got.Write(wire[1 : 1+int(wire[0])])
		}
		if got.String() != text {
			t.Errorf("%q is %q", text, got.String())
		}
	})
}

// rdataOf returns the data of a record as they are in a message.
func rdataOf(t *testing.T, rr dns.RR) []byte {
	t.Helper()
	buf := make([]byte, dns.MaxMsgSize)
	end, err := dns.PackRR(rr, buf, 0, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	return buf[end-int(rr.Header().Rdlength) : end]
}

// TestEndpointFaults: what is wrong in an endpoint is said where its owner has written it, and
// once (rule 8.1).
func TestEndpointFaults(t *testing.T) {
	e := &api.DNSEndpoint{Endpoints: []api.Endpoint{
		{DNSName: "ok.example.com.", Type: "TXT", Targets: []string{"ok"}, Weight: api.NoWeight, Index: 0},
		{DNSName: "a.example.com.", Type: "AAA", Targets: []string{"x", "y", "z"}, Weight: api.NoWeight, Index: 2},
		{DNSName: "b.example.com.", Type: "MX", Targets: []string{"mail"}, Weight: api.NoWeight, Index: 4},
		{DNSName: "c.example.com.", Type: "SOA", Targets: []string{"mail"}, Weight: api.NoWeight, Index: 5},
	}}
	w := newWorld("c1")
	w.setDNSEndpoint(0, "ns1/x", e)
	got := Compile(nil, w.objects(), openZone(), testTime).Verdict("c1", api.Ref{Kind: api.KindDNSEndpoint, Name: "ns1/x"}).Conditions[0].Message
	for _, want := range []string{
		`a.example.com: spec.endpoints[2].recordType "AAA" is no record type`,
		`b.example.com: spec.endpoints[4].targets: "mail" of type MX: it cannot be read at "mail"`,
		`c.example.com: spec.endpoints[5].recordType SOA: `,
	} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%s\nwant once %s", got, want)
		}
	}
}

// TestTypeNumberOfEndpoint: a type is the same however it is written, also for those who
// delegate it (RFC 3597 §5, rule 5.1).
func TestTypeNumberOfEndpoint(t *testing.T) {
	w := newWorld("c1")
	w.zone("dns/z", "example.com.", 0, api.Delegation{Records: []api.RecordDelegation{{Pattern: "*", Types: []string{"MX"}}}})
	w.setDNSEndpoint(0, "ns1/x", &api.DNSEndpoint{Endpoints: []api.Endpoint{
		{DNSName: "a.example.com.", Type: "TYPE15", Targets: []string{"10 mail.example.net"}, Weight: api.NoWeight},
	}})
	got := Compile(nil, w.objects(), openZone(), testTime).Verdict("c1", api.Ref{Kind: api.KindDNSEndpoint, Name: "ns1/x"}).Conditions[0]
	if got.Message != api.MessageServed {
		t.Errorf("%+v", got)
	}
}

// TestSerialWraps: a Zone says when its serial is the last there is, and when it has begun
// again (RFC 1982, rule 6.7).
func TestSerialWraps(t *testing.T) {
	w := newWorld("c")
	z := &api.Zone{DomainName: "example.com.", TTL: 360, Kept: api.Kept{Hash: "other", Serial: 1<<32 - 1}, Delegations: []api.Delegation{{Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}}}}
	zone := func() { w.setZone(0, "dns/z", z); w.record("dns/ns", "example.com.", "NS", "ns.example.net.", 0) }
	zone()
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60}}}
	say := func(want string) *Snapshot {
		t.Helper()
		s := Compile(nil, w.objects(), opt, testTime)
		if got := verdictText(s, api.KindZone, "dns/z"); !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
		return s
	}
	s := say("SerialWraps: served; the serial has gone past 4294967295, the last there is, since the status was written with 4294967295")
	again := *z
	again.Kept = api.Kept{Hash: s.zones[0].Hash(), Serial: 1<<32 - 1}
	z = &again
	zone()
	say("SerialWraps: served; the serial 4294967295 is the last there is")
	next := *z
	next.Kept.Serial = 7
	z = &next
	zone()
	say("Ready=True Served: served\n")
}

// TestUnquotedText: a text of a Record has the form of a zone file, and without quotes it may not
// be what its owner has meant: that is said (rule 8.1).
func TestUnquotedText(t *testing.T) {
	for data, want := range map[string]string{
		"v=DMARC1; p=none":   "SeveralStrings: served; the text has no quotes, so what stands behind the semicolon is a comment",
		"v=DMARC1;":          "behind the semicolon",
		"a b":                "SeveralStrings: served; the text has no quotes, so each of its 2 words",
		`v=DMARC1\;p=none`:   "Served: served\n",
		`"v=DMARC1; p=none"`: "Served: served\n",
		`v=DMARC1\;x y ; z`:  "behind the semicolon",
	} {
		w := walkWorld()
		w.record("dns/r", "www.example.org.", "TXT", data, 0)
		if got := verdictText(Compile(nil, w.objects(), &reviewOptions, testTime), api.KindRecord, "dns/r"); !strings.Contains(got, want) {
			t.Errorf("%s: %s\nwant %s", data, got, want)
		}
	}
}
