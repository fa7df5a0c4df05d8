package zone

import (
	"cmp"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/owner"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// noteForeign notes whether a name, whose Records make sets, is a wildcard that may not answer for _acme-challenge directly below its
// parent: its namespace may not publish there, either (rule 5.9).
func (e *Edit) noteForeign(n *Node, sets []RRset) {
	name := n.Name
	up, wildcard := strings.CutPrefix(name, rdata.Wildcard)
	if !wildcard || name == e.Zone.Origin() || endpoint.Underscored(name) {
		return
	}
	up = cmp.Or(up, ".")
	own := e.boundAt(name, up)
	e.noteBound(name, boundWildcard, own != nil)
	if own != nil {
		if beside, foreign := e.foreignTo(up, own, n.challenges(sets)); foreign {
			e.foreign.edit().Set(name, beside)
			return
		}
	}
	if _, was := e.foreign.Get(name); was {
		e.foreign.edit().Delete(name)
	}
}

// boundAt returns the owner of a wildcard if it may publish at _acme-challenge below the parent only as others allow; nil if not.
func (e *Edit) boundAt(wildcard, up string) *endpoint.Contender {
	r := reach{}
	own := e.ownerUnder(wildcard, e.Node(wildcard), &r)
	if own == nil || e.Options == nil || !e.Options.Bound(&e.Zone.Zone, own.By, endpoint.Challenge+up) {
		return nil
	}
	return own
}

// foreignTo reports whether _acme-challenge below a name is not for the owner of the wildcard there: by a claim, which a wildcard further up
// that came later has not, or, if it has what proves something there, because of another name beside it.
func (e *Edit) foreignTo(up string, own *endpoint.Contender, challenges bool) (beside string, foreign bool) {
	if e.Options.LeavesChallenge(&e.Zone.Zone, own.By, endpoint.Challenge+up) {
		return "", true
	}
	who := owner.Claimant{By: own.By, Bound: true, Since: e.since(own.Host, own)}
	claim := e.ClaimOf(endpoint.Challenge+up, nil)
	if claim.Strict = false; claim.Refuses(&who) {
		return "", true
	}
	if !challenges {
		return "", false // as for most: the names beside it need not be looked at
	}
	if rival := e.Rival(up, own.By); rival.Refuses(&who) {
		return rival.By.Host, true
	}
	return "", false
}

// challenges reports whether a node, whose Records make sets, has what an authority asks for at _acme-challenge: TXT, or a CNAME.
func (n *Node) challenges(sets []RRset) bool {
	return OfType(sets, dns.TypeTXT) != nil || OfType(sets, dns.TypeCNAME) != nil || n.Steered.Data != nil && n.Steered.Data.Has(pool.CNAME)
}

// RenewForeign has decided anew whether the wildcard beside a name, whose owner has changed, is foreign.
func (e *Edit) RenewForeign(name string) {
	up, ok := rdata.Parent(name)
	wildcard := rdata.WildcardOf(up)
	n := e.Node(wildcard)
	if !ok || name == wildcard || n == nil {
		return
	}
	beside, is := e.foreign.Get(wildcard)
	if !is {
		own := e.boundAt(wildcard, up)
		is = own != nil && n.challenges(n.Static) && e.rivals(up, own.By)(name)
		beside = name
	}
	if is && beside == name {
		e.renew(e.make(wildcard))
	}
}
