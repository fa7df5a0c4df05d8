package zone

import (
	"cmp"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/owner"
)

// coexisting returns the Records that may stand beside each other and the other data. Older ones go first. It calls lose for the others.
func coexisting(records []*endpoint.Record, at Others, lose func(*endpoint.Record, *endpoint.Problem)) []*endpoint.Record {
	if len(records) == 1 && at.By == nil && at.Owner == nil && at.refused == nil && at.Fixed == nil {
		return records // almost always
	}
	byAge := slices.Clone(records)
	slices.SortStableFunc(byAge, (*endpoint.Record).Older) // an object's Records keep their order
	byAge = endpoint.LiveFirst(byAge, (*endpoint.Record).Missing, (*endpoint.Record).Contention)
	c := neighbours{at: &at, displaced: administrativeTypes(byAge, lose), first: at.First(byAge)}
	return slices.DeleteFunc(byAge, func(r *endpoint.Record) bool {
		problem := c.refuses(r)
		if problem != nil {
			lose(r, problem)
		} else {
			c.take(r)
		}
		return problem != nil
	})
}

// neighbours is what a Record at a name would stand beside: the other data, and the Records that were taken before it.
type neighbours struct {
	at *Others
	// displaced has the Records of the administering namespace before which those of other namespaces yield, by type.
	displaced map[uint16]*endpoint.Record
	// first may have the name; nil for none. alias, dname and other are the first CNAME, DNAME and Record of a type other than CNAME taken.
	first, alias, dname, other *endpoint.Record
	taken                      int
}

// refuses returns why a Record cannot stand here; nil if it can.
func (c *neighbours) refuses(r *endpoint.Record) *endpoint.Problem {
	conflict := func(format string, args ...any) *endpoint.Problem {
		return endpoint.Problemf(endpoint.ReasonConflicted, format, args...)
	}
	at, rtype := c.at, r.RR.Header().Rrtype
	if c.taken == endpoint.MaxAtName {
		return conflict("at most %d Records may have one name: serving the older ones", endpoint.MaxAtName)
	}
	if claim := at.claimOn(r); claim != nil {
		return claim.Problem(r.Name, &r.Record.Meta)
	}
	switch by := c.displaced[rtype]; {
	case by != nil && !r.Beside:
		return conflict("%s of the administering namespace has the %s records at this name", by.Object(r), r.Record.Type)
	case at.Owner != nil && (endpoint.Steered(rtype) || at.Alias && r.Origin > 0):
		return &endpoint.Problem{Reason: endpoint.ReasonConflicted}
	case !r.Beside && at.By != nil && !r.Record.SameNamespace(at.By.By):
		return at.stranger(r)
	case !r.Beside && at.By == nil && c.first != nil && !r.Record.SameNamespace(&c.first.Record.Meta):
		return conflict("the name belongs to %s", c.first.Object(r))
	case at.reserved() && endpoint.Steered(rtype):
		return conflict("%s is a name server of the Corefile, which has its addresses", endpoint.TrimDot(r.Name))
	}
	switch cname := rtype == dns.TypeCNAME; {
	case cname && c.alias != nil && !dns.IsDuplicate(r.RR, c.alias.RR):
		return conflict("a name can have only one CNAME: %s comes first", c.alias.Object(r))
	case cname && c.other != nil:
		return conflict("a CNAME cannot be beside other data: %s of type %s comes first", c.other.Object(r), c.other.Record.Type)
	case !cname && c.alias != nil:
		return conflict("a CNAME cannot be beside other data: %s comes first", c.alias.Object(r))
	case rtype == dns.TypeDNAME && c.dname != nil && !dns.IsDuplicate(r.RR, c.dname.RR):
		return conflict("a name can have only one DNAME: %s comes first", c.dname.Object(r))
	}
	return nil
}

// take adds a Record.
func (c *neighbours) take(r *endpoint.Record) {
	c.taken++
	switch r.RR.Header().Rrtype {
	case dns.TypeCNAME:
		c.alias = cmp.Or(c.alias, r)
		return
	case dns.TypeDNAME:
		c.dname = cmp.Or(c.dname, r)
	}
	c.other = cmp.Or(c.other, r)
}

// administrativeTypes returns, by type, the first of some Records that stand beside any owner's: other namespaces' Records of these types do
// not join them (rule 5.3). nil for none, or if there are no others. It calls note for each that displaces others.
func administrativeTypes(records []*endpoint.Record, note func(*endpoint.Record, *endpoint.Problem)) (first map[uint16]*endpoint.Record) {
	beside := func(r *endpoint.Record) bool { return r.Beside }
	if !slices.ContainsFunc(records, beside) || !slices.ContainsFunc(records, func(r *endpoint.Record) bool { return !r.Beside }) {
		return nil // almost always
	}
	first = make(map[uint16]*endpoint.Record)
	for _, r := range records {
		if rtype := r.RR.Header().Rrtype; r.Beside && first[rtype] == nil {
			first[rtype] = r
		}
	}
	for _, r := range records {
		rtype := r.RR.Header().Rrtype
		others := func(o *endpoint.Record) bool { return !o.Beside && o.RR.Header().Rrtype == rtype }
		if i := slices.IndexFunc(records, others); r.Beside && i >= 0 {
			note(r, endpoint.Problemf(endpoint.ReasonDisplaces, "the %s records of other namespaces at this name, the first of %s, are not served beside it",
				r.Record.Type, records[i].Object(r)))
		}
	}
	return first
}

// claimOn returns the claim that keeps a Record out; nil for none.
func (at *Others) claimOn(r *endpoint.Record) *owner.Claim {
	i := slices.IndexFunc(at.refused, func(o Refusal) bool { return o.record == r })
	if i < 0 {
		return nil
	}
	return at.refused[i].claim
}

// stranger returns the problem that another namespace has the name of a Record.
func (at *Others) stranger(r *endpoint.Record) *endpoint.Problem {
	if at.Owner != nil {
		return &endpoint.Problem{Reason: endpoint.ReasonConflicted}
	}
	return endpoint.Problemf(endpoint.ReasonConflicted, "%s", at.By.Owns("the name", &r.Record.Meta))
}

// First returns the first of some Records that may have the name: of the namespace that has it, or of any if none is known to; nil for
// none.
func (at *Others) First(records []*endpoint.Record) *endpoint.Record {
	i := slices.IndexFunc(records, func(r *endpoint.Record) bool {
		return r.Owns() && at.claimOn(r) == nil && (at.By == nil || r.Record.SameNamespace(at.By.By))
	})
	if i < 0 {
		return nil
	}
	return records[i]
}

// Refusal is a Record that a claim keeps out of its name.
type Refusal struct {
	record *endpoint.Record
	claim  *owner.Claim
}
