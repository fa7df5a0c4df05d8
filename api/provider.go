package api

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
)

// LabelDefaultProvider is the label of the Secret that policies of its namespace mean which
// refer to no provider, with the value DefaultProviderOn (api.md, Providers).
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

// SameProvider reports whether both say the same as DNS providers, and to whoever selects them.
func (s *Secret) SameProvider(o *Secret) bool {
	return maps.Equal(s.Labels, o.Labels) && slices.Equal(s.Provider.Zones, o.Provider.Zones) &&
		slices.Equal(s.Provider.Filter, o.Provider.Filter) &&
		s.Provider.Domain == o.Provider.Domain && s.Provider.Invalid == o.Provider.Invalid
}

// Selects reports whether a reference without a name means a Secret of its namespace: by its
// labels, or as the default.
func (p *Provider) Selects(s *Secret) bool {
	if p.Selector == nil {
		return s.DefaultProvider()
	}
	return p.Selector.Matches(labels.Set(s.Labels))
}

// DefaultProvider reports whether the Secret has the label LabelDefaultProvider.
func (s *Secret) DefaultProvider() bool { return s.Labels[LabelDefaultProvider] == DefaultProviderOn }
