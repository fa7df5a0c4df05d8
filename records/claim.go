package records

import (
	"cmp"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// claim is one wish for one host: what one object makes of it. That of a policy is about
// one of its listeners; the Records at one name are one claim too (rule 5.3).
type claim struct {
	by   *api.Meta // the object; of several Records the oldest
	host string    // lower case with a final dot, may start with "*."
	kind api.Kind
	// endpoints are what it is answered with; none for records.
	endpoints []*endpoint.Endpoint
	// steering is true where it has names at or below klb.H', weighed where its targets are members to choose from.
	steering, weighed bool
	// chainless is true where the names of its chain cannot be served: it is answered flat.
	chainless bool
	// static is true for a claim of the records of one namespace at the host, of which by is the oldest and has the type
	// rtype. addresses is true where there are addresses or a CNAME among them.
	static, addresses bool
	rtype             uint16
	// unread is true where it cannot be read now what the object has at the host: that is SERVFAIL. registered is
	// true where the object cannot be read either, and a line of the registry stands for it.
	unread, registered bool
	// gone is true where all Records are missing (rule 8.5).
	gone bool
	// The rest is that of a policy's claim. A DNSRecord or DNSEndpoint stands for a policy
	// and a Gateway of its own name.
	policy   *api.DNSPolicy
	gateway  *api.Gateway
	listener string
	targets  *targets
	// via are the DNS providers that the host is published through; nil for none.
	via *via
}

// older orders claims by the age of their objects, then by kind and host (rule 5.4).
func (c *claim) older(o *claim) int {
	if n := c.by.Older(o.by); n != 0 {
		return n
	}
	return cmp.Or(cmp.Compare(c.kind, o.kind), strings.Compare(c.host, o.host))
}

// empty reports whether a claim has nothing to answer with (rule 1.5).
func (c *claim) empty() bool { return len(c.endpoints) == 0 }

// chain returns the endpoints of a claim at and below klb.H'.
func (c *claim) chain() []*endpoint.Endpoint {
	return slices.DeleteFunc(slices.Clone(c.endpoints), func(e *endpoint.Endpoint) bool { return !e.Inner })
}

// steers reports whether the claim has a chain below its host.
func (c *claim) steers() bool { return c.steering }

// pools tells whether the claim's targets are members that can stand beside those of
// others.
func (c *claim) pools() bool { return c.weighed || c.steers() }

// missing reports whether the claim is there only because the guard keeps an object.
func (c *claim) missing() bool {
	return c.gone || c.by.Missing || c.gateway != nil && c.gateway.Missing
}

func (c *claim) contention() string { return c.host + " " + endpoint.NamespaceKey(c.by) }

// owns says to the owner of m whose a name is.
func (c *claim) owns(what string, m *api.Meta) string {
	return endpoint.SaysOwner(what, c.kind, c.by, c.vacant(), m)
}

// vacant reports whether the claim is a vacancy.
func (c *claim) vacant() bool { return c.static && c.registered }

// leadsTo tells whether some of the claim's targets are addresses, and some hostnames.
func (c *claim) leadsTo() (addresses, hostnames bool) {
	if c.targets == nil {
		return false, false
	}
	for i := range c.targets.leaves {
		l := &c.targets.leaves[i]
		addresses = addresses || len(l.v4)+len(l.v6) > 0
		hostnames = hostnames || len(l.hostnames) > 0
	}
	return addresses, hostnames
}

// checked reports whether the claim's targets are probed (rule 4.2): a wildcard only where the check names a host.
func (c *claim) checked() bool {
	check := c.check()
	return check != nil && (check.Host != "" || !strings.HasPrefix(c.host, rdata.Wildcard))
}

// check returns what the claim's object wants to be checked; nil for nothing.
func (c *claim) check() *api.HealthCheck {
	if c.policy == nil || c.policy.CheckInvalid != "" {
		return nil
	}
	return c.policy.HealthCheck
}

// secure tells whether the claim's Gateway speaks TLS on a port: as its listeners there do, and where it has none there, on
// 443.
func (c *claim) secure(port uint16) bool {
	plain := false
	for _, l := range c.gateway.Listeners[:min(len(c.gateway.Listeners), maxParts)] {
		switch {
		case l.Port != port:
		case l.Protocol == api.TLS:
			return true
		case l.Protocol == api.Plain:
			plain = true
		}
	}
	return port == securePort && !plain
}

// securePort is where TLS is spoken unless a listener says otherwise.
const securePort = 443

// recordType is the type of the record at the claim's host, as Kuadrant names
// it in a conflict.
func (c *claim) recordType() string {
	if c.rtype != 0 {
		return dns.Type(c.rtype).String()
	}
	if c.steers() {
		return "CNAME"
	}
	kind := "A"
	for _, l := range c.targets.leaves {
		switch {
		case len(l.v4) > 0:
			return "A"
		case len(l.v6) > 0:
			kind = "AAAA"
		case len(l.hostnames) > 0 && kind == "A":
			kind = "CNAME"
		}
	}
	return kind
}
