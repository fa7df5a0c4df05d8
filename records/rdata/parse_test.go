package rdata

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// parsed is Parse at a name of example.org, where relative names lie.
func parsed(rtype uint16, data string) (dns.RR, error) {
	return Parse(dns.RR_Header{Name: "a.example.org.", Rrtype: rtype, Class: dns.ClassINET, Ttl: 60}, data, "example.org.")
}

// x repeats hexadecimal digits.
func x(n int) string { return strings.Repeat("ab", n) }

// generic is data in the form of RFC 3597 §5; spaces in the digits count for nothing.
func generic(digits string) string {
	digits = strings.ReplaceAll(digits, " ", "")
	return fmt.Sprintf(`\# %d %s`, len(digits)/2, digits)
}

// cases has, by type, data that are right, and data that others, BIND most of all, refuse, with a part of the message.
var cases = []struct {
	rtype string
	good  []string
	bad   [][2]string
}{
	{"A", []string{"192.0.2.1", "192.0.2.1 ; a comment", generic("c0000201")}, [][2]string{
		{generic("c00002"), "octets"}, {generic("c000020101"), "octets"}, {"2001:db8::1", "such as 192.0.2.1"}, {"x", "such as 192.0.2.1"},
	}},
	{"AAAA", []string{"2001:db8::1"}, [][2]string{{generic("20010db8"), "octets"}, {"192.0.2.1", "such as 2001:db8::1"}, {"fe80::1%eth0", "2001:db8::1"}}},
	{"NS", []string{"ns.example.net.", "."}, [][2]string{{generic("c000"), "octets"}, {generic(""), "there is none"}}},
	{"CNAME", []string{"www", `a\.b`}, [][2]string{
		{"https://x.example.net", "it is a URL: write the host name alone"},
		{"https://x.example.net/a.", "write the host name alone"},
		{"bücher.example.net.", "write xn--bcher-kva.example.net., its ASCII form"},
		{"a@b", `write characters such as a space, "@"`},
		{"a..b", "it cannot be parsed"},
		{"a b", "it cannot be parsed"},
		{"a\nb 60 IN A 192.0.2.1", "more than one record"},
	}},
	{"MX", []string{"10 mail", "0 .", "( 10 mail )", generic("000a 0161 00")}, [][2]string{
		{generic("000a"), "octets"},
		{generic("00"), "octets"},
		{generic("000a 0161"), "octets"},
		{generic("000a 0161 00 00"), "octets"},
		{"10 https://mail", "URL"},
		{"mail", `it cannot be parsed at "mail": write it as in a zone file, such as 10 mail.example.net.`},
		{"10 mail " + x(100), `it cannot be parsed at "` + x(32) + `": write`},
		{"", "there is none"},
		{`\# 2 00`, "bad RFC3597 Rdata"},
	}},
	{"RP", []string{"a b"}, [][2]string{{generic("0161 00"), "octets"}}},
	{"SRV", []string{"1 2 3 host"}, [][2]string{{generic("0001 0002 0003"), "octets"}}},
	{"TYPE65280", []string{generic(""), generic("00")}, [][2]string{{"192.0.2.1", "RFC3597"}}},
	{"TXT", []string{`"a" "b"`, `""`, generic("00"), "a b"}, [][2]string{
		{generic(""), "there is none"}, {`"a`, "a quote is missing"}, {`"a\"`, "a quote is missing"}, {`a"`, "a quote is missing"}, {generic("0561"), "octets"},
	}},
	{"RESINFO", []string{"qnamemin exterr=15"}, [][2]string{{";", "there is none"}, {generic(""), "there is none"}}},
	{"HINFO", []string{`"PC" "Linux"`}, [][2]string{{generic("0131"), "octets"}}},
	{"LOC", []string{"52 22 23.000 N 4 53 32.000 E -2.00m", "90 0 0 S 180 0 0 W 0m"}, [][2]string{
		{generic("00 ff1613 80000000 80000000 00989680"), "octets"},
		{generic("00 021613 80000000 80000000 00989680"), "octets"},
		{generic("01 121613 80000000 80000000 00989680"), "octets"},
		{generic("00 121613 00000000 80000000 00989680"), "octets"},
	}},
	{"NAPTR", []string{
		`1 2 "s" "x" "" _sip._udp`, `1 2 "u" "E2U+sip" "!^.*$!sip:info@example.net!" .`, `1 2 "u" "x" "/(.)([a-z[:digit:]]{2,3})|b+/\\2\\1/i" .`,
		`1 2 "u" "x" "!^\\+1([2-9][0-9]{2})[^]x]?$!sip:\\1@x!" .`,
	}, [][2]string{
		{`1 2 "s" "x" "!bad" .`, "RFC 3402 §3.2"},
		{`1 2 "s" "x" "!(!b!" .`, "regular expression"},
		{`1 2 "s" "x" "1a1b1" .`, "delimiter"},
		{`1 2 "s" "x" "!a!b!g" .`, "delimiter"},
		{`1 2 "s" "x" "!a!\\1!" .`, "a group that the pattern lacks"},
		{`1 2 "s" "x" "!(a)!\\0!" .`, "a group that the pattern lacks"},
		{`1 2 "s" "x" "!a||b!x!" .`, "POSIX"},
		{`1 2 "s" "x" "!()!x!" .`, "POSIX"},
		{`1 2 "s" "x" "!^*!x!" .`, "POSIX"},
		{`1 2 "s" "x" "!a{!x!" .`, "POSIX"},
		{`1 2 "s" "x" "!a{256}!x!" .`, "POSIX"},
		{`1 2 "s" "x" "!a+*!x!" .`, "POSIX"},
		{`1 2 "s" "x" "![[.a.]]!x!" .`, "POSIX"},
		{`1 2 "s" "x" "![!-[:digit:]]!x!" .`, "delimiter"},
		{`1 2 "s" "x" "/[!-[:digit:]]/x/" .`, "POSIX"},
		{`1 2 "s" "x" "!\\12!x!" .`, "POSIX"},
		{`1 2 "s" "x" "!a!b\\!" .`, "a group that the pattern lacks"},
		{generic("0001 0002 00 00 00"), "octets"},
	}},
	{"CERT", []string{"PKIX 1 8 a2V5"}, [][2]string{{generic("0001 0001 08"), "is empty"}}},
	{"APL", []string{"1:192.0.2.0/24 !2:2001:db8::/32", generic("")}, [][2]string{{generic("0001 21 01 0a"), "octets"}, {generic("0001 18 02 0a00"), "octets"}}},
	{"DS", []string{"12345 13 2 " + x(32), "12345 13 1 " + x(20), "12345 13 4 " + x(48), "12345 13 5 " + x(32), "12345 13 200 ab"}, [][2]string{
		{"12345 13 2 ABCD", "type 2 has 32, which are 64 hex digits"},
		{"12345 13 4 " + x(49), "48"},
		{"12345 13 6 ab", "32"},
		{"12345 13 2 xyz", "it cannot be packed"},
		{"12345 13 2 abc", "such as 12345 13 2 0123"},
		{generic("3039 0d c8"), "is empty"},
		{generic("3039"), "octets"},
	}},
	{"CDS", []string{"0 0 0 00", "12345 13 2 " + x(32)}, [][2]string{{"12345 13 2 ABCD", "64 hex digits"}}},
	{"SSHFP", []string{"1 1 " + x(20), "4 2 " + x(32), "1 3 ab"}, [][2]string{{"1 1 ABCD", "40 hex digits"}, {"1 2 ABCD", "64 hex digits"}}},
	{"TLSA", []string{"3 1 1 " + x(32), "3 1 1 ab"}, [][2]string{{generic("030101"), "is empty"}, {"3 1 1 xyz", "it cannot be packed"}}},
	{"SMIMEA", []string{"3 1 1 " + x(32)}, [][2]string{{generic("030101"), "is empty"}}},
	{"IPSECKEY", []string{"10 1 2 192.0.2.38 AQNR", "10 0 2 . AQNR", "10 2 2 2001:db8::1 AQNR", "10 3 2 g AQNR"}, [][2]string{
		{generic("0a0100"), "octets"}, {generic("0a0000"), "is empty"}, {generic("0a0400 00"), "0 to 3"},
	}},
	{"AMTRELAY", []string{"10 0 1 203.0.113.15", "10 0 2 2001:db8::15", "10 0 3 amt", "10 0 0 ."}, [][2]string{
		{generic("0a03"), "octets"}, {generic("0a07"), "0 to 3"}, {"10 1 3 amt", "discovery bit"}, {"10 1 1 203.0.113.15", "discovery bit"},
	}},
	{"DNSKEY", []string{"257 3 13 a2V5"}, [][2]string{
		{generic("0101 03 0d"), "is empty"}, {"257 3 1 a2V5", "algorithm 1"}, {"257 3 253 A2ZvbwBr", "algorithm 253"}, {"257 3 13 a", "base64"},
	}},
	{"CDNSKEY", []string{"0 3 0 AA=="}, [][2]string{{generic("0101 03 0d"), "is empty"}}},
	{"CSYNC", []string{"66 3 A NS AAAA", "66 3"}, [][2]string{{generic("00000001"), "octets"}, {generic("00000001 0003 00 01 00"), "octets"}}},
	{"EUI48", nil, [][2]string{{generic("00"), "octets"}}},
	{"URI", []string{`10 1 "https://www.example.net/"`}, [][2]string{{generic("000a 0001"), "the target is empty"}}},
	{"CAA", []string{`0 issue ""`}, [][2]string{{`0 iss_ue "ca"`, "letters and digits"}, {`0 a-b "ca"`, "letters and digits"}, {generic("00 00"), "octets"}}},
	{"SVCB", []string{
		"0 alias", "1 .", "1 . alpn=h2,h3 no-default-alpn port=8443", "1 . mandatory=alpn,port alpn=h2 port=1", "1 . ohttp", "1 . key667=hello",
		"1 . ipv4hint=192.0.2.1,192.0.2.2 ipv6hint=2001:db8::1", "1 . dohpath=/dns-query{?dns}",
	}, [][2]string{
		{"1 . mandatory=alpn", "mandatory names alpn, which is missing"},
		{"1 . mandatory=mandatory", "itself"},
		{"1 . mandatory=alpn,foo alpn=h2", `mandatory names "foo", which is missing`},
		{`1 . key0=\255\255`, "mandatory names key65535, which is missing"},
		{"1 . key3=", "port length"},
		{"1 . ipv6hint=2001:db8::1,::ffff:192.0.2.1", "IPv4-mapped address ::ffff:192.0.2.1, with which CoreDNS cannot be a secondary: write ipv4hint=192.0.2.1"},
		{`1 . key6=\000\000\000\000\000\000\000\000\000\000\255\255\192\000\002\001`, "expected ipv6"},
		{"1 . key5=", "ech has no value"},
		{"1 . key7=/dns-query", "RFC 9461"},
		{"1 . key1=h2", "bad svcbalpn"},
		{"1 . key3=50 port=50", "repeated"},
		{"1 . mandatory=port,port port=1", "repeated"},
		{"1 . no-default-alpn", "needs alpn beside it"},
		{"1 . alpn=h2 alpn=h3", "repeated"},
		{`1 . alpn=""`, "alpn has no value"},
		{generic("0001 00 0000 0000"), "mandatory has no value"},
		{generic("0001 00 0001 0003 02 6832 0001 0003 02 6833"), "octets"},
		{generic("0001 00 0003 0001 50"), "octets"},
		{"1 . dohpath=/dns-query", "RFC 9461"},
		{generic("0001 00 0005 0000"), "ech has no value"},
		{generic("0001 00 0000 0004 0003 0001 0001 0003 02 6832 0003 0002 0050"), "octets"},
	}},
	{"HTTPS", []string{"1 . alpn=h2", "0 alias"}, [][2]string{{"1 . no-default-alpn", "needs alpn"}, {"1 https://x alpn=h2", "URL"}}},
}

