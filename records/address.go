package records

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// leaf is what one cluster contributes to a claim: its addresses, and the
// hostnames that stand beside them.
type leaf struct {
	// cluster is the name in a multi-cluster address, "" for the cluster that
	// holds the Gateway.
	cluster   string
	v4, v6    []netip.Addr
	hostnames []string // lower case with a final dot
}

// targets is what a Gateway's status addresses come to under one policy.
type targets struct {
	leaves []leaf
	// mixed is true where single- and multi-cluster types stand side by side:
	// the policy is not enforced (rule 1.3).
	mixed bool
	// faults says which addresses were skipped and why.
	faults []string
}

// usable tells whether there is anything to answer with.
func (t *targets) usable() bool {
	return slices.ContainsFunc(t.leaves, func(l leaf) bool {
		return len(l.v4)+len(l.v6)+len(l.hostnames) > 0
	})
}

// resolveTargets reads a Gateway's addresses, less the excluded ones (rule
// 1.3). Order is kept, duplicates fold.
func resolveTargets(addrs []api.Address, exclude []api.Exclusion) *targets {
	t := &targets{}
	var single, multi bool
	for _, a := range addrs[:min(len(addrs), maxParts)] {
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
			t.fault("address %q has the type %q, which is not read here", a.Value, string(a.Type))
			continue
		}
		switch a.Type {
		case api.IPAddress, api.MultiClusterIPAddress:
			t.addIP(cluster, value, exclude)
		default:
			t.addHostname(cluster, value, exclude)
		}
	}
	t.mixed = single && multi
	return t
}

func (t *targets) fault(format string, args ...any) {
	t.faults = append(t.faults, fmt.Sprintf(format, args...))
}

func (t *targets) addIP(cluster, value string, exclude []api.Exclusion) {
	addr, err := netip.ParseAddr(value)
	if err != nil || addr.Zone() != "" {
		t.fault("address %q is not an IP address", value)
		return
	}
	addr = addr.Unmap()
	if addr.IsUnspecified() || addr.IsMulticast() {
		t.fault("address %q cannot be a client's destination", value)
		return
	}
	if slices.ContainsFunc(exclude, func(e api.Exclusion) bool {
		return e.Hostname == "" && e.Prefix.Contains(addr)
	}) {
		return
	}
	l := t.leaf(cluster)
	list := &l.v6
	if addr.Is4() {
		list = &l.v4
	}
	if !slices.Contains(*list, addr) {
		*list = append(*list, addr)
	}
}

func (t *targets) addHostname(cluster, value string, exclude []api.Exclusion) {
	name, err := rdata.Target(value)
	if _, ip := netip.ParseAddr(value); err != nil || ip == nil {
		t.fault("address %q is not a hostname", value)
		return
	}
	if slices.ContainsFunc(exclude, func(e api.Exclusion) bool {
		return e.Hostname != "" && e.Hostname+"." == name
	}) {
		return
	}
	l := t.leaf(cluster)
	if !slices.Contains(l.hostnames, name) {
		l.hostnames = append(l.hostnames, name)
	}
}

// leaf returns the leaf of cluster, adding it where it is missing. The pointer
// holds until the next call.
func (t *targets) leaf(cluster string) *leaf {
	for i := range t.leaves {
		if t.leaves[i].cluster == cluster {
			return &t.leaves[i]
		}
	}
	t.leaves = append(t.leaves, leaf{cluster: cluster})
	return &t.leaves[len(t.leaves)-1]
}

// types returns the types of the data that the targets are, each once. The caller must
// not change them.
func (t *targets) types() []string {
	var v4, v6, names bool
	for i := range t.leaves {
		l := &t.leaves[i]
		v4, v6, names = v4 || len(l.v4) > 0, v6 || len(l.v6) > 0, names || len(l.hostnames) > 0
	}
	switch both := endpoint.SteeredTypes[:2:2]; {
	case v4 && v6:
		return both
	case v4:
		return both[:1:1]
	case v6:
		return both[1:]
	case names:
		return endpoint.SteeredTypes[2:] // beside addresses it is not served (rule 1.7)
	}
	return nil
}
