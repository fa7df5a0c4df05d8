package api

import (
	"strings"
	"unicode"

	"github.com/miekg/dns"
	"golang.org/x/net/idna"
)

// longestName is the maximum length of a name in a message, in octets (RFC 1035 §2.3.4).
const longestName = 255

// CanonicalName returns the spelling of a name after it was in a message: lower case, and escapes
// only where needed (RFC 1035 §5.1). It keeps a final dot. If the text is no name, wrong says what
// it should be.
func CanonicalName(text string) (name, wrong string) {
	if plainName(text) {
		return lowerASCII(text), ""
	}
	if wrong = NotASCII(text); wrong != "" {
		return "", wrong
	}
	if special(text) {
		return "", `is not a domain name: write characters such as a space, "@" or a quote as \ and three digits`
	}
	var wire [longestName]byte
	end, err := dns.PackDomainName(dns.Fqdn(text), wire[:], 0, nil, false)
	if err != nil || text == "" {
		return "", "is not a domain name: labels have 1 to 63 octets, and the name at most 253 characters"
	}
	name, _, err = dns.UnpackDomainName(wire[:end], 0)
	if err != nil {
		return "", "is not a domain name"
	}
	if !dns.IsFqdn(text) {
		name = name[:len(name)-1]
	}
	return lowerASCII(name), ""
}

// lookup is idna.Lookup for names that may have labels such as * and _tcp.
var lookup = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(false))

// NotASCII says what to write instead of a name with characters beyond ASCII; "" if it has none.
func NotASCII(name string) (wrong string) {
	if len(name) > 4*longestName || !strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) {
		return ""
	}
	ascii, err := lookup.ToASCII(name)
	if err != nil {
		return "is not a domain name: it has non-ASCII characters and no ASCII form such as xn--mnchen-3ya.example (RFC 5891)"
	}
	return "has non-ASCII characters: write " + ascii + ", its ASCII form (RFC 5891)"
}

// notHost quotes a text that is no host name and says what to write instead: an ASCII form, else otherwise.
func notHost(text, otherwise string) string {
	if wrong := NotASCII(text); wrong != "" {
		return quote(text) + " " + wrong
	}
	return quote(text) + otherwise
}

// plainName reports whether text is a name with only one spelling, apart from its letters' case.
func plainName(text string) bool {
	if len(text) >= longestName-1 || text == "" || text[0] == '.' {
		return false
	}
	label := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '.' && label > 0:
			label = 0
		case label < 63 && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '*' || c == '/'):
			label++
		default:
			return false
		}
	}
	return true
}

// special reports whether text has an unescaped character that is invisible, or has a meaning in a
// master file (RFC 1035 §5.1).
func special(text string) bool {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c <= ' ' || c >= 0x7f || strings.IndexByte(`"();@`, c) >= 0:
			return true
		}
	}
	return false
}

// lowerASCII returns text with A to Z in lower case: other octets have no case in names (RFC 4343
// §3).
func lowerASCII(text string) string {
	for i := range len(text) {
		if c := text[i]; 'A' <= c && c <= 'Z' {
			b := []byte(text)
			for ; i < len(b); i++ {
				if 'A' <= b[i] && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return text
}

// settleName returns a name with a final dot, whether written with one or not; "" for none, or if
// it is not a name.
func settleName(field, text string, invalid *notes) string {
	if text == "" {
		return ""
	}
	name, wrong := CanonicalName(text)
	if wrong != "" {
		invalid.add(field + " " + quote(text) + " " + wrong)
		return ""
	}
	return dns.Fqdn(name)
}
