package records

import (
	"cmp"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/boolean"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/status"
)

// policyChange is a change to one target's policies. With neither drop nor add, the target itself has changed.
type policyChange struct {
	gateway string
	drop    string // its name
	add     *api.DNSPolicy
}

// attachPolicies makes the targets of policies anew that changes affect: Gateways and their policies → contenders (rule 1).
func attachPolicies(clusters clusterSet, zones *zoneSet, dirty *dirty) {
	around := endpoint.Surroundings{Place: zones.placeOf, MayPublish: zones.mayPublish, Zone: zones.optionsAt, Taken: zones.taken}
	for i, e := range clusters {
		around.UID = e.state.UID
		around.Providers = func(p *api.DNSPolicy, g *api.Gateway) *endpoint.Provision {
			return endpoint.ProvidersOf(zones.table, zones.opt, zones.in, e.in, p, g)
		}
		var secrets []string
		if e.before != nil {
			secrets = dirty.secrets[i]
		}
		changes := e.policyChanges(secrets, dirty)
		slices.SortFunc(changes, func(a, b policyChange) int { return strings.Compare(a.gateway, b.gateway) })
		for from, to := 0, 0; from < len(changes); from = to {
			for to < len(changes) && changes[to].gateway == changes[from].gateway {
				to++
			}
			e.attach(changes[from:to], &around, dirty)
		}
	}
}

// policyChanges returns the policies that come and go, including those of a Gateway that changed itself, and all in namespaces whose secrets
// changed.
func (e *clusterEdit) policyChanges(secrets []string, dirty *dirty) (all []policyChange) {
	if e.before == nil {
		all = make([]policyChange, 0, e.in.Policies.Len())
		for _, p := range e.in.Policies.All() {
			all = append(all, policyChange{gateway: p.TargetName(), add: p})
		}
		return all
	}
	for _, namespace := range secrets {
		for _, p := range e.in.Policies.Beginning(namespace + "/") {
			all = append(all, policyChange{gateway: p.TargetName()})
		}
	}
	for _, ref := range e.in.Changed {
		switch ref.Kind {
		case api.KindGateway:
			all = append(all, policyChange{gateway: ref.Name})
		case api.KindDNSRecord:
			for _, p := range e.reportedBy(ref.Name) {
				dirty.object(e.in.Name, api.KindDNSPolicy, p)
			}
		case api.KindDNSPolicy:
			if p, ok := e.before.Policies.Get(ref.Name); ok {
				all = append(all, policyChange{gateway: p.TargetName(), drop: ref.Name})
				dirty.object(e.in.Name, ref.Kind, ref.Name)
			}
			if p, ok := e.in.Policies.Get(ref.Name); ok {
				all = append(all, policyChange{gateway: p.TargetName(), add: p})
			}
		}
	}
	return all
}

// attach makes one Gateway's target anew.
func (e *clusterEdit) attach(changes []policyChange, around *endpoint.Surroundings, dirty *dirty) {
	t := &endpoint.Target{}
	gateway := changes[0].gateway
	if g, ok := e.in.Gateways.Get(gateway); ok {
		gateway = g.Name // one piece of memory
		if t.Leaving = g.Deleting; !t.Leaving {
			t.Gateway = g
		}
	}
	if e.before != nil {
		if old, _ := e.targets.Get(gateway); old != nil {
			t.Policies = slices.DeleteFunc(slices.Clone(old.Policies), func(p *api.DNSPolicy) bool {
				return slices.ContainsFunc(changes, func(ch policyChange) bool { return ch.drop == p.Name })
			})
			for _, who := range old.Contenders {
				dirty.lose(who)
			}
		}
	}
	for _, ch := range changes {
		if ch.add != nil && !ch.add.Deleting {
			t.Policies = append(t.Policies, ch.add)
		}
	}
	if len(t.Policies) == 0 {
		e.targets.Delete(gateway)
		return
	}
	slices.SortFunc(t.Policies, func(a, b *api.DNSPolicy) int {
		return cmp.Or(boolean.Int(a.Missing)-boolean.Int(b.Missing), a.Older(&b.Meta)) // all are in one namespace
	})
	t.Attach(around)
	pool.NoteAnnotations(t)
	for _, who := range t.Contenders {
		dirty.gain(who)
	}
	for _, p := range t.Policies {
		dirty.object(e.in.Name, api.KindDNSPolicy, p.Name)
	}
	e.targets.Set(gateway, t)
}

// reportedBy returns the policies that a DNSRecord of that namespace/name, which has changed, is or was a child of, if another controller
// serves both: it reports on the DNSRecord.
func (e *clusterEdit) reportedBy(name string) (policies []string) {
	was, _ := e.before.DNSRecords.Get(name)
	is, _ := e.in.DNSRecords.Get(name)
	for _, r := range [...]*api.DNSRecord{was, is} {
		if r == nil {
			continue
		}
		p, ok := e.in.Policies.Get(endpoint.RecordParent(r).Name)
		if ok && !p.Provider.ServedHere() && status.Controls(api.KindDNSPolicy, &p.Meta, r.Controller) {
			policies = append(policies, p.Name)
		}
	}
	return policies
}