// TestParse: data that other servers refuse are refused, with a reason that says what is wanted, and no other data are.
func TestParse(t *testing.T) {
	for _, c := range cases {
		rtype, ok := api.ParseType(c.rtype)
		if why := Refused(rtype); !ok || why != "" {
			t.Errorf("%s is refused: %s", c.rtype, why)
		}
		for _, data := range c.good {
			if _, err := parsed(rtype, data); err != nil {
				t.Errorf("%s %s is refused: %v", c.rtype, data, err)
			}
		}
		for _, b := range c.bad {
			if _, err := parsed(rtype, b[0]); err == nil || !strings.Contains(err.Error(), b[1]) {
				t.Errorf("%s %.80s: %v, want %q", c.rtype, b[0], err, b[1])
			}
		}
	}
}

// TestServiceKeys (bug_3a17): a key by its number has the data of its name (RFC 9460 §2.1).
func TestServiceKeys(t *testing.T) {
	for _, rtype := range []uint16{dns.TypeSVCB, dns.TypeHTTPS} {
		for numbers, names := range map[string]string{
			`1 . key7="/dns-query{?dns}"`: "1 . dohpath=/dns-query{?dns}",
			`1 . key8`:                    "1 . ohttp",
			`1 . key1=\002h2`:             "1 . alpn=h2",
			`1 . key1="\002h2\002h3" key2= key3=\001\187`:          "1 . alpn=h2,h3 no-default-alpn port=443",
			`1 key7 key667="a key7=b" key8`:                        `1 key7 ohttp key667="a key7=b"`,
			"1 . ( key8 ; key1=x\n\tkey1=\\002h2 )":                "1 . alpn=h2 ohttp",
			`1 . mandatory=key1,key667 key667=x alpn=h2`:           "1 . mandatory=alpn,key667 alpn=h2 key667=x",
			`1 . mandatory="key1" key1=\002h2 key65534=\"key7\;\\`: `1 . mandatory=alpn alpn=h2 key65534="\"key7;\\"`,
			`1 . key0=\000\001\000\003 port=1 alpn=h2`:             "1 . mandatory=port,alpn alpn=h2 port=1",
			`1 . key4=\192\000\002\001 key5=\001`:                  "1 . ipv4hint=192.0.2.1 ech=AQ==",
		} {
			want, err := parsed(rtype, names)
			if err != nil {
				t.Fatal(err)
			}
			got, err := parsed(rtype, numbers)
			if err != nil || got.String() != want.String() {
				t.Errorf("%s is %v, want %v (%v)", numbers, got, want, err)
			}
		}
	}
}

