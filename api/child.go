package api

import (
	"slices"
	"strconv"
)

// Child is one object that another one should have (api.md, Written back): the elected
// replica writes it, and deletes it when it is wanted no more. It is made for the caller, but
// what it points to may be shared: nobody may change that.
type Child struct {
	// Kind is KindDNSRecord or KindProbe.
	Kind Kind
	// Name is "namespace/name".
	Name string
	// Owner is who the child belongs to, in the child's namespace: its controller, a DNSPolicy, or
	// of a KindProbe a DNSRecord.
	Owner ChildOwner
	// Labels are those that the child must have; there may be others.
	Labels map[string]string
	// Replace is true where an object of that name is there which cannot become this one: it
	// belongs to an object that is gone or wants it no more, or is about another host. It is to
	// be deleted first. It is one that this server has written.
	Replace bool
	// Replaced is the UID of that object, where Replace is true: another one may stand there by
	// the time that the child is read. "" where the source gives none.
	Replaced string
	// Record is what a KindDNSRecord says, Probe what a KindProbe does; nil for the other.
	Record *ChildRecord
	Probe  *ChildProbe
}

// ChildOwner names the object that a child belongs to.
type ChildOwner struct {
	Kind Kind
	Name string // namespace/name, in the child's namespace
	UID  string // "" where the source gives none
}

// ChildRecord is the spec of a DNSRecord.
type ChildRecord struct {
	// RootHost is the host, without a final dot; it may begin with "*.".
	RootHost string
	// Provider is the reference to the DNS provider; zero for none.
	Provider ProviderRef
	// ZoneID is the zone that the record is in, without a final dot but for the root's; ""
	// where it is another controller's to choose. Once written it stays.
	ZoneID string
	// Endpoints are those of rule 2.3 or 2.2: there is one at least, and one at RootHost.
	Endpoints []WrittenEndpoint
	// HealthCheck is nil where none is wanted.
	HealthCheck *HealthCheck
}

// ProviderRef is a reference to a DNS provider.
type ProviderRef struct{ Kind, Name string }

// ChildProbe is the spec of a DNSHealthCheckProbe.
type ChildProbe struct {
	// Address is an IP address in its usual form, or a host name without a final dot.
	Address string
	// Host is what is asked for there, without a final dot.
	Host  string
	Check HealthCheck
}

// WrittenEndpoint is an entry of a DNSRecord's spec.endpoints or status.endpoints as it is
// written.
type WrittenEndpoint struct {
	DNSName string   // without a final dot
	Type    string   // A, AAAA, CNAME or another type's name
	TTL     int64    // in seconds
	Targets []string // names are without final dots
	SetID   string   // "" for none
	// Properties are its providerSpecific, in the order in which they are written.
	Properties []Property
}

// Property is an entry of an endpoint's providerSpecific.
type Property struct{ Name, Value string }

// The names of the properties that this server writes.
const (
	PropertyWeight = "weight"
	PropertyGeo    = "geo-code"
	PropertyHealth = "health" // in a status alone (rule 4.8)
)

// Spec returns the child's spec as JSON values: maps, lists, strings, numbers (int64) and
// bools. Without extended it has only what Kuadrant's own CRDs declare; an API server
// refuses to apply a field that a CRD does not.
func (c *Child) Spec(extended bool) map[string]any {
	switch {
	case c.Record != nil:
		return c.Record.spec(extended)
	case c.Probe != nil:
		return c.Probe.spec(extended)
	}
	return nil
}

func (r *ChildRecord) spec(extended bool) map[string]any {
	spec := map[string]any{"rootHost": r.RootHost, "endpoints": EndpointValues(r.Endpoints)}
	if r.Provider.Name != "" {
		ref := map[string]any{"name": r.Provider.Name}
		if extended && r.Provider.Kind != kindSecret {
			ref["kind"] = r.Provider.Kind
		}
		spec["providerRef"] = ref
	}
	if extended && r.ZoneID != "" {
		spec["zoneID"] = r.ZoneID
	}
	if r.HealthCheck != nil {
		check := r.HealthCheck.spec(extended)
		if extended && r.HealthCheck.Host != "" {
			check["host"] = r.HealthCheck.Host
		}
		spec["healthCheck"] = check
	}
	return spec
}

// spec writes the host as hostname, the one word for it that both Kuadrant's CRD and ours
// have.
func (p *ChildProbe) spec(extended bool) map[string]any {
	spec := p.Check.spec(extended)
	spec["address"] = p.Address
	if p.Host != "" {
		spec["hostname"] = p.Host
	}
	return spec
}

// spec returns the fields that a check has wherever it stands, less its host. What has its
// default value is left out where Kuadrant's CRDs have no such value.
func (h *HealthCheck) spec(extended bool) map[string]any {
	spec := map[string]any{
		"protocol": h.Protocol.String(), "port": int64(h.Port),
		"interval": h.Interval.String(), "failureThreshold": int64(h.FailureThreshold),
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
	if !extended {
		return spec
	}
	if h.Timeout != min(defaultTimeout, h.Interval) {
		spec["timeout"] = h.Timeout.String()
	}
	if h.SuccessThreshold != defaultSuccessThreshold {
		spec["successThreshold"] = int64(h.SuccessThreshold)
	}
	if !slices.Equal(h.Expected, defaultExpected) {
		codes := make([]any, len(h.Expected))
		for i, code := range h.Expected {
			codes[i] = int64(code)
		}
		spec["expectedResponses"] = codes
	}
	return spec
}

// EndpointValues returns endpoints as JSON values, as Spec does.
func EndpointValues(all []WrittenEndpoint) []any {
	values := make([]any, len(all))
	for i, e := range all {
		targets := make([]any, len(e.Targets))
		for j, t := range e.Targets {
			targets[j] = t
		}
		value := map[string]any{"dnsName": e.DNSName, "recordType": e.Type, "recordTTL": e.TTL, "targets": targets}
		if e.SetID != "" {
			value["setIdentifier"] = e.SetID
		}
		if len(e.Properties) > 0 {
			properties := make([]any, len(e.Properties))
			for j, p := range e.Properties {
				properties[j] = map[string]any{"name": p.Name, "value": p.Value}
			}
			value["providerSpecific"] = properties
		}
		values[i] = value
	}
	return values
}

// WeightProperty returns the property of a weight.
func WeightProperty(weight uint64) Property {
	return Property{PropertyWeight, strconv.FormatUint(weight, 10)}
}

// ManagedBy is the value of LabelManagedBy on what this server has written.
const ManagedBy = "kuadrant-coredns"

// Controller is who controls an object: the owner reference with controller set.
type Controller struct {
	Kind, Name, UID string
}
