package records

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"sync"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// writing says how the data of an entry are written, and where.
type writing struct {
	// origin is what names in the data are relative to.
	origin string
	// typeAt and dataAt name the type and the data in messages.
	typeAt, dataAt string
	// wholeText is set where the data of a TXT record are one text, unless they begin with a
	// quote.
	wholeText bool
}

// parse makes the record of e, whose name is known, in the zone at (rule 6.9).
func (e *entry) parse(at *site, w writing) *problem {
	rec := e.record
	if rec.Class != "IN" {
		return problemf(reasonForbiddenClass, "spec.class %s: only IN is served", rec.Class)
	}
	rtype, ok := typeOf(rec.Type)
	if !ok {
		return problemf(reasonInvalidData, "%s %q is no record type: write one such as A, or TYPE65280 for one without a name (RFC 3597)", w.typeAt, rec.Type)
	}
	if why := forbiddenType(rtype); why != "" {
		return problemf(reasonForbiddenType, "%s %s: %s", w.typeAt, rec.Type, why)
	}
	if why := e.misplaced(rtype, at); why != "" {
		return &problem{reasonForbiddenType, why}
	}
	rr, err := w.parse(rtype, rec.RData)
	if err != nil {
		return problemf(reasonInvalidData, "%s of type %s: %v", w.dataAt, rec.Type, err)
	}
	*rr.Header() = header(e.name, rtype, at.recordTTL(rec))
	if e.rr, err = asPacked(rr); err != nil {
		return problemf(reasonInvalidData, "%s of type %s: %v", w.dataAt, rec.Type, err)
	}
	return nil
}

// parse reads data of a type.
func (w *writing) parse(rtype uint16, text string) (dns.RR, error) {
	if w.wholeText && rtype == dns.TypeTXT && !strings.HasPrefix(strings.TrimSpace(text), `"`) {
		return textRData(text)
	}
	return parseRData(rtype, text, w.origin)
}

// misplaced tells why a type may not stand where e lies; "" where it may.
func (e *entry) misplaced(rtype uint16, at *site) string {
	if rtype == dns.TypeDNAME || rtype == dns.TypeNS && e.name != at.origin {
		for _, ns := range at.corefile.Nameservers {
			if len(ns.Addresses) > 0 && rdata.IsSubdomain(at.origin, ns.Name) && rdata.IsSubdomain(e.name, ns.Name) {
				return trimDot(ns.Name) + ", at or below it, is a name server of the Corefile, with addresses of its own"
			}
		}
	}
	if rtype == dns.TypeNS && strings.HasPrefix(e.name, rdata.Wildcard) {
		return "a wildcard cannot be delegated, and BIND copies no zone that has it (RFC 4592 §4.2): write an NS record for each name"
	}
	if e.name != at.origin {
		return ""
	}
	switch {
	case rtype == dns.TypeCNAME:
		return "a zone's own name has an SOA, and a CNAME may not stand beside it (RFC 1034 §3.6.2)"
	case rtype == dns.TypeDS:
		return "a DS record belongs to the zone above (RFC 4035 §2.4)"
	case rtype == dns.TypeNS && at.object == nil:
		return "the name servers of a zone without a Zone are those of the Corefile"
	}
	return ""
}

// recordTTL returns the TTL of a Record in the zone, in seconds: its own, else the
// Zone's, else that of hosts in a zone of the Corefile.
func (at *site) recordTTL(rec *api.Record) uint32 {
	if rec.TTL != api.NoTTL {
		return uint32(rec.TTL)
	}
	return at.defaultTTL()
}

// defaultTTL returns the TTL of what has none of its own in the zone, in seconds.
func (at *site) defaultTTL() uint32 {
	if at.object != nil {
		return at.object.TTL
	}
	return at.corefile.TTL
}

// typeOf returns the number of a type that has a name, or the form of RFC 3597 §5.
func typeOf(text string) (uint16, bool) {
	if t, ok := dns.StringToType[text]; ok {
		return t, true
	}
	digits, ok := strings.CutPrefix(text, "TYPE")
	if !ok || digits == "" || len(digits) > 5 {
		return 0, false
	}
	n := 0
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return uint16(n), n <= 1<<16-1
}

// typeName returns the name of a type however it is written: TYPE43 is DS.
func typeName(text string) string {
	if t, ok := typeOf(text); ok {
		return dns.Type(t).String()
	}
	return text
}

