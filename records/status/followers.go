package status

import (
	"iter"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// Followers yields the objects whose status may change with the results for a target, given by its
// key, each with its cluster and some more than once: policies with their children, DNSRecords and
// DNSEndpoints, and probes of the target's address.
func (s *View) Followers(key string) iter.Seq2[string, api.Ref] {
	return func(yield func(string, api.Ref) bool) {
		t, ok := s.Checked.Get(key)
		if !ok {
			return
		}
		looked := make(map[string]bool)
		for user := range s.Checked.Users(key) {
			g, ok := s.NameGroups.Get(user)
			if !ok { // a probe's own target
				if cluster, name, ok := strings.Cut(strings.TrimPrefix(user, "/"), "/"); ok && !yield(cluster, api.Ref{Kind: api.KindProbe, Name: name}) {
					return
				}
				continue
			}
			for _, c := range g.Contenders {
				if !s.about(c, yield) {
					return
				}
				m := c.By
				if of := m.Cluster + "/" + m.Namespace(); !looked[of] {
					looked[of] = true
					if !s.probesOf(m.Cluster, m.Namespace(), t.Address, yield) {
						return
					}
				}
			}
		}
	}
}

// OfTarget returns the objects that publish a target's address at a name for which it is checked, by its key.
func (s *View) OfTarget(key string) map[Object]bool {
	all := make(map[Object]bool)
	t, ok := s.Checked.Get(key)
	if !ok {
		return all
	}
	at := NewTargetSet(map[string]bool{t.Address: true})
	for user := range s.Checked.Users(key) {
		g, ok := s.NameGroups.Get(user)
		for i := 0; ok && i < len(g.Contenders); i++ {
			if c := g.Contenders[i]; c.Targets != nil && at.Meets(c.Targets) && !g.Loses(c) {
				all[OwnerOf(c)] = true
			}
		}
	}
	return all
}

// Contenders yields the objects with contenders in a group of names, and their children, each with
// its cluster and some more than once.
func (s *View) Contenders(group string) iter.Seq2[string, api.Ref] {
	return func(yield func(string, api.Ref) bool) {
		g, ok := s.NameGroups.Get(group)
		for i := 0; ok && i < len(g.Contenders) && s.about(g.Contenders[i], yield); i++ {
		}
	}
}

// about yields a contender's object and its children; it returns false if yield does.
func (s *View) about(c *endpoint.Contender, yield func(string, api.Ref) bool) bool {
	kind, m := c.Kind, c.By
	if !yield(m.Cluster, api.Ref{Kind: kind, Name: m.Name}) {
		return false
	}
	for _, child := range s.Existing(m.Cluster, api.Ref{Kind: kind, Name: m.Name}) {
		if !yield(m.Cluster, child) {
			return false
		}
	}
	return true
}

// probesOf yields a namespace's user-written probes of an address; it returns false if yield does.
func (s *View) probesOf(cluster, namespace, address string, yield func(string, api.Ref) bool) bool {
	for _, in := range s.In.Clusters {
		if in.Name != cluster {
			continue
		}
		for name, p := range in.Probes.Beginning(namespace + "/") {
			if p.Address == address && !p.Own() && !yield(cluster, api.Ref{Kind: api.KindProbe, Name: name}) {
				return false
			}
		}
	}
	return true
}
