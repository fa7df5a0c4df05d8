package status

import (
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// Conflict is one object that wants another one's name (rules 5.3 to 5.7). Names have no final dot.
type Conflict struct {
	// Name is the name. Zone is its zone.
	Name string `json:"name"`
	Zone string `json:"zone"`
	// Loser wants the name. Owner has it; nil for several objects.
	Loser Object  `json:"loser"`
	Owner *Object `json:"owner,omitempty"`
	// Why is the reason, in a sentence. Since is since when the loser is not served in full, where that is known.
	Why   string    `json:"why"`
	Since time.Time `json:"since,omitzero"`
}

// Conflicts yields all conflicts, those about hosts before those about single Records, each sorted
// by name.
func (s *View) Conflicts() iter.Seq[Conflict] {
	return func(yield func(Conflict) bool) {
		for _, g := range s.NameGroups.All() {
			for _, l := range g.Lost {
				has := OwnerOf(l.Owner)
				c := Conflict{Name: endpoint.TrimDot(l.Contender.Host), Loser: OwnerOf(l.Contender), Owner: &has, Why: l.Problem().Message}
				if z := s.Zone(rdata.Base(l.Contender.Host)); z != nil {
					c.Zone = endpoint.TrimDot(z.Origin())
				}
				if !yield(c) {
					return
				}
			}
		}
		for _, z := range s.Served {
			for name, n := range z.Nodes.All() {
				if n.Lost > 0 && !lostAt(z, name, yield) {
					return
				}
			}
		}
	}
}

// lostAt yields the Records at a name that are not served because of others' data there.
func lostAt(z *zone.Zone, name string, yield func(Conflict) bool) bool {
	losses := z.Losses(name)
	lost := make([]*endpoint.Record, 0, len(losses))
	for r, p := range losses {
		if p.KeepsOut() {
			lost = append(lost, r)
		}
	}
	slices.SortFunc(lost, func(a, b *endpoint.Record) int { return strings.Compare(a.Record.Name, b.Record.Name) })
	for _, r := range lost {
		c := Conflict{Name: endpoint.TrimDot(name), Zone: endpoint.TrimDot(z.Origin()), Why: losses[r].Message}
		c.Loser = Object{r.Record.Cluster, r.ObjectKind().String(), r.Record.Name}
		if n := z.Node(name); n.Steered.Owner != nil {
			owner := OwnerOf(n.Steered.Owner)
			c.Owner = &owner
		}
		if !yield(c) {
			return false
		}
	}
	return true
}

// Trouble is one object that is not served in full, and why.
type Trouble struct {
	Object
	// Reason is one word. Why is a sentence. Refused reports whether nothing of it is served. Since is since when, where
	// that is known.
	Reason  string    `json:"reason"`
	Why     string    `json:"why"`
	Refused bool      `json:"refused,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	// Elsewhere is true if the object is for another server, or another controller, to serve:
	// nothing is wrong with it for that.
	Elsewhere bool `json:"-"`
}

// Troubles yields the objects that are not served in full, by cluster, kind and name. It looks at
// every object.
func (s *View) Troubles() iter.Seq[Trouble] {
	return func(yield func(Trouble) bool) {
		losses := make(zone.LossMemo)
		for i := range s.In.Clusters {
			c := s.In.Clusters[i]
			for k := range api.NumKinds {
				for name := range c.Names(k, "") {
					ref := api.Ref{Kind: k, Name: name}
					v := s.VerdictWith(c.Name, ref, losses.Losses)
					if v == nil {
						continue
					}
					reason, why := v.Problem()
					if reason == "" {
						continue
					}
					if !yield(Trouble{
						Object: Object{c.Name, k.String(), name}, Reason: reason, Why: why, Refused: !v.Accepted() || v.TotalRecords == 0,
						Elsewhere: s.Elsewhere(c.Name, ref),
					}) {
						return
					}
				}
			}
		}
	}
}

// Elsewhere reports whether another server, or another controller, should serve an object.
func (s *View) Elsewhere(cluster string, ref api.Ref) bool {
	c := s.In.Cluster(cluster)
	switch {
	case c == nil:
	case ref.Kind == api.KindDNSPolicy:
		p, ok := c.Policies.Get(ref.Name)
		return ok && endpoint.Refused(p) == "" && !p.Provider.ServedHere()
	case ref.Kind == api.KindDNSRecord:
		if r, ok := c.DNSRecords.Get(ref.Name); ok {
			_, named := endpoint.ZoneNameOf(r)
			return !named
		}
	}
	return false
}
