package status

import (
	"iter"
	"net/netip"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// TargetSet is a set of addresses and hostnames, as overrides and probes name them.
type TargetSet struct {
	addresses map[netip.Addr]string // to the name
	hostnames map[string]string     // with a final dot
}

// NewTargetSet returns the set of those names, which have no final dot.
func NewTargetSet(names map[string]bool) TargetSet {
	s := TargetSet{make(map[netip.Addr]string), make(map[string]string)}
	for name := range names {
		if addr, err := netip.ParseAddr(name); err == nil {
			s.addresses[addr] = name
		} else {
			s.hostnames[name+"."] = name
		}
	}
	return s
}

// In yields the names in s that a contender publishes, or has checked.
func (s TargetSet) In(t *endpoint.Targets) iter.Seq[string] {
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
		if t.Probed != nil { // rule 9.6
			s.In(t.Probed)(yield)
		}
	}
}

// Meets reports whether one of s is among a contender's targets.
func (s TargetSet) Meets(t *endpoint.Targets) bool {
	for range s.In(t) {
		return true
	}
	return false
}

// Unmet returns the overrides in force that match nothing: no cluster, no Gateway, and no target
// that a policy publishes.
func (s *View) Unmet() (unmet []api.Override) {
	published := make(map[string]bool)
	for o := range s.In.Overrides.All() {
		if o.Target != "" {
			published[o.Target] = true
		}
	}
	if len(published) > 0 {
		set := NewTargetSet(published)
		clear(published)
		for _, c := range s.Clusters {
			for who := range c.Contenders("") {
				for name := range set.In(who.Targets) {
					published[name] = true
				}
			}
		}
	}
	for o := range s.In.Overrides.All() {
		if !published[o.Target] && !s.knows(&o) {
			unmet = append(unmet, o)
		}
	}
	return unmet
}

// knows reports whether the cluster or the Gateway of an override exists.
func (s *View) knows(o *api.Override) bool {
	for i, c := range s.Clusters {
		if o.Target != "" || o.Cluster != "" && o.Cluster != c.Name {
			continue
		}
		if o.Gateway == "" {
			return true
		}
		if _, ok := s.In.Clusters[i].Gateways.Get(o.Gateway); ok {
			return true
		}
	}
	return false
}
