package endpoint

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// refuse notes a part of the object that is not served.
func (p *Publication) refuse(reason, format string, args ...any) {
	p.Problems = append(p.Problems, Problemf(reason, format, args...))
}

// object is a DNSRecord or DNSEndpoint being read: where its endpoints may lie, and how its targets are checked.
type object struct {
	*Publication
	set *Zones
	opt *Options
	// within returns what keeps out a name; nil for nothing.
	within    func(name string, at *Zone) *Problem
	endpoints []api.Endpoint
	// check is the health check; checkInvalid says why it cannot be used, "" if it can.
	check        *api.HealthCheck
	checkInvalid string
	steered      []*Endpoint     // A, AAAA and CNAME
	names        map[string]bool // names that have endpoints
}

// read turns the endpoints into steered data and Records.
func (o *object) read() {
	o.names = make(map[string]bool, len(o.endpoints))
	for i := range o.endpoints {
		ep := &o.endpoints[i]
		if ep.IsRegistryText() {
			continue
		}
		name, err := rdata.Canonical(ep.DNSName)
		if err != nil {
			o.refuse(reasonInvalidName, "endpoint %q: %v", ep.DNSName, err)
			continue
		}
		o.names[name] = true
		at := o.set.closest(name)
		if at == nil {
			o.refuse(ReasonNotServed, "%s is outside the zones served here: %s", TrimDot(name), o.opt.ZoneNames())
			continue
		}
		if p := o.within(name, at); p != nil {
			o.Problems = append(o.Problems, p)
			continue
		}
		switch rtype, _ := api.ParseType(ep.Type); {
		case Steered(rtype):
			o.steer(name, rtype, at, ep)
		default:
			o.enter(name, at, ep)
		}
	}
}

// steer adds an endpoint to the steered data.
func (o *object) steer(name string, rtype uint16, at *Zone, ep *api.Endpoint) {
	e := &Endpoint{Name: name, Type: rtype, TTL: at.endpointTTL(ep), SetID: ep.SetID, Weight: ep.Weight, Geo: ep.Geo, Attributes: ep.Attributes, Inner: at.ChainHost(name) != ""}
	targets := ep.Targets
	if rtype != dns.TypeCNAME { // only the first hostname in the list is served
		targets = slices.Sorted(slices.Values(targets))
	}
	for _, text := range targets {
		switch addr, host, p := steeredTarget(name, rtype, text); {
		case p != nil:
			o.refuse(p.Reason, "%s: %s", TrimDot(name), p.Message)
		case rtype == dns.TypeCNAME && e.Target != "":
			o.refuse(ReasonDropped, "%s: a name can have only one CNAME: serving %s; dropping %s", TrimDot(name), TrimDot(e.Target), TrimDot(host))
		case rtype == dns.TypeCNAME:
			e.Target = host
		case !slices.Contains(e.Addrs, addr):
			e.Addrs = append(e.Addrs, addr)
		}
	}
	if e.Target != "" || len(e.Addrs) > 0 {
		o.steered = append(o.steered, e)
	}
}

// steeredTarget reads a target in an endpoint of steered data at name: an address, or a CNAME's
// hostname.
func steeredTarget(name string, rtype uint16, text string) (addr netip.Addr, host string, p *Problem) {
	if rtype == dns.TypeCNAME {
		host, err := rdata.Name(strings.TrimSpace(text))
		switch {
		case err != nil:
			return addr, "", Problemf(reasonInvalidData, "target %q: %v", text, err)
		case host == name:
			return addr, "", Problemf(reasonInvalidData, "a name cannot be its own target")
		}
		return addr, host, nil
	}
	addr, err := netip.ParseAddr(strings.TrimSpace(text))
	switch why := rdata.NoHost(addr); {
	case err != nil || addr.Zone() != "" || addr.Is4() != (rtype == dns.TypeA):
		p = Problemf(reasonInvalidAddress, "target %q is not an address for an %s record", text, dns.TypeToString[rtype])
	case why != "":
		p = Problemf(reasonInvalidAddress, "target %q is not an address that a host can have: %s", text, why)
	}
	return addr, "", p
}

// enter adds the Records of an endpoint that is not steered.
func (o *object) enter(name string, at *Zone, ep *api.Endpoint) {
	if p := at.InChain(name); p != nil {
		o.Problems = append(o.Problems, p)
		return
	}
	if p := o.opt.MayPublish(at, o.meta, name, ep.Type); p != nil {
		o.Problems = append(o.Problems, p)
		return
	}
	field := fmt.Sprintf("spec.endpoints[%d]", ep.Index)
	for _, target := range ep.Targets {
		rec := &api.Record{Meta: *o.meta, Type: ep.Type, Class: "IN", TTL: int64(at.endpointTTL(ep)), RData: target}
		r := &Record{Record: rec, Name: name, Kind: o.kind}
		r.setOrigin(at.Origin)
		if p := r.parse(at, writing{ // a name without a final dot is absolute too
			origin: ".", wholeText: true, typeAt: field + ".recordType", dataAt: fmt.Sprintf("%s.targets: %.64q", field, target),
		}); p != nil {
			o.refuse(p.Reason, "%s: %s", TrimDot(name), p.Message)
			continue
		}
		if _, is := r.RR.(*dns.TXT); is && strings.HasPrefix(strings.TrimSpace(target), `"`) && cutOff(target) {
			o.refuse(reasonStrings, "%s: %s.targets: %.64q: %s", TrimDot(name), field, target, behindQuotes)
		}
		r.bind(o.opt, at)
		o.Records = append(o.Records, r)
	}
}

