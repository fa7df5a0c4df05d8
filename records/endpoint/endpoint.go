// Package endpoint has the form between objects and answers, and decides who may publish what where. It is pure.
//
// An Endpoint is what one object publishes at one name. A policy yields the endpoints that its DNSRecord carries (rule 2.3), so
// that what is written is what is served.
//
//	endpoint.go     what one object publishes at one name
//	gateway.go      a policy at a host → its endpoints   rules 2.2 and 2.3
//	hash.go         the labels of rule 2.3
//	attach.go       Gateway and policies → contenders on hosts   rule 1
//	address.go      status addresses → targets of a contender   rule 1.3
//	weight.go       weight and geo code of a contender's targets   rule 2.5
//	providers.go    Secrets that are DNS providers → which hosts policies publish   docs/providers.md
//	publisher.go    DNSRecords and DNSEndpoints: which are served   rule 6.10
//	object.go       their endpoints → Records, and contenders on hosts   rule 6.10
//	contender.go    what one object wants at one host
//	condition.go    what the owner of an object is told of it
//	record.go       a Record → where it lies   rules 5.1, 6.2 and 6.3
//	record_data.go  its data, of a type that may stand there   rule 6.9
//
// Zones, and permission, which is asked here alone:
//
//	options.go      what the Corefile says
//	naming.go       Zones → their names, along zoneRefs   rule 6.2
//	zones.go        the zones that are served, and the decisions on all Zones
//	resolve.go      Zones with names → these   rules 5.2 and 6.1 to 6.5
//	admit.go        one Zone → whether it is served
//	taken.go        new Zones that would take registered names   rule 6.5
//	zone.go         one served zone: its name servers, SOA and reserved names   rules 2.8, 5.8 and 6.8
//	publish.go      whether an object may publish at a name   rules 5.1 and 5.9
//	delegation.go   what the delegations of a Zone allow   rules 5.1 and 6.4
//	names.go        names of chains, and names that contend   rules 2.8 and 5.9
//	missing.go      what is kept beats no live object of its own   rule 8.5
//	problem.go      why something is not served, in a reason and a sentence
package endpoint

import (
	"net/netip"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// Endpoint is the addresses, or the hostname, that one object publishes at one name. It is immutable.
type Endpoint struct {
	Name string // the owner name, in lower case with a final dot
	Type uint16 // A, AAAA or CNAME
	TTL  uint32 // in seconds
	// SetID is the set identifier; "" for an endpoint that stands alone.
	SetID string
	// Weight is the share in a draw; -1 for none.
	Weight int64
	// Geo is a geo code in upper case; "" for none, AnyGeo for the default.
	Geo string
	// Addrs are the addresses of an A or AAAA endpoint, each once.
	Addrs []netip.Addr
	// Target is the hostname of a CNAME, in lower case with a final dot.
	Target     string
	Attributes api.Attributes
	// Inner is true at and below klb.N, whose names belong to a host (rule 2.8).
	Inner bool
	// Leads is true for a CNAME to another name of the same object, if one of the two names has set identifiers (rule 6.10).
	Leads bool
}

// AnyGeo is the geo code of the default, for clients that match no other (rule 3.2).
const AnyGeo = "*"

// Chosen reports whether the endpoint is for some clients, or for a share of them.
func (e *Endpoint) Chosen() bool { return e.Geo != "" || e.Weight >= 0 }

// Share returns the endpoint's share in a draw: 1 for an endpoint without a weight.
func (e *Endpoint) Share() uint64 {
	if e.Weight < 0 {
		return 1
	}
	return uint64(e.Weight)
}

// Priority is the place of what the endpoint leads to, the lower first (rule 9.1).
func (e *Endpoint) Priority() uint8 { return e.Attributes.Of(api.Priority) }

// Same reports whether two endpoints at one name say the same.
func (e *Endpoint) Same(o *Endpoint) bool {
	return e.Type == o.Type && e.Target == o.Target && e.Weight == o.Weight && e.Geo == o.Geo && e.TTL == o.TTL && e.Priority() == o.Priority() && slices.Equal(e.Addrs, o.Addrs)
}

// Written returns the endpoint in the form of a DNSRecord.
func (e *Endpoint) Written() api.WrittenEndpoint {
	w := api.WrittenEndpoint{DNSName: TrimDot(e.Name), Type: dns.Type(e.Type).String(), TTL: int64(e.TTL), SetID: e.SetID}
	for _, a := range e.Addrs {
		w.Targets = append(w.Targets, a.String())
	}
	if e.Target != "" {
		w.Targets = []string{TrimDot(e.Target)}
	}
	if e.Weight >= 0 {
		w.Properties = append(w.Properties, api.WeightProperty(uint64(e.Weight)))
	}
	if e.Geo != "" {
		w.Properties = append(w.Properties, api.Property{Name: api.PropertyGeo, Value: e.Geo})
	}
	for x := range e.Attributes.All() {
		w.Properties = append(w.Properties, api.Property{Name: x.String(), Value: e.Attributes.Text(x)})
	}
	return w
}
