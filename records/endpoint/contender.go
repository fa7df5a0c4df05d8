package endpoint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// Contender is one object at one host, with what it publishes there if it owns the host. A policy's contender is about one listener; the
// Records at a name share one contender (rule 5.3).
type Contender struct {
	By   *api.Meta // the object; the oldest of several Records
	Host string    // lower case with a final dot, may start with "*."
	// Own are an object's own endpoints, as DNSRecords and DNSEndpoints have them: see Endpoints.
	Own  []*Endpoint
	Kind api.Kind
	// steering is true if it has names at or below klb.H'; weighed is true there if its targets are members to choose from.
	steering, weighed bool
	// Attributes are what the object says of the host as a whole, and of its members (rule 9).
	Attributes api.Attributes
	// Chainless is true if its chain cannot be served: it is answered flat.
	Chainless bool
	// Static is true for the Records of one namespace at the host; By is the oldest of them, RType its type. Addresses is true if they
	// include addresses or a CNAME.
	Static, Addresses bool
	RType             uint16
	// Unread is true if the object's data for the host cannot be read now: the host is SERVFAIL. Registered is true for a registry line
	// whose object cannot be read or has gone.
	Unread, Registered bool
	// Gone is true if all its Records are missing (rule 8.5).
	Gone bool
	// check is the health check that the object wants, if it can be used; nil for none.
	check *api.HealthCheck
	// Targets are the addresses and hostnames that the host leads to; nil for Records.
	Targets *Targets
	// Policy, its Gateway and the listener with the host; nil, nil and "" for other kinds.
	Policy   *api.DNSPolicy
	Gateway  *api.Gateway
	Listener string
	// zone is the options of the zone; nil for none.
	zone *ZoneOptions
	// Via are the DNS providers that publish the host; nil for none.
	Via *via
}

// Older orders contenders by the age of their objects, then by kind and host (rule 5.4).
func (c *Contender) Older(o *Contender) int {
	if n := c.By.Older(o.By); n != 0 {
		return n
	}
	return cmp.Or(cmp.Compare(c.Kind, o.Kind), strings.Compare(c.Host, o.Host))
}

// Endpoints returns the contender's data; none for Records. A policy's endpoints take much memory, so they are made on demand, in the room.
func (c *Contender) Endpoints(room *Room) (all []*Endpoint) {
	switch {
	case c.Own != nil || c.Empty():
		return c.Own
	case c.weighed:
		all, _ = c.AsHost().weightedGeo(room)
	default:
		all, _ = c.AsHost().Simple(room)
	}
	return all
}

// Empty reports whether a contender has no data (rule 1.5).
func (c *Contender) Empty() bool {
	return len(c.Own) == 0 && (c.Kind != api.KindDNSPolicy || !c.Targets.Usable())
}

// Chain returns the contender's endpoints at and below klb.H'.
func (c *Contender) Chain() []*Endpoint {
	return slices.DeleteFunc(slices.Clone(c.Endpoints(new(Room))), func(e *Endpoint) bool { return !e.Inner })
}

// Steers reports whether the contender has a chain below its host.
func (c *Contender) Steers() bool { return c.steering }

// Pools reports whether the contender's targets are members that can stand beside others'.
func (c *Contender) Pools() bool { return c.weighed || c.Steers() }

// Missing reports whether the contender exists only because the guard keeps an object.
func (c *Contender) Missing() bool {
	return c.Gone || c.By.Missing || c.Gateway != nil && c.Gateway.Missing
}

// Contention returns the key for LiveFirst: the host and the namespace that wants it.
func (c *Contender) Contention() string { return c.Host + " " + namespaceKey(c.By) }

// Owns tells the owner of m that what, such as "the host", belongs to the contender.
func (c *Contender) Owns(what string, m *api.Meta) string {
	return ownedBy(what, c.Kind, c.By, c.Reserved(), m)
}

// Reserved reports whether the contender is a reservation: it keeps the host for the namespace of a deleted owner (rule 5.4).
func (c *Contender) Reserved() bool { return c.Static && c.Registered }

// Alias reports whether the contender is answered with a hostname: it has no members, and no addresses (rules 1.7 and 2.2).
func (c *Contender) Alias() bool {
	if c.Pools() || c.Static || c.Empty() {
		return false
	}
	if c.Own != nil {
		return !slices.ContainsFunc(c.Own, func(e *Endpoint) bool { return e.Type != dns.TypeCNAME })
	}
	addresses, _ := c.LeadsTo()
	return !addresses
}

// LeadsTo reports whether the contender's targets include addresses, and hostnames.
func (c *Contender) LeadsTo() (addresses, hostnames bool) {
	if c.Targets == nil {
		return false, false
	}
	for i := range c.Targets.Leaves {
		l := &c.Targets.Leaves[i]
		addresses = addresses || len(l.V4)+len(l.V6) > 0
		hostnames = hostnames || len(l.Hostnames) > 0
	}
	return addresses, hostnames
}

// Checked reports whether the contender's targets are probed (rule 4.2): a wildcard's only if the check names a host.
func (c *Contender) Checked() bool {
	check := c.Check()
	return check != nil && (check.Host != "" || !strings.HasPrefix(c.Host, rdata.Wildcard))
}

// Check returns the health check that the contender's object wants; nil for none.
func (c *Contender) Check() *api.HealthCheck { return c.check }

// UsableCheck returns a health check of an object that says why it is invalid, "" if it is not; nil for none.
func UsableCheck(h *api.HealthCheck, invalid string) *api.HealthCheck {
	if invalid != "" {
		return nil
	}
	return h
}

// DefaultGeo returns the code whose members serve clients that match no other, as the contender's policy has it (rule 3.2); "" for none.
func (c *Contender) DefaultGeo() string {
	if c.Policy == nil {
		return ""
	}
	return c.Policy.DefaultGeo
}

// Secure reports whether the contender's Gateway speaks TLS on a port: as its listener there says or, without one, on 443.
func (c *Contender) Secure(port uint16) bool {
	if c.Gateway == nil {
		return port == SecurePort
	}
	plain := false
	for _, l := range c.Gateway.Listeners[:min(len(c.Gateway.Listeners), maxParts)] {
		switch {
		case l.Port != port:
		case l.Protocol == api.TLS:
			return true
		case l.Protocol == api.Plain:
			plain = true
		}
	}
	return port == SecurePort && !plain
}

// SecurePort is the TLS port unless a listener says otherwise.
const SecurePort = 443

// RecordType returns the type of the record at the contender's host, as Kuadrant names it in a
// conflict.
func (c *Contender) RecordType() string {
	if c.RType != 0 {
		return dns.Type(c.RType).String()
	}
	if c.Steers() {
		return "CNAME"
	}
	return append(c.Targets.types(), "A")[0] // A for none
}
