package rdata

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// check returns why other servers would refuse data that the library reads and writes.
func check(rr dns.RR, data []byte) error {
	switch rr := rr.(type) {
	case *dns.CAA:
		if rr.Tag == "" || strings.Contains(rr.Tag, "-") || strings.ContainsFunc(rr.Tag, notLDH) {
			return errors.New("the tag may have only letters and digits (RFC 8659 §4.1)")
		}
	case *dns.DS:
		return checkDigest(dsDigests, rr.DigestType, rr.Digest)
	case *dns.CDS:
		return checkDigest(dsDigests, rr.DigestType, rr.Digest)
	case *dns.SSHFP:
		return checkDigest(sshDigests, rr.Type, rr.FingerPrint)
	case *dns.DNSKEY:
		return checkAlgorithm(rr.Algorithm)
	case *dns.CDNSKEY:
		return checkAlgorithm(rr.Algorithm)
	case *dns.IPSECKEY:
		if rr.GatewayType > 3 {
			return errors.New("the gateway type must be from 0 to 3 (RFC 4025 §2.3)")
		}
	case *dns.AMTRELAY:
		if rr.GatewayType&^0x80 > 3 {
			return errors.New("the relay type must be from 0 to 3 (RFC 8777 §4.2.3)")
		}
		if rr.GatewayType > 0x80 { // the library would pack it without the relay
			return errors.New("a relay with the discovery bit cannot be served: write 0 for the bit")
		}
	case *dns.URI:
		if rr.Target == "" {
			return errors.New("the target is empty (RFC 7553 §4.4)")
		}
	case *dns.NAPTR:
		rest := data[4:] // after order and preference
		for range 2 {    // flags and services
			rest = rest[1+rest[0]:]
		}
		return checkSubstitution(string(rest[1 : 1+rest[0]]))
	case *dns.SVCB:
		return checkService(rr.Value)
	case *dns.HTTPS:
		return checkService(rr.Value)
	}
	return nil
}

// The lengths of digests in octets, by type.
var (
	dsDigests  = map[uint8]int{1: 20, 2: 32, 3: 32, 4: 48, 5: 32, 6: 32} // RFC 3658, 4509, 5933, 6605, 9558 and 9563
	sshDigests = map[uint8]int{1: 20, 2: 32}                             // RFC 4255 and 6594
)

func checkDigest(sizes map[uint8]int, kind uint8, digits string) error {
	if want := sizes[kind]; want > 0 && len(digits) != 2*want {
		return fmt.Errorf("the digest has %d octets, but type %d has %d, which are %d hex digits", len(digits)/2, kind, want, 2*want)
	}
	return nil
}

// checkAlgorithm refuses keys that other software reads as more than octets (RFC 4034 §A.1.1 and §B.1).
func checkAlgorithm(algorithm uint8) error {
	switch algorithm {
	case dns.RSAMD5, dns.PRIVATEDNS, dns.PRIVATEOID:
		return fmt.Errorf("a key of algorithm %d: MD5 and private algorithms are not served", algorithm)
	}
	return nil
}

// checkSubstitution checks the expression of a NAPTR record (RFC 3402 §3.2). It may be empty.
func checkSubstitution(text string) error {
	if text == "" {
		return nil
	}
	parts := strings.Split(text[1:], text[:1])
	if strings.ContainsAny(text[:1], "\\i0123456789") || strings.Contains(text, "\x00") || len(parts) != 3 || strings.Trim(parts[2], "i") != "" {
		return errors.New("the expression must be a pattern and a replacement, each followed by the delimiter that precedes both, " +
			"and an optional i, such as !^.*$!sip:info@example.net! (RFC 3402 §3.2)")
	}
	wanted, with := parts[0], parts[1]
	re, err := syntax.Parse(wanted, syntax.POSIX)
	if err != nil || !portable(re) || strings.Contains(wanted, "-[") || !expression.MatchString(wanted) {
		return errors.New("the pattern is not a portable POSIX extended regular expression (RFC 3402 §3.2)")
	}
	for i := 0; i < len(with); i++ {
		if with[i] != '\\' {
			continue
		}
		if i++; i == len(with) || with[i] == '0' || with[i] > '0' && with[i] <= '9' && int(with[i]-'0') > re.MaxCap() {
			return errors.New("the replacement refers to a group that the pattern lacks: write \\1 to \\9 (RFC 3402 §3.2)")
		}
	}
	return nil
}

// expression matches the syntax that POSIX and Go read alike.
var expression = regexp.MustCompile(`^([^\\[{]|\\[^0-9A-Za-z]|\{[0-9]+(,[0-9]*)?\}|\[\^?\]?([^][\\]|\[:` +
	`(alnum|alpha|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit):\])*\])*$`)

// portable reports whether an expression has nothing that POSIX leaves undefined and BIND refuses: empty parts, a repeated anchor or
// repetition, and more than 255 repetitions.
func portable(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return false
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		op := re.Sub[0].Op
		if op >= syntax.OpStar && op <= syntax.OpRepeat || op == syntax.OpBeginLine || op == syntax.OpEndLine || max(re.Min, re.Max) > 255 {
			return false
		}
	}
	return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !portable(sub) })
}

// dohPath is the simplest URI template with a variable for the query, and the only one in use (RFC 9461 §5).
var dohPath = regexp.MustCompile(`^/[0-9A-Za-z/._~-]*\{\?dns\}$`)

// checkService checks the parameters of a service binding, all of them readable (RFC 9460 §2.2).
func checkService(params []dns.SVCBKeyValue) error {
	has := func(key dns.SVCBKey) bool {
		return slices.ContainsFunc(params, func(p dns.SVCBKeyValue) bool { return p.Key() == key })
	}
	for _, p := range params {
		key, value, wrong := p.Key(), p.String(), ""
		switch key {
		case dns.SVCB_ALPN, dns.SVCB_MANDATORY, dns.SVCB_IPV4HINT, dns.SVCB_IPV6HINT, dns.SVCB_ECHCONFIG:
			if value == "" {
				wrong = "has no value (RFC 9460 §7)"
			}
		case dns.SVCB_NO_DEFAULT_ALPN:
			if !has(dns.SVCB_ALPN) {
				wrong = "needs alpn beside it (RFC 9460 §7.1.1)"
			}
		case dns.SVCB_DOHPATH:
			if !dohPath.MatchString(value) {
				wrong = "is not a path such as /dns-query{?dns} (RFC 9461 §5)"
			}
		}
		if m, ok := p.(*dns.SVCBMandatory); ok {
			for i, k := range m.Code {
				if k == dns.SVCB_MANDATORY || i > 0 && k <= m.Code[i-1] || !has(k) {
					wrong = missing(cmp.Or(k.String(), numbered(k)))
				}
			}
		}
		if wrong != "" {
			return fmt.Errorf("%s %s", key, wrong)
		}
	}
	return nil
}
