package status

import (
	"cmp"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// Sharer is one of the objects that share a host, with its settings for the whole host (rule 5.6).
type Sharer struct {
	Object
	// DefaultGeo is the default code of a policy; "" for none.
	DefaultGeo string
	// Empty says why it has no address for the host; "" if it has one.
	Empty string
}

// Sharers returns the objects that share a host, the owner first, whose settings for the whole host count. host is in lower case with a
// final dot.
func (s *View) Sharers(host string) (all []Sharer) {
	g, ok := s.NameGroups.Get(endpoint.GroupKey(host))
	if !ok {
		return nil
	}
	for _, c := range g.Contenders {
		if c.Host == host && !g.Loses(c) && !c.Unread {
			all = append(all, sharerOf(c))
		}
	}
	return all
}

// sharerOf returns a contender's settings for its whole host.
func sharerOf(c *endpoint.Contender) Sharer {
	s := Sharer{Object: OwnerOf(c), DefaultGeo: c.DefaultGeo()}
	if !c.Targets.Usable() {
		s.Empty = whyEmpty(c)
	}
	return s
}

// whyEmpty says why a contender has no usable address (rule 1.5).
func whyEmpty(c *endpoint.Contender) string {
	listed := cmp.Or(c.Targets.Annotation, "status.addresses")
	switch {
	case c.Kind != api.KindDNSPolicy:
		return "none of its targets can be served"
	case c.Targets.Listed == 0:
		return "its Gateway has none in " + listed
	case endpoint.Without(endpoint.ResolveTargets(c.Gateway, &api.DNSPolicy{Meta: c.Policy.Meta}, ""), c.Host).Usable():
		return "spec.excludeAddresses takes away all that can be served of its Gateway's"
	}
	return "none of its Gateway's in " + listed + " can be served"
}
