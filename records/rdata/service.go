package rdata

import (
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/miekg/dns"
)

// reserved is a key that no service binding has (RFC 9460 §14.3.2): the library's for words that are none.
const reserved dns.SVCBKey = 65535

// standIn is a key without a name.
const standIn = "key65534"

// parseService parses a service binding. The library reads a key that has a name by that name alone, but key7 is dohpath, with the octets of
// its value as a text (RFC 9460 §2.1).
func parseService(rtype uint16, text, origin string) (dns.RR, error) {
	var known strings.Builder // text, as the library reads it
	var keys []dns.SVCBKey    // of the parameters: reserved for those that it reads itself
	var mandatory []string
	done, place := 0, 0
	for at, token := range tokens(text) {
		if place++; place <= 2 {
			continue // the priority and the target
		}
		key, value, _ := strings.Cut(token, "=")
		code := numberOf(key)
		switch {
		case code != reserved:
			known.WriteString(text[done:at] + standIn)
			done = at + len(key)
		case key == dns.SVCB_MANDATORY.String():
			mandatory = strings.Split(strings.Trim(value, `"`), ",")
			for i, word := range mandatory {
				if code := numberOf(word); code != reserved {
					mandatory[i] = code.String()
				}
			}
			known.WriteString(text[done:at] + key + "=" + strings.Join(mandatory, ","))
			done = at + len(token)
		case key == dns.SVCB_IPV6HINT.String():
			for part := range strings.SplitSeq(strings.Trim(value, `"`), ",") {
				if addr, _ := netip.ParseAddr(part); addr.Is4In6() {
					return nil, fmt.Errorf("%s has the IPv4-mapped address %s, with which CoreDNS cannot be a secondary: write %s=%s",
						key, part, dns.SVCB_IPV4HINT, addr.Unmap())
				}
			}
		}
		keys = append(keys, code)
	}
	rr, err := parseMaster(rtype, known.String()+text[done:], origin)
	if err != nil {
		return nil, err
	}
	for i, param := range serviceOf(rr).Value {
		switch param := param.(type) {
		case *dns.SVCBLocal:
			if i < len(keys) && keys[i] != reserved {
				param.KeyCode = keys[i]
			}
		case *dns.SVCBMandatory:
			if at := slices.Index(param.Code, reserved); at >= 0 && at < len(mandatory) {
				return nil, fmt.Errorf("%s %s", dns.SVCB_MANDATORY, missing(strconv.Quote(mandatory[at])))
			}
		}
	}
	return rr, nil
}

// serviceOf returns the service binding of an SVCB or HTTPS record.
func serviceOf(rr dns.RR) *dns.SVCB {
	if https, ok := rr.(*dns.HTTPS); ok {
		return &https.SVCB
	}
	return rr.(*dns.SVCB)
}

// numberOf returns the key of a text such as key7 if it has a name, too; else reserved.
func numberOf(text string) dns.SVCBKey {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "key"), 10, 16)
	if key := dns.SVCBKey(n); err == nil && text == numbered(key) && text != key.String() {
		return key
	}
	return reserved
}

// numbered returns the form of a key that needs no name.
func numbered(key dns.SVCBKey) string { return "key" + strconv.Itoa(int(key)) }

// missing returns what is wrong with a key among the mandatory ones.
func missing(key string) string {
	return fmt.Sprintf("names %s, which is missing, repeated, or mandatory itself (RFC 9460 §8)", key)
}

// tokens yields the tokens of data in master-file form, as they are written, and where each begins (RFC 1035 §5.1).
func tokens(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		begin, quoted := -1, false
		for i := 0; i <= len(text); i++ {
			end := i == len(text) || !quoted && strings.IndexByte(" \t\r\n();", text[i]) >= 0
			switch {
			case end:
				if begin >= 0 && !yield(begin, text[begin:i]) {
					return
				}
				begin = -1
				if i < len(text) && text[i] == ';' { // a comment
					if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
						i += n
					} else {
						return
					}
				}
				continue
			case begin < 0:
				begin = i
			}
			switch text[i] {
			case '\\':
				i++
			case '"':
				quoted = !quoted
			}
		}
	}
}
