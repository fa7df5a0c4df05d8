package records

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// parsed returns the record of data of a type, or what is wrong with them. Names in them lie
// in example.org.
func parsed(name, rtype, data string) (dns.RR, *problem) {
	at := &site{origin: "example.org.", corefile: &ZoneOptions{Origin: "example.org."}, object: &api.Zone{TTL: 60}}
	e := &entry{record: &api.Record{Type: rtype, Class: "IN", TTL: 60, RData: data}, name: name}
	p := e.parse(at, writing{origin: at.origin, typeAt: "spec.type", dataAt: "spec.rdata"})
	return e.rr, p
}

// x repeats hexadecimal digits.
func x(n int) string { return strings.Repeat("ab", n) }

// generic is data in the form of RFC 3597 §5; spaces in the digits count for nothing.
func generic(digits string) string {
	digits = strings.ReplaceAll(digits, " ", "")
	return fmt.Sprintf(`\# %d %s`, len(digits)/2, digits)
}

// wellFormedCases has, by type, data that are right and data that BIND's parser of messages
// refuses, with a word of why.
var wellFormedCases = []struct {
	rtype string
	good  []string
	bad   [][2]string
}{
	{"A", []string{"192.0.2.1"}, [][2]string{{generic("c00002"), ""}}},
	{"AAAA", []string{"2001:db8::1"}, [][2]string{{generic("20010db8"), ""}}},
	{"NS", []string{"ns.example.net.", "."}, nil},
	{"MX", []string{"10 mail", "0 ."}, [][2]string{{generic("000a"), "a name is not there"}, {generic("00"), "the preference"}}},
	{"AFSDB", []string{"1 host"}, [][2]string{{generic("0001"), "a name is not there"}}},
	{"KX", []string{"1 host"}, [][2]string{{generic("0001"), "a name is not there"}}},
	{"RT", []string{"1 host"}, [][2]string{{generic("0001"), "a name is not there"}}},
	{"LP", []string{"1 host"}, [][2]string{{generic("0001"), "a name is not there"}}},
	{"RP", []string{"a b"}, [][2]string{{generic("0161 00"), "a name is not there"}}},
	{"MINFO", []string{"a b"}, [][2]string{{generic("0161 00"), "a name is not there"}}},
	{"TALINK", []string{"a b"}, [][2]string{{generic("0161 00"), "a name is not there"}}},
	{"PX", []string{"1 a b"}, [][2]string{{generic("0001 0161 00"), "a name is not there"}}},
	{"SRV", []string{"1 2 3 host"}, [][2]string{{generic("0001 0002 0003"), "a name is not there"}}},
	{"TYPE11", []string{generic("c0000201 06 40"), generic("c0000201 06")}, [][2]string{{generic("c0000201"), "the protocol"}, {generic("c0000201 06 4000"), "map of ports"}, {generic("c0000201 06" + x(8193)), "map of ports"}}},
	{"TYPE22", []string{generic("47")}, [][2]string{{generic(""), "there is none"}}},
	{"TYPE34", []string{generic("00 47"), generic("01 3132")}, [][2]string{{generic("00"), "the format and an address"}, {generic("01 3147"), "digits"}}},
	{
		"TYPE38",
		[]string{generic("00" + x(16)), generic("40" + x(8) + "0161 00"), generic("80 0161 00"), generic("7f 01 00")},
		[][2]string{{generic("81 0161 00"), "0 to 128"}, {generic("40" + x(7)), "0 to 128"}, {generic("40" + x(8)), "a name is not there"}, {generic("7f 80 00"), "bits of the prefix"}},
	},
	{"TYPE40", []string{generic("0102 03")}, [][2]string{{generic("0102"), "is empty"}}},
	{"TYPE66", []string{generic("003b 01 0035 0161 00")}, [][2]string{{generic("003b 01 0035"), "a name is not there"}, {generic("003b 01"), "type, scheme and port"}}},
	{"TYPE67", []string{generic("01")}, [][2]string{{generic(""), "there is none"}}},
	{"TYPE68", []string{generic("01")}, [][2]string{{generic(""), "there is none"}}},
	{"TYPE259", []string{generic("00000000 00000000 01 0161 00")}, [][2]string{{generic("00000000 00000000 01"), "a string"}, {generic("00000000"), "enterprise"}}},
	{"TYPE262", []string{generic("0161 0162")}, [][2]string{{generic("0261"), "a string"}, {generic(""), "there is none"}}},
	{"TYPE65280", []string{generic(""), generic("00")}, nil},
	{"TXT", []string{`"a" "b"`, `""`, generic("00")}, [][2]string{{generic(""), "there is none"}, {`"a`, "a quote is missing"}, {`"a\"`, "a quote is missing"}, {`a"`, "a quote is missing"}}},
	{"X25", []string{"311061700956"}, [][2]string{{generic("00"), "RFC 1183 §3.1"}, {generic("04 31323341"), "RFC 1183 §3.1"}, {generic("03 313233"), "RFC 1183 §3.1"}}},
	{"ISDN", []string{generic("0131"), `"1" "2"`}, [][2]string{{generic(""), ""}}},
	{"HINFO", []string{`"PC" "Linux"`}, [][2]string{{generic(""), "there is none"}}},
	{"GPOS", []string{"-22.6882 116.8652 250.0"}, [][2]string{{generic("0131 0131"), ""}}},
	{"LOC", []string{"52 22 23.000 N 4 53 32.000 E -2.00m", "90 0 0 S 180 0 0 W 0m"}, [][2]string{
		{generic("00 ff1613 80000000 80000000 00989680"), "two digits each"},
		{generic("00 021613 80000000 80000000 00989680"), "two digits each"},
		{generic("01 121613 80000000 80000000 00989680"), "version"},
		{generic("00 121613 00000000 80000000 00989680"), "beyond a pole"},
		{generic("00 121613 80000000 ffffffff 00989680"), "180 degrees"},
	}},
	{"NAPTR", []string{
		`1 2 "s" "x" "" _sip._udp`, `1 2 "u" "E2U+sip" "!^.*$!sip:info@example.net!" .`, `1 2 "u" "x" "/(.)([a-z[:digit:]]{2,3})|b+/\\2\\1/i" .`,
	}, [][2]string{
		{`1 2 "s" "x" "!bad" .`, "RFC 3402 §3.2"},
		{`1 2 "s" "x" "!(!b!" .`, "regular expression"},
		{`1 2 "s" "x" "1a1b1" .`, "delimiter"},
		{`1 2 "s" "x" "!a!b!g" .`, "delimiter"},
		{`1 2 "s" "x" "!a!\\1!" .`, "parentheses that are not there"},
		{`1 2 "s" "x" "!(a)!\\0!" .`, "parentheses that are not there"},
		{generic("0001 0002 00 00 00"), "a name is not there"},
	}},
	{"CERT", []string{"PKIX 1 8 a2V5"}, [][2]string{{generic("0001 0001 08"), "is empty"}}},
	{"APL", []string{"1:192.0.2.0/24 !2:2001:db8::/32", generic("")}, [][2]string{{generic("0001 21 01 0a"), ""}, {generic("0001 18 02 0a00"), ""}}},
	{"DS", []string{"12345 13 2 " + x(32), "12345 13 1 " + x(20), "12345 13 4 " + x(48), "12345 13 5 " + x(32), "12345 13 200 ab"}, [][2]string{
		{"12345 13 2 ABCD", "it has 32, which are 64 digits (RFC 4509 §2.1)"},
		{"12345 13 1 ABCD", "RFC 3658 §2.4"},
		{"12345 13 4 " + x(49), "RFC 6605 §2"},
		{"12345 13 5 ab", "RFC 9558"},
		{"12345 13 6 ab", "RFC 9563"},
		{"12345 13 3 ab", "RFC 5933"},
		{"12345 13 2 xyz", "the digest is not hexadecimal"},
		{"12345 13 2 abc", "the digest is not hexadecimal"},
		{generic("3039 0d c8"), "has 0 octets"},
		{generic("3039"), "have 4 octets"},
	}},
	{"CDS", []string{"0 0 0 00", "12345 13 2 " + x(32)}, [][2]string{{"12345 13 2 ABCD", "RFC 4509"}}},
	{"DLV", []string{"12345 13 2 " + x(32)}, [][2]string{{"12345 13 2 ABCD", "RFC 4509"}}},
	{"TA", []string{"12345 13 2 " + x(32)}, [][2]string{{"12345 13 2 ABCD", "RFC 4509"}}},
	{"ZONEMD", []string{"1 1 1 " + x(48), "1 1 2 " + x(64), "1 1 240 " + x(12)}, [][2]string{{"1 1 1 ABCD", "RFC 8976"}, {"1 1 2 " + x(48), "RFC 8976"}, {"1 1 240 ab", "12 at least"}}},
	{"SSHFP", []string{"1 1 " + x(20), "4 2 " + x(32), "1 3 ab"}, [][2]string{{"1 1 ABCD", "RFC 4255"}, {"1 2 ABCD", "RFC 6594"}, {"1 2 xyz", "the fingerprint is not hexadecimal"}}},
	{"TLSA", []string{"3 1 1 " + x(32), "3 1 1 ab"}, [][2]string{{generic("030101"), "is empty"}, {"3 1 1 xyz", "the certificate, or its digest, is not hexadecimal"}}},
	{"SMIMEA", []string{"3 1 1 " + x(32)}, [][2]string{{generic("030101"), "is empty"}}},
	{"IPSECKEY", []string{"10 1 2 192.0.2.38 AQNR", "10 0 2 . AQNR", "10 2 2 2001:db8::1 AQNR", "10 3 2 g AQNR"}, [][2]string{
		{generic("0a0100"), "the gateway"}, {generic("0a0000"), "the key is empty"}, {generic("0a0400 00"), "0 to 3"}, {generic("0a01"), ""},
	}},
	{"AMTRELAY", []string{"10 0 1 203.0.113.15", "10 0 2 2001:db8::15", "10 0 3 amt", "10 0 0 ."}, [][2]string{{generic("0a01"), "the relay"}, {generic("0a83"), "the relay"}, {generic("0a07"), "0 to 3"}}},
	{"DNSKEY", []string{"257 3 13 a2V5", "257 3 253 A2ZvbwBr", generic("0101 03 fe 04 06022a03 01")}, [][2]string{
		{generic("0101 03 0d"), "the key is empty"}, {generic("0101 03 01 01"), "three octets"}, {generic("0101 03 fd 41"), "algorithm 253"}, {generic("0101 03 fe 02 2a03 01"), "algorithm 254"}, {"257 3 13 a", "base64"},
	}},
	{"CDNSKEY", []string{"0 3 0 AA=="}, [][2]string{{generic("0101 03 0d"), "the key is empty"}}},
	{"KEY", []string{"256 3 5 AQPSKmynfzW4kyBv015M", generic("c000 03 05")}, [][2]string{{generic("0100 03 05"), "the key is empty"}, {generic("c000 03 05 01"), "behind its last field"}}},
	{"RKEY", []string{"0 3 8 AAAA"}, [][2]string{{"256 3 8 AAAA", "flags"}, {generic("0000 03 08"), "the key is empty"}}},
	{"DHCID", []string{"AAIBY2/AuCccgoJbsaxcQc9TUapptP69lOjxfNuVAA2kjEA="}, nil},
	{"OPENPGPKEY", []string{"a2V5"}, nil},
	{"HIP", []string{"2 200100107B1A74DF365639CC39F1D578 AwEAAbdx rvs"}, [][2]string{{generic("00 02 0001 01"), "RFC 8005"}, {generic("01 02 0000 01"), "RFC 8005"}}},
	{"CSYNC", []string{"66 3 A NS AAAA", "66 3"}, [][2]string{{generic("00000001"), "serial and flags"}, {generic("00000001 0003 00 01 00"), "windows"}}},
	{"NID", []string{"10 0014:4fff:ff20:ee64"}, [][2]string{{generic("000a"), "has 8 octets"}}},
	{"L32", []string{"10 10.1.2.0"}, [][2]string{{generic("000a"), "the locator"}}},
	{"L64", []string{"10 2001:0db8:1140:1000"}, [][2]string{{generic("000a"), "has 8 octets"}}},
	{"EUI48", []string{"00-00-5e-00-53-2a"}, [][2]string{{generic("00"), ""}}},
	{"URI", []string{`10 1 "https://www.example.net/"`}, [][2]string{{generic("000a 0001"), "the target is empty"}}},
	{"CAA", []string{`0 issue "ca.example.net"`, `0 issue ""`}, [][2]string{{`0 iss_ue "ca"`, "letters and digits"}, {generic("00 00"), "letters and digits"}}},
	{"SVCB", []string{
		"0 alias", "1 .", "1 . alpn=h2,h3 no-default-alpn port=8443", "1 . mandatory=alpn,port alpn=h2 port=1", "1 . ipv4hint=192.0.2.1,192.0.2.2 ipv6hint=2001:db8::1",
		"1 . dohpath=/dns-query{?dns}", "1 . ohttp", "1 . key667=hello",
	}, [][2]string{
		{"1 . mandatory=alpn", "alpn, which is not there (RFC 9460 §8)"},
		{"1 . mandatory=mandatory", "itself"},
		{"1 . no-default-alpn", "no alpn beside it (RFC 9460 §7.1.1)"},
		{`1 . alpn=""`, "empty one"},
		{generic("0001 00 0000 0000"), "mandatory is empty"},
		{generic("0001 00 0001 0003 02 6832 0001 0003 02 6833"), "order"},
		{generic("0001 00 0003 0001 50"), ""},
		{"1 . dohpath=/dns-query", "RFC 9461"},
		{generic("0001 00 0005 0000"), "ech is empty"},
		{generic("0001 00 0000 0004 0003 0001 0001 0003 02 6832 0003 0002 0050"), "order of the numbers"},
	}},
	{"HTTPS", []string{"1 . alpn=h2", "0 alias"}, [][2]string{{generic("0001 00 0000 0000"), "mandatory is empty"}, {"1 . no-default-alpn", "RFC 9460 §7.1.1"}}},
}

