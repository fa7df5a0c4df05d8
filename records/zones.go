package records

import (
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// What a zone is, and how it changes: see package zone.
type (
	Zone     = zone.Zone
	Delta    = zone.Delta
	Proposal = zone.Proposal
)

// Checks are the targets that a snapshot has checked: see package pool.
type Checks = pool.Checks
