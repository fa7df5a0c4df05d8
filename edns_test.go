package kuadrant

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// ednsZone has what its probes need beside a Gateway: static data of every length.
const ednsZone = `{apiVersion: kubi.zone/v1alpha1, kind: Zone, metadata: {namespace: ns, name: z}, spec: {domainName: example.org., delegations: [{records: [{pattern: "*"}, {pattern: "@"}]}]}}
---
{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {namespace: ns, name: ns}, spec: {domainName: "@", zoneRef: {name: z}, type: NS, rdata: ns}}
---
{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {namespace: ns, name: a}, spec: {domainName: ns, zoneRef: {name: z}, type: A, rdata: 192.0.2.53}}
---
{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {namespace: ns, name: alias}, spec: {domainName: alias, zoneRef: {name: z}, type: CNAME, rdata: ns}}
---
{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {namespace: ns, name: wild}, spec: {domainName: "*.w", zoneRef: {name: z}, type: A, rdata: 192.0.2.9}}
---
{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {namespace: ns, name: dname}, spec: {domainName: dn, zoneRef: {name: z}, type: DNAME, rdata: w}}
---
{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {namespace: ns, name: cut}, spec: {domainName: cut, zoneRef: {name: z}, type: NS, rdata: ns.cut}}
---
{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {namespace: ns, name: cut-ds}, spec: {domainName: cut, zoneRef: {name: z}, type: DS, rdata: 1 13 2 0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF}}
---
{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {namespace: ns, name: glue}, spec: {domainName: ns.cut, zoneRef: {name: z}, type: A, rdata: 192.0.2.33}}
---
{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {namespace: ns, name: odd}, spec: {domainName: odd, zoneRef: {name: z}, type: TYPE65280, rdata: '\# 3 010203'}}
---
{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {namespace: ns, name: long}, spec: {domainName: long, zoneRef: {name: z}, type: TXT, rdata: '"%s"'}}
`

// ednsProbe is a query and what is expected to come back.
type ednsProbe struct {
	name    string
	network string
	query   []byte
	want    string
	// coreDNS is what CoreDNS makes of the query in place of want, whatever a plugin
	// does; "" for the same.
	coreDNS string
}

// TestOddQueries asks a whole CoreDNS what servers are asked by those who check them
// (RFC 8906 §8): flags, opcodes, types, classes and EDNS that it does not know, and
// messages that are not as they should be. What CoreDNS answers before it asks any
// plugin is said where it is so; the rest is ours. Rows that name example.org need the
// static data of a Zone.
func TestOddQueries(t *testing.T) {
	dir := t.TempDir()
	var addresses strings.Builder
	for i := range 60 {
		fmt.Fprintf(&addresses, "{value: 192.0.2.%d}, ", i+1)
	}
	big := strings.Replace(gatewayFile("big", "192.0.2.200"), "[{value: 192.0.2.200}]", "["+addresses.String()+"]", 1)
	writeFile(t, filepath.Join(dir, "a.yaml"), fmt.Sprintf(bootGateway, "www.example.com", "192.0.2.1"))
	writeFile(t, filepath.Join(dir, "big.yaml"), big)
	writeFile(t, filepath.Join(dir, "zone.yaml"), fmt.Sprintf(ednsZone, strings.Repeat("0123456789", 200)))
	port := freePort(t)
	inst, _ := boot(t, fmt.Sprintf("example.com:%d example.org:%d {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\n}\n}\n", port, port, dir))
	defer func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}()
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	waitFor(t, "answers", func() bool { return firstA(exchange(t, addr, "www.example.com.", dns.TypeA)) == "192.0.2.1" })
	for _, p := range slices.Concat(flagProbes(), questionProbes(), ednsProbes(), sizeProbes(), zoneProbes()) {
		t.Run(p.name, func(t *testing.T) {
			network := p.network
			if network == "" {
				network = "udp"
			}
			want := cmp.Or(p.coreDNS, p.want)
			if seen := ednsAsk(t, network, addr, p.query); seen != want {
				t.Errorf("%s\nseen %s\nwant %s", network, seen, want)
			}
		})
	}
}

