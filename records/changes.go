package records

import (
	"cmp"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/status"
)

// clusterEdit is the next version of a status.Cluster.
type clusterEdit struct {
	in       *api.Cluster
	state    *status.Cluster
	targets  *tree.Edit[*endpoint.Target]
	verdicts *tree.Edit[*api.Verdict]
	records  *tree.Edit[*endpoint.Record]
	// again are the namespaces in which everything that depends on Secrets is made anew.
	again []string
	// renewed are the DNSRecords that were made anew; some may be gone.
	renewed []string
	// concerned has the subjects of changed probes, by namespace; nil if none has changed.
	concerned map[string]*subjects
}

// groupChange is what one compile takes from a group and adds to it.
type groupChange struct {
	key   string
	drop  map[*endpoint.Contender]struct{} // nil for none
	add   []*endpoint.Contender
	names []string          // at which records of several namespaces met
	group *status.NameGroup // the result, once resolved
}

// policyChange is a change to one target's policies. With neither drop nor add, the target itself has changed.
type policyChange struct {
	gateway string
	drop    string // its name
	add     *api.DNSPolicy
}

// attach renews the targets affected by a change (rule 1).
func (c *compiler) attach() {
	for i, e := range c.clusters {
		var before *api.Cluster
		if c.prev != nil {
			before = c.prev.In.Clusters[i]
		}
		around := c.around
		around.UID = e.state.UID
		around.Providers = func(p *api.DNSPolicy, g *api.Gateway) *endpoint.Provision {
			return endpoint.ProvidersOf(c.next.Table, c.next.Opt, &c.next.In, e.in, p, g)
		}
		changes := e.changes(c, before)
		slices.SortFunc(changes, func(a, b policyChange) int { return strings.Compare(a.gateway, b.gateway) })
		for from, to := 0, 0; from < len(changes); from = to {
			for to < len(changes) && changes[to].gateway == changes[from].gateway {
				to++
			}
			c.renew(e, changes[from:to], &around)
		}
	}
}

// changes returns the policies that come and go, including those of a Gateway that changed itself. before is nil if everything is new.
func (e *clusterEdit) changes(c *compiler, before *api.Cluster) (all []policyChange) {
	if before == nil {
		all = make([]policyChange, 0, e.in.Policies.Len())
		for _, p := range e.in.Policies.All() {
			all = append(all, policyChange{gateway: p.TargetName(), add: p})
		}
		return all
	}
	for _, namespace := range e.again {
		for _, p := range e.in.Policies.Beginning(namespace + "/") {
			all = append(all, policyChange{gateway: p.TargetName()})
		}
	}
	for _, ref := range e.in.Changed {
		switch ref.Kind {
		case api.KindGateway:
			all = append(all, policyChange{gateway: ref.Name})
		case api.KindDNSRecord:
			c.lookElsewhere(e, before, ref.Name)
		case api.KindDNSPolicy:
			if p, ok := before.Policies.Get(ref.Name); ok {
				all = append(all, policyChange{gateway: p.TargetName(), drop: ref.Name})
				c.look(e.in.Name, ref.Kind, ref.Name)
			}
			if p, ok := e.in.Policies.Get(ref.Name); ok {
				all = append(all, policyChange{gateway: p.TargetName(), add: p})
			}
		}
	}
	return all
}

// renew makes one Gateway's target anew and marks what depends on it.
func (c *compiler) renew(e *clusterEdit, changes []policyChange, around *endpoint.Surroundings) {
	t := &endpoint.Target{}
	gateway := changes[0].gateway
	if g, ok := e.in.Gateways.Get(gateway); ok {
		gateway = g.Name // one piece of memory
		if t.Leaving = g.Deleting; !t.Leaving {
			t.Gateway = g
		}
	}
	var old *endpoint.Target
	if c.prev != nil {
		old, _ = e.targets.Get(gateway)
	}
	if old != nil {
		t.Policies = slices.DeleteFunc(slices.Clone(old.Policies), func(p *api.DNSPolicy) bool {
			return slices.ContainsFunc(changes, func(ch policyChange) bool { return ch.drop == p.Name })
		})
		for _, who := range old.Contenders {
			c.change(who).lose(who)
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
		return cmp.Or(btoi(a.Missing)-btoi(b.Missing), a.Older(&b.Meta)) // all are in one namespace
	})
	t.Attach(around)
	pool.NoteAnnotations(t)
	for _, who := range t.Contenders {
		ch := c.change(who)
		ch.add = append(ch.add, who)
	}
	for _, p := range t.Policies {
		c.look(e.in.Name, api.KindDNSPolicy, p.Name)
	}
	e.targets.Set(gateway, t)
}

// change returns the change of who's group.
func (c *contest) change(who *endpoint.Contender) *groupChange {
	return c.changeOf(endpoint.GroupKey(who.Host))
}

// changeOf returns the change of the group with that key.
func (c *contest) changeOf(key string) *groupChange {
	ch := c.dirty[key]
	if ch == nil {
		ch = &groupChange{key: key}
		c.dirty[key] = ch
		c.order = append(c.order, ch)
		turn := turnOf(key)
		c.due[turn] = append(c.due[turn], ch)
	}
	return ch
}

// lose notes that a contender leaves the group.
func (ch *groupChange) lose(who *endpoint.Contender) {
	if ch.drop == nil {
		ch.drop = make(map[*endpoint.Contender]struct{}, 1)
	}
	ch.drop[who] = struct{}{}
}

// findAgain finds a cluster's namespaces in which everything that depends on Secrets is made anew: those with a changed Secret, and those
// of a changed registry line that names a missing Secret, or one of several defaults.
func (c *compiler) findAgain(e *clusterEdit) {
	add := func(namespace string) {
		if !slices.Contains(e.again, namespace) {
			e.again = append(e.again, namespace)
		}
	}
	for _, ref := range e.in.Changed {
		if ref.Kind == api.KindSecret {
			namespace, _, _ := strings.Cut(ref.Name, "/")
			add(namespace)
		}
	}
	for _, key := range c.next.In.AcquiredChanged {
		for _, in := range [...]*api.Objects{&c.prev.In, &c.next.In} {
			line, _ := in.Line(key)
			if line.Secret == "" {
				continue
			}
			if _, exists := e.in.Secrets.Get(line.Namespace() + "/" + line.Secret); !exists || endpoint.SeveralDefaults(e.in, line.Namespace()) {
				add(line.Namespace())
			}
		}
	}
}

// lookElsewhere has policies that another controller serves looked at if their DNSRecord, given as namespace/name, has changed: the other
// controller reports on the DNSRecord.
func (rep *reporter) lookElsewhere(e *clusterEdit, before *api.Cluster, name string) {
	was, _ := before.DNSRecords.Get(name)
	is, _ := e.in.DNSRecords.Get(name)
	for _, r := range [...]*api.DNSRecord{was, is} {
		if r == nil {
			continue
		}
		p, ok := e.in.Policies.Get(endpoint.RecordParent(r).Name)
		if !ok || p.Provider.ServedHere() || !status.Controls(api.KindDNSPolicy, &p.Meta, r.Controller) {
			continue
		}
		rep.look(e.in.Name, api.KindDNSPolicy, p.Name)
	}
}
