package endpoint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// Target is one Gateway with the policies that name it, and the result.
type Target struct {
	// Gateway is nil if there is none of that name, or it is being deleted (rule 1.4); Leaving is
	// true then.
	Gateway *api.Gateway
	Leaving bool
	// Policies are those that are not being deleted, older first.
	Policies []*api.DNSPolicy
	// Contenders are those of the policies, one for each host that may be published.
	Contenders []*Contender
	// Notes are the problems found; nil for none.
	Notes []Note
}

// Note is a message for the owner of a policy.
type Note struct {
	Policy *api.DNSPolicy
	// Host is spelled as in the listener, without a final dot; "" for the whole policy.
	Host string
	// Record names the DNSRecord that is not served because of the note; "" if it keeps nothing
	// from being served.
	Record    string
	Condition api.Condition
}

// Refused returns why a policy cannot be accepted, whatever its target; "" if it can.
func Refused(p *api.DNSPolicy) string {
	if p.Fault != "" {
		return p.Fault
	}
	return p.Invalid
}

// Winner returns the accepted policy of a section: the oldest that is not refused (rule 1.1); nil for none.
func (t *Target) Winner(section string) *api.DNSPolicy {
	for _, p := range t.Policies {
		if p.Target.Section == section && Refused(p) == "" {
			return p
		}
	}
	return nil
}

// governing returns the policy that applies to a listener: its own, else the
// Gateway's (rule 1.1).
func (t *Target) governing(listener string) *api.DNSPolicy {
	if p := t.Winner(listener); p != nil && listener != "" {
		return p
	}
	return t.Winner("")
}

// HasSection reports whether the Gateway has a listener of that name; every
// Gateway has the section "".
func (t *Target) HasSection(section string) bool {
	return section == "" || slices.ContainsFunc(t.Gateway.Listeners, func(l api.Listener) bool {
		return l.Name == section
	})
}

// Placement says where a host lies.
type Placement uint8

const (
	Outside  Placement = iota // in no served zone
	InZone                    // in one
	Reserved                  // in one; the Corefile gives it addresses
	InChain                   // in one, among the names of a chain
)

// maxParts bounds the listeners, and the addresses, that are read of one Gateway. An API server
// allows 64 and 16; a file may hold any number.
const maxParts = 256

// Surroundings decide about an object's hosts: where they lie, and who may publish there.
type Surroundings struct {
	// Zone returns the options of the zone that a name lies in, nil for none.
	Zone func(name string) *ZoneOptions
	// Taken returns a zone or name server of the Corefile at or below a name; "" for none.
	Taken func(name string) string
	// UID is the identity of the cluster (C of rule 2.3).
	UID string
	// Place returns where a host lies (rule 1.6).
	Place func(host string) Placement
	// MayPublish returns what keeps an object from publishing data of a type at a host that
	// lies in a zone; nil for nothing (rule 5.1).
	MayPublish func(m *api.Meta, host, rtype string) *Problem
	// Providers returns the DNS providers of a policy for a Gateway; nil if they narrow nothing.
	Providers func(p *api.DNSPolicy, g *api.Gateway) *Provision
}

// Attach fills in t.Contenders and t.Notes from t.Gateway and t.Policies (rules 1.1
// to 1.6, and 5.1).
func (t *Target) Attach(around *Surroundings) {
	t.Contenders, t.Notes = nil, nil
	if t.Gateway == nil {
		return
	}
	var byPolicy []policyTargets
	hosts := make(map[string]*api.DNSPolicy, len(t.Gateway.Listeners)) // the policy that contends for each
	for _, l := range t.Gateway.Listeners[:min(len(t.Gateway.Listeners), maxParts)] {
		p := t.governing(l.Name)
		if p == nil || !p.Provider.ServedHere() || l.Hostname == "" {
			continue
		}
		host, err := rdata.Host(l.Hostname)
		switch {
		case err != nil:
			t.Note(p, l.Hostname, t.Record(l.Name), reasonInvalidHostname, "listener "+l.Name+": "+err.Error())
			continue
		case unrouted(p, &l):
			t.Note(p, TrimDot(host), "", ReasonNoRoutes, "no routes are attached to listener "+l.Name+"; it publishes nothing. If its controller "+
				"never counts routes, annotate the policy with "+api.Routes.Annotation()+": ignore")
			continue
		}
		switch around.Place(host) {
		case Outside:
			t.Note(p, TrimDot(host), t.Record(l.Name), ReasonNotServed, "")
			continue
		case Reserved:
			t.Note(p, TrimDot(host), t.Record(l.Name), ReasonConflicted, "the host is a name server of the Corefile, which has its addresses")
			continue
		case InChain:
			t.Note(p, TrimDot(host), t.Record(l.Name), reasonReserved, "the label klb is reserved for chains: choose a hostname without it")
			continue
		case InZone:
		}
		if first, ok := hosts[host]; ok { // several listeners with one hostname: the first (rule 1.2)
			if first != p {
				t.Note(p, TrimDot(host), t.Record(l.Name), ReasonConflicted, "listener "+l.Name+": an earlier listener has the same hostname, under DNSPolicy "+first.Name)
			}
			continue
		}
		i := slices.IndexFunc(byPolicy, func(b policyTargets) bool { return b.policy == p })
		if i < 0 {
			i = len(byPolicy)
			byPolicy = append(byPolicy, policyTargets{p, ResolveTargets(t.Gateway, p, around.UID), around.Providers(p, t.Gateway)})
			t.noteProviders(byPolicy[i].providers, p)
		}
		hosts[host] = p
		resolved := byPolicy[i].targets
		if resolved.mixed {
			continue
		}
		through, ok := t.provide(byPolicy[i].providers, p, host, l.Name)
		refused := around.refused(p, host, resolved)
		waits := !ok && byPolicy[i].providers.waits // for Secrets that are not loaded yet
		if !ok && (!waits || refused != nil) {
			continue
		}
		if refused != nil {
			t.Note(p, TrimDot(host), t.Record(l.Name), refused.Reason, refused.Message)
			continue
		}
		c := &Contender{
			By: &p.Meta, Kind: api.KindDNSPolicy, check: UsableCheck(p.HealthCheck, p.CheckInvalid), Policy: p, Gateway: t.Gateway, Attributes: api.AttributesOf(p.Annotations, nil),
			Host: host, Listener: l.Name, Targets: t.withoutItself(p, host, resolved), Via: through,
			Unread: waits,
		}
		c.publish(t, around)
		t.Contenders = append(t.Contenders, c)
	}
	t.noteTargets(byPolicy)
	t.Notes = slices.DeleteFunc(t.Notes, func(n Note) bool {
		// Another listener publishes the host for the same policy.
		return n.Condition.Reason == ReasonNoRoutes && hosts[n.Host+"."] == n.Policy
	})
	t.Contenders = slices.Clip(t.Contenders)
}