// flagProbes ask for www.example.com with flags and opcodes (RFC 8906 §8.1.3 to §8.1.5,
// RFC 4035 §3.1.6).
func flagProbes() []ednsProbe {
	www := func(odd ...oddity) []byte { return oddQuery("www.example.com.", dns.TypeA, odd...) }
	const answer = "www.example.com. A"
	return []ednsProbe{
		{"plain", "", www(), "NOERROR aa | " + answer, ""},
		{"over TCP", "tcp", www(), "NOERROR aa | " + answer, ""},
		{"RD is copied", "", www(withBits(bitRD)), "NOERROR aa rd | " + answer, ""},
		{"RA is not", "", www(withBits(bitRA)), "NOERROR aa | " + answer, ""},
		{"AD is not", "", www(withBits(bitAD)), "NOERROR aa | " + answer, ""},
		{"CD is not", "", www(withBits(bitCD)), "NOERROR aa | " + answer, ""},
		{"Z is not", "", www(withBits(bitZ)), "NOERROR aa | " + answer, ""},
		{"AA is not", "", oddQuery("www.example.net.", dns.TypeA, withBits(bitAA)), "REFUSED", ""},
		{"TC is not", "", www(withBits(bitTC)), "NOERROR aa | " + answer, ""},
		{"RD and CD of a denial", "", oddQuery("no.example.com.", dns.TypeA, withBits(bitRD|bitCD)), "NXDOMAIN aa rd | auth example.com. SOA", ""},
		// CoreDNS: the opcodes, before the number of questions.
		{"opcode 15", "", www(withOpcode(15)), "opcode 15 NOTIMP", ""},
		{"opcode 15, header only", "", oddQuery("", 0, withOpcode(15), withCounts(0, 0, 0, 0)), "opcode 15 NOTIMP", ""},
		{"IQUERY", "", www(withOpcode(dns.OpcodeIQuery)), "opcode 1 NOTIMP", ""},
		{"STATUS", "", www(withOpcode(dns.OpcodeStatus)), "opcode 2 NOTIMP", ""},
		{"UPDATE", "", oddQuery("example.com.", dns.TypeSOA, withOpcode(dns.OpcodeUpdate)), "opcode 5 NOTIMP", ""},
		{"DSO", "", www(withOpcode(6)), "opcode 6 NOTIMP", ""},
		// Nobody has told us to be anybody's secondary (RFC 1996 §3.10).
		{"NOTIFY", "", oddQuery("example.com.", dns.TypeSOA, withOpcode(dns.OpcodeNotify)), "opcode 4 REFUSED", ""},
		// CoreDNS: a reply is not answered (RFC 5452 §4), lest servers answer each other.
		{"a reply", "", www(withBits(bitQR)), "nothing", ""},
	}
}

