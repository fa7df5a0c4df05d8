package records

import (
	"net/netip"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// override marks what the operator's words concern that have changed. All words on
// targets take one look at what is published.
func (c *compiler) override() {
	if c.prev == nil {
		return
	}
	addresses := make(map[string]bool)
	for o := range c.next.in.Overrides.Changed(c.prev.in.Overrides) {
		if o.Target != "" {
			addresses[o.Target] = true
			continue
		}
		for _, s := range c.prev.clusters {
			if o.Cluster != "" && o.Cluster != s.name {
				continue
			}
			if o.Gateway != "" {
				if t, ok := s.targets.Get(o.Gateway); ok {
					c.mark(t)
				}
				continue
			}
			for _, t := range s.targets.All() {
				c.mark(t)
			}
		}
	}
	if len(addresses) == 0 {
		return
	}
	set := newTargetSet(addresses)
	for _, s := range c.prev.clusters {
		for _, t := range s.targets.All() {
			c.markAt(t, set)
		}
	}
}

// targetSet is targets as overrides name them.
type targetSet struct {
	addresses map[netip.Addr]string
	hostnames map[string]string // with a final dot
}

func newTargetSet(names map[string]bool) targetSet {
	s := targetSet{make(map[netip.Addr]string), make(map[string]string)}
	for name := range names {
		if addr, err := netip.ParseAddr(name); err == nil {
			s.addresses[addr] = name
		} else {
			s.hostnames[name+"."] = name
		}
	}
	return s
}

// in yields the names of those of s that are among the targets of a claim.
func (s targetSet) in(t *endpoint.Targets) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, l := range t.Leaves {
			for _, addrs := range [...][]netip.Addr{l.V4, l.V6} {
				for _, a := range addrs {
					if name, ok := s.addresses[a]; ok && !yield(name) {
						return
					}
				}
			}
			for _, h := range l.Hostnames {
				if name, ok := s.hostnames[h]; ok && !yield(name) {
					return
				}
			}
		}
	}
}

// meets tells whether one of s is among the targets of a claim.
func (s targetSet) meets(t *endpoint.Targets) bool {
	for range s.in(t) {
		return true
	}
	return false
}

// Unmet returns the overrides that s was compiled with and that concern nothing: no
// cluster, no Gateway, and no target of what a policy publishes.
func (s *Snapshot) Unmet() (unmet []api.Override) {
	published := make(map[string]bool)
	for o := range s.in.Overrides.All() {
		if o.Target != "" {
			published[o.Target] = true
		}
	}
	if len(published) > 0 {
		set := newTargetSet(published)
		clear(published)
		for _, c := range s.clusters {
			for _, t := range c.targets.All() {
				for _, cl := range t.Claims {
					for name := range set.in(cl.Targets) {
						published[name] = true
					}
				}
			}
		}
	}
	for o := range s.in.Overrides.All() {
		if !published[o.Target] && !s.knows(&o) {
			unmet = append(unmet, o)
		}
	}
	return unmet
}

// knows tells whether the cluster or the Gateway of an override is there.
func (s *Snapshot) knows(o *api.Override) bool {
	for i, c := range s.clusters {
		if o.Target != "" || o.Cluster != "" && o.Cluster != c.name {
			continue
		}
		if o.Gateway == "" {
			return true
		}
		if _, ok := s.in.Clusters[i].Gateways.Get(o.Gateway); ok {
			return true
		}
	}
	return false
}
