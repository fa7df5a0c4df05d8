package kuadrant

import (
	"maps"
	"slices"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// located is an object of a cluster.
type located struct {
	cluster string
	ref     api.Ref
}

// guardStep is one compile as the guard sees it.
type guardStep struct {
	guard    *guard
	now      time.Time
	clusters []*clusterStep
	inferred int // how many objects have gone without a report
	// companions are those of them that are held whatever becomes of the others.
	companions map[located]bool
}

// rendering is what the clusters are with some of the removals held back.
type rendering struct {
	// chosen are the objects that are held back from now on; names are what would go with
	// them.
	chosen map[located]bool
	names  map[located]zoneNames
	// clusters are in the order of those of the step.
	clusters []*guardedCluster
	snap     *records.Snapshot // what was compiled of it
}

// clusterStep is one cluster in a guardStep.
type clusterStep struct {
	in     *api.Cluster // as its source has published it
	before *api.Cluster // as it was compiled last; nil for a new one
	same   bool         // in.Changed counts from before
	was    *guardedCluster
	held   map[api.Ref]*heldObject // of was, what is held on; it is not changed
	ended  []api.Ref               // of was, what is not
	// expired is how many of ended have had their time.
	expired int
	// inferred are the objects that have gone without a report and were not held before.
	inferred []api.Ref
	// status is what is held of Gateways, and gateways what they are with that. restated
	// are the Gateways that are not as they were compiled last.
	status   map[string]*heldStatus
	gateways map[string]*api.Gateway
	restated []string
}

// look finds out what is to be decided.
func (g *guard) look(prev *records.Snapshot, clusters []*api.Cluster, now time.Time) *guardStep {
	s := &guardStep{guard: g, now: now, companions: make(map[located]bool)}
	for _, in := range clusters {
		c := &clusterStep{in: in, was: g.clusters[in.Name], status: make(map[string]*heldStatus), gateways: make(map[string]*api.Gateway)}
		if c.was == nil {
			c.was = &guardedCluster{}
		}
		for _, o := range prev.Objects().Clusters {
			if o.Name == in.Name {
				c.before, c.same = o, o.Epoch == in.Epoch && o.UID == in.UID
			}
		}
		s.clusters = append(s.clusters, c)
		if c.before == nil || g.foreign[in.Name] {
			c.letGo(now, func(api.Ref) bool { return true })
			continue
		}
		c.look(g, now)
		s.inferred += len(c.inferred)
	}
	s.accompany(s.companions)
	return s
}

// look finds out what of a cluster is held on, and what has gone.
func (c *clusterStep) look(g *guard, now time.Time) {
	inferred := refSet(c.in.Inferred)
	reported := make(map[api.Ref]bool)
	for _, ref := range c.in.Changed {
		if !inferred[ref] {
			reported[ref] = true // or it is there
		}
	}
	c.letGo(now, func(ref api.Ref) bool {
		if reported[ref] || c.same {
			return reported[ref]
		}
		return c.in.Has(ref) || !c.before.Has(ref) || !g.reads(ref) || c.in.Listings[ref.Kind].Left()
	})
	note := func(ref api.Ref) {
		if c.held[ref] == nil && c.before.Has(ref) && !c.in.Has(ref) && !reported[ref] && g.reads(ref) && !c.in.Listings[ref.Kind].Left() {
			c.inferred = append(c.inferred, ref)
		}
	}
	if c.same {
		for _, ref := range c.in.Inferred {
			note(ref)
		}
	} else {
		for k := range api.NumKinds {
			if k == api.KindDNSPolicy && g.reselected[c.in.Name] && !g.lost[c.in.Name] {
				continue
			}
			for name := range c.before.Names(k, "") {
				note(api.Ref{Kind: k, Name: name})
			}
		}
	}
	if !g.byHand[c.in.Name] {
		c.lookAtStatus(now)
	}
}

// letGo parts what is held into what is held on, and what is not: what ends is true for, and
// what has had its time.
func (c *clusterStep) letGo(now time.Time, ends func(api.Ref) bool) {
	for ref, h := range c.was.held {
		if late := !now.Before(h.until); late || ends(ref) {
			c.ended = append(c.ended, ref)
			if late {
				c.expired++
			}
		}
	}
	c.held = c.was.held
	if len(c.ended) > 0 {
		c.held = maps.Clone(c.held)
		for _, ref := range c.ended {
			delete(c.held, ref)
		}
	}
}

// lookAtStatus finds out what has vanished from the status of Gateways.
func (c *clusterStep) lookAtStatus(now time.Time) {
	look := func(name string) {
		before, was := c.before.Gateways.Get(name)
		after, is := c.in.Gateways.Get(name)
		if !was || !is {
			return
		}
		merged, h := holdStatus(before, after, c.was.status[name], c.was.held[api.Ref{Kind: api.KindGateway, Name: name}] != nil, now)
		if h != nil {
			c.status[name], c.gateways[name] = h, merged
		}
		if merged != before && (h != nil || c.was.status[name] != nil) {
			c.restated = append(c.restated, name)
		}
	}
	if !c.same {
		for name := range c.before.Gateways.All() {
			look(name)
		}
		return
	}
	seen := make(map[string]bool)
	for _, ref := range c.in.Changed {
		if ref.Kind == api.KindGateway {
			seen[ref.Name] = true
			look(ref.Name)
		}
	}
	for name := range c.was.status {
		if !seen[name] {
			look(name)
		}
	}
}

// all returns everything that could be held back.
func (s *guardStep) all() map[located]bool {
	all := make(map[located]bool, s.inferred)
	for _, c := range s.clusters {
		for _, ref := range c.inferred {
			all[located{c.in.Name, ref}] = true
		}
	}
	return all
}

// accompany adds to chosen the Secrets and probes that have gone from namespaces with
// objects that are held: a held policy goes on to be checked as it was, and to be published
// through its provider.
func (s *guardStep) accompany(chosen map[located]bool) {
	for _, c := range s.clusters {
		if !slices.ContainsFunc(c.inferred, func(ref api.Ref) bool { return !ref.Kind.HoldsNames() }) {
			continue
		}
		namespaces := make(map[string]bool)
		for ref := range c.held {
			namespaces[namespaceOf(ref.Name)] = true
		}
		for at := range chosen {
			if at.cluster == c.in.Name {
				namespaces[namespaceOf(at.ref.Name)] = true
			}
		}
		for _, ref := range c.inferred {
			if !ref.Kind.HoldsNames() && namespaces[namespaceOf(ref.Name)] {
				chosen[located{c.in.Name, ref}] = true
			}
		}
	}
}

func refSet(list []api.Ref) map[api.Ref]bool {
	set := make(map[api.Ref]bool, len(list))
	for _, ref := range list {
		set[ref] = true
	}
	return set
}

// render compiles the clusters with what is held on, and with chosen.
func (s *guardStep) render(chosen map[located]bool, compile func([]*api.Cluster) *records.Snapshot) *rendering {
	r := &rendering{chosen: chosen}
	out := make([]*api.Cluster, 0, len(s.clusters))
	for _, c := range s.clusters {
		keep := make(map[api.Ref]bool)
		for _, ref := range c.inferred {
			if chosen[located{c.in.Name, ref}] {
				keep[ref] = true
			}
		}
		g := c.render(keep)
		r.clusters = append(r.clusters, g)
		out = append(out, g.mine)
	}
	r.snap = compile(out)
	return r
}

// render returns the cluster with what is held on and the objects in keep, which it had
// before, and which kinds of it have trees of their own.
//
// A tree of the source's must not be edited here: its goroutine may be at work on the next
// one. So a kind of which something is held is copied once, and follows the source from then
// on.
func (c *clusterStep) render(keep map[api.Ref]bool) *guardedCluster {
	if len(c.held)+len(keep)+len(c.gateways)+len(c.ended)+len(c.restated) == 0 {
		return &guardedCluster{mine: c.in}
	}
	out := *c.in
	r := &guardedCluster{mine: &out}
	var kept, fresh [api.NumKinds][]string
	out.Changed = nil
	seen := make(map[api.Ref]bool, len(c.in.Changed))
	note := func(ref api.Ref) {
		if seen[ref] || c.held[ref] != nil || keep[ref] {
			return
		}
		seen[ref] = true
		out.Changed = append(out.Changed, ref)
		fresh[ref.Kind] = append(fresh[ref.Kind], ref.Name)
	}
	for _, list := range [...][]api.Ref{c.in.Changed, c.ended} {
		for _, ref := range list {
			note(ref)
		}
	}
	for _, name := range c.restated {
		note(api.Ref{Kind: api.KindGateway, Name: name})
	}
	for ref := range c.held {
		kept[ref.Kind] = append(kept[ref.Kind], ref.Name)
	}
	for ref := range keep {
		kept[ref.Kind] = append(kept[ref.Kind], ref.Name)
	}
	for k := range api.NumKinds {
		if len(kept[k]) == 0 && !(k == api.KindGateway && len(c.gateways) > 0) {
			continue
		}
		r.own[k] = true
		if c.same && c.was.own[k] {
			out.Share(k, c.was.mine)
			out.Update(k, c.in, slices.Values(fresh[k]))
			continue
		}
		out.Detach(k)
		out.Update(k, c.before, slices.Values(kept[k]))
	}
	if len(c.gateways) > 0 {
		edit := out.Gateways.Edit()
		for name, g := range c.gateways {
			edit.Set(name, g)
		}
		out.Gateways = edit.Map()
	}
	return r
}
