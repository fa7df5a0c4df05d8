package api

import "fmt"

// HeadersLabel, with the value HeadersOn, is the label that a Secret needs to be read at all: its owner
// agrees to send its content to servers that policies name (rule 4.10).
const (
	HeadersLabel = "kuadrant.io/probe-headers"
	HeadersOn    = "true"
)

// Secret is a Secret (v1), reduced to what is used: its zones as a DNS provider and, with the label
// HeadersLabel, its keys and values as additional headers of health checks. Of its Meta it keeps
// only its identity and its labels.
//
// Printing it shows the number of headers and never their values. Keep it by pointer: fmt does not
// call Format for an unexported field, but leaves pointers there alone.
type Secret struct {
	Meta
	// Unlabelled is true if it lacks the label HeadersLabel: there are no Headers.
	Unlabelled bool `json:"unlabelled"`
	// Headers are sorted by name, each name once in any case. They may be sent as
	// they are. There are none if Invalid is set.
	Headers []Header `json:"headers"`
	// Invalid says why none of the headers can be used, in a sentence for the Secret's owner
	// without any value; "" if all can.
	Invalid string `json:"invalid"`
	// Provider is the Secret as a DNS provider.
	Provider ProviderSecret `json:"provider"`
}

// Header is one additional header of a check. Printing it does not show its value.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"-"`
}

// Format implements fmt.Formatter for all verbs and flags except %p and %w, for which fmt does not
// call it.
func (s Secret) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "Secret %s of %d headers", s.Name, len(s.Headers))
	if s.Invalid != "" {
		_, _ = fmt.Fprintf(f, " (%s)", s.Invalid)
	}
}

// Format implements fmt.Formatter like that of Secret.
func (h Header) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "%s: (not shown)", h.Name)
}
