package records

import "github.com/coredns-kuadrant/kuadrant/records/endpoint"

// Corefile settings: see package endpoint.
type (
	Options     = endpoint.Options
	ZoneOptions = endpoint.ZoneOptions
	Publish     = endpoint.Publish
	Nameserver  = endpoint.Nameserver
)

// The defaults of ZoneOptions.TTL and LoadBalancedTTL, in seconds.
const (
	DefaultTTL             = endpoint.DefaultTTL
	DefaultLoadBalancedTTL = endpoint.DefaultLoadBalancedTTL
)

// Rname is endpoint.Rname.
func Rname(email string) string { return endpoint.Rname(email) }
