package api

import (
	"slices"
	"strings"
)

// Endpoint is one decoded entry of spec.endpoints of a DNSRecord or a DNSEndpoint (rule 6.10). Each
// has a name, a type and a target.
type Endpoint struct {
	// DNSName has a final dot; it is in lower case, with escapes only where needed.
	DNSName string `json:"dnsName"`
	// Type is in upper case, such as AAAA. It may be unknown.
	Type string `json:"type"`
	// Targets are the data as written: addresses, names, a text, or master-file form
	// (RFC 1035 §5.1). There are at most 1,000, and their order counts.
	Targets []string `json:"targets"`
	// TTL is in seconds, up to 2^31-1; 0 for the default.
	TTL int64 `json:"ttl"`
	// SetID tells the endpoints of one name and type apart; "" for the only one.
	SetID string `json:"setID"`
	// Weight is from 0 to 2^31-1; NoWeight if the endpoint has none.
	Weight int64 `json:"weight"`
	// Geo is the code of its clients, in upper case; "" for none. The endpoint for clients that
	// match no other has the code `*`, and the SetID "default" if Kuadrant's operators or this
	// server wrote it (rule 2.3).
	Geo        string     `json:"geo"`
	Attributes Attributes `json:"attributes"`
	// Index is its index in spec.endpoints.
	Index int `json:"index"`
}

// RegistryText is the prefix of the texts with which external-dns and Kuadrant's operators record the owner of a name.
const RegistryText = "heritage=external-dns,"

// IsRegistryText reports whether an endpoint is such a text. There is one beside each name, within what may be published or not; here the
// registry has that, and they are left out.
func (e *Endpoint) IsRegistryText() bool {
	return e.Type == "TXT" && !slices.ContainsFunc(e.Targets, func(text string) bool {
		return !strings.HasPrefix(strings.Trim(text, `" `), RegistryText)
	})
}

// NoWeight is the Weight of an Endpoint without one.
const NoWeight = -1

// DNSEndpoint is an externaldns.k8s.io DNSEndpoint, decoded.
type DNSEndpoint struct {
	Meta
	// Invalid says why the object cannot be used, in a sentence for its owner; "" if it can.
	Invalid string `json:"invalid"`

	// Endpoints are those that could be read, 1,000 at most.
	Endpoints []Endpoint `json:"endpoints"`
}
