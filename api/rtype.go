package api

import (
	"strconv"
	"strings"

	"github.com/miekg/dns"
)

// ParseType returns the number of a record type, given by name or as TYPE and a number (RFC 3597 §5), in any case.
func ParseType(text string) (rtype uint16, ok bool) {
	upper := strings.ToUpper(text)
	if rtype, ok = dns.StringToType[upper]; ok {
		return rtype, true
	}
	number, ok := strings.CutPrefix(upper, "TYPE")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(number, 10, 16)
	return uint16(n), err == nil
}

// TypeName returns the name of a record type in any spelling: TYPE43 is DS. A text that is no type is returned in upper case.
func TypeName(text string) string {
	if rtype, ok := ParseType(text); ok {
		return dns.Type(rtype).String()
	}
	return strings.ToUpper(text)
}

// GrantedType returns the name of a record type that a delegation or a `publish` line may grant. ok is false for other texts.
func GrantedType(text string) (name string, ok bool) {
	rtype, ok := ParseType(text)
	// RFC 6895 §3.1: no data has type 0, or one from 128 to 255, such as ANY.
	if !ok || rtype == 0 || rtype >= 128 && rtype <= 255 {
		return "", false
	}
	return TypeName(text), true
}
