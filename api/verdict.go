package api

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Verdict is the status that an object should have. It is a by-product of compiling: it is
// complete, and equal inputs give equal verdicts.
type Verdict struct {
	Conditions []Condition
	// TotalRecords is how many hosts the object publishes.
	TotalRecords int32
	// Records are the conditions of each host with something to report, sorted by host.
	Records []RecordVerdict

	// FQDN is the name of a Zone or Record, with a final dot; "" if unknown.
	FQDN string
	// Parent is the namespace/name of its parent Zone; "" for none.
	Parent string
	// Kept is a Zone's publication; zero for other objects.
	Kept Kept
}

// ParentLabel returns the value of the label kubi.zone/parent-zone; "" if there is no parent, or
// the label cannot hold it (rule 6.3).
func (v *Verdict) ParentLabel() string {
	namespace, name, ok := strings.Cut(v.Parent, "/")
	if label := name + "." + namespace; ok && len(label) <= MaxLabelValue {
		return label
	}
	return ""
}

// MaxLabelValue is the maximum length of a label's value, in characters.
const MaxLabelValue = 63

// RecordVerdict is an entry of recordConditions in a policy's status.
type RecordVerdict struct {
	Host       string
	Conditions []Condition
}

// Condition is one status condition; its times belong to whoever writes it.
type Condition struct {
	Type    string          `json:"type"`
	Status  ConditionStatus `json:"status"`
	Reason  string          `json:"reason"`
	Message string          `json:"message"`
}

// Equal reports whether v and o say the same. Neither may be nil.
func (v *Verdict) Equal(o *Verdict) bool {
	return v == o || v.TotalRecords == o.TotalRecords &&
		v.FQDN == o.FQDN && v.Parent == o.Parent && v.Kept == o.Kept &&
		slices.Equal(v.Conditions, o.Conditions) &&
		slices.EqualFunc(v.Records, o.Records, func(a, b RecordVerdict) bool {
			return a.Host == b.Host && slices.Equal(a.Conditions, b.Conditions)
		})
}

// MessageEnforced is the message of a condition of a fully served policy. If something is not
// served, the message continues.
const MessageEnforced = "DNSPolicy has been successfully enforced"

// MessageServed is the message of a condition of a Zone or Record that is served as written. If
// there is something to report, the message continues.
const MessageServed = "served"

// ServedInPart is Problem's reason if the object is served, but a part of it is not.
const ServedInPart = "ServedInPart"

// NothingServed is Problem's reason if the object was accepted, but has nothing to serve.
const NothingServed = "NothingServed"

// Problem returns a line that says what keeps the object from being served in full, and the reason
// in one word; "" for nothing.
func (v *Verdict) Problem() (reason, line string) {
	for _, c := range v.Conditions {
		if c.Status != ConditionTrue && c.Type != ConditionEntries {
			return c.Reason, c.text()
		}
	}
	var parts []string
	for _, c := range v.Conditions {
		more, success := strings.CutPrefix(c.Message, MessageEnforced)
		if said, ok := strings.CutPrefix(c.Message, MessageServed+"; "); ok && c.Type == conditionReady {
			return c.Reason, said
		}
		switch {
		case c.Type != conditionEnforced:
		case !success:
			parts = append(parts, c.Message)
		case more != "":
			parts = append(parts, "enforced, but "+strings.TrimLeft(more, " :;"))
		}
	}
	if reason = ServedInPart; v.TotalRecords == 0 {
		reason = NothingServed
	}
	if first, faults := v.faults(); len(faults) > 0 {
		if len(parts) == 0 {
			reason = first
		}
		parts = append(parts, faults...)
	}
	if len(parts) == 0 {
		return "", ""
	}
	return reason, strings.Join(parts, "; ")
}

// maxFaults bounds the hosts' faults in a line.
const maxFaults = 5

// faults returns what keeps hosts from being served in full, each text once with its first host, and the first reason.
func (v *Verdict) faults() (reason string, lines []string) {
	told, more := make(map[string]bool), 0
	for _, r := range v.Records {
		for _, c := range r.Conditions {
			switch text := c.text(); {
			case c.Status == ConditionTrue || told[text]:
			case len(lines) == maxFaults:
				told[text] = true
				more++
			default:
				told[text], reason = true, cmp.Or(reason, c.Reason)
				lines = append(lines, r.Host+": "+text)
			}
		}
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return reason, lines
}

// conditionEnforced is the type of the condition that reports whether an object is served.
const conditionEnforced = "Enforced"

// ConditionEntries is the type of the condition that reports whether a Zone's status.entries holds
// all records. If not, all are served nonetheless.
const ConditionEntries = "EntriesComplete"

// conditionReady is the same for a Zone or Record.
const conditionReady = "Ready"

// text returns the condition as a line.
func (c *Condition) text() string {
	return c.Type + "=" + c.Status.String() + " (" + c.Reason + "): " + c.Message
}

// Accepted reports whether the object itself was accepted.
func (v *Verdict) Accepted() bool {
	return len(v.Conditions) > 0 && v.Conditions[0].Status == ConditionTrue
}
