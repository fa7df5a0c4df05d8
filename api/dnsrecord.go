package api

// DNSRecord is a kuadrant.io DNSRecord, decoded from either version and defaulted.
type DNSRecord struct {
	// Meta's Labels are LabelZoneName and LabelManagedBy, where the object has them.
	Meta
	Controller *Controller `json:"controller"` // nil if nothing controls it
	// Invalid says why the record cannot be accepted, in a sentence for its owner; "" if it can.
	Invalid string `json:"invalid"`
	// CheckInvalid says why the health check cannot be used, in a sentence for its
	// owner; "" if it can. The names are published without it.
	CheckInvalid string `json:"checkInvalid"`

	// RootHost is the name that all endpoints must lie at or below, in their spelling; if the
	// object has none, the name of the endpoint that the others lie below. Its leading label may be
	// `*`.
	RootHost string `json:"rootHost"`
	// Endpoints are those that could be read, 1,000 at most.
	Endpoints []Endpoint `json:"endpoints"`
	// Provider has no Selector.
	Provider Provider `json:"provider"`
	// ZoneID is the record's zone, as written; "" for none.
	ZoneID      string       `json:"zoneID"`
	HealthCheck *HealthCheck `json:"healthCheck"` // nil for none
	// Ready is another controller's report on a record that this server wrote for it: with a
	// provider that is not a Secret. nil for none, and for all other records.
	Ready *Condition `json:"ready"`
}

// LabelZoneName names the zone that a record is served in (rule 6.10).
const LabelZoneName = "kuadrant.io/coredns-zone-name"