// unrouted reports whether a listener publishes nothing under a policy because its status says that no routes are attached (rule 1.2).
func unrouted(p *api.DNSPolicy, l *api.Listener) bool {
	return l.AttachedRoutes == 0 && p.Of(api.Routes) != api.RoutesIgnore
}

// publish sets how the endpoints of a policy's contender are made, and notes what they cannot include (rules 1.5, 1.7, 2.2 and 2.3).
func (c *Contender) publish(t *Target, around *Surroundings) {
	c.weighed, c.zone = c.Policy.Strategy == api.WeightedGeo, around.Zone(c.Host)
	if !c.Targets.Usable() {
		return
	}
	note := func(reason, format string, args ...any) {
		t.Note(c.Policy, TrimDot(c.Host), "", reason, fmt.Sprintf(format, args...))
	}
	if !c.weighed {
		if _, hostnames := c.LeadsTo(); !hostnames {
			return // almost always
		}
		if all, dropped := c.AsHost().Simple(new(Room)); len(dropped) > 0 {
			why := AddressesWin
			if all[0].Target != "" {
				why = OneCNAME
			}
			for i, name := range dropped {
				dropped[i] = TrimDot(name)
			}
			note(ReasonDropped, "%s; dropping %s", why, strings.Join(dropped, ", "))
		}
		return
	}
	c.steering = true
	below := KLB + rdata.Base(c.Host)
	if longest := rdata.MaxLabel + len(".") + len(below); longest > rdata.MaxName {
		_, c.Chainless = c.AsHost().weightedGeo(new(Room))
	}
	if c.Chainless {
		note(reasonChainTooLong, "the names below %s would be longer than 253 characters; the host is answered without its chain", TrimDot(below))
	}
	if taken := around.Taken(below); taken != "" {
		c.Chainless = true
		note(ReasonChainTaken, "%s of the Corefile leaves no room for the chain at %s; the host is answered without its chain", TrimDot(taken), TrimDot(below))
	}
}

// AsHost returns what the contender, a policy's, publishes at its host. A host outside of all zones has a zone's default TTLs.
func (c *Contender) AsHost() Host {
	h := Host{
		Name: c.Host, TTL: DefaultTTL, LoadBalancedTTL: DefaultLoadBalancedTTL, DefaultGeo: c.Policy.DefaultGeo,
		Gateway: c.Gateway.BareName() + "-" + c.Gateway.Namespace(), Members: c.Targets.Leaves, Attributes: c.Attributes,
	}
	if z := c.zone; z != nil {
		h.TTL, h.LoadBalancedTTL = z.TTL, z.LoadBalancedTTL
	}
	return h
}

// refused returns what keeps a policy from publishing its targets at a host; nil for nothing. The
// policy must be allowed each type that it has data of, or any type if it has no data.
func (around *Surroundings) refused(p *api.DNSPolicy, host string, t *Targets) (refused *Problem) {
	for _, rtype := range t.types() {
		if refused = around.MayPublish(&p.Meta, host, rtype); refused != nil {
			return refused
		}
	}
	if t.Usable() {
		return nil
	}
	for _, rtype := range steeredTypes {
		refusal := around.MayPublish(&p.Meta, host, rtype)
		if refusal == nil {
			return nil
		}
		refused = cmp.Or(refused, refusal)
	}
	return refused
}

