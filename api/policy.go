package api

import (
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// DNSPolicy is a kuadrant.io DNSPolicy, decoded from either version and
// defaulted. Its meaning follows its content, not its version (rule 2.1).
type DNSPolicy struct {
	Meta
	// Invalid says why the policy cannot be accepted, in a sentence for its owner; "" if it can. It
	// goes into the condition Accepted=False/Invalid.
	Invalid string `json:"invalid"`
	// CheckInvalid says why the health check cannot be used, in a sentence for its owner; "" if it
	// can. The names are published without it: a mistake in a check takes nobody down.
	CheckInvalid string `json:"checkInvalid"`

	Target   Target   `json:"target"`
	Strategy Strategy `json:"strategy"`
	Delegate bool     `json:"delegate"` // yields to a DNSRecord of its namespace at its host (rule 1.8)
	// Weighting and geo apply to WeightedGeo alone.
	DefaultWeight int64          `json:"defaultWeight"` // ≥ 0
	CustomWeights []CustomWeight `json:"customWeights"`
	// Geo is the member's own code if the policy sets one (v1's loadBalancing.geo), in upper case;
	// "" if the Gateway's label decides.
	Geo string `json:"geo"`
	// DefaultGeo is the code, in upper case, whose members serve clients that match no other (rule
	// 3.2); "" for none.
	DefaultGeo string `json:"defaultGeo"`

	// Exclude removes addresses from Gateways (rule 1.3).
	Exclude     []Exclusion  `json:"exclude"`
	HealthCheck *HealthCheck `json:"healthCheck"` // nil for none
	Provider    Provider     `json:"provider"`
}

// Target is a policy's targetRef.
type Target struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	// Section is the listener's name; "" for the whole Gateway.
	Section string `json:"section"`
}

// Strategy is how a policy arranges its addresses under a host.
type Strategy uint8

// The strategies (rule 2).
const (
	Simple Strategy = iota
	WeightedGeo
)

// String returns the strategy as in routingStrategy.
func (s Strategy) String() string {
	if s == WeightedGeo {
		return "weightedGeo"
	}
	return "simple"
}

// CustomWeight is one entry of loadBalancing.weighted.custom. It applies to a Gateway whose labels
// match Selector or, if that is nil, whose label kuadrant.io/lb-attribute-custom-weight is Value
// (rule 2.5).
type CustomWeight struct {
	Selector labels.Selector `json:"selector"`
	Value    string          `json:"value"`
	Weight   int64           `json:"weight"` // ≥ 0
}

// LabelCustomWeight is the label that CustomWeight.Value is compared with.
const LabelCustomWeight = "kuadrant.io/lb-attribute-custom-weight"

// Matches reports whether c applies to a Gateway with the given labels.
func (c CustomWeight) Matches(gateway map[string]string) bool {
	if c.Selector != nil {
		return c.Selector.Matches(labels.Set(gateway))
	}
	value, ok := gateway[LabelCustomWeight]
	return ok && value == c.Value
}

// Exclusion is one entry of excludeAddresses: a prefix (an address is a prefix
// of full length), or a hostname in lower case without a final dot.
type Exclusion struct {
	Prefix   netip.Prefix `json:"prefix"`
	Hostname string       `json:"hostname"`
}

// HealthCheck is how a policy's targets are probed (rule 4.2), defaulted.
type HealthCheck struct {
	Protocol         Protocol      `json:"protocol"`
	Port             uint16        `json:"port"`
	Path             string        `json:"path"`
	Host             string        `json:"host"` // "" for the listener's host
	Interval         time.Duration `json:"interval"`
	Timeout          time.Duration `json:"timeout"`
	FailureThreshold int           `json:"failureThreshold"`
	SuccessThreshold int           `json:"successThreshold"`
	// Expected lists the HTTP codes that count as healthy, sorted.
	Expected                 []int `json:"expected"`
	AllowInsecureCertificate bool  `json:"allowInsecureCertificate"`
	// HeadersSecret is the name of a Secret in the policy's namespace; "" for none.
	// Only HTTP and HTTPS have headers.
	HeadersSecret string `json:"headersSecret"`
}

// Protocol is what a probe speaks.
type Protocol uint8

// The protocols (rule 4.2).
const (
	HTTP Protocol = iota
	HTTPS
	TCP
	GRPC
)

// String returns the protocol as in healthCheck.protocol.
func (p Protocol) String() string {
	return [...]string{"HTTP", "HTTPS", "TCP", "GRPC"}[p]
}

// Provider is a policy's reference to its DNS provider. At most one of Name and Selector is set;
// neither means the namespace's default provider.
type Provider struct {
	// Kind is "Secret" if the policy sets none.
	Kind      string          `json:"kind"`
	Namespace string          `json:"namespace"`
	Name      string          `json:"name"`
	Selector  labels.Selector `json:"selector"`
}

// ServedHere reports whether this server serves the provider: a Secret, or none. Any other kind
// belongs to another controller, which gets the policy (api, Providers).
func (p Provider) ServedHere() bool { return p.Kind == "" || p.Kind == "Secret" }

// TargetName returns the "namespace/name" of the Gateway that p attaches to, in p's own namespace
// (rule 1.1).
func (p *DNSPolicy) TargetName() string { return p.Namespace() + "/" + p.Target.Name }