// forbiddenType tells why nobody may write records of a type (rule 6.9); "" where they
// may.
func forbiddenType(t uint16) string {
	switch t {
	case dns.TypeSOA:
		return "the SOA comes from the Zone"
	case dns.TypeRRSIG, dns.TypeNSEC, dns.TypeNSEC3, dns.TypeNSEC3PARAM, dns.TypeSIG, dns.TypeNXT:
		return "signatures and proofs are made by the plugin dnssec"
	case dns.TypeMD, dns.TypeMF:
		return "it is obsolete: write an MX record (RFC 1035 §3.3.4 and §3.3.5)"
	case dns.TypeNone, dns.TypeOPT, dns.TypeReserved:
		return "it is not for data"
	}
	if t >= 128 && t <= 255 { // RFC 6895 §3.1: meta types and those of questions, TSIG and TKEY among them
		return "it is not for data"
	}
	return ""
}

var (
	errNoRData    = errors.New("there is none")
	errManyRData  = errors.New("it is more than one record: write each as a Record of its own")
	errIPv4       = errors.New("it is not an IPv4 address such as 192.0.2.1")
	errIPv6       = errors.New("it is not an IPv6 address such as 2001:db8::1")
	errTooLong    = errors.New("it is longer than a message can hold")
	errOtherRData = errors.New("it is of another type")
)

// parseRData reads data in the form of a master file (RFC 1035 §5.1). Names in it are
// relative to origin. The header of what it returns is not set, but for the type.
func parseRData(rtype uint16, text, origin string) (dns.RR, error) {
	switch trimmed := strings.TrimSpace(text); {
	case trimmed == "":
		return nil, errNoRData
	case strings.HasPrefix(trimmed, `\#`): // RFC 3597 §5
		if err := genericWellFormed(rtype, text); err != nil {
			return nil, err
		}
	case rtype == dns.TypeA || rtype == dns.TypeAAAA:
		if addr, err := netip.ParseAddr(trimmed); err == nil && addr.Is4() == (rtype == dns.TypeA) && addr.Zone() == "" {
			return addressRRs("", 0, []netip.Addr{addr})[0], nil // by far the most
		}
		rr, err := parseMaster(rtype, text, origin)
		switch {
		case err == nil && addressOf(rr) > 0:
			return rr, nil
		case rtype == dns.TypeA:
			return nil, errIPv4
		}
		return nil, errIPv6
	}
	rr, err := parseMaster(rtype, text, origin)
	if err != nil {
		return nil, err
	}
	return rr, canonicalData(rr)
}

// opaque is a type that no data have a form of.
const opaque = 65280 // RFC 6895 §3.1: private use

// genericWellFormed is wellFormed of data in the form of RFC 3597 §5: the parser fills in what
// is missing.
func genericWellFormed(rtype uint16, text string) error {
	rr, err := parseMaster(opaque, text, ".")
	if err != nil {
		return err
	}
	generic, ok := rr.(*dns.RFC3597)
	if !ok {
		return errOtherRData
	}
	data, err := hex.DecodeString(generic.Rdata)
	if err != nil {
		return unpackable(opaque, err)
	}
	if _, known := layouts[rtype]; known && len(data) == 0 && rtype != dns.TypeAPL {
		return errNoRData
	}
	return wellFormed(rtype, data)
}

// addressOf returns how many octets the address of an A or AAAA record has.
func addressOf(rr dns.RR) int {
	switch rr := rr.(type) {
	case *dns.A:
		return len(rr.A)
	case *dns.AAAA:
		return len(rr.AAAA)
	}
	return 0
}

// parseMaster has the text read as that of a master file.
func parseMaster(rtype uint16, text, origin string) (dns.RR, error) {
	z := dns.NewZoneParser(strings.NewReader(". 0 IN "+dns.Type(rtype).String()+" "+text+"\n"), origin, "")
	rr, ok := z.Next()
	if err := z.Err(); err != nil {
		return nil, unreadable(rtype, text, err)
	}
	if !ok {
		return nil, errNoRData
	}
	if rr.Header().Rrtype != rtype {
		return nil, errOtherRData
	}
	if _, more := z.Next(); more || z.Err() != nil {
		return nil, errManyRData
	}
	return rr, nil
}

// canonicalData gives the names in rr the one spelling that they are looked up with: two
// data that differ in the case of a name are one (RFC 4343 §3).
func canonicalData(rr dns.RR) error {
	switch rr := rr.(type) {
	case *dns.NS:
		return canonicalTarget(&rr.Ns)
	case *dns.CNAME:
		return canonicalTarget(&rr.Target)
	case *dns.DNAME:
		return canonicalTarget(&rr.Target)
	case *dns.MX:
		return canonicalTarget(&rr.Mx)
	case *dns.SRV:
		return canonicalTarget(&rr.Target)
	case *dns.SVCB:
		return canonicalTarget(&rr.Target)
	case *dns.HTTPS:
		return canonicalTarget(&rr.Target)
	}
	return canonicalFields(reflect.ValueOf(rr).Elem())
}

