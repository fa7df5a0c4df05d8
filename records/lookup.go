package records

import (
	"net/netip"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// Query is one question and what the answer to it may depend on.
type Query struct {
	// Name is the name asked for, in lower case with a final dot. It lies in the zone that is asked.
	Name string
	// Owner is Name as the answer should spell it (rule 7.2).
	Owner string
	Type  uint16
	// Signed is true if the answer is signed once it is found (rule 7.6). Within reports whether the zone of an
	// origin is signed like the one that is asked: a chain ends where it would leave these, and the client's resolver goes
	// on. nil stands for all zones.
	Signed bool
	Within func(origin string) bool
	// Client is where the client is (rule 3.1).
	Client netip.Addr
	// Locator finds the client's location, where the answer depends on it; nil if nothing is known of any client.
	Locator geo.Locator
	// Random is one draw, uniform over all values.
	Random uint64
	// trail takes down how the answer comes about; nil but for Explain.
	trail *trail
}

// Answer is what Lookup found. Its records are shared with the snapshot and with other answers: nobody may change them; its
// slices are clipped.
type Answer struct {
	// Rcode is NOERROR, NXDOMAIN, or SERVFAIL where Unlisted or a loop of CNAMEs keeps the answer from being known.
	Rcode             int
	Answer, Ns, Extra []dns.RR
	// Scope is the prefix length that the answer holds for (rule 3.6): 0 if it does not depend on the client.
	Scope int
	// Referral is true if the answer is a referral to other servers: the zone has no authority over the name (rule 7.2).
	Referral bool
	// Unlisted is true if the name may exist in a source that has not been listed yet (rule 7.4).
	Unlisted bool
	// Located is true if the client's location was looked up.
	Located bool
	Steering
}

// Steering says how a steered answer was chosen. It is zero for other answers.
type Steering struct {
	// owner and member are what Owner and Member read: that costs memory accesses, which most answers do not need.
	owner  *endpoint.Contender
	member *pool.Member // nil for simple answers
	// Geo is the code of the chosen member's group, "*" where it has none; GeoClass is its geo.Class.
	Geo, GeoClass string
	Class         pool.Class
}

// Steered reports whether an object owns the name as steered data.
func (s *Steering) Steered() bool { return s.owner != nil }

// Owner returns the namespace/name of the object that owns the name, "" for none.
func (s *Steering) Owner() string {
	if s.owner == nil {
		return ""
	}
	return s.owner.By.Name
}

// Member returns the set identifier of the chosen member; "" for simple answers.
func (s *Steering) Member() string {
	if s.member == nil {
		return ""
	}
	return endpoint.TrimDot(s.member.ID)
}

// Lookup answers q from z, one of s's zones. For names that are not wildcards, asked in lower case, it does not allocate,
// unless a CNAME leads on to another name served here or some of a name's targets are down.
//
// The answer goes into a, which must be zero: it is large for the stack of a query's goroutine, and is not copied there.
func (s *Snapshot) Lookup(z *zone.Zone, q *Query, a *Answer) {
	s.find(z, q, a)
	if q.Signed {
		s.seal(q, a)
	}
}

// find does what Lookup does, but for what signing asks for.
func (s *Snapshot) find(z *zone.Zone, q *Query, a *Answer) {
	n, turn := z.Search(q.Name, q.Type)
	q.trail.hop(z, q, n, turn)
	switch {
	case z.Withholds(q.Type, n):
		q.trail.end(endWithheld)
		a.fail(true)
		return
	case turn != nil:
		if leadOn(z, turn, q, a) {
			s.chase(q, a, &budget{maxHops, maxTries}, false)
			s.addAdditional(a)
		}
		return
	case n == nil:
		s.deny(z, q, a, dns.RcodeNameError, false)
		return
	}
	answerNode(z, n, q, a)
	if len(a.Answer) == 0 {
		s.deny(z, q, a, dns.RcodeSuccess, s.ownerRead(n))
		a.Scope = 0
		return
	}
	if n.Name != q.Owner && a.Answer[0].Header().Name == n.Name {
		a.Answer = rdata.WithOwner(a.Answer, n.Name, q.Owner)
	}
	switch {
	case q.Type == dns.TypeANY && n.Flat() && rdata.IsCNAME(a.Answer[0]):
		s.anyFlat(z, n, q, a)
	case q.Type == dns.TypeCNAME || q.Type == dns.TypeANY:
	case n.Flat() && rdata.IsCNAME(a.Answer[0]):
		s.flatten(z, n, q, a, &budget{maxHops, maxTries})
	default:
		s.chase(q, a, &budget{maxHops, maxTries}, false)
	}
	if len(a.Answer) == 0 && a.Rcode != dns.RcodeServerFailure {
		a.Scope = 0 // nothing negative depends on the client (rule 3.6)
	}
	s.addAdditional(a)
}

// deny makes a a negative answer to q (RFC 2308 §2), or one whose chain ends so, unless a source that is not listed could
// have the name (rule 7.4). owned reports whether the owner of the name has been read.
func (s *Snapshot) deny(z *zone.Zone, q *Query, a *Answer, rcode int, owned bool) {
	if !owned && !s.denies(q.Name) {
		q.trail.end(endUnlisted)
		a.fail(true)
		return
	}
	a.Rcode, a.Ns, a.Extra = rcode, z.Negative, nil
}

// ownerRead reports whether the owner of a name with data has been read: an object, or the Records that have its addresses.
func (s *Snapshot) ownerRead(n *zone.Node) bool {
	if s.complete || n.Steered.Owner != nil {
		return true // by far the most
	}
	addressed := zone.OfType(n.Static, dns.TypeA) != nil || zone.OfType(n.Static, dns.TypeAAAA) != nil
	return addressed && !s.In.Expecting && !slices.ContainsFunc(s.In.Clusters, func(c *api.Cluster) bool {
		return !c.Listings[api.KindRecord].Complete()
	})
}

// fail makes a the answer that cannot be known. What it depends on stays.
func (a *Answer) fail(unlisted bool) {
	*a = Answer{Rcode: dns.RcodeServerFailure, Unlisted: unlisted, Scope: a.Scope, Located: a.Located}
}

// answerNode puts the data of n that q asks for into a.
func answerNode(z *zone.Zone, n *zone.Node, q *Query, a *Answer) {
	apex := n.Name == z.Origin()
	if apex && q.Type == dns.TypeSOA {
		a.Answer = z.SOASet
		return
	}
	for _, set := range n.Static {
		// RFC 8482 §4.1: one RRset is enough of an answer to ANY.
		if set.Type == q.Type || q.Type == dns.TypeANY {
			a.Answer = set.RRs
			if set.Type == dns.TypeNS && apex {
				a.Extra = z.Glue // at the apex: elsewhere it is a cut; nil if it is not all
			}
			return
		}
	}
	if n.Steered.Owner == nil {
		// Without steered data, a CNAME has nothing beside it (RFC 1034 §3.6.2).
		a.Answer = zone.OfType(n.Static, dns.TypeCNAME)
		return
	}
	if n.Static != nil && q.Type == dns.TypeCNAME {
		return // nothing, or a CNAME that may not stand beside other data
	}
	if q.Type != dns.TypeANY {
		answerSteered(&n.Steered, q, q.Type, a)
		return
	}
	for _, t := range [...]uint16{dns.TypeCNAME, dns.TypeA, dns.TypeAAAA} {
		if answerSteered(&n.Steered, q, t, a); len(a.Answer) > 0 {
			return
		}
	}
}

// answerSteered puts the steered data of a type into a, where there are any.
func answerSteered(s *pool.Steered, q *Query, rtype uint16, a *Answer) {
	fam, ok := pool.FamilyOf(rtype)
	switch data := s.Data.(type) {
	case *pool.Set:
		if !ok && !data.Alias() {
			return
		}
		a.Answer, a.Class = data.Answer(fam, q.trail.data())
		a.Geo, a.GeoClass = pool.AnyGeo, pool.AnyGeo
	case *pool.View:
		if !ok && !data.Pool.Aliases {
			return
		}
		choose(data, q, fam, a, nil)
	default:
		return
	}
	a.owner = s.Owner
}

// choose puts the choice of a pool, as seen from v, into a. The members in tried are passed over.
func choose(v *pool.View, q *Query, fam pool.Family, a *Answer, tried pool.Tried) {
	if a.Answer = v.Fixed(fam); a.Answer != nil {
		return
	}
	ask := pool.Ask{Family: fam, Random: q.Random, Tried: tried}
	if need := v.Pool.Need(fam); need != 0 && q.Locator != nil {
		ask.At, ask.Bits = q.Locator.Locate(q.Client, need)
		a.Scope, a.Located = ask.Bits, true
	}
	rrs, m, class := v.Choose(&ask, q.trail.data())
	if m == nil {
		return
	}
	g := &v.Pool.Groups[m.Group]
	a.Answer, a.member, a.Class, a.Geo, a.GeoClass = rrs, m, class, g.Geo(), g.Class
}
