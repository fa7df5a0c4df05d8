package records

import (
	"fmt"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// problem is why an object is not served, or not in full: one of the reasons below, and
// a sentence for its owner.
type problem struct{ reason, message string }

func problemf(reason, format string, args ...any) *problem {
	return &problem{reason, fmt.Sprintf(format, args...)}
}

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
	return p != nil && (p.reason == reasonConflicted || p.reason == reasonHidden)
}

// The reasons that concern Zones and what is published in zones; others are in
// verdict.go.
const (
	reasonParentMissing  = "ParentNotFound"
	reasonParentPending  = "ParentPending"
	reasonCycle          = "CyclicReference"
	reasonInvalidName    = "InvalidName"
	reasonNotAllowed     = "NotAllowed"
	reasonNotDelegated   = "NotDelegated"
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
	reasonWraps          = "SerialWraps"
	reasonServedInPart   = api.ServedInPart
	reasonServed         = "Served"
)
