package endpoint

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// Targets are the usable addresses in a Gateway's status under one policy.
type Targets struct {
	Leaves []Member
	// mixed is true if single- and multi-cluster types are mixed: the policy is not enforced (rule
	// 1.3).
	mixed bool
	// faults says which addresses were skipped and why.
	faults []string
}

// Usable reports whether there is anything to answer with.
func (t *Targets) Usable() bool { return len(t.types()) > 0 }

// ResolveTargets reads a Gateway's addresses, except those that one of its policies excludes (rule 1.3), with weights and codes (rule 2.5).
// It keeps the order and drops duplicates. uid is the identity of the Gateway's own cluster (C of rule 2.3).
func ResolveTargets(g *api.Gateway, p *api.DNSPolicy, uid string) *Targets {
	t := &Targets{}
	var single, multi bool
	for _, a := range g.Addresses[:min(len(g.Addresses), maxParts)] {
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

// fault notes a problem with an address.
func (t *Targets) fault(format string, args ...any) {
	t.faults = append(t.faults, fmt.Sprintf(format, args...))
}

// addIP adds an IP address, unless it is excluded.
func (t *Targets) addIP(cluster, value string, exclude []api.Exclusion) {
	addr, err := netip.ParseAddr(value)
	if err != nil || addr.Zone() != "" {
		t.fault("address %q is not an IP address", value)
		return
	}
	addr = addr.Unmap()
	if addr.IsUnspecified() || addr.IsMulticast() {
		t.fault("address %q is not one that clients can connect to", value)
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
