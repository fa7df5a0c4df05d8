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
	p.make()
	slices.SortFunc(p.all, func(a, b api.Child) int {
		if a.Kind != b.Kind {
			return int(b.Kind) - int(a.Kind) // a record before its probes
		}
		return strings.Compare(a.Name, b.Name)
	})
	return p.all
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
	// plain is true if only the names matter that the children would have without any other
	// objects.
	plain bool
	// names are those taken by children, by kind.
	names map[api.Ref]bool
	// rivals are objects whose children have names wanted here, with their children's plain names;
	// nil for objects without children.
	rivals map[api.Ref]*parentObject
	all    []api.Child
}

// parentObject returns the object before its children are made; nil if it cannot have any.
func (s *View) parentObject(cluster string, of api.Ref) *parentObject {
	i := s.In.Place(cluster)
	if i < 0 {
		return nil
	}
	p := &parentObject{s: s, in: s.In.Clusters[i], state: s.Clusters[i], kind: of.Kind, names: make(map[api.Ref]bool)}
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

// make makes the children.
func (p *parentObject) make() {
	if p.policy != nil {
		pr := endpoint.ProvidersOf(p.s.Table, p.s.Opt, &p.s.In, p.in, p.policy, p.target.Gateway)
		for c := range p.contenders() {
			p.records(c, pr)
		}
	}
	if p.policy != nil && !p.policy.Provider.ServedHere() {
		return // we do not check what another controller publishes (rule 4.1)
	}
	probed := make(map[string]bool)
	for c := range p.contenders() {
		p.probes(c, probed)
	}
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

// Controls reports whether by, the controller of an object, is the object m of a kind.
func Controls(kind api.Kind, m *api.Meta, by *api.Controller) bool {
	return by != nil && by.UID != "" && by.UID == m.UID && by.Kind == kind.String()
}

// child returns a child with a preferred name; of is a text that differs from that of every other
// child with the same preferred name.
func (p *parentObject) child(kind api.Kind, wanted, of string) api.Child {
	name, replace := p.name(kind, wanted, of)
	p.names[api.Ref{Kind: kind, Name: name}] = true
	replaced := ""
	if replace {
		replaced = p.in.MetaOf(api.Ref{Kind: kind, Name: name}).UID
	}
	return api.Child{
		Kind: kind, Name: name, Replace: replace, Replaced: replaced, Labels: ownLabels,
		Owner: api.ChildOwner{Kind: p.kind, Name: p.meta.Name, UID: p.meta.UID},
	}
}

// ownLabels are the labels of all children. They are read-only.
var ownLabels = map[string]string{api.LabelManagedBy: api.ManagedBy}

// The maximum length of an object's name, and how much of a longer one remains before the hash.
const (
	maxObjectName = 253
	cutObjectName = 240
)

// name returns a child's name, and whether the object that has it now must go first: the wanted
// name, unless that is too long or taken (docs/write-back.md). A child keeps a name once it has it.
func (p *parentObject) name(kind api.Kind, wanted, of string) (name string, replace bool) {
	namespace := p.meta.Namespace() + "/"
	other := namespace + strings.TrimRight(wanted[:min(len(wanted), cutObjectName)], "-.") + "-" + endpoint.Hash(of)
	wanted, long := namespace+wanted, len(wanted) > maxObjectName
	if p.plain {
		if long || p.names[api.Ref{Kind: kind, Name: wanted}] {
			return other, false
		}
		return wanted, false
	}
	if long || p.names[api.Ref{Kind: kind, Name: wanted}] || p.has(kind, other) {
		_, replace = p.mayHave(kind, other)
		return other, replace
	}
	if free, replace := p.mayHave(kind, wanted); free {
		return wanted, replace
	}
	_, replace = p.mayHave(kind, other)
	return other, replace
}

// object returns the object of that kind and name; by is nil if nothing controls it, own is true if
// this server wrote it.
func (p *parentObject) object(kind api.Kind, name string) (by *api.Controller, own, found bool) {
	if kind == api.KindProbe {
		if o, ok := p.in.Probes.Get(name); ok {
			return o.Controller, o.Own(), true
		}
		return nil, false, false
	}
	if o, ok := p.in.DNSRecords.Get(name); ok {
		return o.Controller, o.Own(), true
	}
	return nil, false, false
}

// has reports whether the object has a child with that name.
func (p *parentObject) has(kind api.Kind, name string) bool {
	by, own, _ := p.object(kind, name)
	return own && p.controls(by)
}

// mayHave reports whether a name is free for a child, and whether another child that has it must go.
func (p *parentObject) mayHave(kind api.Kind, name string) (free, replace bool) {
	by, own, found := p.object(kind, name)
	if !found || own && p.controls(by) {
		return true, false
	}
	of := endpoint.ParentRef(kind, p.meta.Namespace(), by, own)
	if of.Name == "" {
		return false, false
	}
	if rival := p.rival(of); rival != nil && rival.controls(by) && rival.names[api.Ref{Kind: kind, Name: name}] {
		return false, false
	}
	return true, true
}

// rival returns an object with its children's plain names; nil for one without children. It is made
// once: thousands of children may need it.
func (p *parentObject) rival(of api.Ref) *parentObject {
	rival, known := p.rivals[of]
	if !known {
		if rival = p.s.parentObject(p.in.Name, of); rival != nil {
			rival.plain = true
			rival.make()
		}
		if p.rivals == nil {
			p.rivals = make(map[api.Ref]*parentObject)
		}
		p.rivals[of] = rival
	}
	return rival
}

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