// TestWellFormed: data that others refuse to read are refused, with a reason that says what is
// wanted, and no other data are.
func TestWellFormed(t *testing.T) {
	for _, c := range wellFormedCases {
		for _, data := range c.good {
			if _, p := parsed("a.example.org.", c.rtype, data); p != nil {
				t.Errorf("%s %s is refused: %s", c.rtype, data, p.message)
			}
		}
		for _, b := range c.bad {
			_, p := parsed("a.example.org.", c.rtype, b[0])
			switch {
			case p == nil:
				t.Errorf("%s %.80s is taken, want %q", c.rtype, b[0], b[1])
			case p.reason != reasonInvalidData || !strings.Contains(p.message, b[1]):
				t.Errorf("%s %.80s: %s: %s, want %q", c.rtype, b[0], p.reason, p.message, b[1])
			}
		}
	}
	for _, c := range [][3]string{
		{"*.w.example.org.", "NS", "RFC 4592 §4.2"}, {"*.example.org.", "NS", "RFC 4592 §4.2"}, {"a.example.org.", "MD", "RFC 1035 §3.3.4"}, {"a.example.org.", "MF", "RFC 1035 §3.3.4"},
	} {
		if _, p := parsed(c[0], c[1], "ns.example.net."); p == nil || p.reason != reasonForbiddenType || !strings.Contains(p.message, c[2]) {
			t.Errorf("%s %s: %+v, want %s", c[0], c[1], p, c[2])
		}
	}
	if _, p := parsed("a.*.example.org.", "NS", "ns.example.net."); p != nil {
		t.Errorf("a wildcard that is no leading label keeps an NS record out: %s", p.message)
	}
}

