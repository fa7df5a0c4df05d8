package records

import (
	"iter"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// Children returns the objects that a policy should have (api.md, Written back), sorted by
// kind and name: a DNSRecord for each host that it publishes, and through each provider, and a
// DNSHealthCheckProbe for each target that is probed for it. A host that is another object's
// has none: who reads a DNSRecord takes it for published. They are made for the caller; there
// are none where the policy is not known, or not accepted.
func (s *Snapshot) Children(cluster, policy string) []api.Child {
	p := s.parentOfChildren(cluster, policy)
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

// Existing returns which children of a policy there are, whoever wants them: those that are
// not among Children are to be deleted. They are in no order.
func (s *Snapshot) Existing(cluster, policy string) (all []api.Ref) {
	for _, c := range s.clusters {
		if c.name != cluster {
			continue
		}
		for _, r := range c.offspring.records(policy) {
			all = append(all, api.Ref{Kind: api.KindDNSRecord, Name: r.Name})
		}
		for _, p := range c.offspring.probes(policy) {
			all = append(all, api.Ref{Kind: api.KindProbe, Name: p.Name})
		}
	}
	return all
}

// ParentRef names a policy of a cluster, which may be gone.
type ParentRef struct{ Cluster, Policy string }

// ChildrenChanged returns the policies whose Children or Existing may differ from those of the
// snapshot that this one was compiled from, some of them perhaps more than once; nil stands for
// any. The caller must not change the slice.
func (s *Snapshot) ChildrenChanged() []ParentRef { return s.parents }

// parentPolicy is a policy whose children are being made.
type parentPolicy struct {
	s      *Snapshot
	in     *api.Cluster
	state  *clusterState
	policy *api.DNSPolicy
	target *target
	// plain is true where only the names matter that the children would have if there were no
	// other objects.
	plain bool
	// names are those that are taken by children, by kind.
	names map[api.Ref]bool
	all   []api.Child
}

// parentOfChildren returns nil for a policy that has no children.
func (s *Snapshot) parentOfChildren(cluster, policy string) *parentPolicy {
	for i, state := range s.clusters {
		if state.name != cluster {
			continue
		}
		in := s.in.Clusters[i]
		p, ok := in.Policies.Get(policy)
		if !ok || p.Deleting {
			return nil
		}
		t, ok := state.targets.Get(p.TargetName())
		if !ok || t.gateway == nil || t.acceptance(p) != nil {
			return nil
		}
		return &parentPolicy{s: s, in: in, state: state, policy: p, target: t, names: make(map[api.Ref]bool)}
	}
	return nil
}

func (p *parentPolicy) make() {
	pr := provisionOf(p.in, p.s.zoneSet, p.s.opt, p.policy)
	probed := make(map[string]bool)
	for c := range p.claims() {
		p.records(c, pr)
	}
	for c := range p.claims() {
		p.probes(c, probed)
	}
}

// claims yields the claims that the policy's children are made of.
func (p *parentPolicy) claims() iter.Seq[*claim] {
	return func(yield func(*claim) bool) {
		if !p.policy.Provider.ServedHere() {
			for _, c := range p.target.elsewhere(p.policy) {
				if !yield(c) {
					return
				}
			}
			return
		}
		for _, c := range p.target.claims {
			if c.policy != p.policy || !c.targets.usable() {
				continue
			}
			if g, ok := p.s.groups.Get(groupKey(c.host)); ok && !g.loses(c) && !yield(c) {
				return
			}
		}
	}
}

// records adds the DNSRecords of one host: one for each provider.
func (p *parentPolicy) records(c *claim, pr *provision) {
	spec := api.ChildRecord{RootHost: trimDot(c.host), Endpoints: p.endpoints(c)}
	if c.policy.CheckInvalid == "" {
		spec.HealthCheck = c.policy.HealthCheck
	}
	name := p.target.record(c.listener)
	if !c.policy.Provider.ServedHere() {
		spec.Provider = api.ProviderRef{Kind: c.policy.Provider.Kind, Name: c.policy.Provider.Name}
		p.record(c, name, "", spec)
		return
	}
	if c.via == nil {
		if secret := c.policy.Provider.Name; secret != "" { // no Secrets are read
			spec.Provider = api.ProviderRef{Kind: kindSecret, Name: secret}
		}
		if z := p.s.Zone(base(c.host)); z != nil {
			spec.ZoneID = zoneID(z.origin)
		}
		p.record(c, name, "", spec)
		return
	}
	best, _ := pr.choose(c.host)
	secrets := c.via.secrets()
	plain := secrets[0]
	if known, ok := p.in.DNSRecords.Get(p.policy.Namespace() + "/" + name); ok && p.isOwn(known, c.host) && slices.Contains(secrets, known.Provider.Name) {
		plain = known.Provider.Name // it keeps its name
	}
	for _, secret := range secrets {
		one := spec
		one.Provider = api.ProviderRef{Kind: kindSecret, Name: secret}
		for _, b := range best {
			if b.secret.BareName() == secret {
				one.ZoneID = zoneID(b.zone)
			}
		}
		if one.ZoneID == "" { // its Secret is gone
			for r := range p.memory().children(c.host) {
				if r.Provider.Name == secret {
					one.ZoneID = r.ZoneID
				}
			}
		}
		if secret == plain {
			p.record(c, name, "", one)
		} else {
			p.record(c, name+"-"+hash6(secret), secret, one)
		}
	}
}

// kindSecret is the kind of providers that this server answers for.
const kindSecret = "Secret"

// zoneID returns a zone's name as a DNSRecord has it.
func zoneID(origin string) string {
	if origin == "." {
		return origin
	}
	return trimDot(origin)
}

func (p *parentPolicy) memory() *memory {
	return &memory{p.in, p.state.offspring, p.policy}
}

// record adds a DNSRecord of that name, which may have to have another.
func (p *parentPolicy) record(c *claim, wanted, secret string, spec api.ChildRecord) {
	of := p.target.gateway.BareName() + "/" + c.listener + "/" + secret
	child := p.child(api.KindDNSRecord, wanted, of)
	if known, ok := p.in.DNSRecords.Get(child.Name); ok && known.Own() && p.controls(known.Controller) {
		switch {
		case !p.isOwn(known, c.host):
			child.Replace = true
		case known.ZoneID != "":
			spec.ZoneID = known.ZoneID // it cannot change
		}
	}
	child.Record = &spec
	p.all = append(p.all, child)
}

// isOwn tells whether a DNSRecord is the policy's child for a host.
func (p *parentPolicy) isOwn(r *api.DNSRecord, host string) bool {
	root, err := canonicalName(r.RootHost)
	return err == nil && root == host && r.Own() && p.controls(r.Controller)
}

func (p *parentPolicy) controls(by *api.Controller) bool { return controls(p.policy, by) }

// controls tells whether a policy is who controls an object.
func controls(p *api.DNSPolicy, by *api.Controller) bool {
	return by != nil && by.UID != "" && by.UID == p.UID
}

// probes adds the probes of what is checked of one host. probed has the targets that have one.
// What another controller publishes is not checked here.
func (p *parentPolicy) probes(c *claim, probed map[string]bool) {
	if !c.checked() || !c.policy.Provider.ServedHere() {
		return
	}
	b := p.s.reader()
	for _, address := range p.s.served(c, true) {
		target := b.claimTarget(c, c.policy, address)
		key := target.Key()
		if probed[key] {
			continue
		}
		probed[key] = true
		host := target.Host
		child := p.child(api.KindProbe, p.target.record(c.listener)+"-"+dashed(address), address+"/"+host)
		check := *c.policy.HealthCheck
		check.Host = host
		child.Probe = &api.ChildProbe{Address: address, Host: host, Check: check}
		p.all = append(p.all, child)
	}
}

// dashed returns an address, or a hostname, as a part of an object's name.
func dashed(address string) string {
	text := strings.NewReplacer(".", "-", ":", "-", "_", "-").Replace(address)
	if strings.HasSuffix(text, "-") { // 2001:db8::
		text += "0"
	}
	return text
}

// child returns a child of the policy that wants to have a name; of tells it apart from others
// that want the same.
func (p *parentPolicy) child(kind api.Kind, wanted, of string) api.Child {
	name, replace := p.name(kind, wanted, of)
	p.names[api.Ref{Kind: kind, Name: name}] = true
	return api.Child{
		Kind: kind, Name: name, Replace: replace, Labels: ownLabels,
		Owner: api.ChildOwner{Kind: api.KindDNSPolicy, Name: p.policy.Name, UID: p.policy.UID},
	}
}

// ownLabels are those of all children. Nobody changes them.
var ownLabels = map[string]string{api.LabelManagedBy: api.ManagedBy}

// The longest name of an object, and how much of one is left where a hash follows.
const (
	maxObjectName = 253
	cutObjectName = 240
)

// name returns the name of a child, and whether what has it now must go first: the one that is
// wanted, unless that is too long or another's (api.md, Written back). What a child has once
// got it keeps.
func (p *parentPolicy) name(kind api.Kind, wanted, of string) (name string, replace bool) {
	namespace := p.policy.Namespace() + "/"
	other := namespace + strings.TrimRight(wanted[:min(len(wanted), cutObjectName)], "-.") + "-" + hash6(of)
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

// object returns what there is of that kind and name; by is nil where nobody controls it, own is
// true where this server has written it.
func (p *parentPolicy) object(kind api.Kind, name string) (by *api.Controller, own, found bool) {
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

// has tells whether there is a child of the policy that has the name.
func (p *parentPolicy) has(kind api.Kind, name string) bool {
	by, own, _ := p.object(kind, name)
	return own && p.controls(by)
}

// mayHave tells whether a child may have a name, and whether another one that has it goes.
func (p *parentPolicy) mayHave(kind api.Kind, name string) (free, replace bool) {
	by, own, found := p.object(kind, name)
	switch {
	case !found || own && p.controls(by):
		return true, false
	case !own || by == nil || by.Kind != api.KindDNSPolicy.String():
		return false, false
	}
	of := p.s.parentOfChildren(p.in.Name, p.policy.Namespace()+"/"+by.Name)
	if of == nil || !controls(of.policy, by) {
		return true, true
	}
	of.plain = true
	of.make()
	for _, c := range of.all {
		if c.Kind == kind && c.Name == name {
			return false, false
		}
	}
	return true, true
}
