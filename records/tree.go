package records

import (
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/status"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// Tree is a host with its geo groups, their members and addresses.
type Tree struct {
	NameState
	// Attributes are those of the host, such as sticky, by their words (rule 9).
	Attributes map[string]string `json:"attributes,omitempty"`
	// TTL is that of the owner's data at the name, in seconds.
	TTL uint32 `json:"ttl,omitempty"`
	// TTL6 is that of IPv6 addresses, if it differs.
	TTL6 uint32 `json:"ttl6,omitempty"`
	// Check is the health check of Addrs; those of objects that differ, one after the other.
	Check string `json:"check,omitempty"`
	// Addrs are the addresses of a host without members.
	Addrs []AddressState `json:"addrs,omitempty"`
	// Groups are its geo groups.
	Groups []TreeGroup `json:"groups,omitempty"`
	// Losers are objects that want the name.
	Losers []Loser `json:"losersList,omitempty"`
	// Inactive are those whose clusters' group is not active (rule 9.5).
	Inactive []Loser `json:"inactive,omitempty"`
	// Records are other records at the name, without the SOA, with the parent's DS.
	Records []string `json:"records,omitempty"`
}

// TreeGroup is the members of one geo code.
type TreeGroup struct {
	// Geo is the code, or "*". Default reports whether it is the default.
	Geo     string `json:"geo"`
	Default bool   `json:"default,omitempty"`
	// Name is its name in the chain (rule 2.3).
	Name string `json:"name,omitempty"`
	// Members are its members.
	Members []TreeMember `json:"members"`
}

// TreeMember is one member of a group.
type TreeMember struct {
	// Member is its set identifier, the end of its chain. Owner is its object. Gateway is its namespace/name.
	// Weight is the object's; 0 drains.
	Member  string        `json:"member"`
	Owner   status.Object `json:"owner"`
	Gateway string        `json:"gateway,omitempty"`
	Weight  uint64        `json:"weight"`
	// Priority is its place, the lower first (rule 9.1).
	Priority uint8 `json:"priority,omitempty"`
	// TTL is that of its addresses or CNAME.
	TTL uint32 `json:"ttl"`
	// Check is its health check.
	Check string `json:"check,omitempty"`
	// Class is its state, as that of an address.
	Class string `json:"class"`
	// Addresses are its addresses or hostname.
	Addresses []AddressState `json:"addresses"`
	// Sets are the RRsets of an answer with it.
	Sets []TreeSet `json:"sets"`
}

// TreeSet is an RRset without its data.
type TreeSet struct {
	// Name is its owner name. Type is its type. TTL is in seconds.
	Name string `json:"name"`
	Type string `json:"type"`
	TTL  uint32 `json:"ttl"`
}

// Tree returns the structure of a host; ok is false if it has no data. host is in lower case with a final dot.
func (s *Snapshot) Tree(host string) (t *Tree, ok bool) {
	z := s.Zone(host)
	if z == nil {
		return nil, false
	}
	n := z.Node(host)
	if n == nil || n.Unserved {
		return nil, false
	}
	t = &Tree{NameState: s.nameState(z, n), Losers: s.losers(host), Inactive: s.inactive(host)}
	for _, set := range n.Static {
		t.Records = append(t.Records, texts(set.RRs)...)
	}
	t.Records = append(t.Records, s.delegationSigners(z, host)...)
	if n.Steered.Owner == nil {
		return t, true
	}
	x := s.explainer(n.Steered.Owner)
	switch data := n.Steered.Data.(type) {
	case *pool.Set:
		t.Attributes = data.Attributes.Texts()
		t.Check = s.checkText(n.Steered.Owner)
		for i, rr := range data.RRs {
			if i == 0 {
				t.TTL = rr.Header().Ttl
			} else if ttl := rr.Header().Ttl; ttl != t.TTL {
				t.TTL6 = ttl
			}
			cells := data.CellsOf(i)
			t.Addrs = append(t.Addrs, x.address(dataOf(rr), cells, cells.Class(), false))
		}
	case *pool.View:
		t.Attributes, t.Groups, t.TTL = data.Pool.Attributes.Texts(), x.groups(data), data.TTL()
	}
	return t, true
}

// checkText returns the health checks of an owner without members, and of the objects that share its host.
func (s *Snapshot) checkText(by *endpoint.Contender) string {
	g, ok := s.NameGroups.Get(endpoint.GroupKey(by.Host))
	if !ok {
		return pool.CheckText(by.Check())
	}
	var all []string
	for _, c := range uniting(g, by.Host) {
		if text := pool.CheckText(c.Check()); text != "" && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, "; ")
}

// delegationSigners returns the DS records at the origin of z, which the zone above holds and answers with; none for other names.
func (s *Snapshot) delegationSigners(z *zone.Zone, host string) []string {
	up := s.ZoneOf(host, dns.TypeDS)
	if n := up.Node(host); n != nil && up != z {
		return texts(zone.OfType(n.Static, dns.TypeDS))
	}
	return nil
}

// groups describes the groups of a pool as seen from a host.
func (x *explainer) groups(v *pool.View) []TreeGroup {
	p := v.Pool
	groups := make([]TreeGroup, len(p.Groups))
	for i := range p.Groups {
		g := &p.Groups[i]
		groups[i] = TreeGroup{Geo: g.Geo(), Default: int32(i) == p.Default, Members: []TreeMember{}}
		if !v.Flat {
			groups[i].Name = endpoint.TrimDot(g.Name)
		}
	}
	for i := range p.Members {
		m := &p.Members[i]
		one := TreeMember{
			Member: endpoint.TrimDot(m.ID), Owner: status.ObjectOf(m.Of.Kind, m.Of.Object), Gateway: gatewayName(m), Weight: m.Weight, Priority: m.Priority,
			TTL: m.TTL(), Check: pool.CheckText(m.Of.Check), Class: m.Class().Shown(m.Unchecked()), Sets: []TreeSet{},
		}
		for j := range m.Len() {
			one.Addresses = append(one.Addresses, x.address(m.Address(j), m.CellsOf(j), m.ClassOf(j), false))
		}
		for _, rrs := range m.Answers() {
			for _, rr := range rrs[min(v.Skip, len(rrs)):] {
				h := rr.Header()
				if set := (TreeSet{endpoint.TrimDot(h.Name), dns.Type(h.Rrtype).String(), h.Ttl}); !slices.Contains(one.Sets, set) {
					one.Sets = append(one.Sets, set)
				}
			}
		}
		groups[m.Group].Members = append(groups[m.Group].Members, one)
	}
	return slices.DeleteFunc(groups, func(g TreeGroup) bool { return len(g.Members) == 0 }) // withdrawn (rule 9.5)
}
