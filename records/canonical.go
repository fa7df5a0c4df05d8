package records

import (
	"errors"
	"fmt"
	"strings"

	"github.com/miekg/dns"
)

// maxWireName is how many octets a name has on the wire at the most (RFC 1035
// §2.3.4).
const maxWireName = 255

var (
	errNameLabel  = errors.New("a label is empty or longer than 63 octets")
	errNameLength = errors.New("the name is longer than 255 octets")
)

// canonicalName returns the one spelling that a name has in snapshots: lower case,
// with a final dot, and escapes as they are where a query is read (RFC 1035 §5.1).
// Unlike parseHost it takes every name that DNS has.
func canonicalName(text string) (string, error) {
	if plainName(text) {
		return strings.ToLower(text), nil
	}
	var wire [maxWireName]byte
	off, err := dns.PackDomainName(dns.Fqdn(text), wire[:], 0, nil, false)
	if err != nil {
		if len(text) > maxWireName {
			return "", errNameLength
		}
		return "", fmt.Errorf("%w, the name is longer than 255 octets, or an escape is wrong", errNameLabel)
	}
	name, _, err := dns.UnpackDomainName(wire[:off], 0)
	if err != nil {
		return "", fmt.Errorf("read name: %w", err)
	}
	return lowerASCII(name), nil
}

// plainName tells whether text has a final dot, fits, and has no character that
// could be written in two ways, but for its case.
func plainName(text string) bool {
	if len(text) > maxNameLength || text == "" || text[len(text)-1] != '.' {
		return false
	}
	label := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '.':
			if label == 0 || label > maxLabelLength {
				return text == "."
			}
			label = 0
		case isLDH(c) || c == '_' || c == '*' || c == '/':
			label++
		default:
			return false
		}
	}
	return true
}

// lowerASCII returns name with its letters in lower case (RFC 4343 §3: no others
// have a case). A name in escaped form has no other octets.
func lowerASCII(name string) string {
	for i := range len(name) {
		if c := name[i]; 'A' <= c && c <= 'Z' {
			return strings.ToLower(name)
		}
	}
	return name
}

// below returns the name that relative is in origin; `@` is origin itself (rule 6.2).
func below(origin, relative string) (string, error) {
	if relative == "@" {
		return origin, nil
	}
	if origin == "." {
		return canonicalName(relative + ".")
	}
	return canonicalName(relative + "." + origin)
}

// relativeTo returns name without origin, in which it lies; "" for origin itself.
func relativeTo(origin, name string) string {
	if origin == "." {
		return strings.TrimSuffix(name, ".")
	}
	return strings.TrimSuffix(name[:len(name)-len(origin)], ".")
}
