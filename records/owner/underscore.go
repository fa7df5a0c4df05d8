package owner

import (
	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// Names with a label that begins with _ directly below a namespace's name, such as _acme-challenge.www and s1._domainkey.www, belong to
// that namespace, the administering one, and those that a pattern with such a label names (rule 5.9).

// Strange reports whether an object may not publish at a name bound to the one above, because that belongs to another namespace, owner's;
// nil for nobody's.
func Strange(owner *endpoint.Contender, m *api.Meta) bool {
	return owner != nil && !owner.By.SameNamespace(m)
}

// NotBelow returns the problem that a name belongs to the namespace that owns the one above.
func NotBelow(owner *endpoint.Contender, m *api.Meta) *endpoint.Problem {
	return endpoint.Problemf(endpoint.ReasonConflicted,
		"names with _ labels below %s are reserved for the namespace of its owner, %s %s: "+
			"publish there, or ask for a grant that names the label",
		endpoint.TrimDot(owner.Host), owner.Kind, endpoint.InCluster(owner.By, m))
}
