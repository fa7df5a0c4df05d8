package zone

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/miekg/dns"
)

// LossOf returns what keeps a Record at n from being served as written; nil for nothing. losses
// looks up the problems of the Records at a name.
func (z *Zone) LossOf(n *Node, r *endpoint.Record, losses LossFunc) (problem *endpoint.Problem) {
	if n.Lost > 0 || len(n.Records) > 1 {
		problem = losses(z, n.Name)[r]
	}
	if problem == nil {
		problem = z.HiderOf(r.Name, r.RR.Header().Rrtype)
	}
	if problem == nil && n.Cut && r.RR.Header().Rrtype == dns.TypeNS {
		return z.mismatch(n, r)
	}
	return problem
}

// mismatch returns the problem that an NS Record at the origin of a zone served here names a server
// that the zone itself does not; nil if it does.
func (z *Zone) mismatch(n *Node, r *endpoint.Record) *endpoint.Problem {
	copies, _ := z.copied.Get(n.Name)
	if slices.ContainsFunc(OfType(copies, dns.TypeNS), func(rr dns.RR) bool { return compareData(rr, r.RR) == 0 }) {
		return nil
	}
	return endpoint.Problemf(endpoint.ReasonMismatch, "zone %s itself does not list this name server", endpoint.TrimDot(n.Name))
}

// LossFunc returns the problems of the Records at a name: Zone.Losses, or LossMemo.Losses.
type LossFunc func(z *Zone, name string) map[*endpoint.Record]*endpoint.Problem

type lossKey struct {
	zone *Zone
	name string
}

// LossMemo caches results of Zone.Losses.
type LossMemo map[lossKey]map[*endpoint.Record]*endpoint.Problem

// Losses calls Zone.Losses once for each name: a name may have very many Records.
func (m LossMemo) Losses(z *Zone, name string) map[*endpoint.Record]*endpoint.Problem {
	at := lossKey{z, name}
	all, ok := m[at]
	if !ok {
		all = z.Losses(name)
		m[at] = all
	}
	return all
}

// Losses returns the problems of the Records at a name, by Record. Those served as written have
// none.
func (z *Zone) Losses(name string) map[*endpoint.Record]*endpoint.Problem {
	n, ok := z.Nodes.Get(name)
	if !ok {
		return nil
	}
	all := make(map[*endpoint.Record]*endpoint.Problem)
	RRsetsOf(n.Records, z.Others(n), func(r *endpoint.Record, p *endpoint.Problem) {
		if p.Message == "" {
			p = ownedBy(z.Others(n).Owner, r)
		}
		all[r] = p
	})
	return all
}

// ownedBy returns the problem that another object owns the steered data of a Record's name, or answers with a CNAME there.
func ownedBy(owner *endpoint.Contender, r *endpoint.Record) *endpoint.Problem {
	if owner.Unread {
		return endpoint.UnreadProblem(owner.Host, owner.Kind, owner.By)
	}
	by := endpoint.InCluster(owner.By, &r.Record.Meta)
	if !endpoint.Steered(r.RR.Header().Rrtype) && owner.By.SameNamespace(&r.Record.Meta) {
		return endpoint.Problemf(endpoint.ReasonConflicted,
			"%s %s is answered with a CNAME here, which cannot be beside other data: give it an IP address, or move the record", owner.Kind, by)
	}
	return endpoint.Problemf(endpoint.ReasonConflicted, "the name belongs to %s %s", owner.Kind, by)
}