// withoutItself returns what Without does, and notes what is dropped.
func (t *Target) withoutItself(p *api.DNSPolicy, host string, all *Targets) *Targets {
	if !slices.ContainsFunc(all.Leaves, func(l Member) bool { return slices.ContainsFunc(l.Hostnames, leadsBackTo(host)) }) {
		return all
	}
	t.Note(p, TrimDot(host), "", ReasonDropped, "the host, or a name of its chain, is one of its own Gateway's addresses; dropping that address")
	return Without(all, host)
}

// leadsBackTo reports whether a hostname is a host's own name, or one of its chain: neither can be its target.
func leadsBackTo(host string) func(hostname string) bool {
	chain := KLB + rdata.Base(host)
	return func(hostname string) bool { return hostname == host || rdata.IsSubdomain(chain, hostname) }
}

// Without returns the targets of a host without those that lead back to it.
func Without(all *Targets, host string) *Targets {
	own := *all
	own.Leaves = slices.Clone(all.Leaves)
	for i := range own.Leaves {
		l := &own.Leaves[i]
		l.Hostnames = slices.DeleteFunc(slices.Clone(l.Hostnames), leadsBackTo(host))
	}
	return &own
}

// policyTargets are one Gateway's addresses under one of its policies, with the policy's providers.
type policyTargets struct {
	policy    *api.DNSPolicy
	targets   *Targets
	providers *Provision
}

// noteTargets reports what is wrong with the addresses under each policy.
func (t *Target) noteTargets(byPolicy []policyTargets) {
	for _, b := range byPolicy {
		p, resolved := b.policy, b.targets
		if resolved.mixed {
			t.Note(p, "", "", ReasonInconsistent, "inconsistent status addresses")
		}
		if resolved.Annotation != "" && len(resolved.faults) > 0 {
			t.Note(p, "", "", reasonInvalidAddress,
				"annotation "+resolved.Annotation+" of Gateway "+t.Gateway.Name+": "+strings.Join(resolved.faults, "; "))
		} else {
			for _, fault := range resolved.faults {
				t.Note(p, "", "", reasonInvalidAddress, fault)
			}
		}
		probed := "annotation " + api.ProbeAddress.Annotation() + " of the policy"
		switch {
		case p.Of(api.ProbeAddress) == api.ProbeAddressStatus && resolved.Annotation == "":
			t.Note(p, "", "", ReasonAnnotation, probed+" has no effect without "+api.Targets.Annotation()+": annotation")
		case resolved.Probed != nil && !resolved.Probed.Usable() && p.HealthCheck != nil:
			t.Note(p, "", "", ReasonNotChecked, probed+": the Gateway's status has no address to check, so all targets count as up")
		}
	}
	var faults []string
	if t.Gateway.Fault != "" {
		faults = append(faults, t.Gateway.Fault)
	}
	if n := len(t.Gateway.Listeners); n > maxParts {
		faults = append(faults, fmt.Sprintf("%d listeners; only the first %d are read", n, maxParts))
	}
	if n := len(t.Gateway.Addresses); n > maxParts {
		faults = append(faults, fmt.Sprintf("%d status addresses; only the first %d are read", n, maxParts))
	}
	for _, f := range faults {
		for _, p := range t.Policies {
			t.Note(p, "", "", reasonGatewayFault, "Gateway "+t.Gateway.Name+": "+f)
		}
	}
}

// Note adds a note on a policy's host, "" for the whole policy. record names the DNSRecord that is not served because of it, "" for none.
func (t *Target) Note(p *api.DNSPolicy, host, record, reason, message string) {
	t.Notes = append(t.Notes, Note{Policy: p, Host: host, Record: record, Condition: Refusal(reason, message)})
}

// Record returns the name of the DNSRecord of a listener (docs/write-back.md).
func (t *Target) Record(listener string) string {
	return t.Gateway.BareName() + "-" + listener
}

// Elsewhere returns what a policy whose provider belongs to another controller would publish, with its endpoints.
func (t *Target) Elsewhere(p *api.DNSPolicy, around *Surroundings) (all []*Contender) {
	resolved := ResolveTargets(t.Gateway, p, around.UID)
	if resolved.mixed {
		return nil
	}
	hosts := make(map[string]bool)
	for _, l := range t.Gateway.Listeners[:min(len(t.Gateway.Listeners), maxParts)] {
		host, err := rdata.Host(l.Hostname)
		by := t.governing(l.Name)
		if err != nil || by == nil || unrouted(by, &l) || hosts[host] {
			continue
		}
		hosts[host] = true
		own := Without(resolved, host)
		if by == p && own.Usable() {
			c := &Contender{By: &p.Meta, Kind: api.KindDNSPolicy, check: UsableCheck(p.HealthCheck, p.CheckInvalid), Policy: p, Gateway: t.Gateway, Host: host, Listener: l.Name, Targets: own}
			c.publish(&Target{}, around)
			all = append(all, c)
		}
	}
	return all
}

// Why a name does not serve a hostname (rule 1.7).
const (
	AddressesWin = "a name cannot have both addresses and a hostname: serving the addresses"
	OneCNAME     = "a name can have only one CNAME: serving the first hostname"
)
