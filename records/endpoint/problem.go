package endpoint

import (
	"fmt"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// Problem is why an object is not served, or not in full: one of the reasons below, and a sentence
// for its owner.
type Problem struct{ Reason, Message string }

// Problemf returns a problem. It cuts very long strings among args, which come from fields of any length.
func Problemf(reason, format string, args ...any) *Problem {
	for i := range args {
		switch arg := args[i].(type) {
		case string:
			args[i] = api.Cut(arg, maxText)
		case error:
			args[i] = api.Cut(arg.Error(), maxText)
		}
	}
	return &Problem{reason, fmt.Sprintf(format, args...)}
}

const (
	// maxText bounds a text within a message, in octets: a name has 1,004 at most.
	maxText = 1024
	// MaxMessage bounds a whole message, in octets. An API server takes 32,768 characters.
	MaxMessage = 16 << 10
)

// Equal reports whether both say the same; nil is no problem.
func (p *Problem) Equal(o *Problem) bool {
	return p == o || p != nil && o != nil && *p == *o
}

// And returns p and o as one problem, with the reason of the first. Either may be nil.
func (p *Problem) And(o *Problem) *Problem {
	switch {
	case p == nil:
		return o
	case o == nil:
		return p
	}
	return &Problem{p.Reason, p.Message + "; " + o.Message}
}

// KeepsOut reports whether the problem keeps data out of all answers; nil does not.
func (p *Problem) KeepsOut() bool {
	return p != nil && (p.Reason == ReasonConflicted || p.Reason == ReasonHidden || p.Reason == reasonOwnerUnread)
}

// The reasons that concern Zones and what is published in zones.
const (
	ReasonParentMissing  = "ParentNotFound"
	ReasonParentPending  = "ParentPending"
	reasonCycle          = "CyclicReference"
	reasonInvalidName    = "InvalidName"
	reasonNotAllowed     = "NotAllowed"
	reasonNotDelegated   = "NotDelegated"
	reasonNamesTaken     = "NamesTaken"
	reasonParentMismatch = "ParentMismatch"
	ReasonNoNameservers  = "NoNameservers"
	reasonInvalidData    = "InvalidData"
	reasonForbiddenType  = "ForbiddenType"
	reasonForbiddenClass = "ForbiddenClass"
	ReasonTTL            = "DifferentTTL"
	reasonStrings        = "SeveralStrings"
	ReasonMismatch       = "DelegationMismatch"
	ReasonDisplaces      = "DisplacesOthers"
	ReasonUncovered      = "NotCovered"
	ReasonHidden         = "Hidden"
	reasonReserved       = "ReservedName"
	ReasonLeadsNowhere   = "LeadsNowhere"
	ReasonServedInPart   = api.ServedInPart
	ReasonServed         = "Served"
)

// The reasons of conditions. Those of Accepted and Enforced are Kuadrant's.
const (
	ReasonAccepted       = "Accepted"
	ReasonTargetNotFound = "TargetNotFound"
	ReasonConflicted     = "Conflicted"
	ReasonInvalid        = "Invalid"
	ReasonUnknown        = "Unknown"
	ReasonEnforced       = "Enforced"
	ReasonAllFailed      = "HealthChecksFailed"
	ReasonSomePassed     = "SomeChecksPassed"

	reasonInvalidHostname = "InvalidHostname"
	ReasonNotServed       = "NotServed"
	ReasonNoRoutes        = "NoRoutes"
	reasonInvalidAddress  = "InvalidAddress"
	ReasonInconsistent    = "InconsistentAddresses"
	reasonGatewayFault    = "GatewayUnreadable"
	ReasonDropped         = "TargetDropped"
	ReasonNoFailover      = "NoFailover"
	ReasonApexHostname    = "HostnameAtApex"
	ReasonUnknownGeo      = "UnknownGeoCode"
	ReasonUnlocated       = "NoGeoDatabase"
	reasonChainTooLong    = "ChainTooLong"
	ReasonChainTaken      = "ChainTaken"
	ReasonAnnotation      = "InvalidAnnotation"
	ReasonHeaders         = "HeadersNotFound"
	ReasonCheck           = "InvalidHealthCheck"
	ReasonNotChecked      = "NotChecked"
	reasonProvider        = "ProviderUnusable"
	reasonSecretMissing   = "SecretNotFound"
	reasonNoProvider      = "NoMatchingProvider"
	reasonZoneNotServed   = "ZoneNotServed"
	ReasonTooMany         = "TooManyEntries"
	reasonOwnerUnread     = "OwnerUnreadable"
)

// UnreadProblem says that a name is registered for an object that cannot be read.
func UnreadProblem(name string, kind api.Kind, m *api.Meta) *Problem {
	return Problemf(reasonOwnerUnread, "%q is owned by %s %s in cluster %q, which is not synced; answering SERVFAIL until it is",
		TrimDot(name), kind, m.Name, m.Cluster)
}

// unusable returns why an object cannot be used: the fields that cannot be read, then what is
// invalid.
func unusable(m *api.Meta, invalid string) *Problem {
	if m.Fault == "" || invalid == "" {
		return &Problem{ReasonInvalid, m.Fault + invalid}
	}
	return &Problem{ReasonInvalid, m.Fault + "; " + invalid}
}

// ownedBy tells the owner of an object, to, that what belongs to the object m; reserved is true if m has gone (rule 5.4).
func ownedBy(what string, kind api.Kind, m *api.Meta, reserved bool, to *api.Meta) string {
	if reserved {
		return fmt.Sprintf("%s belonged to %s %s, and stays reserved for namespace %s for 30 s, or for ten minutes if the cluster is gone",
			what, kind, InCluster(m, to), namespaceOf(m))
	}
	return fmt.Sprintf("%s belongs to %s %s", what, kind, InCluster(m, to))
}

// namespaceOf names an object's namespace for its owner, with the cluster if it pools with no other
// cluster's.
func namespaceOf(m *api.Meta) string {
	if m.Apart {
		return m.Namespace() + " in cluster " + m.Cluster + " (not listed as shared with other clusters)"
	}
	return m.Namespace()
}

// InCluster names an object for the owner of another one.
func InCluster(m, to *api.Meta) string {
	if m.Cluster != to.Cluster {
		return m.Name + " in cluster " + m.Cluster
	}
	return m.Name
}