// TestEveryTypeHasAForm: of every type with a name that a Record may have, the form is known,
// but for those that nobody else reads.
func TestEveryTypeHasAForm(t *testing.T) {
	cases := make(map[uint16]bool)
	for _, c := range wellFormedCases {
		rtype, _ := typeOf(c.rtype)
		cases[rtype] = true
	}
	for rtype := range dns.TypeToRR {
		_, known := layouts[rtype]
		switch rtype {
		case dns.TypeNULL, dns.TypeUINFO, dns.TypeUID, dns.TypeGID: // any octets for BIND, Knot and NSD
			continue
		}
		if forbiddenType(rtype) == "" && !known {
			t.Errorf("%s has no form", dns.Type(rtype))
		}
	}
	for _, rtype := range []uint16{typeWKS, typeNSAP, typeATMA, typeA6, typeSINK, typeDSYNC, typeHHIT, typeBRID, typeDOA, typeWALLET, dns.TypeDS, dns.TypeSVCB} {
		if !cases[rtype] {
			t.Errorf("%s has no case", dns.Type(rtype))
		}
	}
}

// TestEndpointDataIsWellFormed: what a tenant's DNSEndpoint says is looked at like a Record,
// and the rest of it is served (rule 8.1).
func TestEndpointDataIsWellFormed(t *testing.T) {
	w := newWorld("c")
	w.setZone(0, "dns/z", &api.Zone{DomainName: "example.org.", TTL: 60, Delegations: []api.Delegation{{Records: []api.RecordDelegation{{Pattern: "*"}}}}})
	w.setDNSEndpoint(0, "team/e", &api.DNSEndpoint{Endpoints: []api.Endpoint{
		{DNSName: "v.example.org.", Type: "HTTPS", Targets: []string{"1 . no-default-alpn", "1 . alpn=h2"}, Weight: -1},
		{DNSName: "*.w.example.org.", Type: "NS", Targets: []string{"ns.example.net."}, Weight: -1},
	}})
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	text := verdictText(s, api.KindDNSEndpoint, "team/e")
	if !strings.Contains(text, "RFC 9460 §7.1.1") || !strings.Contains(text, "RFC 4592 §4.2") {
		t.Errorf("the DNSEndpoint is told: %s", text)
	}
	if a := answerOf(s, "v.example.org.", dns.TypeHTTPS); len(a.Answer) != 1 {
		t.Errorf("its other target is not served: %v", a.Answer)
	}
}

