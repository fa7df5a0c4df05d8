package api

// DNSRecord is a kuadrant.io DNSRecord, decoded from either version and defaulted.
type DNSRecord struct {
	// Meta's Labels are LabelZoneName and LabelManagedBy, where the object has them.
	Meta
	Controller *Controller // nil where nobody controls it
	// Invalid says why the record cannot be accepted, in a sentence for its owner; ""
	// where it can.
	Invalid string
	// CheckInvalid says why the health check cannot be used, in a sentence for its
	// owner; "" where it can. The names are published without it.
	CheckInvalid string

	// RootHost is the name that all endpoints are to lie at or below, spelled as
	// theirs are; where the object does not say, that of the endpoint that the others
	// lie below. Its leading label may be `*`.
	RootHost string
	// Endpoints are those that could be read, 1,000 at the most.
	Endpoints []Endpoint
	// Provider has no Selector.
	Provider Provider
	// ZoneID is the zone that the record is in, as written; "" where it does not say.
	ZoneID      string
	HealthCheck *HealthCheck // nil where none is wanted
	// Ready is what another controller says of the record, where this server has written it
	// for that: with a provider that is not a Secret. nil where nothing is said, and for all
	// other records.
	Ready *Condition
}

// The labels of DNSRecords that are kept; of DNSHealthCheckProbes it is the second.
const (
	// LabelZoneName names the zone that a record is served in (rule 6.10).
	LabelZoneName = "kuadrant.io/coredns-zone-name"
	// LabelManagedBy names who has written the object.
	LabelManagedBy = "app.kubernetes.io/managed-by"
)
