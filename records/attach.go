package records

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// target is one Gateway with the policies that name it, and what comes of them.
type target struct {
	// gateway is nil where none of that name exists, or it is being deleted
	// (rule 1.4).
	gateway *api.Gateway
	// policies are those that are not being deleted, older first.
	policies []*api.DNSPolicy
	claims   []*claim
	// notes is what went wrong on the way, nil where nothing did.
	notes []note
	// publisher is the DNSRecord or DNSEndpoint that stands for a Gateway; nil for none.
	publisher *publisher
}

// note is something that the owner of a policy should know.
type note struct {
	policy *api.DNSPolicy
	// host is as the listener writes it, without a final dot; "" for what
	// concerns the whole policy.
	host string
	// record names the DNSRecord that is not served for this reason; "" where
	// the note keeps nothing from being served.
	record    string
	condition api.Condition
}

// refused says why a policy cannot be accepted for what it is, whatever it
// targets; "" where it can.
func refused(p *api.DNSPolicy) string {
	if p.Fault != "" {
		return p.Fault
	}
	return p.Invalid
}

// winner returns the accepted policy of the given section: the oldest that is
// not refused (rule 1.1). It is nil where there is none.
func (t *target) winner(section string) *api.DNSPolicy {
	for _, p := range t.policies {
		if p.Target.Section == section && refused(p) == "" {
			return p
		}
	}
	return nil
}

// governing returns the policy that applies to a listener: its own, else the
// Gateway's (rule 1.1).
func (t *target) governing(listener string) *api.DNSPolicy {
	if p := t.winner(listener); p != nil && listener != "" {
		return p
	}
	return t.winner("")
}

// hasSection tells whether the Gateway has a listener of that name; every
// Gateway has the section "".
func (t *target) hasSection(section string) bool {
	return section == "" || slices.ContainsFunc(t.gateway.Listeners, func(l api.Listener) bool {
		return l.Name == section
	})
}

// placement says where a host lies.
type placement uint8

const (
	outside  placement = iota // in no served zone
	inZone                    // in one
	reserved                  // in one, where the Corefile gives it addresses
	inChain                   // in one, among the names of a chain
)

// maxParts is how many listeners and how many addresses of one Gateway are read.
// An API server allows 64 and 16; a file may hold any number.
const maxParts = 256

// surroundings is what an object must know of where its hosts lie.
type surroundings struct {
	// zone returns the options of the zone that a name lies in, nil for none.
	zone func(name string) *endpoint.ZoneOptions
	// taken returns a name of the Corefile's at or below one, a zone or a name server; "" for none.
	taken func(name string) string
	// uid is the identity of the cluster (C of rule 2.3).
	uid string
	// place tells where a host lies (rule 1.6).
	place func(host string) placement
	// mayPublish tells what keeps an object from publishing data of a type at a host that
	// lies in a zone; nil for nothing (rule 5.1).
	mayPublish func(m *api.Meta, host, rtype string) *endpoint.Problem
	// providers returns the DNS providers of a policy; nil where they narrow nothing.
	providers func(p *api.DNSPolicy) *provision
}

