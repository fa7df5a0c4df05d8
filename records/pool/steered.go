package pool

import "github.com/coredns-kuadrant/kuadrant/records/endpoint"

// Steered is the steered data of one name. If Data is nil, the name has an owner but no data (rule 1.5).
type Steered struct {
	Owner *endpoint.Contender
	Data  Data
}

// Inner reports whether s belongs to a name below klb, or has no data.
func (s *Steered) Inner() bool { return s.Data == nil || s.Data.Inner() }
