package records

import (
	"errors"
	"fmt"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// A secondary that cannot read one record refuses the whole zone, and keeps the old one for
// ever (rule 8.1). The parser of master files reads more than the RFCs allow, and data in the
// form of RFC 3597 are not looked at, so what is to be sent is checked here, type by type.

// wireData are data on the wire, of which parts take their own from the front.
type wireData struct {
	rest []byte
	// tag is the octet that says what a digest is, which stands before it.
	tag byte
}

// part takes one field from the front of data. Its error says what is wanted.
type part func(*wireData) error

// layouts are the fields of data by type, where these are known. Of other types any octets
// are data (RFC 3597 §3).
var layouts = map[uint16][]part{
	dns.TypeA:          {fixed("the address", 4)},
	dns.TypeNS:         {domain},
	dns.TypeCNAME:      {domain},
	dns.TypeMB:         {domain},
	dns.TypeMG:         {domain},
	dns.TypeMR:         {domain},
	typeWKS:            {fixed("the address", 4), fixed("the protocol", 1), portMap},
	dns.TypePTR:        {domain},
	dns.TypeHINFO:      {charString, charString},
	dns.TypeMINFO:      {domain, domain},
	dns.TypeMX:         {preference, domain},
	dns.TypeTXT:        {charStrings},
	dns.TypeRP:         {domain, domain},
	dns.TypeAFSDB:      {preference, domain},
	dns.TypeX25:        {x25Address},
	dns.TypeISDN:       {charString, optional(charString)},
	dns.TypeRT:         {preference, domain},
	typeNSAP:           {nonEmpty("the address")},
	dns.TypeNSAPPTR:    {domain},
	dns.TypeKEY:        {keyOrNone},
	dns.TypePX:         {preference, domain, domain},
	dns.TypeGPOS:       {charString, charString, charString},
	dns.TypeAAAA:       {fixed("the address", 16)},
	dns.TypeLOC:        {location},
	dns.TypeEID:        {nonEmpty("the identifier")},
	dns.TypeNIMLOC:     {nonEmpty("the locator")},
	dns.TypeSRV:        {fixed("priority, weight and port", 6), domain},
	typeATMA:           {atmAddress},
	dns.TypeNAPTR:      {fixed("order and preference", 4), charString, charString, substitution, domain},
	dns.TypeKX:         {preference, domain},
	dns.TypeCERT:       {fixed("type, key tag and algorithm", 5), nonEmpty("the certificate")},
	typeA6:             {a6},
	dns.TypeDNAME:      {domain},
	typeSINK:           {fixed("coding and subcoding", 2), nonEmpty("the data")},
	dns.TypeAPL:        {prefixes},
	dns.TypeDS:         {keyTag, digestField("the digest", dsDigests, 1)},
	dns.TypeSSHFP:      {sshTag, digestField("the fingerprint", sshDigests, 1)},
	dns.TypeIPSECKEY:   {ipsecKey},
	dns.TypeDNSKEY:     {key},
	dns.TypeDHCID:      {nonEmpty("the identifier")},
	dns.TypeTLSA:       {fixed("usage, selector and matching type", 3), nonEmpty("the certificate, or its digest,")},
	dns.TypeSMIMEA:     {fixed("usage, selector and matching type", 3), nonEmpty("the certificate, or its digest,")},
	dns.TypeHIP:        {hostIdentity},
	dns.TypeNINFO:      {charStrings},
	dns.TypeRKEY:       {resourceKey},
	dns.TypeTALINK:     {domain, domain},
	dns.TypeCDS:        {keyTag, digestField("the digest", dsDigests, 1)},
	dns.TypeCDNSKEY:    {key},
	dns.TypeOPENPGPKEY: {nonEmpty("the key")},
	dns.TypeCSYNC:      {fixed("serial and flags", 6), typeMap},
	dns.TypeZONEMD:     {zoneTag, digestField("the digest", zoneDigests, minZoneDigest)},
	dns.TypeSVCB:       {serviceBinding},
	dns.TypeHTTPS:      {serviceBinding},
	typeDSYNC:          {fixed("type, scheme and port", 5), domain},
	typeHHIT:           {nonEmpty("the data")},
	typeBRID:           {nonEmpty("the data")},
	dns.TypeSPF:        {charStrings},
	dns.TypeNID:        {preference, fixed("the node identifier", 8)},
	dns.TypeL32:        {preference, fixed("the locator", 4)},
	dns.TypeL64:        {preference, fixed("the locator", 8)},
	dns.TypeLP:         {preference, domain},
	dns.TypeEUI48:      {fixed("the address", 6)},
	dns.TypeEUI64:      {fixed("the address", 8)},
	dns.TypeURI:        {fixed("priority and weight", 4), nonEmpty("the target")},
	dns.TypeCAA:        {fixed("the flags", 1), caaTag, anything},
	dns.TypeAVC:        {charStrings},
	typeDOA:            {fixed("enterprise, type and location", 9), charString, anything},
	dns.TypeAMTRELAY:   {amtRelay},
	dns.TypeRESINFO:    {charStrings},
	typeWALLET:         {charStrings},
	dns.TypeTA:         {keyTag, digestField("the digest", dsDigests, 1)},
	dns.TypeDLV:        {keyTag, digestField("the digest", dsDigests, 1)},
}

// Types that the library has no name for, or no form.
const (
	typeWKS    = 11  // RFC 1035 §3.4.2
	typeNSAP   = 22  // RFC 1706 §5
	typeATMA   = 34  // ATM Forum, ATM Name System
	typeA6     = 38  // RFC 2874 §3.1
	typeSINK   = 40  // draft-eastlake-kitchen-sink
	typeDSYNC  = 66  // RFC 9859 §2
	typeHHIT   = 67  // RFC 9886 §5.1
	typeBRID   = 68  // RFC 9886 §5.2
	typeDOA    = 259 // draft-durand-doa-over-dns
	typeWALLET = 262
)

var errTrailing = errors.New("something stands behind its last field")

// wellFormed tells what keeps other servers from reading data of a type, as they are on the
// wire without compression.
func wellFormed(rtype uint16, data []byte) error {
	parts, ok := layouts[rtype]
	if !ok {
		return nil
	}
	d := &wireData{rest: data}
	for _, take := range parts {
		if err := take(d); err != nil {
			return err
		}
	}
	if len(d.rest) > 0 {
		return errTrailing
	}
	return nil
}

// take returns the next n octets; ok is false where there are fewer, and where n is negative.
func (d *wireData) take(n int) (taken []byte, ok bool) {
	if n < 0 || len(d.rest) < n {
		return nil, false
	}
	taken, d.rest = d.rest[:n], d.rest[n:]
	return taken, true
}

// all returns what is left.
func (d *wireData) all() []byte {
	taken, _ := d.take(len(d.rest))
	return taken
}

// number returns the next n octets, four at the most, as a number, -1 where there are fewer.
func (d *wireData) number(n int) int64 {
	taken, ok := d.take(n)
	if !ok {
		return -1
	}
	var v int64
	for _, o := range taken {
		v = v<<8 | int64(o)
	}
	return v
}

// fixed is a field of n octets.
func fixed(what string, n int) part {
	return func(d *wireData) error {
		if _, ok := d.take(n); !ok {
			return fmt.Errorf("%s is not there, or not all of it: it has %d octets", what, n)
		}
		return nil
	}
}

var preference = fixed("the preference", 2)

// nonEmpty is all that is left, which has to be something.
func nonEmpty(what string) part {
	return func(d *wireData) error {
		if len(d.all()) == 0 {
			return fmt.Errorf("%s is empty", what)
		}
		return nil
	}
}

// anything is all that is left.
func anything(d *wireData) error {
	d.all()
	return nil
}

// optional is a field that may be left out at the end.
func optional(p part) part {
	return func(d *wireData) error {
		if len(d.rest) == 0 {
			return nil
		}
		return p(d)
	}
}

// maxLabelOctets is how many octets a label has at the most (RFC 1035 §2.3.4).
const maxLabelOctets = 63

var errDomain = errors.New("a name is not there, or is none of 255 octets at the most, without compression (RFC 3597 §4)")

// domain is a name (RFC 1035 §3.1).
func domain(d *wireData) error {
	for length := 0; length <= rdata.MaxWireName; {
		n := d.number(1)
		if n < 0 || n > maxLabelOctets {
			return errDomain
		}
		if _, ok := d.take(int(n)); !ok {
			return errDomain
		}
		if length += 1 + int(n); n == 0 && length <= rdata.MaxWireName {
			return nil
		}
	}
	return errDomain
}

var errString = errors.New("a string is not there, or not all of it: it has an octet with its length before it (RFC 1035 §3.3)")

// text returns the octets of a string.
func (d *wireData) text() ([]byte, error) {
	n := d.number(1)
	if n < 0 {
		return nil, errString
	}
	taken, ok := d.take(int(n))
	if !ok {
		return nil, errString
	}
	return taken, nil
}

// charString is a string (RFC 1035 §3.3).
func charString(d *wireData) error {
	_, err := d.text()
	return err
}

// charStrings are one or more strings (RFC 1035 §3.3.14).
func charStrings(d *wireData) error {
	for {
		if err := charString(d); err != nil || len(d.rest) == 0 {
			return err
		}
	}
}

// digestForm is what is known of one kind of digest.
type digestForm struct {
	name   string
	octets int
	source string
}

var (
	dsDigests = map[byte]digestForm{
		1: {"SHA-1", 20, "RFC 3658 §2.4"},
		2: {"SHA-256", 32, "RFC 4509 §2.1"},
		3: {"GOST R 34.11-94", 32, "RFC 5933 §4.1"},
		4: {"SHA-384", 48, "RFC 6605 §2"},
		5: {"GOST R 34.11-2012", 32, "RFC 9558 §3.1"},
		6: {"SM3", 32, "RFC 9563 §2"},
	}
	sshDigests  = map[byte]digestForm{1: {"SHA-1", 20, "RFC 4255 §3.1.3"}, 2: {"SHA-256", 32, "RFC 6594 §4.1"}}
	zoneDigests = map[byte]digestForm{1: {"SHA-384", 48, "RFC 8976 §2.2.4"}, 2: {"SHA-512", 64, "RFC 8976 §2.2.4"}}
)

// minZoneDigest is how many octets the digest of a zone has at least (RFC 8976 §2.2.4).
const minZoneDigest = 12

// tagged is some octets of which the last says what kind of digest comes next.
func tagged(what string, n int) part {
	return func(d *wireData) error {
		taken, ok := d.take(n)
		if !ok {
			return fmt.Errorf("%s are not there: they have %d octets", what, n)
		}
		d.tag = taken[n-1]
		return nil
	}
}

var (
	keyTag  = tagged("key tag, algorithm and digest type", 4) // RFC 4034 §5.1
	sshTag  = tagged("algorithm and fingerprint type", 2)     // RFC 4255 §3.1
	zoneTag = tagged("serial, scheme and hash algorithm", 6)  // RFC 8976 §2.2
)

// digestField is all that is left, in as many octets as its kind has, or at least so many where
// the kind is not known.
func digestField(what string, forms map[byte]digestForm, least int) part {
	return func(d *wireData) error {
		n := len(d.all())
		switch form, known := forms[d.tag]; {
		case known && n != form.octets:
			return fmt.Errorf("%s has %d octets: of type %d, %s, it has %d, which are %d digits (%s)", what, n, d.tag, form.name, form.octets, 2*form.octets, form.source)
		case n < least:
			return fmt.Errorf("%s has %d octets: it has %d at least", what, n, least)
		}
		return nil
	}
}
