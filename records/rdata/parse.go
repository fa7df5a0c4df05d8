package rdata

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/miekg/dns"
)

var (
	errNone    = errors.New("there is none")
	errMany    = errors.New("it is more than one record: write a Record for each")
	errTooLong = errors.New("it is longer than a DNS message allows")
)

// endInName are types whose data end with the name of a host.
var endInName = []uint16{dns.TypeCNAME, dns.TypeMX, dns.TypeNS, dns.TypePTR, dns.TypeSRV}

// Parse reads data in master-file form (RFC 1035 §5.1), with names relative to origin. It returns the record as others read it from a
// message: the same data are one record, however they are written, in upper or lower case or with parameters in any order (RFC 2181 §5). A
// secondary that cannot read one record refuses the whole zone, and keeps the old one for ever (rule 8.1), so data must survive a message
// unchanged.
func Parse(head dns.RR_Header, text, origin string) (dns.RR, error) {
	switch trimmed := strings.TrimSpace(text); {
	case trimmed == "":
		return nil, errNone
	case strings.HasPrefix(trimmed, `\#`):
		return parseGeneric(head, trimmed)
	case head.Rrtype == dns.TypeA || head.Rrtype == dns.TypeAAAA:
		return parseAddress(head, trimmed)
	}
	parse := parseMaster
	if head.Rrtype == dns.TypeSVCB || head.Rrtype == dns.TypeHTTPS {
		parse = parseService
	}
	rr, err := parse(head.Rrtype, text, origin)
	if err != nil {
		return nil, err
	}
	words := strings.Fields(text)
	if slices.Contains(endInName, head.Rrtype) && isAddress(words[len(words)-1]) {
		return nil, errAddress // nobody means a relative name
	}
	*rr.Header() = head
	return settle(rr)
}

// Text returns a TXT record with one text, octet for octet, in as many strings of 255 octets as needed (RFC 1035 §3.3). Line ends around
// it, which a block of YAML has, are not part of it.
func Text(head dns.RR_Header, text string) (dns.RR, error) {
	var data []byte
	for part := range slices.Chunk([]byte(strings.Trim(text, "\r\n")), 255) {
		data = append(append(data, byte(len(part))), part...)
	}
	return settle(&dns.RFC3597{Hdr: head, Rdata: hex.EncodeToString(data)})
}

// Address returns an A or AAAA record. It shares one allocation with its octets: an answer reads both.
func Address(owner string, ttl uint32, addr netip.Addr) dns.RR {
	if addr.Is4() {
		r := &struct {
			dns.A
			octets [4]byte
		}{octets: addr.As4()}
		r.A = dns.A{Hdr: dns.RR_Header{Name: owner, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: ttl}, A: r.octets[:]}
		return &r.A
	}
	r := &struct {
		dns.AAAA
		octets [16]byte
	}{octets: addr.As16()}
	r.AAAA = dns.AAAA{Hdr: dns.RR_Header{Name: owner, Rrtype: dns.TypeAAAA, Class: dns.ClassINET, Ttl: ttl}, AAAA: r.octets[:]}
	return &r.AAAA
}

func parseAddress(head dns.RR_Header, text string) (dns.RR, error) {
	addr, err := netip.ParseAddr(text)
	if err != nil { // in parentheses, or before a comment
		if rr, failed := parseMaster(head.Rrtype, text, "."); failed == nil {
			addr, err = netip.ParseAddr(strings.TrimPrefix(rr.String(), rr.Header().String()))
		}
	}
	if err != nil || addr.Is4() != (head.Rrtype == dns.TypeA) || addr.Zone() != "" {
		return nil, errors.New("it is not an address such as " + forms[head.Rrtype])
	}
	return Address(head.Name, head.Ttl, addr), nil
}

// parseMaster parses a text in master-file form. In the header it sets only the type.
func parseMaster(rtype uint16, text, origin string) (dns.RR, error) {
	z := dns.NewZoneParser(strings.NewReader(". 0 IN "+dns.Type(rtype).String()+" "+text+"\n"), origin, "")
	rr, ok := z.Next()
	if err := z.Err(); err != nil {
		return nil, unreadable(rtype, text, err)
	}
	if !ok || rr.Header().Rrtype != rtype {
		return nil, errNone
	}
	if _, more := z.Next(); more || z.Err() != nil {
		return nil, errMany
	}
	return rr, nil
}

// opaque is a type without any data form.
const opaque = 65280 // RFC 6895 §3.1: private use

