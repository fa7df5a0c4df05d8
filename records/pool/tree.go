package pool

import (
	"math"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// at returns the branch of a name; nil for none.
func (t *hostTree) at(name string) *branch {
	if i := t.index.at(name); i >= 0 {
		return &t.branches[i]
	}
	return nil
}

// gather fills the tree with the endpoints of contenders on h and *.h, in the order of precedence.
func (b *Builder) gather(t *hostTree, h string, contenders []*endpoint.Contender) {
	t.index.again()
	t.host, t.branches, t.room = h, t.branches[:0], t.room[:0]
	var seen map[*endpoint.Endpoint]struct{}
	if len(contenders) > 1 && contenders[0].Kind != api.KindDNSPolicy { // an endpoint below klb.h belongs to the contender's h and *.h
		seen = make(map[*endpoint.Endpoint]struct{})
	}
	for _, c := range contenders {
		for _, e := range c.Endpoints(&t.room) {
			if seen != nil {
				if _, known := seen[e]; known {
					continue
				}
				seen[e] = struct{}{}
			}
			i, known := t.index.of(e.Name)
			if !known {
				t.add(e.Name)
			}
			t.branches[i].rows = append(t.branches[i].rows, owned{Endpoint: e, contender: c})
		}
	}
	for i := range t.branches {
		t.branches[i].rows = b.fold(t.branches[i].name, t.branches[i].rows)
	}
	b.prune(t)
}

// prune drops CNAMEs to names of the chain that have nothing, where a name has anything else: an endpoint without a usable address is no
// member (rule 1.3).
func (b *Builder) prune(t *hostTree) {
	chain := endpoint.KLB + t.host
	dead := func(f owned) bool {
		return f.Type == dns.TypeCNAME && t.at(f.Target) == nil && rdata.IsSubdomain(chain, f.Target)
	}
	for i := range t.branches {
		br := &t.branches[i]
		if !slices.ContainsFunc(br.rows, dead) || !slices.ContainsFunc(br.rows, func(f owned) bool { return !dead(f) }) {
			continue // almost always
		}
		for j := range br.rows {
			if f := &br.rows[j]; dead(*f) {
				b.drop(f, endpoint.ReasonDropped, "%s leads to %s, which has no address; dropping it", endpoint.TrimDot(br.name), endpoint.TrimDot(f.Target))
			}
		}
		br.rows = slices.DeleteFunc(br.rows, dead)
	}
}

// add adds a branch without endpoints.
func (t *hostTree) add(name string) {
	n := len(t.branches)
	if n == cap(t.branches) {
		t.branches = append(t.branches, branch{name: name})
		return
	}
	t.branches = t.branches[:n+1]
	t.branches[n] = branch{name: name, rows: t.branches[n].rows[:0]}
}

// isHost reports whether a branch is H' or *.H'.
func (t *hostTree) isHost(br *branch) bool { return rdata.Base(br.name) == t.host }

// end returns the name to which CNAMEs lead from a name that has nothing else, as far as there is one, and their lowest TTL; math.MaxUint32
// without CNAMEs.
func (t *hostTree) end(br *branch) (last *branch, ttl uint32) {
	ttl = math.MaxUint32
	for range t.branches {
		f := &br.rows[0]
		to := t.at(f.Target)
		if to == nil || len(br.rows) > 1 || t.isHost(to) {
			break
		}
		br, ttl = to, min(ttl, f.TTL)
	}
	return br, ttl
}

// chooses reports whether the name makes a choice.
func (br *branch) chooses() bool {
	return slices.ContainsFunc(br.rows, func(f owned) bool { return f.SetID != "" || f.Chosen() })
}
