package api

import "fmt"

// HeadersLabel is the label that a Secret must have, with the value HeadersOn, to
// be read at all: its owner agrees that what it holds is sent to servers that
// policies name (rule 4.10).
const (
	HeadersLabel = "kuadrant.io/probe-headers"
	HeadersOn    = "true"
)

// Secret is a Secret (v1), reduced to what is used of it: its zones as a DNS provider, and,
// with the label HeadersLabel, its keys and values as additional headers of health checks.
// Nothing else of it is kept; of its Meta only what identifies it, and its labels.
//
// However it is printed, it tells how many headers there are and never their
// values. Keep it by pointer: fmt does not ask what it finds in an unexported
// field, but leaves pointers there alone.
type Secret struct {
	Meta
	// Unlabelled is true where it has not the label HeadersLabel: there are no Headers.
	Unlabelled bool
	// Headers are sorted by name, each name once whatever its case. They may be
	// sent as they are. There are none where Invalid is set.
	Headers []Header
	// Invalid says why none of the headers can be used, in a sentence for the
	// Secret's owner that holds no value; "" where all can.
	Invalid string
	// Provider is what it says as a DNS provider.
	Provider ProviderSecret
}

// Header is one additional header of a check. Printing it does not tell its
// value.
type Header struct {
	Name  string
	Value string `json:"-"`
}

// Format implements fmt.Formatter for all verbs and flags but %p and %w, of which
// fmt asks nobody.
func (s Secret) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "Secret %s of %d headers", s.Name, len(s.Headers))
	if s.Invalid != "" {
		_, _ = fmt.Fprintf(f, " (%s)", s.Invalid)
	}
}

// Format implements fmt.Formatter as that of Secret does.
func (h Header) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "%s: (not shown)", h.Name)
}