// contenders makes one contender for each host of the endpoints. Endpoints at and below klb.N belong to the object's contenders on N and
// *.N, and are refused if it has none (rule 2.8).
func (o *object) contenders() {
	var all []*Contender
	byHost := make(map[string]*Contender)
	own, chooses := make(map[string]bool, len(o.steered)), make(map[string]bool)
	for _, e := range o.steered {
		own[e.Name] = true
		chooses[e.Name] = chooses[e.Name] || e.SetID != "" && (e.Inner || e.Target != "")
	}
	for _, e := range o.steered {
		e.Leads = own[e.Target] && (chooses[e.Name] || chooses[e.Target])
		if o.FQDN != "" && e.Target != "" && rdata.IsSubdomain(rdata.Base(o.FQDN), e.Target) && !o.has(e.Target) {
			o.refuse(ReasonLeadsNowhere, "%s: no endpoint of the object has its target %s, which is below spec.rootHost; the name does not resolve, "+
				"unless another object publishes the target", TrimDot(e.Name), TrimDot(e.Target))
		}
		hosts := []string{e.Name}
		if e.Inner {
			n := o.set.closest(rdata.Base(e.Name)).ChainHost(e.Name)
			hosts = slices.DeleteFunc([]string{n, rdata.WildcardOf(n)}, func(host string) bool { return !own[host] })
			if len(hosts) == 0 {
				o.refuse(reasonReserved, "%s: names at and below klb.%[2]s belong to the chain of %[2]s: "+
					"write an endpoint for %[2]s or *.%[2]s in the same object", TrimDot(e.Name), TrimDot(n))
			}
		}
		for _, host := range hosts {
			c := byHost[host]
			if c == nil {
				c = &Contender{By: o.meta, Kind: o.kind, Host: host, check: UsableCheck(o.check, o.checkInvalid), Targets: &Targets{Leaves: make([]Member, 1)}}
				byHost[host], all = c, append(all, c)
			}
			c.Own = append(c.Own, e)
			c.Attributes.Add(e.Attributes)
			c.steering = c.steering || e.Name != host
			c.weighed = c.weighed || e.SetID != ""
			c.Targets.Leaves[0].take(e, own)
		}
	}
	o.Contenders = slices.DeleteFunc(all, o.refusedContender)
}

// has reports whether an endpoint covers a name, itself or as a wildcard.
func (o *object) has(name string) bool {
	found := o.names[name]
	for at, ok := name, true; ok && !found; at, ok = rdata.Parent(at) {
		found = o.names[rdata.WildcardOf(at)]
	}
	return found
}

// take adds the targets of an endpoint, except the object's own names.
func (l *Member) take(e *Endpoint, own map[string]bool) {
	list := &l.V4
	if e.Type == dns.TypeAAAA {
		list = &l.V6
	}
	for _, a := range e.Addrs {
		if len(*list) < MaxAtName && !slices.Contains(*list, a) {
			*list = append(*list, a)
		}
	}
	if e.Target != "" && !own[e.Target] && !slices.Contains(l.Hostnames, e.Target) {
		l.Hostnames = append(l.Hostnames, e.Target)
	}
}

// refusedContender reports whether the object may not publish a contender, and notes why: it must
// be allowed each type that it answers with at the host (rule 5.1). The Corefile's own names are
// nobody else's.
func (o *object) refusedContender(c *Contender) bool {
	at := o.set.closest(rdata.Base(c.Host))
	for _, ns := range at.Corefile.Nameservers {
		if ns.Name == c.Host && len(ns.Addresses) > 0 && c.Host != at.Origin {
			o.refuse(ReasonConflicted, "%s is a name server of the Corefile, which has its addresses", TrimDot(c.Host))
			return true
		}
	}
	types := c.Targets.types()
	for _, e := range c.Own {
		if rtype := dns.TypeToString[e.Type]; e.Name == c.Host && !slices.Contains(types, rtype) && !(c.steering && e.Type == dns.TypeCNAME) {
			types = append(types, rtype)
		}
	}
	if hostnames := c.Targets.Leaves[0].Hostnames; len(hostnames) > 0 && !slices.Contains(types, "CNAME") {
		types = append(types, "CNAME")
	}
	for _, e := range c.Own { // a line `publish` may cover it alone
		if at.Object == nil {
			if p := o.opt.MayPublish(at, o.meta, e.Name, dns.TypeToString[e.Type]); p != nil {
				o.Problems = append(o.Problems, p)
				return true
			}
		}
	}
	if len(types) == 0 {
		types = []string{"CNAME"} // a chain that leads nowhere
	}
	for _, rtype := range types {
		if p := o.opt.MayPublish(at, o.meta, c.Host, rtype); p != nil {
			o.Problems = append(o.Problems, p)
			return true
		}
	}
	return false
}

// MaxAtName bounds the Records served at one name: a message holds no more than some thousand
// addresses.
const MaxAtName = 1000
