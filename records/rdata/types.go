package rdata

import "github.com/miekg/dns"

// forms are the named types that a Record may have, with example data as in a zone file, which messages show if data cannot be read. BIND,
// Knot and NSD load all of them.
var forms = map[uint16]string{
	dns.TypeA:          "192.0.2.1",
	dns.TypeAAAA:       "2001:db8::1",
	dns.TypeAFSDB:      "1 host.example.net.",
	dns.TypeAMTRELAY:   "10 0 1 203.0.113.15",
	dns.TypeAPL:        "1:192.0.2.0/24",
	dns.TypeCAA:        `0 issue "ca.example.net"`,
	dns.TypeCDNSKEY:    "257 3 13 a2V5",
	dns.TypeCDS:        "12345 13 2 " + exampleDigest,
	dns.TypeCERT:       "PKIX 1 8 a2V5",
	dns.TypeCNAME:      "www.example.net.",
	dns.TypeCSYNC:      "66 3 A NS AAAA",
	dns.TypeDHCID:      "AAIBY2/AuCccgoJbsaxcQc9TUapptP69lOjxfNuVAA2kjEA=",
	dns.TypeDNAME:      "example.net.",
	dns.TypeDNSKEY:     "257 3 13 a2V5",
	dns.TypeDS:         "12345 13 2 " + exampleDigest,
	dns.TypeEUI48:      "00-00-5e-00-53-2a",
	dns.TypeEUI64:      "00-00-5e-ef-10-00-00-2a",
	dns.TypeHINFO:      `"PC" "Linux"`,
	dns.TypeHTTPS:      "1 . alpn=h2",
	dns.TypeIPSECKEY:   "10 1 2 192.0.2.38 AQNR",
	dns.TypeKX:         "1 host.example.net.",
	dns.TypeLOC:        "52 22 23.000 N 4 53 32.000 E -2.00m",
	dns.TypeMX:         "10 mail.example.net.",
	dns.TypeNAPTR:      `100 10 "s" "SIP+D2U" "" _sip._udp.example.net.`,
	dns.TypeNS:         "ns1.example.net.",
	dns.TypeOPENPGPKEY: "a2V5",
	dns.TypePTR:        "www.example.net.",
	dns.TypeRESINFO:    "qnamemin exterr=15,16,17",
	dns.TypeRP:         "noc.example.net. info.example.net.",
	dns.TypeSMIMEA:     "3 1 1 " + exampleDigest,
	dns.TypeSRV:        "0 5 443 www.example.net.",
	dns.TypeSSHFP:      "4 2 " + exampleDigest,
	dns.TypeSVCB:       "1 . alpn=h2",
	dns.TypeTLSA:       "3 1 1 " + exampleDigest,
	dns.TypeTXT:        `"v=spf1 -all"`,
	dns.TypeURI:        `10 1 "https://www.example.net/"`,
}

// exampleDigest has the length of a SHA-256 digest.
const exampleDigest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// lastAssigned is the last type below 32768 that IANA had assigned when forms was written. Types above it take any octets as data, on other
// servers too (RFC 3597 §3).
const lastAssigned = 264

// Refused returns why records of a type may not be written (rule 6.9); "" if they may.
func Refused(t uint16) string {
	switch t {
	case dns.TypeSOA:
		return "the SOA comes from the Zone"
	case dns.TypeRRSIG, dns.TypeNSEC, dns.TypeNSEC3, dns.TypeNSEC3PARAM, dns.TypeSIG, dns.TypeNXT:
		return "the dnssec plugin makes signatures and proofs"
	case dns.TypeZONEMD:
		return "a digest of the zone would be wrong after the next change"
	case dns.TypeSPF:
		return "it is obsolete: write a TXT record (RFC 7208 §3.1)"
	case dns.TypeNone, dns.TypeOPT, dns.TypeReserved:
		return "it is not a type of data"
	}
	switch _, known := forms[t]; {
	case known:
		return ""
	case t >= 128 && t <= 255: // RFC 6895 §3.1: meta types and those of questions, TSIG and TKEY among them
		return "it is not a type of data"
	case t <= lastAssigned || t == dns.TypeTA || t == dns.TypeDLV:
		return "it is obsolete, or too new for this server to check its data"
	}
	return ""
}

// Header returns the header of a record of class IN; ttl is in seconds.
func Header(owner string, rtype uint16, ttl uint32) dns.RR_Header {
	return dns.RR_Header{Name: owner, Rrtype: rtype, Class: dns.ClassINET, Ttl: ttl}
}