// TestRefused: types that hold the server's own data, obsolete ones, and those that cannot be checked are refused (rule
// 6.9), however they are written; types that no server has a form of are taken in the form of RFC 3597.
func TestRefused(t *testing.T) {
	for _, text := range []string{
		"SOA", "RRSIG", "NSEC", "NSEC3", "NSEC3PARAM", "SIG", "NXT", "TKEY", "TSIG", "ANY", "AXFR", "OPT", "TYPE0", "TYPE65535", "TYPE128", "ZONEMD", "SPF",
		"MD", "MF", "MB", "NULL", "TYPE11", "MINFO", "X25", "KEY", "GPOS", "TYPE34", "TYPE38", "HIP", "TALINK", "AVC", "TA", "DLV", "TYPE6", "TYPE66", "TYPE264",
	} {
		rtype, ok := api.ParseType(text)
		if why := Refused(rtype); !ok || why == "" {
			t.Errorf("%s is not refused: %v", text, ok)
		}
	}
	for _, text := range []string{"TYPE265", "TYPE65280", "TYPE65534", "TYPE43"} {
		rtype, ok := api.ParseType(text)
		if why := Refused(rtype); !ok || why != "" {
			t.Errorf("%s is refused: %s", text, why)
		}
	}
}

// TestLongest: the longest record that a message holds is taken, and no longer one (rule 8.1).
func TestLongest(t *testing.T) {
	text := strings.Repeat(x(127)+"a ", maxRecord/256+1)
	if _, err := parsed(dns.TypeTXT, text); err == nil || err.Error() != errTooLong.Error() {
		t.Errorf("%d octets: %v", len(text), err)
	}
	if _, err := parsed(dns.TypeTXT, text[:len(text)-256]); err != nil {
		t.Error(err)
	}
	if _, err := parsed(dns.TypeTXT, strings.Repeat(text, 3)); err == nil {
		t.Error("a text that no message can hold is taken")
	}
}

