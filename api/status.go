package api

import "time"

// ProbeStatus is the state of what a DNSHealthCheckProbe has checked (rule 4.8).
type ProbeStatus struct {
	Healthy             ConditionStatus // ConditionUnknown until that is decided
	ConsecutiveFailures int32
	Reason              string // why the last check failed; of a fixed list
	Status              int32  // the HTTP code of the last answer; 0 for none
	LastCheck           time.Time
}

// Entry is one record of a Zone, as its status has it.
type Entry struct {
	FQDN, Type, Class string
	TTL               uint32
	RData             string
}
