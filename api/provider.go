package api

import "k8s.io/apimachinery/pkg/labels"

// LabelDefaultProvider, with the value DefaultProviderOn, marks the default Secret for policies of
// its namespace that refer to no provider (docs/providers.md).
const (
	LabelDefaultProvider = "kuadrant.io/default-provider"
	DefaultProviderOn    = "true"
)

// ProviderSecret is a Secret as a DNS provider: where policies that refer to it may publish. It
// holds no credentials.
type ProviderSecret struct {
	// Zones are its zones, in lower case with a final dot: ZONE_ID, or those of ZONES.
	Zones []string `json:"zones"`
	// Domain is DOMAIN_NAME in the same spelling, without a leading `*.`: it covers hosts at and
	// below it. "" if Zones are the domains.
	Domain string `json:"domain"`
	// Filter are the zones of CONFIG.zoneIDFilter, which narrows Zones if the Secret is referred
	// to by name; nil for none.
	Filter []string `json:"filter"`
	// Invalid says why it is no provider, in a sentence for the Secret's owner without any value;
	// "" if it is one.
	Invalid string `json:"invalid"`
}

// Selects reports whether a reference without a name means a Secret of its namespace: by its
// labels, or as the default.
func (p *Provider) Selects(s *Secret) bool {
	if p.Selector == nil {
		return s.Labels[LabelDefaultProvider] == DefaultProviderOn
	}
	return p.Selector.Matches(labels.Set(s.Labels))
}