// TestText: a text is one text, octet for octet (rule 6.10).
func TestText(t *testing.T) {
	for _, text := range []string{"foo=bar", "v=DMARC1; p=none", `a\b "c" \# 3`, "\u00e9\n.", "  blanks\t ", " ", strings.Repeat("0123456789", 60)} {
		rr, err := Text(dns.RR_Header{Name: "a.example.org.", Rrtype: dns.TypeTXT, Class: dns.ClassINET}, text+"\r\n")
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		wire, _ := pack(rr)
		var got strings.Builder
		for wire = wire[len(wire)-int(rr.Header().Rdlength):]; len(wire) > 0; wire = wire[1+int(wire[0]):] {
			got.Write(wire[1 : 1+int(wire[0])])
		}
		if got.String() != text {
			t.Errorf("%q is %q", text, got.String())
		}
	}
	if _, err := Text(dns.RR_Header{Name: "a.", Rrtype: dns.TypeTXT, Class: dns.ClassINET}, "\n"); err == nil {
		t.Error("an empty text is taken")
	}
}

// TestOtherServersTakeIt: BIND reads what is taken, each type as an example shows it, and as it is in a message.
func TestOtherServersTakeIt(t *testing.T) {
	program := peertest.Program(t, "named-checkzone", "bind9-utils")
	var zone strings.Builder
	zone.WriteString("$TTL 60\n@ SOA ns.example.net. h.example.net. 1 2 3 4 5\n@ NS ns.example.net.\n")
	n := 0
	add := func(rtype uint16, data string) {
		n++
		rr, err := parsed(rtype, data)
		if err != nil {
			t.Errorf("%s %s: %v", dns.Type(rtype), data, err)
			return
		}
		wire, _ := pack(rr)
		_, head, _ := dns.UnpackDomainName(wire, 0)
		wire = wire[head+10:] // behind type, class, TTL and length
		fmt.Fprintf(&zone, "w%d TYPE%d \\# %d %s\n", n, rtype, len(wire), hex.EncodeToString(wire))
	}
	for rtype, form := range forms {
		add(rtype, form)
		fmt.Fprintf(&zone, "t%d %s %s\n", n, dns.Type(rtype), form)
	}
	for _, c := range cases {
		for _, data := range c.good {
			if rtype, _ := api.ParseType(c.rtype); rtype < opaque {
				add(rtype, data)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "zone")
	if err := os.WriteFile(file, []byte(zone.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-i", "none", "-k", "ignore", "-n", "ignore", "-S", "ignore", "-T", "ignore", "-M", "ignore", "example.org", file}
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil || bytes.Contains(out, []byte("error")) {
		t.Errorf("%v: %s", err, out)
	}
}

// FuzzParse: data that are taken come out of a message as they went in, and out of their text. No error is longer than
// what somebody reads.
func FuzzParse(f *testing.F) {
	for _, c := range cases {
		rtype, _ := api.ParseType(c.rtype)
		for _, data := range c.good {
			f.Add(rtype, data)
		}
		for _, b := range c.bad {
			f.Add(rtype, b[0])
		}
	}
	for rtype, form := range forms {
		f.Add(rtype, form)
	}
	f.Fuzz(func(t *testing.T, rtype uint16, data string) {
		if Refused(rtype) != "" {
			return
		}
		rr, err := parsed(rtype, data)
		if err != nil {
			if err.Error() == "" || len(err.Error()) > 1000+3*len(data) || strings.Contains(err.Error(), "at line: ") && !strings.Contains(data, "at line: ") {
				t.Fatalf("TYPE%d %q is refused: %v", rtype, data, err)
			}
			return
		}
		wire, err := pack(rr)
		if err != nil {
			t.Fatalf("%v: %v", rr, err)
		}
		again, end, err := dns.UnpackRR(wire, 0)
		if err != nil || end != len(wire) || !dns.IsDuplicate(rr, again) {
			t.Fatalf("%v: %v, %v, %d of %d octets", rr, again, err, end, len(wire))
		}
		other, err := Parse(*rr.Header(), strings.TrimPrefix(rr.String(), rr.Header().String()), ".")
		if _, unknown := rr.(*dns.RFC3597); unknown {
			other, err = Parse(*rr.Header(), generic(rr.(*dns.RFC3597).Rdata), ".")
		}
		if rr.Header().Rdlength == 0 && rtype == dns.TypeAPL || rtype == dns.TypeCSYNC {
			return // no text says that there is nothing, or that there is the type 0
		}
		if err != nil {
			t.Fatalf("%v: %v", rr, err)
		}
		if same, _ := pack(other); !bytes.Equal(wire, same) {
			t.Fatalf("%v:\n%s\n%v:\n%s", rr, hex.EncodeToString(wire), other, hex.EncodeToString(same))
		}
	})
}
