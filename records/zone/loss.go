package zone

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/miekg/dns"
)

// LossOf says what keeps a Record, which is at n, from being served as it is written;
// nil for nothing.
func (z *Zone) LossOf(n *Node, e *endpoint.Record, losses LossFunc) (said *endpoint.Problem) {
	if n.Lost > 0 || len(n.Records) > 1 {
		said = losses(z, n.Name)[e]
	}
	if said == nil {
		said = z.HiderOf(e.Name, e.RR.Header().Rrtype)
	}
	if said == nil && n.Cut && e.RR.Header().Rrtype == dns.TypeNS {
		return z.mismatch(n, e)
	}
	return said
}

// mismatch says that an NS Record at the origin of a zone served here names a server
// that the zone itself does not; nil where it does.
func (z *Zone) mismatch(n *Node, e *endpoint.Record) *endpoint.Problem {
	copies, _ := z.copied.Get(n.Name)
	if slices.ContainsFunc(OfType(copies, dns.TypeNS), func(rr dns.RR) bool { return compareData(rr, e.RR) == 0 }) {
		return nil
	}
	return endpoint.Problemf(endpoint.ReasonMismatch, "the zone %s itself does not have this name server", endpoint.TrimDot(n.Name))
}

// LossFunc returns what is to be said of the Records at a name: Zone.losses, or what it
// returned before.
type LossFunc func(z *Zone, name string) map[*endpoint.Record]*endpoint.Problem

type lossKey struct {
	zone *Zone
	name string
}

// LossMemo has what Zone.losses has returned.
type LossMemo map[lossKey]map[*endpoint.Record]*endpoint.Problem

// Losses is Zone.losses, once for each name: an object may have very many entries at one.
func (m LossMemo) Losses(z *Zone, name string) map[*endpoint.Record]*endpoint.Problem {
	at := lossKey{z, name}
	all, ok := m[at]
	if !ok {
		all = z.Losses(name)
		m[at] = all
	}
	return all
}

// Losses returns what is to be said of the Records at a name.
func (z *Zone) Losses(name string) map[*endpoint.Record]*endpoint.Problem {
	n, ok := z.Nodes.Get(name)
	if !ok {
		return nil
	}
	all := make(map[*endpoint.Record]*endpoint.Problem)
	RRsetsOf(n.Records, z.Others(n), func(e *endpoint.Record, p *endpoint.Problem) {
		if p.Message == "" {
			p = ownedBy(z.Others(n).Owner, e)
		}
		all[e] = p
	})
	return all
}

// ownedBy says that another object owns the steered data of a Record's name.
func ownedBy(owner *endpoint.Contender, e *endpoint.Record) *endpoint.Problem {
	if owner.Unread {
		return endpoint.UnreadProblem(owner.Host, owner.Kind, owner.By)
	}
	return endpoint.Problemf(endpoint.ReasonConflicted, "the name belongs to %s %s", owner.Kind, endpoint.InCluster(owner.By, &e.Record.Meta))
}
