package source

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// Selection says which objects of a cluster to read. The zero Selection means all.
type Selection struct {
	// Namespaces are the namespaces to read; none means all.
	Namespaces []string
	// Policies selects DNSPolicies by their labels; nil selects all.
	Policies labels.Selector
	// Kinds are the kinds to read; none means all.
	Kinds []api.Kind
	// NoSecrets leaves out Secrets, whatever Kinds says.
	NoSecrets bool
	// NoHeaders leaves out Secrets needed only for headers of checks.
	NoHeaders bool
	// Pools says in which namespaces objects pool with those of other clusters; the zero Pools
	// means all. The source records it in the objects (api.Meta.Apart).
	Pools api.Pools
}

// Watches reports whether kind is read.
func (s *Selection) Watches(kind api.Kind) bool {
	return (len(s.Kinds) == 0 || slices.Contains(s.Kinds, kind)) && !(s.NoSecrets && kind == api.KindSecret)
}

// selector returns the label selector that applies to kind; "" for none.
func (s *Selection) selector(kind api.Kind) string {
	if kind == api.KindDNSPolicy && s.Policies != nil {
		return s.Policies.String()
	}
	return ""
}

// namespaces returns the namespaces to read, sorted and each once; the one entry "" for all.
func (s *Selection) namespaces() []string {
	if len(s.Namespaces) == 0 {
		return []string{""}
	}
	return slices.Compact(slices.Sorted(slices.Values(s.Namespaces)))
}

// takes reports whether to read the object of this kind and name ("namespace/name"), with the JSON
// data.
func (s *Selection) takes(kind api.Kind, name string, data []byte) bool {
	if !s.Watches(kind) {
		return false
	}
	if ns, _, _ := strings.Cut(name, "/"); len(s.Namespaces) > 0 && !slices.Contains(s.Namespaces, ns) {
		return false
	}
	return kind != api.KindDNSPolicy || s.Policies == nil || s.Policies.Matches(labels.Set(readLabels(data)))
}
