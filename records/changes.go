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
	// again are the namespaces in which everything is made again that depends on Secrets.
	again []string
	// renewed are the DNSRecords that were made anew, some of them perhaps gone.
	renewed []string
	// concerned is what the probes are about that have changed, by namespace; nil
	// where none has.
	concerned map[string]*subjects
}

// groupChange is what one compile takes from a group and adds to it.
type groupChange struct {
	key   string
	drop  map[*endpoint.Contender]struct{} // nil for none
	add   []*endpoint.Contender
	names []string          // at which records of several namespaces have met
	group *status.NameGroup // what came of it, once resolved
}

// policyChange is what happens to the policies of one target.
type policyChange struct {
	gateway string
	drop    []string // names
	add     []*api.DNSPolicy
}

// attach renews the targets that a change concerns (rule 1).
func (c *compiler) attach() {
	for i, e := range c.clusters {
		var before *api.Cluster
		if c.prev != nil {
			before = c.prev.In.Clusters[i]
		}
		for _, change := range e.changes(c, before) {
			c.renew(e, change)
		}
	}
}

// changes returns, for each Gateway, the policies that come and go. A Gateway
// that changed itself is among them. before is nil where everything is new;
// the Gateways are roughly in the order of their names then, which keeps
// changes to the trees close together.
func (e *clusterEdit) changes(c *compiler, before *api.Cluster) []*policyChange {
	n := len(e.in.Changed)
	if before == nil {
		n = e.in.Policies.Len()
	}
	changes := make(map[string]*policyChange, n)
	order := make([]*policyChange, 0, n)
	at := func(name string) *policyChange {
		ch := changes[name]
		if ch == nil {
			ch = &policyChange{gateway: name}
			changes[name] = ch
			order = append(order, ch)
		}
		return ch
	}
	if before == nil {
		for _, p := range e.in.Policies.All() {
			ch := at(p.TargetName())
			ch.add = append(ch.add, p)
		}
		return order
	}
	for _, namespace := range e.again {
		for _, p := range e.in.Policies.Beginning(namespace + "/") {
			at(p.TargetName())
		}
	}
	for _, ref := range e.in.Changed {
		switch ref.Kind {
		case api.KindGateway:
			at(ref.Name)
		case api.KindDNSRecord:
			c.lookElsewhere(e, before, ref.Name)
		case api.KindDNSPolicy:
			if p, ok := before.Policies.Get(ref.Name); ok {
				ch := at(p.TargetName())
				ch.drop = append(ch.drop, ref.Name)
				c.look(e.in.Name, ref.Kind, ref.Name)
			}
			if p, ok := e.in.Policies.Get(ref.Name); ok {
				ch := at(p.TargetName())
				ch.add = append(ch.add, p)
			}
		}
	}
	return order
}

// renew makes the target of one Gateway anew and marks what depends on it.
func (c *compiler) renew(e *clusterEdit, change *policyChange) {
	t := &endpoint.Target{}
	gateway := change.gateway
	if g, ok := e.in.Gateways.Get(gateway); ok && !g.Deleting {
		t.Gateway = g
		gateway = g.Name // one piece of memory
	}
	var old *endpoint.Target
	if c.prev != nil {
		old, _ = e.targets.Get(gateway)
	}
	if old != nil {
		t.Policies = slices.DeleteFunc(slices.Clone(old.Policies), func(p *api.DNSPolicy) bool {
			return slices.Contains(change.drop, p.Name)
		})
		for _, who := range old.Contenders {
			c.change(who).lose(who)
		}
	}
	t.Policies = append(t.Policies, slices.DeleteFunc(change.add, func(p *api.DNSPolicy) bool { return p.Deleting })...)
	if len(t.Policies) == 0 {
		e.targets.Delete(gateway)
		return
	}
	slices.SortFunc(t.Policies, func(a, b *api.DNSPolicy) int {
		return cmp.Or(btoi(a.Missing)-btoi(b.Missing), a.Older(&b.Meta)) // all are of one namespace
	})
	around := c.around
	around.UID = e.state.UID
	around.Providers = func(p *api.DNSPolicy) *endpoint.Provision {
		return endpoint.ProvidersOf(c.next.Table, c.next.Opt, &c.next.In, e.in, p, t.Gateway)
	}
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

// change returns the change of the group that who belongs to.
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
	}
	return ch
}

// lose notes that a contender of the group goes.
func (ch *groupChange) lose(who *endpoint.Contender) {
	if ch.drop == nil {
		ch.drop = make(map[*endpoint.Contender]struct{}, 1)
	}
	ch.drop[who] = struct{}{}
}

// findAgain finds the namespaces of a cluster in which everything is made again that depends on Secrets: those with a Secret that
// has changed, and those of a line of the registry that has changed and names a Secret which does not exist.
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
			line, _ := in.Registered(key)
			if line.Secret == "" {
				continue
			}
			if _, exists := e.in.Secrets.Get(line.Namespace() + "/" + line.Secret); !exists {
				add(line.Namespace())
			}
		}
	}
}

// lookElsewhere has the policies looked at whose DNSRecord of that namespace/name has changed, where another controller serves
// them: its word is on the DNSRecord.
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
