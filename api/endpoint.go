package api

import (
	"slices"
	"strings"
)

// Endpoint is one entry of a DNSRecord's or a DNSEndpoint's spec.endpoints, decoded
// (rule 6.10). Each has a name, a type and a target.
type Endpoint struct {
	// DNSName has a final dot; it is in lower case, with escapes only where they are
	// needed.
	DNSName string
	// Type is in upper case, such as AAAA. There may be no such type.
	Type string
	// Targets are the data as written: addresses, names, a text, or the form of a master
	// file (RFC 1035 §5.1). There are 1,000 at the most, and their order counts.
	Targets []string
	// TTL is in seconds, up to 2^31-1; 0 for the default.
	TTL int64
	// SetID tells the endpoints of one name and type apart; "" for the only one.
	SetID string
	// Weight is from 0 to 2^31-1; NoWeight where the endpoint has none.
	Weight int64
	// Geo is the code of who it is for, in upper case; "" where it has none. The
	// endpoint for clients that match no other has the code `*`: it has the SetID
	// "default" then, where Kuadrant's operators or this server have written it
	// (rule 2.3).
	Geo string
	// Index is its place in spec.endpoints, from 0.
	Index int
}

// RegistryText begins the texts in which external-dns and Kuadrant's operators note whose a name is.
const RegistryText = "heritage=external-dns,"

// IsRegistryText reports whether an endpoint is one of these. They write one beside each name, in and out of what may be
// published; here the registry knows, and they are left out.
func (e *Endpoint) IsRegistryText() bool {
	return e.Type == "TXT" && !slices.ContainsFunc(e.Targets, func(text string) bool {
		return !strings.HasPrefix(strings.Trim(text, `" `), RegistryText)
	})
}

// NoWeight is the Weight of an Endpoint that has none.
const NoWeight = -1

// DNSEndpoint is an externaldns.k8s.io DNSEndpoint, decoded.
type DNSEndpoint struct {
	Meta
	// Invalid says why nothing can be taken from the object, in a sentence for its
	// owner; "" where it can.
	Invalid string

	// Endpoints are those that could be read, 1,000 at the most.
	Endpoints []Endpoint
}
