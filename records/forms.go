package records

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/miekg/dns"
)

// forms are examples of data as a zone file has them, by type: what a message shows to
// somebody whose data cannot be read.
var forms = map[uint16]string{
	dns.TypeAFSDB:      "1 host.example.net.",
	dns.TypeCAA:        `0 issue "ca.example.net"`,
	dns.TypeCDNSKEY:    "257 3 13 a2V5",
	dns.TypeCDS:        "12345 13 2 " + exampleDigest,
	dns.TypeCNAME:      "www.example.net.",
	dns.TypeDNAME:      "example.net.",
	dns.TypeDNSKEY:     "257 3 13 a2V5",
	dns.TypeDS:         "12345 13 2 " + exampleDigest,
	dns.TypeHINFO:      `"PC" "Linux"`,
	dns.TypeHTTPS:      "1 . alpn=h2",
	dns.TypeLOC:        "52 22 23.000 N 4 53 32.000 E -2.00m",
	dns.TypeMX:         "10 mail.example.net.",
	dns.TypeNAPTR:      `100 10 "s" "SIP+D2U" "" _sip._udp.example.net.`,
	dns.TypeNS:         "ns1.example.net.",
	dns.TypeOPENPGPKEY: "a2V5",
	dns.TypePTR:        "www.example.net.",
	dns.TypeRP:         "noc.example.net. info.example.net.",
	dns.TypeSMIMEA:     "3 1 1 " + exampleDigest,
	dns.TypeSPF:        `"v=spf1 -all"`,
	dns.TypeSRV:        "0 5 443 www.example.net.",
	dns.TypeSSHFP:      "4 2 " + exampleDigest,
	dns.TypeSVCB:       "1 . alpn=h2",
	dns.TypeTLSA:       "3 1 1 " + exampleDigest,
	dns.TypeTXT:        `"v=spf1 -all"`,
	dns.TypeURI:        `10 1 "https://www.example.net/"`,
}

// exampleDigest has as many digits as a digest of SHA-256.
const exampleDigest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// parserText is what the parser of master files says: what it wanted, what it found, and
// where in a line that is ours and not its owner's.
var parserText = regexp.MustCompile(`(?s)^(?:dns: )?(.*): ("(?:[^"\\]|\\.)*") at line: \d+:\d+$`)

// quoteless takes away what is no quote of its own, for all that it looks like one.
var quoteless = strings.NewReplacer(`\\`, "", `\"`, "")

var errQuote = errors.New(`it cannot be read: a quote is missing: each " that begins a text needs one that ends it, and \" is one inside of it`)

// unreadable returns what the parser's error says to whoever has written data of the type:
// where text cannot be read, and an example of data that can. Without one, it is what the
// parser wanted.
func unreadable(rtype uint16, text string, err error) error {
	if strings.Count(quoteless.Replace(text), `"`)%2 > 0 {
		return errQuote
	}
	wanted, at := strings.TrimPrefix(err.Error(), "dns: "), ""
	if m := parserText.FindStringSubmatch(wanted); m != nil {
		wanted = m[1]
		if token, err := strconv.Unquote(m[2]); err == nil && strings.TrimSpace(token) != "" {
			at = fmt.Sprintf(" at %.64q", token)
		}
	}
	if form, ok := forms[rtype]; ok {
		return fmt.Errorf("it cannot be read%s: write it in the form of a zone file, such as %s", at, form)
	}
	return errors.New(wanted + at)
}
