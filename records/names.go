package records

import (
	"errors"
	"strings"

	"github.com/miekg/dns"
)

// Limits of RFC 1035 §2.3.4. A name of 255 octets on the wire has 254
// characters with its final dot, where no character is escaped.
const (
	maxNameLength  = 254
	maxLabelLength = 63
)

const wildcardPrefix = "*."

var (
	errNoHost     = errors.New("no hostname")
	errHostNoDot  = errors.New("invalid hostname: a host needs at least two labels, such as app.example.com")
	errHostLength = errors.New("invalid hostname: a label is empty or longer than 63 characters, or the name is longer than 253")
	errHostNumber = errors.New("the last label is a number, as in an IP address")
	errHostChar   = errors.New("invalid hostname: labels hold letters, digits and inner hyphens; a wildcard is the whole first label")
)

// parseHost returns a listener's hostname as a lower-case name with a final
// dot. It takes what the Gateway API allows: letters, digits and hyphens, "*."
// in front for a wildcard, and here a final dot too.
func parseHost(s string) (string, error) {
	if s == "" {
		return "", errNoHost
	}
	name := strings.TrimSuffix(s, ".")
	base := strings.TrimPrefix(name, wildcardPrefix)
	if err := checkHost(base); err != nil {
		return "", err
	}
	if strings.IndexByte(name, '.') < 0 {
		return "", errHostNoDot
	}
	if len(name)+1 > maxNameLength {
		return "", errHostLength
	}
	return strings.ToLower(name) + ".", nil
}

// checkHost tells whether s, which has no final dot, consists of labels of
// letters, digits and inner hyphens (RFC 1123 §2.1).
func checkHost(s string) error {
	label := 0
	for i := 0; i <= len(s); i++ {
		if i == len(s) || s[i] == '.' {
			switch {
			case label == 0 || label > maxLabelLength:
				return errHostLength
			case s[i-1] == '-' || s[i-label] == '-':
				return errHostChar
			}
			label = 0
			continue
		}
		if !isLDH(s[i]) {
			return errHostChar
		}
		label++
	}
	return nil
}

func isLDH(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-'
}

// parseTarget returns a hostname that a CNAME may point to as a lower-case
// name with a final dot. Unlike a listener's host it may hold underscores and
// be of one label, but it is no wildcard and no address.
func parseTarget(s string) (string, error) {
	name := strings.TrimSuffix(s, ".")
	switch {
	case name == "":
		return "", errNoHost
	case len(name)+1 > maxNameLength:
		return "", errHostLength
	}
	if err := checkHost(strings.ReplaceAll(name, "_", "x")); err != nil {
		return "", err
	}
	if last := name[strings.LastIndexByte(name, '.')+1:]; strings.Trim(last, "0123456789") == "" {
		return "", errHostNumber // RFC 3696 §2
	}
	return strings.ToLower(name) + ".", nil
}

// base returns host less a leading "*.": H' of rule 2.3.
func base(host string) string {
	return strings.TrimPrefix(host, wildcardPrefix)
}

// klbLabel starts the names below a host that hold its steering records.
const klbLabel = "klb."

// groupKey returns the name that all claims which can contend with a claim on
// host share: the part of H' that follows its last label "klb", or H' itself.
// A weightedGeo claim on a host takes klb.H' and all below it (rule 5.7), so a
// host below some klb.H' contends with claims on H'.
func groupKey(host string) string {
	key := base(host)
	for off, end := 0, false; !end; off, end = dns.NextLabel(key, off) {
		if rest, ok := strings.CutPrefix(key[off:], klbLabel); ok && rest != "" {
			return groupKey(rest)
		}
	}
	return key
}

// IsSubdomain tells whether name lies at or below zone. Both are lower-case
// names with a final dot. It does not allocate.
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

// parent returns the name above name; ok is false for the root.
func parent(name string) (string, bool) {
	if name == "." {
		return "", false
	}
	off, end := dns.NextLabel(name, 0)
	if end {
		return ".", true
	}
	return name[off:], true
}
