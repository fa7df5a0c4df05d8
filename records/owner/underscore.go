package owner

import (
	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// Names with a label that begins with _ directly below a name that a namespace has, such as _acme-challenge.www and
// s1._domainkey.www, are for that namespace, the administering one, and those that a pattern with such a label names (rule 5.9).

// Strange reports whether an object may not publish at a name which is bound to the one above: another namespace than its own
// has that, for owner; nil for nobody.
func Strange(owner *endpoint.Contender, m *api.Meta) bool {
	return owner != nil && !owner.By.SameNamespace(m)
}

// NotBelow says that a name belongs to the namespace of the owner of the one above.
func NotBelow(owner *endpoint.Contender, m *api.Meta) *endpoint.Problem {
	return endpoint.Problemf(endpoint.ReasonConflicted, "names with _ labels below %s are reserved for the namespace of its owner, %s %s",
		endpoint.TrimDot(owner.Host), owner.Kind, endpoint.InCluster(owner.By, m))
}
