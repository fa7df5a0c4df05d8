package api

import "k8s.io/apimachinery/pkg/labels"

// LabelDefaultProvider is the label of the Secret that policies of its namespace mean which
// refer to no provider, with the value DefaultProviderOn (docs/providers.md).
const (
	LabelDefaultProvider = "kuadrant.io/default-provider"
	DefaultProviderOn    = "true"
)

// ProviderSecret is what a Secret says as a DNS provider: where policies that refer to it may
// publish. It holds nothing that a provider would be asked with.
type ProviderSecret struct {
	// Zones are the zones that it names, in lower case with a final dot: ZONE_ID, or those of
	// ZONES.
	Zones []string
	// Domain is DOMAIN_NAME, spelled like these, less `*.` before it: hosts at and below it are
	// meant. "" where Zones say that themselves.
	Domain string
	// Filter are the zones of CONFIG.zoneIDFilter, which narrows Zones where the Secret is
	// referred to by its name; nil for none.
	Filter []string
	// Invalid says why it is no provider, in a sentence for the Secret's owner that holds no
	// value; "" where it is one.
	Invalid string
}

// Selects reports whether a reference without a name means a Secret of its namespace: by its
// labels, or as the default.
func (p *Provider) Selects(s *Secret) bool {
	if p.Selector == nil {
		return s.Labels[LabelDefaultProvider] == DefaultProviderOn
	}
	return p.Selector.Matches(labels.Set(s.Labels))
}
