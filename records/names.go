package records

import (
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/status"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// Zones and how they change: see package zone.
type (
	Zone  = zone.Zone
	Delta = zone.Delta
)

// Health checks: see package pool.
type Checks = pool.Checks

// ReasonUnlocated is Trouble.Reason of objects whose geo codes have no effect because no locator is configured.
const ReasonUnlocated = endpoint.ReasonUnlocated

// What objects report: see package status.
type (
	Object   = status.Object
	Conflict = status.Conflict
	Failing  = status.Failing
	Trouble  = status.Trouble
	Sharer   = status.Sharer
)