// questionProbes have odd questions.
func questionProbes() []ednsProbe {
	const answer, soa = "www.example.com. A", "auth example.com. SOA"
	mixed := "wWw.eXAMPLE.cOm."
	full := strings.Repeat(strings.Repeat("a", 59)+".", 4) + "com." // 245 octets
	long := strings.Repeat(strings.Repeat("a", 60)+".", 3) + strings.Repeat("b", 57) + ".example.com."
	return []ednsProbe{
		{"SOA", "", oddQuery("example.com.", dns.TypeSOA), "NOERROR aa | example.com. SOA", ""},
		{"unknown type", "", oddQuery("www.example.com.", 1000), "NOERROR aa | " + soa, ""},
		{"private type", "", oddQuery("www.example.com.", 65280), "NOERROR aa | " + soa, ""},
		{"unknown type, missing name", "", oddQuery("no.example.com.", 1000), "NXDOMAIN aa | " + soa, ""},
		{"RRSIG of what is not signed", "", oddQuery("www.example.com.", dns.TypeRRSIG), "NOERROR aa | " + soa, ""},
		{"NULL", "", oddQuery("www.example.com.", dns.TypeNULL), "NOERROR aa | " + soa, ""},
		{"ANY", "", oddQuery("www.example.com.", dns.TypeANY), "NOERROR aa | " + answer, ""},
		{"ANY over TCP", "tcp", oddQuery("www.example.com.", dns.TypeANY), "NOERROR aa | " + answer, ""},
		{"ANY of a missing name", "", oddQuery("no.example.com.", dns.TypeANY), "NXDOMAIN aa | " + soa, ""},
		{"AXFR over UDP", "", oddQuery("example.com.", dns.TypeAXFR), "REFUSED", ""},
		{"IXFR over UDP", "", oddQuery("example.com.", dns.TypeIXFR), "REFUSED", ""},
		{"AXFR without the plugin transfer", "tcp", oddQuery("example.com.", dns.TypeAXFR), "REFUSED", ""},
		// CoreDNS: classes, and zones that no server block has.
		{"class CH", "", oddQuery("www.example.com.", dns.TypeA, withClass(dns.ClassCHAOS)), "REFUSED", ""},
		{"version.bind", "", oddQuery("version.bind.", dns.TypeTXT, withClass(dns.ClassCHAOS)), "REFUSED", ""},
		{"class ANY", "", oddQuery("www.example.com.", dns.TypeA, withClass(dns.ClassANY)), "REFUSED", ""},
		{"class 0", "", oddQuery("www.example.com.", dns.TypeA, withClass(0)), "REFUSED", ""},
		{"another zone", "", oddQuery("www.example.net.", dns.TypeA), "REFUSED", ""},
		{"like the zone", "", oddQuery("wwwexample.com.", dns.TypeA), "REFUSED", ""},
		{"the root", "", oddQuery(".", dns.TypeNS), "REFUSED", ""},
		{"mixed case", "", oddQuery(mixed, dns.TypeA), "NOERROR aa | " + mixed + " A", ""},
		{"mixed case of a missing name", "", oddQuery("nO.eXAMPLE.cOm.", dns.TypeA), "NXDOMAIN aa | " + soa, ""},
		{"the longest name", "", oddQuery(long, dns.TypeA), "NXDOMAIN aa | " + soa, ""},
		{"the longest name over TCP", "tcp", oddQuery(long, dns.TypeA), "NXDOMAIN aa | " + soa, ""},
		{"odd octets", "", oddQuery(`\000\255\.\032@.example.com.`, dns.TypeA), "NXDOMAIN aa | " + soa, ""},
		// CoreDNS: what cannot be read, or is more than one question (RFC 9619 §4).
		{"a name too long", "", lengthened(oddQuery(full, dns.TypeA)), "FORMERR", ""},
		{"two questions", "", oddQuery("www.example.com.", dns.TypeA, withSecond()), "FORMERR", ""},
		{"no question", "", oddQuery("", 0, withCounts(0, 0, 0, 0)), "FORMERR", ""},
		{"a question that is missing", "", oddQuery("", 0, withCounts(1, 0, 0, 0)), "FORMERR", "SERVFAIL"},
		{"half a question", "", oddQuery("www.example.com.", dns.TypeA, without(5)), "FORMERR", ""},
		{"a name that points at itself", "", append(oddQuery("", 0, withCounts(1, 0, 0, 0)), 0xc0, 12, 0, 1, 0, 1), "FORMERR", ""},
		{"a label of a type that is not in use", "", append(oddQuery("", 0, withCounts(1, 0, 0, 0)), 0x41, 1, 0, 0, 1, 0, 1), "FORMERR", ""},
		{"an answer beside the question", "", oddQuery("www.example.com.", dns.TypeA, withCounts(1, 2, 0, 0)), "FORMERR", ""},
	}
}

