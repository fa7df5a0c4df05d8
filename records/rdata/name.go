// Package rdata turns text into names and into the data of records. It knows DNS alone.
//
//	name.go       names: their spelling, what lies below what, hosts   RFC 1035 §2.3.4 and §5.1
//	from_root.go  names with the last label first, as trees are ordered
//	types.go      the types that a Record may have, with examples   rule 6.9
//	parse.go      text → record, and that to a message and back   rules 6.9 and 8.1
//	check.go      what the library takes, and other servers do not   rule 8.1
//	message.go    what is said of text that cannot be read
//	rr.go         records made of what is known, and copies of them
//	nsec.go       the NSEC record of one name   rule 7.6
package rdata

import (
	"errors"
	"iter"
	"net/netip"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// Limits of RFC 1035 §2.3.4.
const (
	// MaxWireName is the longest name on the wire, in octets.
	MaxWireName = 255
	// MaxName is the longest name as text, in characters, with its final dot and no escapes.
	MaxName = 254
	// MaxLabel is the longest label, in octets.
	MaxLabel = 63
)

// Wildcard begins the name of a wildcard.
const Wildcard = "*."

var (
	errNoHost     = errors.New("no hostname")
	errHostNoDot  = errors.New("invalid hostname: a host needs at least two labels, such as app.example.com")
	errHostLength = errors.New("invalid hostname: a label is empty or longer than 63 characters, or the name is longer than 253")
	errHostNumber = errors.New("the last label is a number, as in an IP address")
	errHostChar   = errors.New("invalid hostname: labels hold letters, digits and inner hyphens; a wildcard is the whole first label")
	errURL        = errors.New("it is a URL: write the host name alone")
	errPort       = errors.New("it ends with a port: write the host name alone")
	errAddress    = errors.New("it is an IP address: write an A or AAAA record, or the name of a host")
	errEscape     = errors.New("it is not a domain name: it ends with a backslash")
)

// Host returns a listener's hostname as a lower-case name with a final dot. It accepts what the
// Gateway API allows: letters, digits and hyphens, with "*." in front for a wildcard, and a final
// dot too.
func Host(text string) (string, error) {
	if text == "" {
		return "", errNoHost
	}
	name := strings.TrimSuffix(text, ".")
	if wrong := api.NotASCII(name); wrong != "" {
		return "", errors.New("it " + wrong)
	}
	if err := CheckLabels(strings.TrimPrefix(name, Wildcard)); err != nil {
		return "", err
	}
	if strings.IndexByte(name, '.') < 0 {
		return "", errHostNoDot
	}
	if len(name)+1 > MaxName {
		return "", errHostLength
	}
	return strings.ToLower(name) + ".", nil
}

// CheckLabels returns an error unless text, which has no final dot, consists of labels of letters, digits and inner
// hyphens (RFC 1123 §2.1).
func CheckLabels(text string) error {
	for label := range strings.SplitSeq(text, ".") {
		switch {
		case label == "" || len(label) > MaxLabel:
			return errHostLength
		case label[0] == '-' || label[len(label)-1] == '-' || strings.ContainsFunc(label, notLDH):
			return errHostChar
		}
	}
	return nil
}

func notLDH(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-'
}

// Target returns the hostname of a CNAME's target as a lower-case name with a final dot. Unlike a
// listener's host it may have underscores, or a single label, but it is no wildcard and no address.
func Target(text string) (string, error) {
	name := strings.TrimSuffix(text, ".")
	switch {
	case name == "":
		return "", errNoHost
	case len(name)+1 > MaxName:
		return "", errHostLength
	}
	if err := CheckLabels(strings.ReplaceAll(name, "_", "x")); err != nil {
		return "", err
	}
	if last := name[strings.LastIndexByte(name, '.')+1:]; strings.Trim(last, "0123456789") == "" {
		return "", errHostNumber // RFC 3696 §2
	}
	return strings.ToLower(name) + ".", nil
}

// Canonical returns the one spelling of a name in snapshots: lower case, with a final dot, and escaped as in a query (RFC 1035 §5.1).
// Unlike Host it accepts every DNS name.
func Canonical(text string) (string, error) {
	full := dns.Fqdn(text)
	if !dns.IsFqdn(full) { // the last dot is part of a label
		return "", errEscape
	}
	name, wrong := api.CanonicalName(full)
	if wrong != "" {
		return "", errors.New("it " + wrong)
	}
	return name, nil
}

// Name is Canonical for names in user input, and refuses URLs, addresses and ports.
func Name(text string) (string, error) {
	host := strings.TrimSuffix(text, ".")
	switch at := strings.LastIndexByte(host, ':'); {
	case isAddress(text):
		return "", errAddress
	case strings.Contains(text, "://"):
		return "", errURL
	case at >= 0 && at < len(host)-1 && strings.Trim(host[at+1:], "0123456789") == "":
		return "", errPort
	}
	return Canonical(text)
}

// isAddress reports whether a name is an IP address, with or without a final dot.
func isAddress(name string) bool {
	_, err := netip.ParseAddr(strings.TrimSuffix(name, "."))
	return err == nil
}

// Base returns host less a leading "*.": H' of rule 2.3.
func Base(host string) string { return strings.TrimPrefix(host, Wildcard) }

// WildcardOf returns the name of the wildcard directly below a name.
func WildcardOf(name string) string { return Wildcard + strings.TrimPrefix(name, ".") }

// Below returns the absolute name of relative in origin; `@` is origin itself (rule 6.2).
func Below(origin, relative string) (string, error) {
	if relative == "@" {
		return origin, nil
	}
	if !dns.IsFqdn(relative + ".") {
		return "", errEscape
	}
	return Canonical(relative + "." + strings.TrimSuffix(origin, "."))
}

// Relative returns name without origin, which contains it; "" for origin itself.
func Relative(origin, name string) string {
	if origin == "." {
		return strings.TrimSuffix(name, ".")
	}
	return strings.TrimSuffix(name[:len(name)-len(origin)], ".")
}

// IsSubdomain reports whether name lies at or below zone. Both are lower-case names with a final
// dot. It does not allocate.
func IsSubdomain(zone, name string) bool {
	if zone == "." {
		return true
	}
	if !strings.HasSuffix(name, zone) {
		return false
	}
	at := len(name) - len(zone)
	if at == 0 {
		return true
	}
	if name[at-1] != '.' {
		return false
	}
	// The dot may be part of a label: then an odd number of backslashes escapes
	// it (RFC 1035 §5.1).
	escapes := 0
	for escapes < at-1 && name[at-2-escapes] == '\\' {
		escapes++
	}
	return escapes%2 == 0
}

// Closest returns the value of the longest of some names that equals or contains name; ok is false if none does.
func Closest[V any](names map[string]V, name string) (v V, ok bool) {
	for off, end := 0, false; !end; off, end = dns.NextLabel(name, off) {
		if v, ok = names[name[off:]]; ok {
			return v, true
		}
	}
	v, ok = names["."]
	return v, ok
}

// Parent returns the name above name; ok is false for the root.
func Parent(name string) (above string, ok bool) {
	if name == "." {
		return "", false
	}
	off, end := dns.NextLabel(name, 0)
	if end {
		return ".", true
	}
	return name[off:], true
}

// Ancestors yields name, and every name above it up to the root.
func Ancestors(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for ok := true; ok && yield(name); name, ok = Parent(name) {
		}
	}
}
