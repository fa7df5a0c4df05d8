package records

import (
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/status"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// What a zone is, and how it changes: see package zone.
type (
	Zone  = zone.Zone
	Delta = zone.Delta
)

// What is checked: see package pool.
type Checks = pool.Checks

// ReasonUnlocated is Trouble.Reason of objects whose geo codes have no effect, as nothing locates clients.
const ReasonUnlocated = endpoint.ReasonUnlocated

// What is said of objects: see package status.
type (
	Object   = status.Object
	Conflict = status.Conflict
	Trouble  = status.Trouble
	Sharer   = status.Sharer
)
