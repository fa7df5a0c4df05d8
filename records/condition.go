package records

import (
	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// The condition types of a policy's status, and of a host in it (api.md).
const (
	conditionAccepted = "Accepted"
	conditionEnforced = "Enforced"
	// conditionReady says whether a host is served; the other two, whether it is
	// served with all that its objects ask for.
	conditionReady   = "Ready"
	conditionTargets = "TargetsAccepted"
	conditionGeo     = "GeoCodesAccepted"
	// conditionSubResources says whether all of a policy's targets are healthy,
	// conditionHealthy whether those of one host are.
	conditionSubResources = "SubResourcesHealthy"
	conditionHealthy      = "Healthy"
	// conditionChecks says whether a host's targets can be checked as its policy asks.
	conditionChecks = "HealthCheckAccepted"
	// conditionProvider says of a host's DNS provider, or of a Secret, whether it is one.
	conditionProvider = "ProviderAccessAvailable"
)

// refusal returns the condition of a host, or of a part of it, that is refused
// for the given reason.
func refusal(reason, message string) api.Condition {
	c := api.Condition{Type: conditionReady, Status: api.ConditionFalse, Reason: reason, Message: api.Cut(message, endpoint.MaxMessage)}
	switch reason {
	case endpoint.ReasonDropped, endpoint.ReasonApexHostname, endpoint.ReasonInvalidAddress, endpoint.ReasonChainTooLong, endpoint.ReasonChainTaken:
		c.Type = conditionTargets
	case endpoint.ReasonUnknownGeo:
		c.Type = conditionGeo
	case endpoint.ReasonHeaders, endpoint.ReasonCheck:
		c.Type = conditionChecks
	}
	return c
}