// FuzzData: data of any type that are taken pack, and unpack to the same.
func FuzzData(f *testing.F) {
	for _, c := range wellFormedCases {
		rtype, _ := typeOf(c.rtype)
		for _, data := range c.good {
			f.Add(rtype, data)
		}
		for _, b := range c.bad {
			f.Add(rtype, b[0])
		}
	}
	f.Fuzz(func(t *testing.T, rtype uint16, data string) {
		rr, p := parsed("a.example.org.", fmt.Sprintf("TYPE%d", rtype), data)
		if p != nil {
			if p.message == "" {
				t.Fatalf("TYPE%d %q is refused without a word", rtype, data)
			}
			return
		}
		wire := packed(t, rr)
		again, end, err := dns.UnpackRR(wire, 0)
		if err != nil || end != len(wire) {
			t.Fatalf("%v: %v, %d of %d octets", rr, err, end, len(wire))
		}
		if other := packed(t, again); !bytes.Equal(wire, other) {
			t.Fatalf("%v:\n%s\n%v:\n%s", rr, hex.EncodeToString(wire), again, hex.EncodeToString(other))
		}
	})
}

func packed(t *testing.T, rr dns.RR) []byte {
	t.Helper()
	buf := make([]byte, dns.MaxMsgSize)
	end, err := dns.PackRR(rr, buf, 0, nil, false)
	if err != nil {
		t.Fatalf("%v: %v", rr, err)
	}
	return buf[:end]
}
