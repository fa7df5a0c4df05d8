package api

import (
	"fmt"
)

// HeadersLabel is the label that a Secret must have, with the value HeadersOn, to
// be read at all: its owner agrees that what it holds is sent to servers that
// policies name (rule 4.10).
const (
	HeadersLabel = "kuadrant.io/probe-headers"
	HeadersOn    = "true"
)

// HeaderSecret is a Secret (v1) whose keys and values are additional headers of
// health checks. Nothing else of it is kept; of its Meta only what identifies it.
//
// However it is printed, it tells how many headers there are and never their
// values. Keep it by pointer: fmt does not ask what it finds in an unexported
// field, but leaves pointers there alone.
type HeaderSecret struct {
	Meta
	// Headers are sorted by name, each name once whatever its case. They may be
	// sent as they are. There are none where Invalid is set.
	Headers []Header
	// Invalid says why none of the headers can be used, in a sentence for the
	// Secret's owner that holds no value; "" where all can.
	Invalid string
}

// Header is one additional header of a check. Printing it does not tell its
// value.
type Header struct {
	Name  string
	Value string `json:"-"`
}

// Format implements fmt.Formatter for all verbs and flags but %p and %w, of which
// fmt asks nobody.
func (s HeaderSecret) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "Secret %s of %d headers", s.Name, len(s.Headers))
	if s.Invalid != "" {
		_, _ = fmt.Fprintf(f, " (%s)", s.Invalid)
	}
}

// Format implements fmt.Formatter as that of HeaderSecret does.
func (h Header) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "%s: (not shown)", h.Name)
}
