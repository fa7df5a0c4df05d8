package api

import "slices"

// Verdict is the status that one object should carry. A verdict is a by-product
// of compiling: it is complete, and equal inputs give equal verdicts.
type Verdict struct {
	Conditions []Condition
	// TotalRecords is how many hosts the object publishes.
	TotalRecords int32
	// Records holds, for each host with something to say, its conditions, in
	// the order of the hosts.
	Records []RecordVerdict
}

// RecordVerdict is what a policy's status says under recordConditions.
type RecordVerdict struct {
	Host       string
	Conditions []Condition
}

// Condition is one status condition; its times belong to whoever writes it.
type Condition struct {
	Type    string
	Status  ConditionStatus
	Reason  string
	Message string
}

// Equal tells whether v and o say the same. Neither may be nil.
func (v *Verdict) Equal(o *Verdict) bool {
	return v == o || v.TotalRecords == o.TotalRecords &&
		slices.Equal(v.Conditions, o.Conditions) &&
		slices.EqualFunc(v.Records, o.Records, func(a, b RecordVerdict) bool {
			return a.Host == b.Host && slices.Equal(a.Conditions, b.Conditions)
		})
}

// Problem returns a line that says what keeps the object from being served in
// full, "" where nothing does.
func (v *Verdict) Problem() string {
	for _, c := range v.Conditions {
		if c.Status == ConditionFalse {
			return c.Type + "=False (" + c.Reason + "): " + c.Message
		}
	}
	for _, r := range v.Records {
		for _, c := range r.Conditions {
			return r.Host + ": " + c.Type + "=" + c.Status.String() + " (" + c.Reason + "): " + c.Message
		}
	}
	return ""
}

// Accepted tells whether the object was accepted for what it is.
func (v *Verdict) Accepted() bool {
	return len(v.Conditions) > 0 && v.Conditions[0].Status == ConditionTrue
}
