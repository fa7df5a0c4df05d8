package records

import (
	"iter"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/status"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// NameState is one name that has data. Names have no final dot.
type NameState struct {
	// Name is the name. Zone is its zone.
	Name string `json:"name"`
	Zone string `json:"zone"`
	// Owner has the addresses or the CNAME; of name servers, the Corefile.
	Owner *status.Object `json:"owner,omitempty"`
	// Sources are the first objects of unsteered data. MoreSources is how many more there are.
	Sources     []status.Object `json:"sources,omitempty"`
	MoreSources int             `json:"moreSources,omitempty"`
	// Answer is simple, chain or flatten.
	Answer string `json:"answer,omitempty"`
	// Types are the types of its records.
	Types []string `json:"types"`
	// Members is how many there are to choose from.
	Members int `json:"members,omitempty"`
	// Addresses counts the owner's addresses and hostnames by state.
	Addresses Counts `json:"addresses"`
	// FailsOpen says who gets targets that are down: "all clients", or some. FailsClosed says who
	// gets nothing then.
	FailsOpen   string `json:"failsOpen,omitempty"`
	FailsClosed string `json:"failsClosed,omitempty"`
	// Hidden is the delegation or DNAME above that answers instead.
	Hidden string `json:"hidden,omitempty"`
	// Losers is how many objects want the name in vain. Withdrawn is how many are of inactive groups.
	Losers    int `json:"losers,omitempty"`
	Withdrawn int `json:"withdrawn,omitempty"`
}

// Counts is how many addresses are up, not checked, not decided, drained, and down, each in one of them.
type Counts struct {
	// Up is how many are up. Unchecked is how many count as up without a result. Unknown is how
	// many are not decided. Drained and Down are how many are so.
	Up        int `json:"up"`
	Unchecked int `json:"unchecked,omitempty"`
	Unknown   int `json:"unknown,omitempty"`
	Drained   int `json:"drained,omitempty"`
	Down      int `json:"down,omitempty"`
}

func (c *Counts) add(class pool.Class, of pool.Cells) {
	switch class {
	case pool.WeightedUp:
		if of.Unchecked() {
			c.Unchecked++
		} else {
			c.Up++
		}
	case pool.WeightedUnknown:
		c.Unknown++
	case pool.DrainedUp, pool.DrainedUnknown:
		c.Drained++
	case pool.WeightedDown, pool.DrainedDown, pool.ForcedDown:
		c.Down++
	}
}

// Of returns how many there are in all.
func (c Counts) Of() int { return c.Up + c.Unchecked + c.Unknown + c.Drained + c.Down }

// Names yields the names of z that have data, in spelling order, starting at from; "" starts with the first. It leaves out names below
// klb.H', which belong to their hosts, names in zones below z that are served here, and those for which keep, which gets them without a
// final dot, is false; a nil keep keeps all. Each is described in its turn.
func (s *Snapshot) Names(z *zone.Zone, from string, keep func(name string) bool) iter.Seq[NameState] {
	return func(yield func(NameState) bool) {
		for _, n := range z.Nodes.From(from) {
			if (keep == nil || keep(endpoint.TrimDot(n.Name))) && n.Listed(z) && !yield(s.nameState(z, n)) {
				return
			}
		}
	}
}

// Differing yields the origins of all zones, and the names of s and o, some twice, whose data are not the identical memory because one was
// compiled from the other. Names that it yields may still be equal. inner is true for a name that Names leaves out: one below klb.H', which
// belongs to its host.
func (s *Snapshot) Differing(o *Snapshot) iter.Seq2[string, bool] {
	sameZones := slices.EqualFunc(s.Served, o.Served, func(z, y *zone.Zone) bool { return z.Origin() == y.Origin() })
	return func(yield func(string, bool) bool) {
		for _, of := range [...]struct{ s, o *Snapshot }{{s, o}, {o, s}} {
			for i, z := range of.s.Served {
				var others tree.Map[*zone.Node]
				if sameZones { // otherwise a name may lie in another zone
					others = of.o.Served[i].Nodes
				}
				for name, n := range z.Nodes.All() {
					if m, _ := others.Get(name); n == m && name != z.Origin() {
						continue
					}
					listed := n.Listed(z)
					if inner := n.Steered.Owner != nil && !n.Unserved && !n.Cut; (listed || inner) && !yield(name, !listed) {
						return
					}
				}
			}
		}
	}
}

// nameState describes one name.
func (s *Snapshot) nameState(z *zone.Zone, n *zone.Node) NameState {
	st := NameState{Name: endpoint.TrimDot(n.Name), Zone: endpoint.TrimDot(z.Origin()), Types: []string{}, Losers: len(s.losers(n.Name))}
	if by := n.Steered.Owner; by != nil {
		owner := status.OwnerOf(by)
		st.Owner, st.Withdrawn = &owner, len(s.inactive(n.Name))
		if f := s.Fails(n.Name); f.Closed {
			st.FailsClosed = f.Whom
		} else {
			st.FailsOpen = f.Whom
		}
	} else if o, ok := s.Owner(n.Name); ok {
		st.Owner = &status.Object{Cluster: o.Cluster, Kind: o.Kind.String(), Name: o.Name}
	} else if addressedByCorefile(z, n) {
		st.Owner = &status.Object{Kind: kindCorefile}
	}
	st.Sources, st.MoreSources = sourcesAt(z, n)
	if turn := z.TurnOf(n.Name, dns.TypeA); z.Turns > 0 && turn != nil && turn.Name != n.Name {
		st.Hidden = endpoint.TrimDot(turn.Name)
	}
	for _, t := range z.TypesOf(n) {
		st.Types = append(st.Types, dns.Type(t).String())
	}
	switch data := n.Steered.Data.(type) {
	case *pool.Set:
		st.Answer = data.Layout()
		for i := range data.RRs {
			st.Addresses.add(data.CellsOf(i).Class(), data.CellsOf(i))
		}
	case *pool.View:
		st.Answer, st.Members = data.Layout(), len(data.Pool.Members)
		for i := range data.Pool.Members {
			for m, j := &data.Pool.Members[i], 0; j < m.Len(); j++ {
				st.Addresses.add(m.ClassOf(j), m.CellsOf(j))
			}
		}
	}
	return st
}

// maxSources bounds the objects listed as sources of a name.
const maxSources = 20

// sourcesAt returns the objects behind the static data at a node, and how many more there are beyond the bound.
func sourcesAt(z *zone.Zone, n *zone.Node) (all []status.Object, more int) {
	seen := make(map[status.Object]bool, len(n.Static))
	add := func(o status.Object) {
		if seen[o] {
			return
		}
		if seen[o] = true; len(all) < maxSources {
			all = append(all, o)
		} else {
			more++
		}
	}
	if n.Name == z.Origin() { // the SOA
		if z.Object != nil {
			add(status.Object{Cluster: z.Object.Cluster, Kind: api.KindZone.String(), Name: z.Object.Name})
		} else {
			add(status.Object{Kind: kindCorefile})
		}
	}
	for _, set := range n.Static {
		for _, o := range sources(z, n, set.Type) {
			add(o)
		}
	}
	return all, more
}

// addressedByCorefile reports whether the Corefile gives a name addresses.
func addressedByCorefile(z *zone.Zone, n *zone.Node) bool {
	return slices.ContainsFunc([]uint16{dns.TypeA, dns.TypeAAAA}, func(rtype uint16) bool {
		return slices.Contains(sources(z, n, rtype), status.Object{Kind: kindCorefile})
	})
}

// Open returns the zones without a Zone in which every namespace may publish (rule 5.1),
// in the order of the options.
func (s *Snapshot) Open() (origins []string) {
	for i := range s.Table.Served {
		if at := &s.Table.Served[i]; at.Object == nil && s.Opt.Open(at.Origin) {
			origins = append(origins, at.Origin)
		}
	}
	return origins
}