// canonicalTarget does so with one name, which has to be there.
func canonicalTarget(name *string) (err error) {
	if *name == "" {
		return errNoRData
	}
	*name, err = rdata.Canonical(*name)
	return err
}

// canonicalFields does so with all fields of a record that the library packs as names.
func canonicalFields(rr reflect.Value) error {
	for i := range rr.NumField() {
		field := rr.Field(i)
		switch rr.Type().Field(i).Tag.Get("dns") {
		case "domain-name", "cdomain-name", "ipsechost", "amtrelayhost":
		default:
			continue
		}
		names := []reflect.Value{field}
		if field.Kind() == reflect.Slice {
			names = nil
			for j := range field.Len() {
				names = append(names, field.Index(j))
			}
		}
		for _, name := range names {
			if name.String() == "" { // of a gateway that is none
				continue
			}
			canonical, err := rdata.Canonical(name.String())
			if err != nil {
				return err
			}
			name.SetString(canonical)
		}
	}
	return nil
}

// packBuffers are for the largest record that a message can hold.
var packBuffers = sync.Pool{New: func() any { return new([dns.MaxMsgSize]byte) }}

// maxRecord is how many octets a record may have on the wire: a message has a header, a
// question, an OPT and, in a transfer, a TSIG with its key's name beside it. A record that
// no message can hold would keep secondaries from the whole zone (rule 8.1).
const maxRecord = dns.MaxMsgSize - 12 - rdata.MaxWireName - 4 - 64 - 512

// asPacked returns rr, which nobody else has seen, as others read it from a message, or what
// keeps it from being sent, or others from reading it. However the same data are written,
// digits of either case or parameters in any order, they are one record then (RFC 2181 §5).
func asPacked(rr dns.RR) (dns.RR, error) {
	if addressOf(rr) > 0 {
		return rr, nil
	}
	buf := packBuffers.Get().(*[dns.MaxMsgSize]byte)
	defer packBuffers.Put(buf)
	off, err := dns.PackRR(rr, buf[:], 0, nil, false)
	switch {
	case err != nil:
		return nil, unpackable(rr.Header().Rrtype, err)
	case off > maxRecord:
		return nil, errTooLong
	case rr.Header().Rdlength == 0 && !mayBeEmpty(rr):
		return nil, errNoRData
	}
	if err := wellFormed(rr.Header().Rrtype, buf[off-int(rr.Header().Rdlength):off]); err != nil {
		return nil, err
	}
	switch rr.(type) {
	case *dns.NS, *dns.CNAME, *dns.DNAME, *dns.PTR, *dns.MX, *dns.SRV: // a name and numbers
		return rr, nil
	}
	same, _, err := dns.UnpackRR(buf[:off], 0)
	if err != nil {
		return nil, unpackable(rr.Header().Rrtype, err)
	}
	return same, nil
}

// unpackable says to whoever has written data of a type why they cannot be sent.
func unpackable(rtype uint16, err error) error {
	var digit hex.InvalidByteError
	var letter base64.CorruptInputError
	switch {
	case errors.As(err, &digit), errors.Is(err, hex.ErrLength):
		return fmt.Errorf("%s is not hexadecimal: write an even number of digits, 0 to 9 and a to f", cmp.Or(hexFields[rtype], "what is in digits"))
	case errors.As(err, &letter):
		return errors.New("what is in base64 is not: write letters, digits, + and /, and = at the end (RFC 4648 §4)")
	case strings.Contains(err.Error(), "overflow"):
		return errTooLong
	}
	return fmt.Errorf("it cannot be written: %w", err)
}

// hexFields is what is written in hexadecimal digits, by type.
var hexFields = map[uint16]string{
	dns.TypeDS: "the digest", dns.TypeCDS: "the digest", dns.TypeDLV: "the digest", dns.TypeTA: "the digest", dns.TypeZONEMD: "the digest",
	dns.TypeSSHFP: "the fingerprint", dns.TypeTLSA: "the certificate, or its digest,", dns.TypeSMIMEA: "the certificate, or its digest,",
	dns.TypeHIP: "the host identity tag",
}

// mayBeEmpty tells whether a record's data may have no octets.
func mayBeEmpty(rr dns.RR) bool {
	switch rr.(type) {
	case *dns.APL, *dns.NULL, *dns.RFC3597:
		return true
	}
	return false
}
