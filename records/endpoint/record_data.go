package endpoint

import (
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"

	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// writing describes how a record's data are written, and where.
type writing struct {
	// origin is the origin of relative names in the data.
	origin string
	// typeAt and dataAt are the paths of the type and the data for messages.
	typeAt, dataAt string
	// wholeText is true if the data of a TXT record are one text, unless they begin with a quote.
	wholeText bool
}

// parse sets RR of a Record whose name is known, in the zone at (rule 6.9).
func (r *Record) parse(at *Zone, w writing) *Problem {
	rec := r.Record
	if rec.Class != "IN" {
		return Problemf(reasonForbiddenClass, "spec.class %s: only IN is served", rec.Class)
	}
	rtype, ok := api.ParseType(rec.Type)
	if !ok {
		return Problemf(reasonInvalidData, "%s %q is not a record type: write one such as A, or TYPE65280 for one without a name (RFC 3597)", w.typeAt, rec.Type)
	}
	if why := rdata.Refused(rtype); why != "" {
		return Problemf(reasonForbiddenType, "%s %s: %s", w.typeAt, rec.Type, why)
	}
	if why := r.misplaced(rtype, at); why != "" {
		return &Problem{Reason: reasonForbiddenType, Message: why}
	}
	var err error
	head := rdata.Header(r.Name, rtype, at.recordTTL(rec))
	if w.wholeText && rtype == dns.TypeTXT && !strings.HasPrefix(strings.TrimSpace(rec.RData), `"`) {
		r.RR, err = rdata.Text(head, rec.RData)
	} else {
		r.RR, err = rdata.Parse(head, rec.RData, w.origin)
	}
	if err != nil {
		return Problemf(reasonInvalidData, "%s of type %s: %v", w.dataAt, rec.Type, err)
	}
	return nil
}

// misplaced returns why a type may not stand where the Record lies; "" if it may.
func (r *Record) misplaced(rtype uint16, at *Zone) string {
	if rtype == dns.TypeDNAME || rtype == dns.TypeNS && r.Name != at.Origin {
		for _, ns := range at.Corefile.Nameservers {
			if len(ns.Addresses) > 0 && rdata.IsSubdomain(at.Origin, ns.Name) && rdata.IsSubdomain(r.Name, ns.Name) {
				return TrimDot(ns.Name) + ", at or below it, is a name server of the Corefile, which has its addresses"
			}
		}
	}
	if rtype == dns.TypeNS && strings.HasPrefix(r.Name, rdata.Wildcard) {
		return "a wildcard cannot be delegated, and BIND rejects zones with one (RFC 4592 §4.2): write an NS record for each name"
	}
	if r.Name != at.Origin {
		return ""
	}
	switch {
	case rtype == dns.TypeCNAME:
		return "the apex has an SOA record, and a CNAME cannot be beside other data (RFC 1034 §3.6.2)"
	case rtype == dns.TypeDS:
		return "a DS record belongs to the zone above (RFC 4035 §2.4)"
	case rtype == dns.TypeNS && at.Object == nil && len(at.Corefile.Nameservers) > 0:
		return "without a Zone, the nameserver lines of the Corefile set the zone's name servers"
	}
	return ""
}

// Doubt returns why a Record that is served may not be what was meant: an annotation that has no effect, an address that
// no host can have, or a text that means something else without quotes (RFC 1035 §5.1); nil for none.
func (r *Record) Doubt() *Problem {
	for x := range api.NumTexts {
		if _, ok := r.Record.Annotations[x.Annotation()]; ok {
			return Problemf(ReasonAnnotation, "annotation %s is not read: a Record is not steered; use a DNSPolicy or a DNSRecord", x.Annotation())
		}
	}
	if addr := rdata.AddressOf(r.RR); addr.IsValid() {
		if why := rdata.NoHost(addr); why != "" {
			return Problemf(reasonInvalidAddress, "no host can have the address %s: %s", addr, why)
		}
		return nil
	}
	txt, ok := r.RR.(*dns.TXT)
	quoted := strings.Contains(r.Record.RData, `"`)
	switch cut := cutOff(r.Record.RData); {
	case !ok || quoted && !cut:
		return nil
	case quoted:
		return Problemf(reasonStrings, behindQuotes)
	case cut:
		return Problemf(reasonStrings, "the text is not in quotes, so a comment begins at the semicolon and is ignored: put all of the text in quotes")
	case len(txt.Txt) > 1 && unquoted(strings.TrimSpace(r.Record.RData), " \t\r\n"):
		return Problemf(reasonStrings, "the text is not in quotes, so each of its words is a separate string: put it in quotes for one string")
	case len(txt.Txt) > 1:
		return Problemf(reasonStrings, "the text is longer than a string of 255 octets: it is one text, split into %d strings, which readers join", len(txt.Txt))
	}
	return nil
}

// behindQuotes is the message for a quoted text for which cutOff is true.
const behindQuotes = "a comment begins at the semicolon outside the quotes and is ignored: put all of the text in quotes"

// cutOff reports whether a text has a comment, as in a zone file (RFC 1035 §5.1): a semicolon
// outside of quotes begins it.
func cutOff(text string) bool { return unquoted(text, ";") }

// unquoted reports whether a text has a character of set that is neither in quotes nor escaped.
func unquoted(text, set string) bool {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			quoted = !quoted
		default:
			if !quoted && strings.IndexByte(set, text[i]) >= 0 {
				return true
			}
		}
	}
	return false
}
