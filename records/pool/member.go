package pool

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// Member is one member of a Pool: a Gateway's addresses, or a hostname.
type Member struct {
	// ID is the set identifier: the name of the addresses, or the hostname (rule 2.3).
	ID     string
	Weight uint64 // 0 drains it
	// Priority is its place among those of its group, the lower first (rule 9.1).
	Priority uint8
	Of       Source // the oldest of several
	Group    int32  // index into Pool.Groups
	seed     uint64 // stands for ID
	// leaf has the addresses; nil for a hostname.
	leaf *leaf
	// Gateway is the Gateway's own cell: an override, and Programmed; nil for neither.
	Gateway *health.Cell
	// Cells are the health cells of the addresses, IPv4 first, or of the hostname; nil if nothing is checked. They include the Gateway's.
	Cells []Cells
	// answers holds the answer for each family; empty if the member lacks the family. Each begins with the CNAMEs from the pool's head to
	// the member, if the pool has a chain.
	answers [numFamilies][]dns.RR
	// cnames is how many CNAMEs precede the addresses in them.
	cnames int
}

// leaf is the addresses of a member: the records at their own name, the first v4 of them IPv4.
type leaf struct {
	rrs []dns.RR
	v4  int
}

// addresses returns the records of the leaf at a name, IPv4 first, with TTLs of at most limit.
func (l *leaf) addresses(name string, limit uint32) []dns.RR {
	all := slices.Clone(l.rrs)
	for i, rr := range all {
		if h := rr.Header(); h.Name != name || h.Ttl > limit {
			all[i] = rdata.CopyHeader(rr)
			all[i].Header().Name, all[i].Header().Ttl = name, min(h.Ttl, limit)
		}
	}
	return all
}

// addressOf returns the address in a record of a leaf.
func addressOf(rr dns.RR) (a netip.Addr) {
	switch rr := rr.(type) {
	case *dns.A:
		a = netip.AddrFrom4([4]byte(rr.A))
	case *dns.AAAA:
		a = netip.AddrFrom16([16]byte(rr.AAAA))
	}
	return a
}

// Source is the object that a member belongs to.
type Source struct {
	Object *api.Meta
	Kind   api.Kind
	// Gateway has the addresses; nil for objects without a Gateway.
	Gateway *api.Gateway
	// Check is the health check that the object wants; nil for none.
	Check *api.HealthCheck
}

// lay sets the member's answers: the CNAMEs, then its addresses at owner, with TTLs of at most limit. A hostname has the same answer for
// every family, because the chain leaves our zones. chain is true if the CNAMEs lead from the head of the pool to the member.
func (m *Member) lay(cnames []dns.RR, chain bool, owner string, limit uint32) {
	if chain {
		m.cnames = len(cnames)
	}
	if m.leaf == nil || m.Len() == 0 {
		cnames = slices.Clone(cnames) // they may be the start of another answer
	}
	m.answers[CNAME] = cnames
	if m.leaf == nil {
		m.answers[A], m.answers[AAAA] = cnames, cnames
		return
	}
	all := m.leaf.addresses(owner, limit)
	for fam, rrs := range [...][]dns.RR{A: all[:m.leaf.v4], AAAA: all[m.leaf.v4:]} {
		if len(rrs) > 0 {
			m.answers[fam] = slices.Concat(cnames, rrs)
			m.answers[CNAME] = m.answers[fam][:len(cnames):len(cnames)]
		}
	}
}

// Answers returns the member's different answers: those to A and AAAA, or the CNAMEs if it has no addresses.
func (m *Member) Answers() [][]dns.RR {
	if m.leaf == nil || len(m.answers[A])+len(m.answers[AAAA]) == 0 {
		return m.answers[CNAME:]
	}
	return m.answers[:CNAME]
}

// answer returns a member's answer for a family; if it lacks that, the CNAMEs that lead to it.
func (m *Member) answer(fam Family) []dns.RR {
	if fam < numFamilies && len(m.answers[fam]) > 0 {
		return m.answers[fam]
	}
	return m.answers[CNAME]
}

// any returns the member's answer for some family that it has.
func (m *Member) any() []dns.RR {
	for _, rrs := range m.answers {
		if len(rrs) > 0 && (m.leaf == nil || len(rrs) > m.cnames) {
			return rrs
		}
	}
	return nil
}

// TTL returns the TTL of the member's addresses, or of the CNAME to its hostname; 0 for neither.
func (m *Member) TTL() uint32 {
	if rrs := m.any(); len(rrs) > 0 {
		return rrs[len(rrs)-1].Header().Ttl
	}
	return 0
}

// Class returns the member's current class.
func (m *Member) Class() Class {
	if m.Gateway == nil && m.Cells == nil {
		if m.Weight > 0 {
			return WeightedUp
		}
		return DrainedUp
	}
	return m.checkedClass()
}

func (m *Member) checkedClass() Class {
	gateway := m.Gateway.Load()
	state, forcedDown := gateway.State(), gateway.ForcedDown()
	if len(m.Cells) > 0 {
		v4 := len(m.Cells)
		if m.leaf != nil {
			v4 = m.leaf.v4
		}
		state, forcedDown = Aggregate(m.Cells, v4)
	}
	return classOf(state, forcedDown, m.Weight == 0 || gateway.Drained())
}

// Len returns how many addresses, or hostnames, the member has.
func (m *Member) Len() int {
	if m.leaf == nil {
		return 1
	}
	return len(m.leaf.rrs)
}

// Address returns the member's i-th address, IPv4 first, or its hostname without the final dot.
func (m *Member) Address(i int) string {
	if m.leaf == nil {
		return strings.TrimSuffix(m.ID, ".")
	}
	return addressOf(m.leaf.rrs[i]).String()
}

// CellsOf returns the health cells of the member's i-th address.
func (m *Member) CellsOf(i int) Cells {
	if m.Cells == nil {
		return Cells{Gateway: m.Gateway}
	}
	return m.Cells[i]
}

// Unchecked reports whether no check has a result for any address of the member.
func (m *Member) Unchecked() bool {
	for i := range m.Len() {
		if !m.CellsOf(i).Unchecked() {
			return false
		}
	}
	return true
}

// ClassOf returns the class of the member's i-th address within the member: a weight of 0 drains it.
func (m *Member) ClassOf(i int) Class { return m.CellsOf(i).classIf(m.Weight == 0) }
