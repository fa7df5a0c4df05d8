package owner

import (
	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// Claim is what keeps a name, or a part of its data, for one namespace and the administering one. The zero Claim keeps nothing.
type Claim struct {
	Kind ClaimKind
	// By is the claimant; its Host is the name by which it claims. nil for none.
	By *endpoint.Contender
	// Since is since when it has that name: see Claimant.
	Since int64
	// Strict is true for a Wildcard that keeps out what was there before it, too.
	Strict bool
}

// ClaimKind says by what a namespace claims a name.
type ClaimKind uint8

const (
	// Delegation: NS records at or above the name are the namespace's. Everything there is part of the delegation (rule 5.1).
	Delegation ClaimKind = iota
	// Above: the namespace has the name above the labels that begin with _ (rule 5.9).
	Above
	// Wildcard: a wildcard of the namespace covers the name (rules 5.3 and 5.9).
	Wildcard
	// Certificate: a certificate that the name allows is good for a name that the namespace had before (rule 5.9).
	Certificate
	// Name: the namespace has addresses or a CNAME at the name itself (rule 5.3).
	Name
	// Data: the administering namespace has data at the name, which a CNAME cannot be beside (rule 5.3).
	Data
)

// Claimant is an object that wants to publish at a name.
type Claimant struct {
	By *api.Meta
	// Administrative is true if its namespace administers the zone. Bound is as in endpoint.Record.
	Administrative, Bound bool
	// Since is since when its namespace has the name, in seconds since 1970: as the registry has it, else as old as the object.
	Since int64
}

// Refuses reports whether the claim keeps an object out.
func (c *Claim) Refuses(who *Claimant) bool {
	switch {
	case c.By == nil || who.Administrative || c.By.By.SameNamespace(who.By):
		return false
	case c.Kind == Delegation || c.Kind == Data:
		return true
	case c.Kind == Wildcard && !c.Strict:
		return who.Bound && !Before(who.Since, who.By, c.Since, c.By.By)
	}
	return who.Bound
}

// Before reports whether the namespace of a has had its name longer than that of b.
func Before(aSince int64, a *api.Meta, bSince int64, b *api.Meta) bool {
	return aSince < bSince || aSince == bSince && a.Older(b) < 0
}

// Problem tells the object of m why it is kept out of a name.
func (c *Claim) Problem(name string, m *api.Meta) *endpoint.Problem {
	name, at, by := endpoint.TrimDot(name), endpoint.TrimDot(c.By.Host), c.By.Kind.String()+" "+endpoint.InCluster(c.By.By, m)
	switch c.Kind {
	case Delegation:
		return endpoint.Problemf(endpoint.ReasonConflicted,
			"%s is delegated by the NS records of %s: only its namespace may publish there and below, glue and DS records included", at, by)
	case Name:
		return endpoint.Problemf(endpoint.ReasonConflicted, "%s", c.By.Owns("the name", m))
	case Wildcard:
		if endpoint.Underscored(name) {
			return endpoint.Problemf(endpoint.ReasonConflicted,
				"%s is covered by the wildcard %s of %s: names with _ labels there are reserved for its namespace: "+
					"publish there, or ask for a grant that names the label", name, at, by)
		}
		return endpoint.Problemf(endpoint.ReasonConflicted,
			"%s is covered by the wildcard %s of %s: other namespaces may have addresses or a CNAME there, but no other data", name, at, by)
	case Certificate:
		return endpoint.Problemf(endpoint.ReasonConflicted,
			"a certificate for *.%s is good for %s, which belongs to %s: publish %s there, or ask for a grant that names the label",
			endpoint.TrimDot(endpoint.AboveUnderscored(name)), at, by, name)
	case Data:
		return endpoint.Problemf(endpoint.ReasonConflicted,
			"%s of the administering namespace has other data at %s, and was there before: a hostname, which is answered with a CNAME, cannot be beside them: "+
				"use addresses, or another name", by, at)
	}
	return endpoint.Problemf(endpoint.ReasonConflicted,
		"names with _ labels below %s are reserved for the namespace of its owner, %s: publish there, or ask for a grant that names the label", at, by)
}
