package api

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The defaults of a health check: Kuadrant's, and the shorter interval if routingStrategy is set,
// as in v1alpha2 (rule 4.3).
const (
	defaultPort             = 443
	defaultHTTPPort         = 80 // for protocol HTTP; nothing speaks that on 443
	defaultFailureThreshold = 5
	defaultSuccessThreshold = 1
	defaultInterval         = 5 * time.Minute
	defaultIntervalAlpha    = 30 * time.Second
	defaultTimeout          = 5 * time.Second
)

// A check must leave the prober time to breathe, and must recur some day.
const (
	minInterval = time.Second
	maxInterval = 24 * time.Hour
	minTimeout  = 10 * time.Millisecond
	// maxTimeout bounds how long a silent target keeps others waiting: only so many checks run at a time.
	maxTimeout = 30 * time.Second
)

// maxThreshold is more checks than anyone waits for.
const maxThreshold = 1000

// defaultExpected is shared by all checks, which only read it (rule 4.2).
var defaultExpected = []int{200, 201}

// healthDoc is a check as written; a zero or nil field is not set.
type healthDoc struct {
	at                  string // its path, as its owner writes it
	hostField           string // the name of the host's field; "" for host
	path, endpoint      *string
	protocol, host      string
	interval, timeout   string
	port                *int64
	failures, successes *int64
	expected            []int
	insecure            bool
	headers             *string
	headersRef          bool
	outOfRange          string // what is wrong with expectedResponses
}

// healthCheck reads a spec.healthCheck; nil for none.
func (r *reader) healthCheck() *healthDoc {
	if !r.is('{', "an object") {
		return nil
	}
	h := &healthDoc{at: "spec.healthCheck"}
	for field := range r.fields() {
		switch string(field) {
		case "endpoint":
			h.endpoint = r.optionalText()
		case "host":
			h.host, _ = r.text()
		default:
			r.check(h, field)
		}
	}
	return h
}

// check reads a field that policies and probes share; it skips any other.
func (r *reader) check(h *healthDoc, field []byte) {
	switch string(field) {
	case "path":
		h.path = r.optionalText()
	case "protocol":
		h.protocol, _ = r.word()
	case "port":
		h.port = r.optionalInteger()
	case "interval":
		h.interval, _ = r.word()
	case "timeout":
		h.timeout, _ = r.word()
	case "failureThreshold":
		h.failures = r.optionalInteger()
	case "successThreshold":
		h.successes = r.optionalInteger()
	case "expectedResponses":
		r.expected(h)
	case "allowInsecureCertificate":
		h.insecure, _ = r.boolean()
	case "additionalHeadersRef":
		h.headers, h.headersRef = nil, r.next() == '{'
		for field := range r.fields() {
			if string(field) == "name" {
				h.headers = r.optionalText()
			}
		}
	}
}

func (r *reader) optionalText() *string {
	if text, ok := r.text(); ok {
		return &text
	}
	return nil
}

func (r *reader) optionalInteger() *int64 {
	if n, ok := r.integer(); ok {
		return &n
	}
	return nil
}

func (r *reader) expected(h *healthDoc) {
	h.expected, h.outOfRange = nil, ""
	for range r.elements() {
		n, ok := r.integer()
		switch {
		case !ok:
		case n < 100 || n > 599:
			h.outOfRange = fmt.Sprintf("%s is %d, not an HTTP status code from 100 to 599", r.path(), n)
		case !slices.Contains(h.expected, int(n)): // at most 500 of them
			h.expected = append(h.expected, int(n))
		}
	}
	slices.Sort(h.expected)
}

// settled returns the check, and what is wrong with it; nil for none.
func (h *healthDoc) settled(alpha bool) (*HealthCheck, string) {
	if h == nil {
		return nil, ""
	}
	var invalid notes
	return h.settle(alpha, &invalid), invalid.text
}