// ednsProbes are about the OPT record (RFC 6891, RFC 8906 §8.2).
func ednsProbes() []ednsProbe {
	www := func(odd ...oddity) []byte { return oddQuery("www.example.com.", dns.TypeA, odd...) }
	const answer, denial = "www.example.com. A", "NXDOMAIN aa | auth example.com. SOA | "
	cookie := ednsOption(dns.EDNS0COOKIE, "\x01\x02\x03\x04\x05\x06\x07\x08")
	noSubnet := ednsOption(dns.EDNS0SUBNET, "\x00\x01\x00\x00")
	subnet := ednsOption(dns.EDNS0SUBNET, "\x00\x01\x18\x00\x0a\x02\x03")
	const ok = "NOERROR aa | " + answer + " | opt 1232"
	return []ednsProbe{
		{"EDNS", "", www(withEDNS(1232, 0)), ok, ""},
		{"EDNS over TCP", "tcp", www(withEDNS(1232, 0)), ok, ""},
		{"EDNS, missing name", "", oddQuery("no.example.com.", dns.TypeA, withEDNS(1232, 0)), denial + "opt 1232", ""},
		{"EDNS, another zone", "", oddQuery("www.example.net.", dns.TypeA, withEDNS(1232, 0)), "REFUSED | opt 1232", ""},
		{"EDNS, class CH", "", www(withEDNS(1232, 0), withClass(dns.ClassCHAOS)), "REFUSED | opt 1232", ""},
		{"DO", "", www(withEDNS(1232, 1<<15)), ok + " do", ""},
		{"DO, mixed case", "", oddQuery("wWw.example.com.", dns.TypeA, withEDNS(1232, 1<<15)), ok + " do", ""}, // rule 7.2
		{"DO, missing name", "", oddQuery("no.example.com.", dns.TypeA, withEDNS(1232, 1<<15)), denial + "opt 1232 do", ""},
		{"unknown EDNS flags", "", www(withEDNS(1232, 1<<6)), ok, ""},
		{"all EDNS flags", "", www(withEDNS(1232, 1<<16-1)), ok + " do", ok + " do flags 0x7f00"}, // RFC 6891 §6.1.4
		// CoreDNS: the version (RFC 6891 §6.1.3).
		{"EDNS version 100", "", www(withEDNS(1232, 100<<16)), "BADVERS | opt", ""},
		{"EDNS version 1 with DO", "", www(withEDNS(1232, 1<<16|1<<15)), "BADVERS | opt", ""},
		{"EDNS version 100, unknown flags", "", www(withEDNS(1232, 100<<16|1<<6)), "BADVERS | opt", ""},
		{"EDNS version 100, unknown option", "", www(withEDNS(1232, 100<<16, ednsOption(100, ""))), "BADVERS | opt", ""},
		{"EDNS version 100, another zone", "", oddQuery("www.example.net.", dns.TypeA, withEDNS(1232, 100<<16)), "BADVERS | opt", ""},
		{"an extended rcode in a query", "", www(withEDNS(1232, 7<<24)), ok, ""},
		{"unknown option", "", www(withEDNS(1232, 0, ednsOption(100, ""))), ok, ""},
		{"unknown option with data", "", www(withEDNS(1232, 0, ednsOption(65001, "abc"))), ok, ""},
		{"unknown option, missing name", "", oddQuery("no.example.com.", dns.TypeA, withEDNS(1232, 0, ednsOption(100, "x"))), denial + "opt 1232", ""},
		{"unknown option, another zone", "", oddQuery("www.example.net.", dns.TypeA, withEDNS(1232, 0, ednsOption(100, "x"))), "REFUSED | opt 1232", ""},
		{"cookie", "", www(withEDNS(1232, 0, cookie)), ok, ""},
		{"padding", "", www(withEDNS(1232, 0, ednsOption(dns.EDNS0PADDING, "\x00\x00\x00"))), ok, ""},
		{"keepalive", "", www(withEDNS(1232, 0, ednsOption(dns.EDNS0TCPKEEPALIVE, ""))), ok, ""},
		{"keepalive over TCP", "tcp", www(withEDNS(1232, 0, ednsOption(dns.EDNS0TCPKEEPALIVE, ""))), ok, ""},
		{"many options", "", www(withEDNS(1232, 0, ednsOption(dns.EDNS0EXPIRE, ""), cookie, noSubnet)), ok + " option 8", ""},
		{"client subnet", "", www(withEDNS(1232, 0, subnet)), ok + " option 8", ""},
		{"client subnet and DO", "", www(withEDNS(1232, 1<<15, subnet)), ok + " do option 8", ""},
		{"client subnet and unknown option and flag", "", www(withEDNS(1232, 1<<6, subnet, ednsOption(100, "x"))), ok + " option 8", ""},
		{"client subnet, missing name", "", oddQuery("no.example.com.", dns.TypeA, withEDNS(1232, 0, subnet)), denial + "opt 1232 option 8", ""},
		{"client subnet of an unknown family", "", www(withEDNS(1232, 0, ednsOption(dns.EDNS0SUBNET, "\x00\x03\x08\x00\x0a"))), "FORMERR | opt 1232", "FORMERR"},
		{"client subnet, too long", "", www(withEDNS(1232, 0, ednsOption(dns.EDNS0SUBNET, "\x00\x01\x21\x00\x0a\x02\x03\x04\x05"))), "FORMERR | opt 1232", "FORMERR"},
		{"client subnet with a scope", "", www(withEDNS(1232, 0, ednsOption(dns.EDNS0SUBNET, "\x00\x01\x18\x18\x0a\x02\x03"))), "FORMERR | opt 1232", ""},
		// What follows an option that is cut off is unknown: no OPT can be read.
		{"an option that is cut off", "", www(withEDNS(1232, 0, "\x00\x64\x00\x05ab")), "FORMERR", ""},
		{"two OPT records", "", www(withEDNS(1232, 0), withEDNS(512, 0), withCounts(1, 0, 0, 2)), "FORMERR | opt 512", ""}, // RFC 6891 §6.1.1
	}
}

