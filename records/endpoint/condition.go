package endpoint

import "github.com/coredns-kuadrant/kuadrant/api"

// The condition types of a policy's status, and of a host in it (docs/write-back.md).
const (
	ConditionAccepted = "Accepted"
	ConditionEnforced = "Enforced"
	// ConditionReady reports whether a host is served; the other two, whether it is served with
	// everything that its objects ask for.
	ConditionReady   = "Ready"
	conditionTargets = "TargetsAccepted"
	conditionGeo     = "GeoCodesAccepted"
	// ConditionSubResources reports whether all of a policy's targets are healthy, conditionHealthy
	// whether those of one host are.
	ConditionSubResources = "SubResourcesHealthy"
	ConditionHealthy      = "Healthy"
	// conditionChecks reports whether a host's targets can be checked as its policy asks.
	conditionChecks = "HealthCheckAccepted"
	// conditionProvider reports whether a host's DNS provider, or a Secret, can be used as one.
	conditionProvider = "ProviderAccessAvailable"
)

// Refusal returns the condition of a host, or of a part of it, that is refused
// for the given reason.
func Refusal(reason, message string) api.Condition {
	c := api.Condition{Type: ConditionReady, Status: api.ConditionFalse, Reason: reason, Message: api.Cut(message, MaxMessage)}
	switch reason {
	case ReasonDropped, ReasonApexHostname, reasonInvalidAddress, reasonChainTooLong, ReasonChainTaken:
		c.Type = conditionTargets
	case ReasonUnknownGeo, ReasonUnlocated:
		c.Type = conditionGeo
	case ReasonHeaders, ReasonCheck, ReasonNotChecked:
		c.Type = conditionChecks
	}
	return c
}

// Refusal returns the condition of a host that is refused for the problem.
func (p *Problem) Refusal() api.Condition { return Refusal(p.Reason, p.Message) }
