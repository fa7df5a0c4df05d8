package records

import "github.com/coredns-kuadrant/kuadrant/records/zone"

// What a zone is, and how it changes: see package zone.
type (
	Zone     = zone.Zone
	Delta    = zone.Delta
	Proposal = zone.Proposal
)