// sizeProbes are about what fits (RFC 6891 §6.2.3 to §6.2.5).
func sizeProbes() []ednsProbe {
	const all = "NOERROR aa | 60 big.example.com. A"
	big := func(odd ...oddity) []byte { return oddQuery("big.example.com.", dns.TypeA, odd...) }
	return []ednsProbe{
		{"512", "", big(), "NOERROR aa tc | truncated", ""},
		{"512 with EDNS", "", big(withEDNS(512, 0)), "NOERROR aa tc | truncated | opt 512", ""},
		{"fewer than 512 mean 512", "", oddQuery("www.example.com.", dns.TypeA, withEDNS(100, 0)), "NOERROR aa | www.example.com. A | opt 100", ""},
		{"fewer than 512 for much", "", big(withEDNS(0, 0)), "NOERROR aa tc | truncated | opt 0", ""},
		{"512 with DO", "", big(withEDNS(512, 1<<15)), "NOERROR aa tc | truncated | opt 512 do", ""},
		{"1232", "", big(withEDNS(1232, 0)), all + " | opt 1232", ""},
		{"65535", "", big(withEDNS(65535, 0)), all + " | opt 65535", ""},
		{"TCP", "tcp", big(), all, ""},
		{"TCP with EDNS 512", "tcp", big(withEDNS(512, 0)), all + " | opt 512", ""},
	}
}

// zoneProbes need the static data of a Zone.
func zoneProbes() []ednsProbe {
	const soa = "auth example.org. SOA"
	const referral = "NOERROR | auth cut.example.org. NS | extra ns.cut.example.org. A"
	return []ednsProbe{
		{"CNAME, mixed case", "", oddQuery("AliaS.Example.org.", dns.TypeA), "NOERROR aa | AliaS.Example.org. CNAME, ns.example.org. A", ""},
		{"wildcard, mixed case", "", oddQuery("X.w.Example.org.", dns.TypeA), "NOERROR aa | X.w.Example.org. A", ""},
		{"DNAME: the case of its CNAME", "", oddQuery("Foo.dn.example.org.", dns.TypeA), "NOERROR aa | dn.example.org. DNAME, Foo.dn.example.org. CNAME, foo.w.example.org. A", ""},
		{"DNAME: the case with DO", "", oddQuery("Foo.dn.example.org.", dns.TypeA, withEDNS(1232, 1<<15)), "NOERROR aa | dn.example.org. DNAME, foo.dn.example.org. CNAME, foo.w.example.org. A | opt 1232 do", ""},
		{"a type without a name", "", oddQuery("odd.example.org.", 65280), "NOERROR aa | odd.example.org. TYPE65280", ""},
		{"not that type", "", oddQuery("odd.example.org.", 65281), "NOERROR aa | " + soa, ""},
		{"referral", "", oddQuery("x.cut.example.org.", dns.TypeA), referral, ""},
		{"referral, RD and CD", "", oddQuery("x.cut.example.org.", dns.TypeA, withBits(bitRD|bitCD|bitAD)), strings.Replace(referral, "NOERROR", "NOERROR rd", 1), ""},
		{"referral with DO", "", oddQuery("x.cut.example.org.", dns.TypeA, withEDNS(1232, 1<<15)), "NOERROR | auth cut.example.org. NS | extra ns.cut.example.org. A | opt 1232 do", ""},
		{"DS at the cut", "", oddQuery("cut.example.org.", dns.TypeDS), "NOERROR aa | cut.example.org. DS", ""},
		{"long TXT at 512", "", oddQuery("long.example.org.", dns.TypeTXT), "NOERROR aa tc | truncated", ""},
		{"long TXT at 1232", "", oddQuery("long.example.org.", dns.TypeTXT, withEDNS(1232, 0)), "NOERROR aa tc | truncated | opt 1232", ""},
		{"long TXT at 4096", "", oddQuery("long.example.org.", dns.TypeTXT, withEDNS(4096, 0)), "NOERROR aa | long.example.org. TXT | opt 4096", ""},
		{"long TXT over TCP", "tcp", oddQuery("long.example.org.", dns.TypeTXT), "NOERROR aa | long.example.org. TXT", ""},
	}
}
