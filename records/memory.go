package records

import (
	"fmt"
	"iter"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// memory is what a policy's children know of the Secrets that it was published through: a
// Secret that is deleted changes nothing that is served (api.md, Providers).
type memory struct {
	in        *api.Cluster
	offspring offspring
	policy    *api.DNSPolicy
}

// children yields the policy's DNSRecords for a host, those that name a Secret.
func (m *memory) children(host string) iter.Seq[*api.DNSRecord] {
	return m.naming(m.offspring.of(m.policy.Name, host))
}

// naming yields those of all that are the policy's and name a Secret.
func (m *memory) naming(all iter.Seq2[string, *api.DNSRecord]) iter.Seq[*api.DNSRecord] {
	return func(yield func(*api.DNSRecord) bool) {
		for _, r := range all {
			if controls(api.KindDNSPolicy, &m.policy.Meta, r.Controller) && r.Provider.Name != "" && r.Provider.ServedHere() && !yield(r) {
				return
			}
		}
	}
}

// gone tells whether there is no Secret of that name, as far as Secrets are known.
func (m *memory) gone(secret string) bool {
	_, there := m.in.Secrets.Get(m.policy.Namespace() + "/" + secret)
	return !there
}

// ofDefault returns a Secret that is gone, or not known yet, and that a child of a policy without a
// reference names: it was the default of its namespace. "" for none, and where Secrets are not to be
// known: nothing is guessed then.
func (m *memory) ofDefault() string {
	if m.in.Listings[api.KindSecret] == api.NotCounted && !m.in.Knows(api.KindSecret, m.policy.Namespace()) {
		return ""
	}
	for r := range m.naming(m.offspring.records(m.policy.Name)) {
		if m.gone(r.Provider.Name) {
			return r.Provider.Name
		}
	}
	return ""
}

// remembered returns the Secrets that are gone through which a host of the policy was published
// before; nil for none. It narrows what the policy publishes, as Secrets do, and widens nothing:
// the policy means those Secrets, and rule 5.1 decides as ever.
func (pr *provision) remembered(host string) (gone []string) {
	if pr.waits || pr.problem != nil && pr.problem.reason != reasonSecretMissing {
		return nil
	}
	m := &pr.memory
	for r := range m.children(host) {
		name := r.Provider.Name
		if ref := m.policy.Provider.Name; ref != "" && ref != name || slices.Contains(gone, name) {
			continue
		}
		if !m.gone(name) {
			continue // it is none of the policy's, or says something else now
		}
		if zone, err := rdata.Canonical(absolute(r.ZoneID)); err == nil && pr.served(zone) && rdata.IsSubdomain(zone, rdata.Base(host)) {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	return gone
}

// noteGone says that a host is served although its Secrets are gone.
func (t *target) noteGone(p *api.DNSPolicy, host string, gone []string) {
	for _, name := range gone {
		t.notes = append(t.notes, note{policy: p, host: trimDot(host), condition: api.Condition{
			Type: conditionProvider, Status: api.ConditionFalse, Reason: reasonSecretMissing,
			Message: fmt.Sprintf("The dns provider could not be loaded: secrets %q not found: the host is served as before, as its DNSRecord says", name),
		}})
	}
}

// noteZones says where a host's DNSRecord is in another zone than its Secret has for it now: it
// cannot change.
func (t *target) noteZones(pr *provision, p *api.DNSPolicy, host, listener string, best []chosen) {
	for r := range pr.memory.children(host) {
		zone, ok := zoneFor(r, t.record(listener), best)
		if !ok || zone == zoneOfRecord(r) {
			continue
		}
		t.notes = append(t.notes, note{policy: p, host: trimDot(host), condition: api.Condition{
			Type: conditionZone, Status: api.ConditionFalse, Reason: reasonZoneKept,
			Message: fmt.Sprintf("DNSRecord %s keeps its zoneID %s, which cannot change, and its dns provider has the zone %s for the host now: delete the DNSRecord to have it written anew",
				r.BareName(), api.Cut(r.ZoneID, maxValue), trimDot(zone)),
		}})
	}
}

// zoneFor returns the zone that the chosen providers have for a child, of the listener whose
// DNSRecord has the name plain; ok is false where the child goes.
func zoneFor(r *api.DNSRecord, plain string, best []chosen) (zone string, ok bool) {
	for _, c := range best {
		if c.secret.BareName() == r.Provider.Name {
			return c.zone, true
		}
	}
	if len(best) == 0 || r.BareName() != plain {
		return "", false
	}
	return best[0].zone, true
}

// zoneOfRecord returns the zone that a DNSRecord names, as the names of zones are; its zoneID
// where that is no name.
func zoneOfRecord(r *api.DNSRecord) string {
	if zone, err := rdata.Canonical(absolute(r.ZoneID)); err == nil {
		return zone
	}
	return r.ZoneID
}

// sameMemory tells whether two versions of a DNSRecord, which may be nil, are the same child to
// its policy.
func sameMemory(a, b *api.DNSRecord) bool {
	if a == nil || b == nil {
		return a == b
	}
	key := recordKey(a)
	if key != recordKey(b) {
		return false
	}
	// A child has a controller; what is nobody's child may have lost it.
	return key == "" || a.ZoneID == b.ZoneID && a.Provider.Name == b.Provider.Name && a.Provider.Kind == b.Provider.Kind && *a.Controller == *b.Controller
}

// concernedByRecord yields the Gateway whose policy remembers something else by a DNSRecord that
// has changed, and has what is said of a policy said anew that another controller publishes.
func (e *clusterEdit) concernedByRecord(before *api.Cluster, set *zoneSet, opt *Options, name string, yield func(gateway string)) {
	was, _ := before.DNSRecords.Get(name)
	is, _ := e.in.DNSRecords.Get(name)
	same := sameMemory(was, is)
	for _, r := range [...]*api.DNSRecord{was, is} {
		if r == nil {
			continue
		}
		p, ok := e.in.Policies.Get(recordParent(r).Name)
		switch {
		case !ok || !controls(api.KindDNSPolicy, &p.Meta, r.Controller):
		case !p.Provider.ServedHere():
			if t, ok := e.targets.Get(p.TargetName()); ok {
				e.unsettle(p.Name, t)
			}
		case !same && e.remembersBy(set, opt, p, r):
			yield(p.TargetName())
		}
	}
}

// remembersBy tells whether a child may matter to what is published: its Secret is gone, or has
// another zone for the host, or the policy has no provider but what its children remember.
func (e *clusterEdit) remembersBy(set *zoneSet, opt *Options, p *api.DNSPolicy, r *api.DNSRecord) bool {
	if r.Provider.Name == "" || e.in.Listings[api.KindSecret] == api.NotWatched {
		return false
	}
	pr := provisionOf(e.in, set, opt, p, e.state.offspring)
	if pr == nil {
		return r.Provider.ServedHere()
	}
	host, err := rdata.Canonical(r.RootHost)
	if err != nil {
		return pr.problem != nil
	}
	best, _, _ := pr.choose(host)
	zone, ok := zoneFor(r, r.BareName(), best)
	return !ok || zone != zoneOfRecord(r)
}

// rememberedIn returns, by the Secrets of a namespace, the Gateways of policies without a reference
// whose children name them. It looks at all children there, once.
func (e *clusterEdit) rememberedIn(namespace string) map[string][]string {
	known, ok := e.remembered[namespace]
	if ok {
		return known
	}
	for _, r := range beginning(e.state.offspring.byHost, namespace+"/") {
		p, ok := e.in.Policies.Get(recordParent(r).Name)
		if !ok || p.Provider.Name != "" || p.Provider.Selector != nil || r.Provider.Name == "" {
			continue
		}
		if known == nil {
			known = make(map[string][]string)
		}
		known[r.Provider.Name] = append(known[r.Provider.Name], p.TargetName())
	}
	if e.remembered == nil {
		e.remembered = make(map[string]map[string][]string)
	}
	e.remembered[namespace] = known
	return known
}
