package api

import "time"

// HealthCheckProbe is a kuadrant.io DNSHealthCheckProbe, decoded and defaulted: one address to
// probe for its owner.
type HealthCheckProbe struct {
	// Meta's only label is LabelManagedBy, if the object has it.
	Meta
	Controller *Controller `json:"controller"` // nil if nothing controls it
	// Invalid says why the probe cannot be accepted, in a sentence for its owner; "" if it can.
	Invalid string `json:"invalid"`

	// Address is where to connect to: an IP address in its usual form, IPv4-mapped ones as IPv4, or
	// a host name in lower case without a final dot; "" without a usable one, which makes the probe
	// Invalid.
	Address string `json:"address"`
	// Host is the host to ask for, in lower case without a final dot; "" for none. Check.Host has
	// it too.
	Host  string      `json:"host"`
	Check HealthCheck `json:"check"`

	// Healthy is what the status says, whoever wrote it (rule 4.1); ConditionUnknown for nothing.
	// The rest of a status is not kept: it may change with every check.
	Healthy ConditionStatus `json:"healthy"`
	// ObservedGeneration is the Generation that the status is about; 0 if not set.
	ObservedGeneration int64 `json:"observedGeneration"`
}

// ProbeStatus is the status that a DNSHealthCheckProbe should have (rule 4.8).
type ProbeStatus struct {
	// Healthy is ConditionUnknown until decided, and if nothing is checked.
	Healthy ConditionStatus
	// ConsecutiveFailures counts the failed checks in a row.
	ConsecutiveFailures int
	// Reason says why the last check did not succeed, in a text from a fixed list; "" if it did.
	Reason string
	// Status is the HTTP status code of the last answer; 0 for none.
	Status int
	// LastCheck is when the last check ended; zero if unknown.
	LastCheck time.Time
	// ObservedGeneration is the object's generation that this is about.
	ObservedGeneration int64
}
