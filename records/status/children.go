package status

import (
	"iter"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// Children returns the objects that a policy, or a user's DNSRecord, should have
// (docs/write-back.md), sorted by kind and name. A policy has a DNSRecord for each host that it
// publishes, and for each provider; both have a DNSHealthCheckProbe for each target probed for
// them. A host that belongs to another object has none: readers of a DNSRecord take its host for
// published. They are made for the caller; there are none if the object is unknown or not accepted.
func (s *View) Children(cluster string, of api.Ref) []api.Child {
	p := s.parentObject(cluster, of)
	if p == nil {
		return nil
	}
	n := childNames{p: p, taken: make(map[api.Ref]bool), rivals: make(map[api.Ref]*rival)}
	var all []api.Child
	for _, w := range p.wanted() {
		all = append(all, n.child(&w))
	}
	slices.SortFunc(all, func(a, b api.Child) int {
		if a.Kind != b.Kind {
			return int(b.Kind) - int(a.Kind) // a record before its probes
		}
		return strings.Compare(a.Name, b.Name)
	})
	return all
}

// Existing returns an object's existing children, in no order. Those not among Children are to be deleted.
func (s *View) Existing(cluster string, of api.Ref) (all []api.Ref) {
	for _, c := range s.Clusters {
		if c.Name != cluster {
			continue
		}
		if of.Kind == api.KindDNSPolicy {
			for _, r := range c.Offspring.Records(of.Name) {
				all = append(all, api.Ref{Kind: api.KindDNSRecord, Name: r.Name})
			}
		}
		for _, p := range c.Offspring.Probes(of) {
			all = append(all, api.Ref{Kind: api.KindProbe, Name: p.Name})
		}
	}
	return all
}

// parentObject is an object whose children are being made.
type parentObject struct {
	s     *View
	in    *api.Cluster
	state *Cluster
	kind  api.Kind // KindDNSPolicy or KindDNSRecord
	meta  *api.Meta
	// policy and target, with its Gateway, are nil for a DNSRecord; published has the contenders.
	policy    *api.DNSPolicy
	target    *endpoint.Target
	published []*endpoint.Contender
}

// parentObject returns the object before its children are made; nil if it cannot have any.
func (s *View) parentObject(cluster string, of api.Ref) *parentObject {
	i := s.In.Place(cluster)
	if i < 0 {
		return nil
	}
	p := &parentObject{s: s, in: s.In.Clusters[i], state: s.Clusters[i], kind: of.Kind}
	if of.Kind == api.KindDNSPolicy && p.isPolicy(of.Name) || of.Kind == api.KindDNSRecord && p.isRecord(of.Name) {
		return p
	}
	return nil
}

// isPolicy fills in a policy's fields; it returns false for one without children.
func (p *parentObject) isPolicy(name string) bool {
	policy, ok := p.in.Policies.Get(name)
	if !ok || policy.Deleting {
		return false
	}
	t, ok := p.state.Targets.Get(policy.TargetName())
	if !ok || t.Gateway == nil || acceptance(t, policy) != nil {
		return false
	}
	p.meta, p.policy, p.target, p.published = &policy.Meta, policy, t, t.Contenders
	return true
}

// isRecord fills in a DNSRecord's fields; it returns false for one without children.
func (p *parentObject) isRecord(name string) bool {
	r, ok := p.in.DNSRecords.Get(name)
	if !ok || !HasProbes(r) {
		return false
	}
	of, ok := p.state.Published.Get(endpoint.PublicationKey(api.KindDNSRecord, name))
	if !ok || of.Refused != nil {
		return false
	}
	p.meta, p.published = &r.Meta, of.Contenders
	return true
}

// HasProbes reports whether a DNSRecord's targets have probes for its check while it is served: it
// must be a user's, with a usable check. A controller makes its own probes, and what another
// provider publishes is not ours to check.
func HasProbes(r *api.DNSRecord) bool {
	byHand := !r.Controlled && r.Controller == nil && !r.Own()
	return byHand && !r.Deleting && r.Provider.ServedHere() && r.HealthCheck != nil && r.CheckInvalid == ""
}

// wanted returns the children that the object should have.
func (p *parentObject) wanted() (all []wanted) {
	if p.policy != nil {
		pr := endpoint.ProvidersOf(p.s.Table, p.s.Opt, &p.s.In, p.in, p.policy, p.target.Gateway)
		for c := range p.contenders() {
			all = append(all, p.records(c, pr)...)
		}
	}
	if p.policy != nil && !p.policy.Provider.ServedHere() {
		return all // we do not check what another controller publishes (rule 4.1)
	}
	probed := make(map[string]bool)
	for c := range p.contenders() {
		all = append(all, p.probes(c, probed)...)
	}
	return all
}

// contenders yields the contenders from which the children are made.
func (p *parentObject) contenders() iter.Seq[*endpoint.Contender] {
	return func(yield func(*endpoint.Contender) bool) {
		if p.policy != nil && !p.policy.Provider.ServedHere() {
			around := endpoint.Surroundings{UID: p.state.UID, Zone: p.s.optionsAt, Taken: func(string) string { return "" }}
			for _, c := range p.target.Elsewhere(p.policy, &around) {
				if !yield(c) {
					return
				}
			}
			return
		}
		for _, c := range p.published {
			if p.policy != nil && c.Policy != p.policy || c.Unread || !c.Targets.Usable() {
				continue
			}
			if g, ok := p.s.NameGroups.Get(endpoint.GroupKey(c.Host)); ok && !g.Loses(c) && !yield(c) {
				return
			}
		}
	}
}

// controls reports whether by is the object.
func (p *parentObject) controls(by *api.Controller) bool { return Controls(p.kind, p.meta, by) }

// endpoints returns the endpoints of a contender's DNSRecord (rules 2.2 and 2.3): what this Gateway adds to the host, which others may
// share. If its chain cannot be served, they are its addresses at the host.
func (p *parentObject) endpoints(c *endpoint.Contender) []api.WrittenEndpoint {
	all := c.Endpoints(new(endpoint.Room))
	if c.Chainless || c.Steers() && c.Policy.Provider.ServedHere() && !p.s.chained(c.Host) {
		all, _ = c.AsHost().Simple(new(endpoint.Room))
	}
	written := make([]api.WrittenEndpoint, len(all))
	for i, e := range all {
		written[i] = e.Written()
	}
	return written
}

// optionsAt returns the options of the zone that a host lies in; nil for none.
func (s *View) optionsAt(host string) *endpoint.ZoneOptions {
	if z := s.Zone(rdata.Base(host)); z != nil {
		return z.Corefile
	}
	return nil
}

// Waits reports whether hosts of an object with Children, or for a policy of any policy of its Gateway, wait for Secrets: then it is
// unknown what it should have.
func (s *View) Waits(cluster string, of api.Ref) bool {
	p := s.parentObject(cluster, of)
	return p != nil && p.target != nil && slices.ContainsFunc(p.target.Contenders, func(c *endpoint.Contender) bool { return c.Unread })
}
