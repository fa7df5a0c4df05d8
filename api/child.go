package api

import (
	"slices"
	"strconv"
)

// Child is an object that another one should have (docs/write-back.md): the elected replica writes
// it, and deletes it when it is no longer wanted. It is made for the caller, but may share what it
// points to, which is read-only.
type Child struct {
	// Kind is KindDNSRecord or KindProbe.
	Kind Kind
	// Name is "namespace/name".
	Name string
	// Owner is the controller of the child, in its namespace: a DNSPolicy or, for a KindProbe, a
	// DNSRecord.
	Owner ChildOwner
	// Labels are those that the child must have; it may have others.
	Labels map[string]string
	// Replace is true if an object of that name, written by this server, exists and cannot become
	// this one: it belongs to an object that is gone or no longer wants it, or is about another
	// host. It must be deleted first.
	Replace bool
	// Replaced is the UID of that object if Replace is true: by the time that the child is read,
	// another one may have the name. "" if the source gives none.
	Replaced string
	// Record is the spec of a KindDNSRecord, Probe that of a KindProbe; nil for the other.
	Record *ChildRecord
	Probe  *ChildProbe
}

// ChildOwner names the object that a child belongs to.
type ChildOwner struct {
	Kind Kind
	Name string // namespace/name, in the child's namespace
	UID  string // "" if the source gives none
}

// ChildRecord is the spec of a DNSRecord.
type ChildRecord struct {
	// RootHost is the host, without a final dot; it may begin with "*.".
	RootHost string
	// Provider is the reference to the DNS provider; zero for none.
	Provider ProviderRef
	// ZoneID is the record's zone, without a final dot except for the root; "" if another
	// controller chooses it. Once written it stays.
	ZoneID string
	// Endpoints are those of rule 2.3 or 2.2: there is one at least, and one at RootHost.
	Endpoints []WrittenEndpoint
	// HealthCheck is nil for none.
	HealthCheck *HealthCheck
}

// ProviderRef is a reference to a DNS provider.
type ProviderRef struct{ Kind, Name string }

// ChildProbe is the spec of a DNSHealthCheckProbe.
type ChildProbe struct {
	// Address is an IP address in its usual form, or a host name without a final dot.
	Address string
	// Host is the host name to ask for, without a final dot.
	Host  string
	Check HealthCheck
}

// WrittenEndpoint is an entry of a DNSRecord's spec.endpoints or status.endpoints as it is
// written.
type WrittenEndpoint struct {
	DNSName string   `json:"dnsName"`                 // without a final dot
	Type    string   `json:"recordType"`              // A, AAAA, CNAME or another type's name
	TTL     int64    `json:"recordTTL"`               // in seconds
	Targets []string `json:"targets"`                 // names are without final dots
	SetID   string   `json:"setIdentifier,omitempty"` // "" for none
	// Properties are in the order in which they are written.
	Properties []Property `json:"providerSpecific,omitempty"`
}

// Property is an entry of an endpoint's providerSpecific.
type Property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// The names of the properties that this server writes.
const (
	PropertyWeight = "weight"
	PropertyGeo    = "geo-code"
	PropertyHealth = "health" // in a status alone (rule 4.8)
)

// Spec returns the child's spec, for JSON. A CRD that is not ours may not declare all fields.
func (c *Child) Spec() map[string]any {
	if p := c.Probe; p != nil {
		spec := p.Check.spec()
		spec["address"] = p.Address
		if p.Host != "" {
			spec["hostname"] = p.Host // the one word for it that both Kuadrant's CRD and ours have
		}
		return spec
	}
	r := c.Record
	spec := map[string]any{"rootHost": r.RootHost, "endpoints": r.Endpoints}
	if r.Provider.Name != "" {
		ref := map[string]any{"name": r.Provider.Name}
		if r.Provider.Kind != kindSecret {
			ref["kind"] = r.Provider.Kind
		}
		spec["providerRef"] = ref
	}
	if r.ZoneID != "" {
		spec["zoneID"] = r.ZoneID
	}
	if r.HealthCheck != nil {
		check := r.HealthCheck.spec()
		if r.HealthCheck.Host != "" {
			check["host"] = r.HealthCheck.Host
		}
		spec["healthCheck"] = check
	}
	return spec
}

// spec returns the fields that a check has in every kind, without its host. It leaves out default
// values that are not the defaults of Kuadrant's CRDs.
func (h *HealthCheck) spec() map[string]any {
	spec := map[string]any{
		"protocol": h.Protocol.String(), "port": h.Port, "interval": h.Interval.String(), "failureThreshold": h.FailureThreshold,
	}
	if len(h.Path) > len("/") && h.Path[0] == '/' { // that of "/" is no path to the CRDs
		spec["path"] = h.Path
	}
	if h.AllowInsecureCertificate {
		spec["allowInsecureCertificate"] = true
	}
	if h.HeadersSecret != "" {
		spec["additionalHeadersRef"] = map[string]any{"name": h.HeadersSecret}
	}
	if h.Timeout != min(defaultTimeout, h.Interval) {
		spec["timeout"] = h.Timeout.String()
	}
	if h.SuccessThreshold != defaultSuccessThreshold {
		spec["successThreshold"] = h.SuccessThreshold
	}
	if !slices.Equal(h.Expected, defaultExpected) {
		spec["expectedResponses"] = h.Expected
	}
	return spec
}

// WeightProperty returns the property for a weight.
func WeightProperty(weight uint64) Property {
	return Property{PropertyWeight, strconv.FormatUint(weight, 10)}
}

// Controller is an object's controller: the owner reference with controller set.
type Controller struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	UID  string `json:"uid"`
}
