package endpoint

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// Host is what a policy publishes for one Gateway at one host.
type Host struct {
	Name string // in lower case with a final dot; may begin with "*."
	// TTL is that of addresses, LoadBalancedTTL that of the CNAMEs above the members, both in seconds.
	TTL, LoadBalancedTTL uint32
	// Gateway is the "name-namespace" that n of rule 2.3 is the hash of.
	Gateway string
	// DefaultGeo is the code of the default group, in upper case; "" for none.
	DefaultGeo string
	Members    []Member
	// Attributes are those of the host as a whole, and of all members.
	Attributes api.Attributes
}

// Member is a Gateway's part in one cluster.
type Member struct {
	Cluster   string // hashed to c of rule 2.3
	V4, V6    []netip.Addr
	Hostnames []string // beside the addresses; in lower case with a final dot
	Weight    uint64
	Geo       string // in upper case; "" for none
}

// Simple returns all addresses at the host or, if there are none, the first hostname (rules 1.7 and 2.2). dropped are the hostnames left
// out.
func (h Host) Simple(room *Room) (all []*Endpoint, dropped []string) {
	var v4, v6 []netip.Addr
	for i := range h.Members {
		m := &h.Members[i]
		v4, v6, dropped = union(v4, m.V4), union(v6, m.V6), append(dropped, m.Hostnames...)
	}
	list := appendAddresses(make([]Endpoint, 0, 2), Endpoint{Name: h.Name, TTL: h.TTL, Weight: -1}, v4, v6)
	if len(list) == 0 && len(dropped) > 0 {
		list = append(list, Endpoint{Name: h.Name, Type: dns.TypeCNAME, TTL: h.TTL, Weight: -1, Target: dropped[0]})
		dropped = dropped[1:]
	}
	if len(list) > 0 {
		list[0].Attributes = h.Attributes.Host()
	}
	return room.keep(list), dropped
}

// KLB is the label of the names that form a chain.
const KLB = "klb."

// weightedGeo returns the chain of rule 2.3. A default code that no client can have is no default (rule 3.2). tooLong is true if a name in
// the chain would be too long.
func (h Host) weightedGeo(room *Room) (all []*Endpoint, tooLong bool) {
	chain := rdata.Base(h.Name)
	gateway := "-" + Hash(h.Gateway) + "." + KLB + chain
	below := gateway[len(gateway)-len(KLB)-len(chain):]
	list := make([]Endpoint, 0, 16)
	cname := func(name string, ttl uint32, target string) *Endpoint {
		list = append(list, Endpoint{Name: name, Type: dns.TypeCNAME, TTL: ttl, Weight: -1, Target: target, Inner: true})
		tooLong = tooLong || len(name) > rdata.MaxName || len(target) > rdata.MaxName
		return &list[len(list)-1]
	}
	first := cname(h.Name, h.LoadBalancedTTL, below)
	first.Inner, first.Attributes = false, h.Attributes.Host()
	groups := make([]string, 0, 8)
	coded := slices.ContainsFunc(h.Members, func(m Member) bool { return m.Geo != "" })
	for i, m := range h.Members {
		groups = append(groups, geoLabel(m.Geo)+"."+below)
		if slices.ContainsFunc(h.Members[:i], func(o Member) bool { return o.Geo == m.Geo }) {
			continue
		}
		if m.Geo != "" {
			e := cname(below, h.LoadBalancedTTL, groups[i])
			e.SetID, e.Geo = m.Geo, m.Geo
		}
		if m.Geo == h.DefaultGeo && (m.Geo == "" || geo.Check(m.Geo) == nil) || m.Geo == "" && !coded {
			e := cname(below, h.LoadBalancedTTL, groups[i])
			e.SetID, e.Geo = "default", AnyGeo
		}
	}
	leaves := make([]Member, 0, 8) // address names by cluster
	for i, m := range h.Members {
		member := func(target string) {
			id := TrimDot(target)
			if !slices.ContainsFunc(list, func(o Endpoint) bool { return o.Weight >= 0 && o.SetID == id && o.Name == groups[i] }) {
				e := cname(groups[i], h.TTL, target)
				e.SetID, e.Weight, e.Attributes = id, int64(m.Weight), h.Attributes.Member()
			}
		}
		if len(m.V4)+len(m.V6) > 0 {
			leaf := Hash(m.Cluster) + gateway
			member(leaf)
			at := slices.IndexFunc(leaves, func(o Member) bool { return o.Cluster == leaf })
			if at < 0 {
				leaves = append(leaves, Member{Cluster: leaf, V4: m.V4, V6: m.V6})
			} else { // a Gateway can name its own cluster in two ways
				leaves[at].V4, leaves[at].V6 = union(leaves[at].V4, m.V4), union(leaves[at].V6, m.V6)
			}
		}
		for _, hostname := range m.Hostnames {
			member(hostname)
		}
	}
	for _, l := range leaves {
		list = appendAddresses(list, Endpoint{Name: l.Cluster, TTL: h.TTL, Weight: -1, Inner: true}, l.V4, l.V6)
	}
	return room.keep(list), tooLong
}

// Room is memory for endpoints. Cut to length 0 it can be used again.
type Room []Endpoint

// keep returns pointers to copies of the endpoints. Earlier ones stay in place.
func (r *Room) keep(list []Endpoint) []*Endpoint {
	*r = append(*r, list...)
	kept, all := (*r)[len(*r)-len(list):], make([]*Endpoint, len(list))
	for i := range kept {
		all[i] = &kept[i]
	}
	return all
}

// appendAddresses adds endpoints like the given one, with the addresses of both families.
func appendAddresses(list []Endpoint, like Endpoint, v4, v6 []netip.Addr) []Endpoint {
	if len(v4) > 0 {
		like.Type, like.Addrs = dns.TypeA, v4
		list = append(list, like)
	}
	if len(v6) > 0 {
		like.Type, like.Addrs = dns.TypeAAAA, v6
		list = append(list, like)
	}
	return list
}

// union returns the addresses of both lists, each once. It does not change them.
func union(list, more []netip.Addr) []netip.Addr {
	if len(list) == 0 {
		return more
	}
	list = slices.Clip(list)
	for _, a := range more {
		if !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	return list
}

// geoLabel returns g of rule 2.3: the code in lower case, "default" for none. A code that is not a
// valid label, or looks like another kind of label, becomes a hash of itself.
func geoLabel(code string) string {
	const none = "default"
	if code == "" {
		return none
	}
	label := strings.ToLower(code)
	leaf := len(label) == 2*hashLength+1 && label[hashLength] == '-'
	if label == none || leaf || len(label) > rdata.MaxLabel || strings.Contains(label, ".") || rdata.CheckLabels(label) != nil {
		return Hash(label)
	}
	return label
}
