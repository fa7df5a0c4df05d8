package source

import (
	"k8s.io/apimachinery/pkg/labels"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// references are the Secrets that one object needs, all in its own namespace.
type references struct {
	namespace string
	// headers is the namespace/name of the Secret with headers of checks, provider that of a DNS
	// provider; "" for none.
	headers, provider string
	// selector selects DNS providers by their labels; nil for none.
	selector labels.Selector
}

// defaultProvider selects the Secrets for policies without a reference.
var defaultProvider = labels.SelectorFromSet(labels.Set{api.LabelDefaultProvider: api.DefaultProviderOn})

// referencesOf returns what an object of c refers to; the zero references for none.
func referencesOf(c *api.Cluster, ref api.Ref) (r references) {
	r.namespace = namespaceOf(ref.Name)
	var check *api.HealthCheck
	switch ref.Kind {
	case api.KindDNSPolicy:
		p, ok := c.Policies.Get(ref.Name)
		if !ok {
			return references{}
		}
		check = p.HealthCheck
		switch {
		case !p.Provider.ServedHere():
		case p.Provider.Selector != nil:
			r.selector = p.Provider.Selector
		case p.Provider.Name == "":
			r.selector = defaultProvider
		case p.Provider.Namespace == "" || p.Provider.Namespace == r.namespace:
			r.provider = r.namespace + "/" + p.Provider.Name
		}
	case api.KindDNSRecord:
		if rec, ok := c.DNSRecords.Get(ref.Name); ok {
			check = rec.HealthCheck
			if rec.Own() && rec.Provider.Name != "" && rec.Provider.ServedHere() {
				// The Secret may have been deleted or changed since.
				r.provider = r.namespace + "/" + rec.Provider.Name
			}
		}
	case api.KindProbe:
		if p, ok := c.Probes.Get(ref.Name); ok {
			check = &p.Check
		}
	}
	if check != nil && check.HeadersSecret != "" {
		r.headers = r.namespace + "/" + check.HeadersSecret
	}
	return r
}

// needs counts which Secrets are needed.
type needs struct {
	noHeaders          bool           // nobody needs headers of checks
	headers, providers map[string]int // by namespace/name
	// selectors are by namespace, then by the selector's text.
	selectors map[string]map[string]*selecting
	// fresh are the namespaces whose selectors have changed.
	fresh map[string]struct{}
}

// selecting is a selector, and the number of objects that have it.
type selecting struct {
	labels.Selector
	n int
}

func newNeeds() needs {
	return needs{
		headers: make(map[string]int), providers: make(map[string]int),
		selectors: make(map[string]map[string]*selecting), fresh: make(map[string]struct{}),
	}
}

// change replaces an object's references, and returns the names of Secrets that may have become
// needed or unneeded.
func (n *needs) change(was, is references) (names []string) {
	count := func(in map[string]int, name string, by int) {
		if name == "" {
			return
		}
		if in[name] += by; in[name] == 0 {
			delete(in, name)
		}
		names = append(names, name)
	}
	if was.headers != is.headers {
		count(n.headers, is.headers, 1)
		count(n.headers, was.headers, -1)
	}
	if was.provider != is.provider {
		count(n.providers, is.provider, 1)
		count(n.providers, was.provider, -1)
	}
	if is.selector != nil {
		n.selects(is.namespace, is.selector, 1)
	}
	if was.selector != nil {
		n.selects(was.namespace, was.selector, -1)
	}
	return names
}

func (n *needs) selects(namespace string, s labels.Selector, by int) {
	text := s.String()
	all := n.selectors[namespace]
	if all == nil {
		all = make(map[string]*selecting)
		n.selectors[namespace] = all
	}
	in := all[text]
	if in == nil {
		in = &selecting{Selector: s}
		all[text] = in
		n.fresh[namespace] = struct{}{}
	}
	if in.n += by; in.n > 0 {
		return
	}
	n.fresh[namespace] = struct{}{}
	if delete(all, text); len(all) == 0 {
		delete(n.selectors, namespace)
	}
}

// renewed returns the namespaces whose selectors have changed since the last call.
func (n *needs) renewed() (namespaces []string) {
	for ns := range n.fresh {
		namespaces = append(namespaces, ns)
	}
	clear(n.fresh)
	return namespaces
}

// providing reports whether an object refers to a DNS provider explicitly.
func (n *needs) providing() bool {
	if len(n.providers) > 0 {
		return true
	}
	for _, all := range n.selectors {
		if len(all) > 1 || all[defaultProvider.String()] == nil {
			return true
		}
	}
	return false
}

// need reports whether a Secret with these labels is needed. Headers come only from a Secret whose
// owner has consented by label (rule 4.10).
func (n *needs) need(name string, of map[string]string) bool {
	if n.providers[name] > 0 || !n.noHeaders && n.headers[name] > 0 && of[api.HeadersLabel] == api.HeadersOn {
		return true
	}
	for _, s := range n.selectors[namespaceOf(name)] {
		if s.Matches(labels.Set(of)) {
			return true
		}
	}
	return false
}