// parseGeneric reads data in the form of RFC 3597 §5. If the type has a form of its own, the data must be writable in it, and come out the
// same: the library reads more octets than it writes.
func parseGeneric(head dns.RR_Header, text string) (dns.RR, error) {
	rr, err := parseMaster(opaque, text, ".")
	if err != nil {
		return nil, err
	}
	generic := rr.(*dns.RFC3597)
	generic.Hdr = head
	if _, known := forms[head.Rrtype]; !known || generic.Rdata == "" {
		return settle(generic)
	}
	octets, err := pack(generic)
	if err != nil {
		return nil, err
	}
	// Data that can be sent but not written are refused too: other servers write them to disk.
	if rr, _, err = dns.UnpackRR(octets, 0); err == nil {
		rr, err = parseMaster(head.Rrtype, strings.TrimPrefix(rr.String(), rr.Header().String()), ".")
	}
	if err == nil {
		*rr.Header() = head
		if again, err := pack(rr); err == nil && bytes.Equal(octets, again) {
			return settle(rr)
		}
	}
	return nil, errors.New("its octets are not valid data of the type" + example(head.Rrtype))
}

// settle returns rr as others read it from a message, or why it cannot be sent or read.
func settle(rr dns.RR) (dns.RR, error) {
	if _, generic := rr.(*dns.RFC3597); !generic {
		if err := fields(reflect.ValueOf(rr).Elem()); err != nil {
			return nil, err
		}
	}
	octets, err := pack(rr)
	if err != nil {
		return nil, err
	}
	same, end, err := dns.UnpackRR(octets, 0)
	if err != nil {
		return nil, unpackable(rr.Header().Rrtype, err)
	}
	if rtype := rr.Header().Rrtype; same.Header().Rdlength == 0 && forms[rtype] != "" && rtype != dns.TypeAPL {
		return nil, errNone // the rest of the line may be a comment
	}
	if again, err := pack(same); err != nil || !bytes.Equal(octets, again) {
		return nil, errors.New("it changes when it is packed and unpacked")
	}
	if err := check(same, octets[end-int(same.Header().Rdlength):]); err != nil {
		return nil, err
	}
	same.Header().Name = rr.Header().Name // one string for all records of an object
	return same, nil
}

// fields gives the names in rr's data their canonical spelling: data that differ only in the case of a name are the same (RFC 4343 §3).
// Keys and digests must not be empty.
func fields(rr reflect.Value) error {
	for i := range rr.NumField() {
		field, of := rr.Field(i), rr.Type().Field(i)
		tag, _, _ := strings.Cut(of.Tag.Get("dns"), ":")
		switch tag {
		case "domain-name", "cdomain-name", "ipsechost", "amtrelayhost":
			if field.String() == "" { // a gateway of type none
				continue
			}
			name, err := Name(field.String())
			if err != nil {
				return err
			}
			field.SetString(name)
		case "hex", "base64", "size-hex", "size-base64":
			if field.Len() == 0 {
				return fmt.Errorf("%s is empty", of.Name)
			}
		case "":
			if of.Anonymous { // HTTPS is an SVCB
				if err := fields(field); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// packBuffers fit the largest record that a message can hold.
var packBuffers = sync.Pool{New: func() any { return new([dns.MaxMsgSize]byte) }}

// maxRecord bounds a record on the wire, in octets: a message also has a header, a question, an OPT and, in a transfer, a TSIG with its
// key's name. A record that fits into no message would keep secondaries from the whole zone (rule 8.1).
const maxRecord = dns.MaxMsgSize - 12 - MaxWireName - 4 - 64 - 512

// pack returns rr as in a message, uncompressed, and sets its data length.
func pack(rr dns.RR) ([]byte, error) {
	buf := packBuffers.Get().(*[dns.MaxMsgSize]byte)
	defer packBuffers.Put(buf)
	end, err := dns.PackRR(rr, buf[:], 0, nil, false)
	switch {
	case err == nil && end > maxRecord, errors.Is(err, dns.ErrBuf), err != nil && strings.Contains(err.Error(), "overflow"):
		return nil, errTooLong
	case err != nil:
		return nil, unpackable(rr.Header().Rrtype, err)
	}
	return bytes.Clone(buf[:end]), nil
}

// unpackable tells the author of data why they cannot be sent.
func unpackable(rtype uint16, err error) error {
	return fmt.Errorf("it cannot be packed (%w)%s", err, example(rtype))
}
