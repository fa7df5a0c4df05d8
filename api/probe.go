package api

// HealthCheckProbe is a kuadrant.io DNSHealthCheckProbe, decoded and defaulted:
// one address that its owner wants to be probed.
type HealthCheckProbe struct {
	Meta
	// Invalid says why the probe cannot be accepted, in a sentence for its owner;
	// "" where it can.
	Invalid string

	// Address is where to connect to: an IP address in its usual form, an
	// IPv4-mapped one as IPv4, or a host name in lower case without a final dot.
	// "" where the object has none that can be used; it is Invalid then.
	Address string
	// Host is what is asked for there, in lower case without a final dot; "" for
	// none. Check.Host has it too.
	Host  string
	Check HealthCheck

	// Healthy is what the status says, whoever wrote it (rule 4.1);
	// ConditionUnknown where it says nothing. What else a status holds is not
	// kept: it may change with every check.
	Healthy ConditionStatus
	// ObservedGeneration is the Generation that the status is about; 0 where it
	// does not say.
	ObservedGeneration int64
}