// settle returns the check with its defaults. alpha chooses those of v1alpha2.
func (h *healthDoc) settle(alpha bool, invalid *notes) *HealthCheck {
	c := &HealthCheck{
		Host:                     strings.ToLower(strings.TrimSuffix(h.host, ".")),
		Interval:                 defaultInterval,
		Expected:                 h.expected,
		AllowInsecureCertificate: h.insecure,
	}
	if alpha {
		c.Interval = defaultIntervalAlpha
	}
	if len(c.Expected) == 0 {
		c.Expected = defaultExpected
	}
	if h.outOfRange != "" {
		invalid.add(h.outOfRange)
	}
	if c.Host != "" && !isHostname(c.Host) {
		invalid.add(h.at + "." + cmp.Or(h.hostField, "host") + " " + notHost(h.host, ": write a hostname without a port or wildcard"))
	}
	h.settleProtocol(c, invalid)
	c.Interval = duration(h.at+".interval", h.interval, c.Interval, minInterval, maxInterval, invalid)
	// One timeout covers the whole check, and one check ends before the next
	// starts (rule 4.2).
	c.Timeout = duration(h.at+".timeout", h.timeout, min(defaultTimeout, c.Interval), minTimeout, min(c.Interval, maxTimeout), invalid)
	c.FailureThreshold = threshold("Failure", h.failures, defaultFailureThreshold, invalid)
	c.SuccessThreshold = threshold("Success", h.successes, defaultSuccessThreshold, invalid)
	if h.headersRef {
		if h.headers == nil || !isSubdomain(*h.headers) {
			invalid.add(h.at + ".additionalHeadersRef.name: write the name of a Secret")
		} else if c.Protocol == HTTP || c.Protocol == HTTPS {
			c.HeadersSecret = *h.headers
		}
	}
	return c
}

func (h *healthDoc) settleProtocol(c *HealthCheck, invalid *notes) {
	switch strings.ToUpper(h.protocol) {
	case "", "HTTPS":
		c.Protocol = HTTPS
	case "HTTP":
		c.Protocol = HTTP
	case "TCP":
		c.Protocol = TCP
	case "GRPC":
		c.Protocol = GRPC
	default:
		c.Protocol = HTTPS
		invalid.add(h.at + ".protocol " + quote(h.protocol) + ": Only HTTP, HTTPS, TCP or GRPC protocols are allowed")
	}
	switch {
	case h.port == nil && c.Protocol == HTTP:
		c.Port = defaultHTTPPort
	case h.port == nil:
		c.Port = defaultPort
	case *h.port == 80, *h.port == 443, *h.port >= 1024 && *h.port <= 49151: // rule 4.9
		c.Port = uint16(*h.port)
	default:
		c.Port = defaultPort
		invalid.add(fmt.Sprintf("%s.port %d: Only ports 80, 443, 1024-49151 are allowed", h.at, *h.port))
	}
	if c.Protocol != TCP {
		c.Path = h.settlePath(invalid)
	}
}

// settlePath returns the path to ask for; it starts with a slash.
func (h *healthDoc) settlePath(invalid *notes) string {
	if h.path != nil && h.endpoint != nil && *h.path != *h.endpoint {
		invalid.add(h.at + ".path and " + h.at + ".endpoint mean the same but differ: remove one")
	}
	p := cmp.Or(h.path, h.endpoint)
	switch {
	case p == nil || *p == "" || *p == "/":
		return "/"
	case !isProbePath(*p):
		invalid.add(h.at + ".path " + quote(*p) +
			`: it must be "/", or start with "/" or "?", contain only URL characters, end with a letter, a digit or "/", and have from 3 to 2048 characters`)
		return "/"
	case (*p)[0] == '?':
		return "/" + *p
	}
	return *p
}

// maxPath is how long a path may be, in characters: it is kept for each target.
const maxPath = 2048

// isProbePath reports whether the CRD's pattern for paths matches p.
func isProbePath(p string) bool {
	return len(p) >= 3 && len(p) <= maxPath && (p[0] == '/' || p[0] == '?') &&
		only(p, letters+digits+`_-.~:/?#[]@!$&'()*+,;=`) &&
		only(p[len(p)-1:], letters+digits+"/")
}

// duration reads a time such as 30s, which is within the bounds given.
func duration(field, text string, otherwise, least, most time.Duration, invalid *notes) time.Duration {
	if text == "" {
		return otherwise
	}
	d, err := time.ParseDuration(text)
	if err == nil && d >= least && d <= most {
		return d
	}
	invalid.add(fmt.Sprintf("%s %s is not a duration from %s to %s", field, quote(text), least, most))
	return otherwise
}

func threshold(name string, n *int64, otherwise int, invalid *notes) int {
	switch {
	case n == nil:
		return otherwise
	case *n < 1:
		invalid.add(name + " threshold must be greater than 0")
		return otherwise
	case *n > maxThreshold:
		invalid.add(fmt.Sprintf("%s threshold must not be greater than %d", name, maxThreshold))
		return otherwise
	}
	return int(*n)
}