// attach fills in t.claims and t.notes from t.gateway and t.policies (rules 1.1
// to 1.6, and 5.1).
func (t *target) attach(around surroundings) {
	t.claims, t.notes = nil, nil
	if t.gateway == nil {
		return
	}
	var byPolicy []policyTargets
	hosts := make(map[string]*api.DNSPolicy, len(t.gateway.Listeners)) // by whom they are claimed
	for _, l := range t.gateway.Listeners[:min(len(t.gateway.Listeners), maxParts)] {
		p := t.governing(l.Name)
		if p == nil || !p.Provider.ServedHere() || l.Hostname == "" {
			continue
		}
		host, err := rdata.Host(l.Hostname)
		switch {
		case err != nil:
			t.note(p, l.Hostname, t.record(l.Name), endpoint.ReasonInvalidHostname, "listener "+l.Name+": "+err.Error())
			continue
		case l.AttachedRoutes == 0:
			t.note(p, endpoint.TrimDot(host), "", endpoint.ReasonNoRoutes, "no routes are attached to listener "+l.Name+": it publishes nothing")
			continue
		}
		switch around.place(host) {
		case outside:
			t.note(p, endpoint.TrimDot(host), t.record(l.Name), endpoint.ReasonNotServed, "")
			continue
		case reserved:
			t.note(p, endpoint.TrimDot(host), t.record(l.Name), endpoint.ReasonConflicted, "the host is a name server of its zone, with addresses of its own in the Corefile")
			continue
		case inChain:
			t.note(p, endpoint.TrimDot(host), t.record(l.Name), endpoint.ReasonReserved, "the label klb is reserved for the names of chains: choose a hostname without it")
			continue
		case inZone:
		}
		if first, ok := hosts[host]; ok { // several listeners with one hostname: the first (rule 1.2)
			if first != p {
				t.note(p, endpoint.TrimDot(host), t.record(l.Name), endpoint.ReasonConflicted, "a listener before "+l.Name+" has the same hostname, under DNSPolicy "+first.Name)
			}
			continue
		}
		i := slices.IndexFunc(byPolicy, func(b policyTargets) bool { return b.policy == p })
		if i < 0 {
			i = len(byPolicy)
			of := policyTargets{policy: p, targets: resolveTargets(t.gateway.Addresses, p.Exclude), providers: around.providers(p)}
			of.members = membersOf(p, t.gateway, of.targets, around.uid)
			byPolicy = append(byPolicy, of)
			t.noteProviders(byPolicy[i].providers, p)
		}
		hosts[host] = p
		resolved := byPolicy[i].targets
		if resolved.mixed {
			continue
		}
		through, ok := t.provide(byPolicy[i].providers, p, host, l.Name)
		refused := around.refused(p, host, resolved)
		waits := !ok && byPolicy[i].providers.waits // for Secrets that could not be read yet
		if !ok && (!waits || refused != nil) {
			continue
		}
		if refused != nil {
			t.note(p, endpoint.TrimDot(host), t.record(l.Name), refused.Reason, refused.Message)
			continue
		}
		c := &claim{
			by: &p.Meta, kind: api.KindDNSPolicy, policy: p, gateway: t.gateway,
			host: host, listener: l.Name, targets: t.withoutItself(p, host, resolved), via: through,
			unread: waits,
		}
		members := byPolicy[i].members
		if c.targets != resolved {
			members = membersOf(p, t.gateway, c.targets, around.uid)
		}
		c.publish(t, &around, members)
		t.claims = append(t.claims, c)
	}
	t.noteTargets(byPolicy)
	t.notes = slices.DeleteFunc(t.notes, func(n note) bool {
		// Another listener publishes the host for the same policy.
		return n.condition.Reason == endpoint.ReasonNoRoutes && hosts[n.host+"."] == n.policy
	})
	t.claims = slices.Clip(t.claims)
}

// publish makes the endpoints of a policy's claim, and tells t what cannot be among them (rules 1.5, 1.7, 2.2 and 2.3).
func (c *claim) publish(t *target, around *surroundings, members []endpoint.Member) {
	c.weighed = c.policy.Strategy == api.WeightedGeo
	if !c.targets.usable() {
		return
	}
	h := c.asHost(around, members)
	note := func(reason, format string, args ...any) {
		t.note(c.policy, endpoint.TrimDot(c.host), "", reason, fmt.Sprintf(format, args...))
	}
	if !c.weighed {
		var dropped []string
		if c.endpoints, dropped = h.Simple(); len(dropped) > 0 {
			why := addressesWin
			if c.endpoints[0].Target != "" {
				why = oneCNAME
			}
			for i, name := range dropped {
				dropped[i] = endpoint.TrimDot(name)
			}
			note(endpoint.ReasonDropped, "%s, and %s dropped", why, strings.Join(dropped, ", "))
		}
		return
	}
	c.steering = true
	c.endpoints, c.chainless = h.WeightedGeo()
	below := endpoint.KLB + rdata.Base(c.host)
	if c.chainless {
		note(endpoint.ReasonChainTooLong, "the names below %s would be longer than 253 characters: the host is answered without its chain", endpoint.TrimDot(below))
	}
	if taken := around.taken(below); taken != "" {
		c.chainless = true
		note(endpoint.ReasonChainTaken, "the Corefile has %s, which the names below %s need: the host is answered without its chain", endpoint.TrimDot(taken), endpoint.TrimDot(below))
	}
}

// asHost returns what a policy's claim says of its host. A host in no zone has the TTLs that a zone has by default.
func (c *claim) asHost(around *surroundings, members []endpoint.Member) *endpoint.Host {
	h := &endpoint.Host{
		Name: c.host, TTL: endpoint.DefaultTTL, LoadBalancedTTL: endpoint.DefaultLoadBalancedTTL, DefaultGeo: c.policy.DefaultGeo,
		Gateway: c.gateway.BareName() + "-" + c.gateway.Namespace(), Members: members,
	}
	if z := around.zone(c.host); z != nil {
		h.TTL, h.LoadBalancedTTL = z.TTL, z.LoadBalancedTTL
	}
	return h
}

