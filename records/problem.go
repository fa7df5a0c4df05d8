package records

import (
	"fmt"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// problem is why an object is not served, or not in full: one of the reasons below, and
// a sentence for its owner.
type problem struct{ reason, message string }

// problemf returns a problem. Texts among args are cut where they are very long: they come
// from fields that may have any length.
func problemf(reason, format string, args ...any) *problem {
	for i := range args {
		switch arg := args[i].(type) {
		case string:
			args[i] = api.Cut(arg, maxText)
		case error:
			args[i] = api.Cut(arg.Error(), maxText)
		}
	}
	return &problem{reason, fmt.Sprintf(format, args...)}
}

const (
	// maxText is how many octets a text in a message has at the most: a name has 1,004.
	maxText = 1024
	// maxMessage is the same of a whole message. An API server takes 32,768 characters.
	maxMessage = 16 << 10
)

// equal tells whether both say the same; nil says nothing.
func (p *problem) equal(o *problem) bool {
	return p == o || p != nil && o != nil && *p == *o
}

// and returns what p says, and then what o says; the reason is that of the first. nil says
// nothing.
func (p *problem) and(o *problem) *problem {
	switch {
	case p == nil:
		return o
	case o == nil:
		return p
	}
	return &problem{p.reason, p.message + "; " + o.message}
}

// keepsOut tells whether data of which p says something are not answered with at all.
func (p *problem) keepsOut() bool {
	return p != nil && (p.reason == reasonConflicted || p.reason == reasonHidden || p.reason == reasonOwnerUnread)
}

// The reasons that concern Zones and what is published in zones.
const (
	reasonParentMissing  = "ParentNotFound"
	reasonParentPending  = "ParentPending"
	reasonCycle          = "CyclicReference"
	reasonInvalidName    = "InvalidName"
	reasonNotAllowed     = "NotAllowed"
	reasonNotDelegated   = "NotDelegated"
	reasonNamesTaken     = "NamesTaken"
	reasonParentMismatch = "ParentMismatch"
	reasonNoNameservers  = "NoNameservers"
	reasonInvalidData    = "InvalidData"
	reasonForbiddenType  = "ForbiddenType"
	reasonForbiddenClass = "ForbiddenClass"
	reasonTTL            = "DifferentTTL"
	reasonStrings        = "SeveralStrings"
	reasonNoAddress      = "NoAddress"
	reasonMismatch       = "DelegationMismatch"
	reasonHidden         = "Hidden"
	reasonReserved       = "ReservedName"
	reasonWraps          = "SerialWraps"
	reasonServedInPart   = api.ServedInPart
	reasonServed         = "Served"
)

// The reasons of conditions. Those of Accepted and Enforced are Kuadrant's.
const (
	reasonAccepted       = "Accepted"
	reasonTargetNotFound = "TargetNotFound"
	reasonConflicted     = "Conflicted"
	reasonInvalid        = "Invalid"
	reasonUnknown        = "Unknown"
	reasonEnforced       = "Enforced"
	reasonAllFailed      = "HealthChecksFailed"
	reasonSomePassed     = "SomeChecksPassed"

	reasonInvalidHostname = "InvalidHostname"
	reasonNotServed       = "NotServed"
	reasonNoRoutes        = "NoRoutes"
	reasonInvalidAddress  = "InvalidAddress"
	reasonInconsistent    = "InconsistentAddresses"
	reasonGatewayFault    = "GatewayUnreadable"
	reasonDropped         = "TargetDropped"
	reasonApexHostname    = "HostnameAtApex"
	reasonUnknownGeo      = "UnknownGeoCode"
	reasonChainTooLong    = "ChainTooLong"
	reasonChainTaken      = "ChainTaken"
	reasonDelegate        = "DelegateWithoutEffect"
	reasonAnnotation      = "InvalidAnnotation"
	reasonHeaders         = "HeadersNotFound"
	reasonCheck           = "InvalidHealthCheck"
	reasonProvider        = "ProviderUnusable"
	reasonSecretMissing   = "SecretNotFound"
	reasonNoProvider      = "NoMatchingProvider"
	reasonZoneNotServed   = "ZoneNotServed"
	reasonTooMany         = "TooManyEntries"
	reasonOwnerUnread     = "OwnerUnreadable"
)

// unreadProblem says that a name is registered for an object that cannot be read.
func unreadProblem(name string, kind api.Kind, m *api.Meta) *problem {
	return problemf(reasonOwnerUnread, "%q is owned by %s %s in cluster %q, which is not synced; answering SERVFAIL until it is",
		trimDot(name), kind, m.Name, m.Cluster)
}

// unusable says why an object cannot be taken for what it is: what in it cannot be read,
// which may be what else is missing, and then what is invalid.
func unusable(m *api.Meta, invalid string) *problem {
	if m.Fault == "" || invalid == "" {
		return &problem{reasonInvalid, m.Fault + invalid}
	}
	return &problem{reasonInvalid, m.Fault + "; " + invalid}
}

// saysOwner says to the owner of an object whose a name is: that of an object m, which has gone where vacant is true (rule 5.4).
func saysOwner(what string, kind api.Kind, m *api.Meta, vacant bool, to *api.Meta) string {
	if vacant {
		return fmt.Sprintf("%s was that of %s %s, and is kept for namespace %s for 30 s after that has gone", what, kind, inCluster(m, to), namespaceOf(m))
	}
	return fmt.Sprintf("%s belongs to %s %s", what, kind, inCluster(m, to))
}
