package endpoint

import (
	"cmp"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// Targets are the usable addresses of a Gateway under one policy.
type Targets struct {
	Leaves []Member
	// Annotation is the Gateway's annotation that lists them; "" if its status does (rule 9.6).
	Annotation string
	// Listed is how many are listed there, usable or not.
	Listed int
	// Probed are checked in place of Leaves; nil if those are themselves (rule 9.6).
	Probed *Targets
	// mixed is true if single- and multi-cluster types are mixed: the policy is not enforced (rule
	// 1.3).
	mixed bool
	// faults says which addresses were skipped and why.
	faults []string
}

// Usable reports whether there is anything to answer with.
func (t *Targets) Usable() bool { return len(t.types()) > 0 }

// ResolveTargets reads a Gateway's addresses, except those that one of its policies excludes (rules 1.3 and 9.6), with weights and codes
// (rule 2.5). It keeps the order and drops duplicates. uid is the identity of the Gateway's own cluster (C of rule 2.3).
func ResolveTargets(g *api.Gateway, p *api.DNSPolicy, uid string) *Targets {
	t, list := &Targets{}, g.Addresses
	if p.Of(api.Targets) == api.TargetsAnnotation {
		if list = t.annotated(g); p.Of(api.ProbeAddress) == api.ProbeAddressStatus {
			// What is excluded is not published, but can be checked.
			first := &api.Gateway{Addresses: g.Addresses[:min(len(g.Addresses), maxProbed)]}
			t.Probed = ResolveTargets(first, &api.DNSPolicy{}, uid)
		}
	}
	switch t.Listed = len(list); {
	case t.Annotation == "":
	case t.Listed == 0:
		t.fault("missing or empty; publishing no address; write it, or remove %s from the policy", api.Targets.Annotation())
	case t.Listed > maxParts:
		t.fault("it has %d entries; only the first %d are read", t.Listed, maxParts)
	}
	var single, multi bool
	for _, a := range list[:min(len(list), maxParts)] {
		cluster, value := "", a.Value
		switch a.Type {
		case api.IPAddress, api.HostnameAddress:
			single = true
		case api.MultiClusterIPAddress, api.MultiClusterHostnameAddress:
			multi = true
			if c, v, ok := strings.Cut(a.Value, "/"); ok {
				if cluster, value = c, v; c == "" {
					t.fault("address %q has no cluster before the slash", a.Value)
					continue
				}
			}
		default:
			t.fault("address %q has the unknown type %q", a.Value, string(a.Type))
			continue
		}
		switch a.Type {
		case api.IPAddress, api.MultiClusterIPAddress:
			t.addIP(cluster, value, p.Exclude)
		default:
			t.addHostname(cluster, value, p.Exclude)
		}
	}
	for i := range t.Leaves {
		m := &t.Leaves[i]
		own := memberLabels(g.Labels, m.Cluster)
		m.Cluster, m.Weight, m.Geo = cmp.Or(m.Cluster, uid), memberWeight(p, own), memberGeo(p, own)
	}
	t.mixed = single && multi
	return t
}

// maxProbed bounds the status addresses that are checked in place of others: each query for those reads all. An API server allows as many.
const maxProbed = 16

// annotated returns the addresses and hostnames that a Gateway's annotation lists.
func (t *Targets) annotated(g *api.Gateway) (list []api.Address) {
	for _, t.Annotation = range [...]string{api.AnnotationTarget, api.AnnotationTargetAlpha} {
		for value := range strings.SplitSeq(g.Annotations[t.Annotation], ",") {
			a := api.Address{Type: api.HostnameAddress, Value: strings.TrimSpace(value)}
			if _, err := netip.ParseAddr(a.Value); err == nil {
				a.Type = api.IPAddress
			}
			if a.Value != "" {
				list = append(list, a)
			}
		}
		if list != nil {
			return list
		}
	}
	t.Annotation = api.AnnotationTarget
	return nil
}

// fault notes a problem with an address.
func (t *Targets) fault(format string, args ...any) {
	t.faults = append(t.faults, fmt.Sprintf(format, args...))
}

// All yields the addresses and hostnames, those without final dots.
func (t *Targets) All() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range t.Leaves {
			l := &t.Leaves[i]
			for _, a := range slices.Concat(l.V4, l.V6) {
				if !yield(a.String()) {
					return
				}
			}
			for _, h := range l.Hostnames {
				if !yield(TrimDot(h)) {
					return
				}
			}
		}
	}
}

// addIP adds an IP address, unless it is excluded.
func (t *Targets) addIP(cluster, value string, exclude []api.Exclusion) {
	addr, err := netip.ParseAddr(value)
	if err != nil || addr.Zone() != "" {
		t.fault("address %q is not an IP address", value)
		return
	}
	if why := rdata.NoHost(addr); why != "" {
		t.fault("address %q is not one that a host can have: %s", value, why)
		return
	}
	if slices.ContainsFunc(exclude, func(e api.Exclusion) bool {
		return e.Hostname == "" && e.Prefix.Contains(addr)
	}) {
		return
	}
	l := t.leaf(cluster)
	list := &l.V6
	if addr.Is4() {
		list = &l.V4
	}
	if !slices.Contains(*list, addr) {
		*list = append(*list, addr)
	}
}

// addHostname adds a hostname, unless it is excluded.
func (t *Targets) addHostname(cluster, value string, exclude []api.Exclusion) {
	name, err := rdata.Target(value)
	_, ip := netip.ParseAddr(value)
	switch wrong := api.NotASCII(value); {
	case wrong != "":
		t.fault("address %q %s", value, wrong)
		return
	case err != nil && t.Annotation != "":
		t.fault("%q is neither an IP address nor a hostname", value)
		return
	case err != nil || ip == nil:
		t.fault("address %q is not a hostname", value)
		return
	}
	if slices.ContainsFunc(exclude, func(e api.Exclusion) bool {
		return e.Hostname != "" && e.Hostname+"." == name
	}) {
		return
	}
	l := t.leaf(cluster)
	if !slices.Contains(l.Hostnames, name) {
		l.Hostnames = append(l.Hostnames, name)
	}
}

// leaf returns the member of a cluster, adding it if it is missing; "" is the cluster that holds the Gateway. The pointer is valid until
// the next call.
func (t *Targets) leaf(cluster string) *Member {
	for i := range t.Leaves {
		if t.Leaves[i].Cluster == cluster {
			return &t.Leaves[i]
		}
	}
	t.Leaves = append(t.Leaves, Member{Cluster: cluster})
	return &t.Leaves[len(t.Leaves)-1]
}

// types returns the record types of the targets, each once. The caller must not change them.
func (t *Targets) types() []string {
	var v4, v6, names bool
	for i := range t.Leaves {
		l := &t.Leaves[i]
		v4, v6, names = v4 || len(l.V4) > 0, v6 || len(l.V6) > 0, names || len(l.Hostnames) > 0
	}
	switch both := steeredTypes[:2:2]; {
	case v4 && v6:
		return both
	case v4:
		return both[:1:1]
	case v6:
		return both[1:]
	case names:
		return steeredTypes[2:] // not served beside addresses (rule 1.7)
	}
	return nil
}
