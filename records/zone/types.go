package zone

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/miekg/dns"
)

// Denial returns the NSEC record that denies data of a type at name, for ttl seconds (rule 7.6). Resolvers deny other types by it (RFC
// 8198), so it has all types that the name has for some client. It leaves out CNAME, which would void it (RFC 6840 §4.3). Of a name that
// does not exist it says so (RFC 9824 §3.1).
func (z *Zone) Denial(name string, denied uint16, ttl uint32) *dns.NSEC {
	types := []uint16{dns.TypeNXNAME}
	if n, _ := z.Search(name, dns.TypeDS); n != nil {
		types = z.nodeTypes(n, name)
	}
	types = slices.DeleteFunc(append(types, dns.TypeRRSIG), func(t uint16) bool { return t == denied || t == dns.TypeCNAME })
	return rdata.NSEC(name, z.Origin(), ttl, append(types, dns.TypeNSEC))
}

// nodeTypes returns the types at name, which n answers for, without those that signing adds.
func (z *Zone) nodeTypes(n *Node, name string) (types []uint16) {
	apex := name == z.Origin()
	if n.Name == name && z.begins(n) {
		// A cut: of its data, these two are the parent's (RFC 4035 §2.3).
		if OfType(n.Static, dns.TypeDS) != nil {
			types = append(types, dns.TypeDS)
		}
		return append(types, dns.TypeNS)
	}
	for _, set := range n.Static {
		types = append(types, set.Type)
	}
	if apex {
		types = append(types, dns.TypeSOA, dns.TypeDNSKEY)
	}
	if data := n.Steered.Data; data != nil {
		for fam, rtype := range [...]uint16{pool.A: dns.TypeA, pool.AAAA: dns.TypeAAAA} {
			if data.Has(pool.Family(fam)) {
				types = append(types, rtype)
			}
		}
	}
	return types
}

// begins reports whether another zone begins at n, wherever it is served.
func (z *Zone) begins(n *Node) bool {
	return n.Name != z.Origin() && (n.Cut || OfType(n.Static, dns.TypeNS) != nil)
}

// Delegates reports whether another zone begins at name, which is in z, served here or not.
func (z *Zone) Delegates(name string) bool {
	n, ok := z.Nodes.Get(name)
	return ok && z.begins(n)
}

// TypesOf returns the types answered at a node, sorted.
func (z *Zone) TypesOf(n *Node) (types []uint16) {
	for _, set := range n.Static {
		types = append(types, set.Type)
	}
	if n.Name == z.Origin() {
		types = append(types, dns.TypeSOA)
	}
	set, simple := n.Steered.Data.(*pool.Set)
	alias, flat := simple && set.Alias(), n.Static != nil
	for fam, rtype := range [...]uint16{pool.A: dns.TypeA, pool.AAAA: dns.TypeAAAA, pool.CNAME: dns.TypeCNAME} {
		has, isCNAME := n.Steered.Data != nil && n.Steered.Data.Has(pool.Family(fam)), rtype == dns.TypeCNAME
		if has && !(isCNAME && flat) && (isCNAME || !alias || flat) {
			types = append(types, rtype) // no CNAME may stand here, whatever it leads to
		}
	}
	slices.Sort(types)
	return types
}
