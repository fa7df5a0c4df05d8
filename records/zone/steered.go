package zone

import (
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
)

// Steered is the steered data of one name. Where data is nil, the name is claimed but has no data (rule 1.5).
type Steered struct {
	Owner *endpoint.Claim
	Data  pool.Data
}

// inner reports whether s belongs to a name below klb, or has no data.
func (s *Steered) inner() bool { return s.Data == nil || s.Data.Inner() }
