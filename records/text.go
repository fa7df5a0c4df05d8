package records

import (
	"fmt"
	"strings"

	"github.com/miekg/dns"
)

// unquoted says what a text has become that has no quotes, as it has them in a zone file (RFC
// 1035 §5.1); nil where it is what it looks like.
func (e *entry) unquoted() *problem {
	txt, ok := e.rr.(*dns.TXT)
	quoted := strings.Contains(e.record.RData, `"`)
	switch cut := cutOff(e.record.RData); {
	case !ok || quoted && !cut:
		return nil
	case quoted:
		return problemf(reasonStrings, behindQuotes)
	case cut:
		return problemf(reasonStrings, "the text has no quotes, so what stands behind the semicolon is a comment, and left out: put it in quotes to have it all")
	case len(txt.Txt) > 1:
		return problemf(reasonStrings, "the text has no quotes, so each of its %d words is a string of its own: put it in quotes to have one", len(txt.Txt))
	}
	return nil
}

// behindQuotes is said of a text with quotes that cutOff is true of.
const behindQuotes = "a semicolon stands outside of the quotes, so what stands behind it is a comment, and left out: put all of it in quotes"

// cutOff tells whether a text has a comment, as a zone file has them (RFC 1035 §5.1): a
// semicolon outside of quotes begins it.
func cutOff(text string) bool {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			quoted = !quoted
		case ';':
			if !quoted {
				return true
			}
		}
	}
	return false
}

// maxString is how many octets a string of a TXT record has at the most (RFC 1035 §3.3).
const maxString = 255

// textRData returns the data of a TXT record that hold one text, octet for octet, less the
// white space around it, in as many strings as it takes. They are spelt as those of a message
// are (RFC 1035 §5.1).
func textRData(text string) (dns.RR, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, errNoRData
	}
	rr := new(dns.TXT)
	for len(text) > 0 {
		n := min(len(text), maxString)
		rr.Txt = append(rr.Txt, escapedString(text[:n]))
		text = text[n:]
	}
	rr.Hdr.Rrtype = dns.TypeTXT
	return rr, nil
}

// escapedString returns octets as a master file has them in quotes.
func escapedString(octets string) string {
	var b strings.Builder
	for i := range len(octets) {
		switch c := octets[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\%03d`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
