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
	reasonServedInPart   = api.ServedInPart
	reasonServed         = "Served"
)
