package health

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Protocol is what a check speaks (rule 4.2).
type Protocol uint8

// The protocols. GRPCS is GRPC over TLS.
const (
	HTTP Protocol = iota
	HTTPS
	TCP
	GRPC
	GRPCS
)

// String returns the protocol in lower case.
func (p Protocol) String() string {
	return [...]string{"http", "https", "tcp", "grpc", "grpcs"}[p]
}

// Check is the request to one target. Equal checks make the same request.
type Check struct {
	// Address is where to connect to: an IP address, or a hostname without a final dot that each
	// check resolves.
	Address  string
	Protocol Protocol
	Port     uint16
	// Path is HTTP's path and query; for gRPC the service, "/" for the whole server. TCP has none.
	Path string
	// Host is sent in the Host header and the TLS handshake.
	Host string
	// Headers names the Secret with additional headers, "" for none.
	Headers string
	// Insecure accepts any certificate.
	Insecure bool
}

// URL returns the check as a URL, without the host name.
func (c *Check) URL() string {
	address := c.Address
	if addr, err := netip.ParseAddr(address); err == nil && addr.Is6() {
		address = "[" + address + "]"
	}
	return fmt.Sprintf("%s://%s:%d%s", c.Protocol, address, c.Port, c.Path)
}

// String returns the check as unique text.
func (c *Check) String() string {
	var b strings.Builder
	b.WriteString(c.URL())
	for _, part := range []struct{ name, value string }{{"host", c.Host}, {"headers", c.Headers}} {
		if part.value != "" {
			fmt.Fprintf(&b, " %s=%s", part.name, part.value)
		}
	}
	if c.Insecure {
		b.WriteString(" insecure")
	}
	return b.String()
}

// Terms say how often a check runs and what its results mean (rules 4.2 and 4.3).
type Terms struct {
	Interval, Timeout                  time.Duration
	FailureThreshold, SuccessThreshold int
	// Expected lists the HTTP status codes of a working target, separated by commas.
	Expected string
}

// Text describes the terms, such as "every 30s, down after 5 failures, up after 1 success".
func (t *Terms) Text() string {
	text := fmt.Sprintf("every %s, down after %s, up after %s",
		short(t.Interval), times(t.FailureThreshold, "failure", "failures"), times(t.SuccessThreshold, "success", "successes"))
	if t.Timeout > 0 {
		text += ", each within " + short(t.Timeout)
	}
	if t.Expected != "" {
		text += ", status " + t.Expected
	}
	return text
}

// short formats a duration without trailing zero units.
func short(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-len("0s")]
		}
	}
	return text
}

// times returns a count with its noun.
func times(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", more)
}

// Target is one check with its terms and its result. It is immutable except for its cell.
type Target struct {
	Check
	Terms
	// Values are the additional headers. They are secret.
	Values []Header
	// Missing is true if there should be headers, but are none.
	Missing bool
	// Tenant is whose the target is: a namespace, or several, with spaces between them. Its checks
	// take their turns among those of others.
	Tenant string
	Cell   *Cell
}

// Header is one additional header of an HTTP check. Printing it does not show its value.
type Header struct {
	Name  string
	Value string `json:"-"`
}

// Format implements fmt.Formatter for all verbs except %p and %w.
func (h Header) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "%s: (not shown)", h.Name)
}

// longestKey bounds a key: a path and codes may have thousands of characters, and there are as many
// keys as targets.
const longestKey = 200

// Key returns the key of a target with this check and these terms. Other targets have other keys,
// barring a collision of SHA-256.
func (t *Target) Key() string {
	key := fmt.Sprintf("%s\n%v %v %d %d %s", t.Check.String(), t.Interval, t.Timeout, t.FailureThreshold, t.SuccessThreshold, t.Expected)
	if len(key) <= longestKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return key[:longestKey-2*len(sum)] + hex.EncodeToString(sum[:])
}

// SameHeaders reports whether t and o send the same additional headers.
func (t *Target) SameHeaders(o *Target) bool {
	return t.Missing == o.Missing && slices.Equal(t.Values, o.Values)
}

// expects reports whether an HTTP status is that of a working target.
func (t *Terms) expects(status int) bool {
	return slices.Contains(strings.Split(t.Expected, ","), strconv.Itoa(status))
}

// delay returns the time from the start of a check to the next. at is from -1 to 1 (rule 4.3).
func (t *Terms) delay(w Value, at float64) time.Duration {
	d := min(max(t.Interval, leastInterval), mostInterval)
	if w.Undecided() || !w.Checked() && w.Reason() != Forbidden || w.Reason().verdict() == noEvidence {
		d = min(d, hurry)
	}
	return time.Duration(float64(d) * (1 + jitter*at))
}

// rate returns the maximum number of checks a second under the terms, while nothing is decided.
func (t *Terms) rate() float64 {
	return 1 / min(max(t.Interval, leastInterval), hurry).Seconds()
}