// refused tells what keeps a policy from publishing its targets at a host; nil for
// nothing. It needs to be allowed every type that it has data of, or any where it has
// none.
func (around *surroundings) refused(p *api.DNSPolicy, host string, t *targets) (refused *endpoint.Problem) {
	types, needed := t.types(), len(t.types())
	if needed == 0 {
		types = []string{"A", "AAAA", "CNAME"}
	}
	for _, rtype := range types {
		switch refusal := around.mayPublish(&p.Meta, host, rtype); {
		case refusal == nil && needed == 0:
			return nil
		case refusal != nil && (needed > 0 || refused == nil):
			refused = refusal
			if needed > 0 {
				return refused
			}
		}
	}
	return refused
}

// withoutItself returns the targets less the hostname that is the host itself:
// a name cannot be its own target.
func (t *target) withoutItself(p *api.DNSPolicy, host string, all *targets) *targets {
	if !slices.ContainsFunc(all.leaves, func(l leaf) bool { return slices.Contains(l.hostnames, host) }) {
		return all
	}
	t.note(p, endpoint.TrimDot(host), "", endpoint.ReasonDropped, "the host is a hostname among its own Gateway's addresses, and is dropped from them")
	return without(all, host)
}

// without returns the targets less a hostname.
func without(all *targets, host string) *targets {
	own := &targets{leaves: slices.Clone(all.leaves)}
	for i := range own.leaves {
		l := &own.leaves[i]
		l.hostnames = slices.DeleteFunc(slices.Clone(l.hostnames), func(h string) bool { return h == host })
	}
	return own
}

// policyTargets is the addresses of one Gateway under one of its policies, which publishes
// through providers.
type policyTargets struct {
	policy    *api.DNSPolicy
	targets   *targets
	members   []endpoint.Member // the targets, with their weights and codes
	providers *provision
}

// noteTargets reports what is wrong with the addresses under each policy.
func (t *target) noteTargets(byPolicy []policyTargets) {
	for _, b := range byPolicy {
		p, resolved := b.policy, b.targets
		if resolved.mixed {
			t.note(p, "", "", endpoint.ReasonInconsistent, "inconsistent status addresses")
		}
		for _, fault := range resolved.faults {
			t.note(p, "", "", endpoint.ReasonInvalidAddress, fault)
		}
	}
	var faults []string
	if t.gateway.Fault != "" {
		faults = append(faults, t.gateway.Fault)
	}
	if n := len(t.gateway.Listeners); n > maxParts {
		faults = append(faults, fmt.Sprintf("%d listeners, of which the first %d are read", n, maxParts))
	}
	if n := len(t.gateway.Addresses); n > maxParts {
		faults = append(faults, fmt.Sprintf("%d status addresses, of which the first %d are read", n, maxParts))
	}
	for _, f := range faults {
		for _, p := range t.policies {
			t.note(p, "", "", endpoint.ReasonGatewayFault, "Gateway "+t.gateway.Name+": "+f)
		}
	}
}

func (t *target) note(p *api.DNSPolicy, host, record, reason, message string) {
	t.notes = append(t.notes, note{policy: p, host: host, record: record, condition: refusal(reason, message)})
}

// record returns the name of the DNSRecord of a listener (api.md, Written back).
func (t *target) record(listener string) string {
	return t.gateway.BareName() + "-" + listener
}

// elsewhere returns what a policy would claim whose provider is another controller's, with its endpoints.
func (t *target) elsewhere(p *api.DNSPolicy, around *surroundings) (all []*claim) {
	resolved := resolveTargets(t.gateway.Addresses, p.Exclude)
	if resolved.mixed {
		return nil
	}
	hosts := make(map[string]bool)
	for _, l := range t.gateway.Listeners[:min(len(t.gateway.Listeners), maxParts)] {
		host, err := rdata.Host(l.Hostname)
		by := t.governing(l.Name)
		if err != nil || by == nil || l.AttachedRoutes == 0 || hosts[host] {
			continue
		}
		hosts[host] = true
		own := without(resolved, host)
		if by == p && own.usable() {
			c := &claim{by: &p.Meta, kind: api.KindDNSPolicy, policy: p, gateway: t.gateway, host: host, listener: l.Name, targets: own}
			c.publish(&target{}, around, membersOf(p, t.gateway, own, around.uid))
			all = append(all, c)
		}
	}
	return all
}

// Why a hostname is not served at a name (rule 1.7).
const (
	addressesWin = "addresses and hostnames cannot stand at one name: the addresses are served"
	oneCNAME     = "one name has one CNAME: the first hostname is served"
)
