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

// Query is a question, with everything that the answer may depend on.
type Query struct {
	// Name is the name asked for, in lower case with a final dot. It lies in the zone that is asked.
	Name string
	// Owner is Name as the answer should spell it (rule 7.2).
	Owner string
	Type  uint16
	// Signed is true if the answer will be signed (rule 7.6). Within reports whether the zone of an origin is signed like the zone asked: a
	// chain ends where it would leave these zones, and the client's resolver goes on. nil means all zones.
	Signed bool
	Within func(origin string) bool
	// Client is where the client is (rule 3.1).
	Client netip.Addr
	// Bits is how many bits of it are known: those of a client subnet, or all.
	Bits int
	// Locator finds the client's location if the answer depends on it; nil if no client can be located.
	Locator geo.Locator
	// Random is one draw, uniform over all values.
	Random uint64
	// Copies has records under another name than their own, if not nil: they are good until it is reset.
	Copies *rdata.Copies
	// trail records how the answer comes about; nil except for Explain.
	trail *trail
}

// Answer is the result of Lookup. Its records are shared with the snapshot and with other answers, so nobody may change them; its slices
// are clipped.
type Answer struct {
	// Rcode is NOERROR, NXDOMAIN, or SERVFAIL if Unlisted or a loop of CNAMEs leaves the answer unknown.
	Rcode             int
	Answer, Ns, Extra []dns.RR
	// Scope is the prefix length that the answer holds for (rule 3.6): 0 if it does not depend on the client.
	Scope int
	// Referral is true if the answer refers to other servers: the zone has no authority over the name (rule 7.2).
	Referral bool
	// Unlisted is true if the name may exist in a source that has not been listed yet (rule 7.4).
	Unlisted bool
	// Closed is true if all targets are down and the host fails closed (rule 9.3).
	Closed bool
	// Located is true if the client's location was looked up.
	Located bool
	Steering
}

// Steering says how a steered answer was chosen. It is zero for other answers.
type Steering struct {
	// owner and member are kept for Owner and Member, which read memory that most answers do not need.
	owner  *endpoint.Contender
	member *pool.Member // nil for simple answers
	// Geo is the code of the chosen member's group, "*" for none; GeoClass is its geo.Class.
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

// Lookup answers q from z, one of s's zones. It does not allocate for names in lower case that are not wildcards, unless a CNAME leads to
// another name served here or some of a name's targets are down.
//
// The answer goes into a, which must be zero: it is too large to copy on the stack of a query's goroutine.
func (s *Snapshot) Lookup(z *zone.Zone, q *Query, a *Answer) {
	s.find(z, q, a)
	if q.Signed {
		s.seal(q, a)
	}
}

// find is Lookup without the preparation for signing.
func (s *Snapshot) find(z *zone.Zone, q *Query, a *Answer) {
	n, found := s.visit(z, q, a)
	switch {
	case found == ended || found == unknown:
		return
	case found == given && q.Type == dns.TypeANY && n.Flat() && rdata.IsCNAME(a.Answer[0]):
		s.anyFlat(z, n, q, a)
	case found == leads:
		s.follow(z, n, q, a)
	}
	a.settle()
	if q.Type != dns.TypeANY {
		s.addAdditional(a)
	}
}

// finding is what a name has for a query.
type finding uint8

const (
	given   finding = iota // the data
	leads                  // a CNAME, on which the search goes on
	denied                 // nothing
	ended                  // what ends the search: a referral, a DNAME that was asked for, or makes a name that is too long (RFC 6672 §2.2)
	unknown                // nobody knows (rule 7.4)
)

// visit puts what a name has into a, which must be zero. n is its node, nil for none or if a name above ended the search.
func (s *Snapshot) visit(z *zone.Zone, q *Query, a *Answer) (n *zone.Node, found finding) {
	n, turn := z.Search(q.Name, q.Type)
	q.trail.hop(z, q, n, turn)
	switch {
	case z.Withholds(q.Type, n):
		q.trail.end(endWithheld)
		a.fail(true)
		return nil, unknown
	case turn != nil:
		return nil, leadOn(z, turn, q, a)
	case n == nil:
		return nil, s.deny(z, q, a, dns.RcodeNameError, false)
	}
	answerNode(z, n, q, a)
	if len(a.Answer) == 0 {
		return n, s.deny(z, q, a, dns.RcodeSuccess, s.ownerRead(n))
	}
	if n.Name != q.Owner && a.Answer[0].Header().Name == n.Name {
		a.Answer = q.Copies.WithOwner(a.Answer, n.Name, q.Owner)
	}
	if _, alias := a.Answer[len(a.Answer)-1].(*dns.CNAME); alias && q.Type != dns.TypeCNAME && q.Type != dns.TypeANY {
		return n, leads
	}
	return n, given
}

// deny makes a a negative answer to q (RFC 2308 §2), possibly at the end of a chain, unless a source not yet listed could have the name
// (rule 7.4). owned reports whether the owner of the name has been read.
func (s *Snapshot) deny(z *zone.Zone, q *Query, a *Answer, rcode int, owned bool) finding {
	if !owned && !s.denies(q.Name) {
		q.trail.end(endUnlisted)
		a.fail(true)
		return unknown
	}
	a.Rcode, a.Ns, a.Extra = rcode, z.Negative, nil
	return denied
}

// settle sets for whom and how long a denial holds. Without a chain it is for all clients, unless a host failed closed (RFC 7871 §7.4).
func (a *Answer) settle() {
	switch {
	case a.Closed && a.Rcode == dns.RcodeSuccess && len(a.Ns) > 0:
		brief := rdata.CopyHeader(a.Ns[0]) // RFC 2308 §5
		brief.Header().Ttl = min(brief.Header().Ttl, maxClosed)
		a.Ns = []dns.RR{brief}
	case len(a.Answer) == 0 && a.Rcode != dns.RcodeServerFailure:
		a.Scope = 0
	}
}

// maxClosed bounds how long resolvers keep that all targets of a host are down, in seconds (rule 9.3).
const maxClosed = 10

// ownerRead reports whether the owner of a name with data has been read: an object, or the Records with its addresses.
func (s *Snapshot) ownerRead(n *zone.Node) bool {
	if s.complete || n.Steered.Owner != nil {
		return true // almost always
	}
	addressed := zone.OfType(n.Static, dns.TypeA) != nil || zone.OfType(n.Static, dns.TypeAAAA) != nil
	return addressed && !s.In.Expecting && !slices.ContainsFunc(s.In.Clusters, func(c *api.Cluster) bool {
		return !c.Listings[api.KindRecord].Complete()
	})
}

// fail makes a an unknown answer. What it depends on stays.
func (a *Answer) fail(unlisted bool) {
	*a = Answer{Rcode: dns.RcodeServerFailure, Unlisted: unlisted, Scope: a.Scope, Located: a.Located}
}

// answerNode puts n's data of q's type into a.
func answerNode(z *zone.Zone, n *zone.Node, q *Query, a *Answer) {
	apex := n.Name == z.Origin()
	if apex && q.Type == dns.TypeSOA {
		a.Answer = z.SOASet
		return
	}
	if q.Type == dns.TypeANY {
		answerAny(z, n, q, a)
		return
	}
	for _, set := range n.Static {
		if set.Type == q.Type {
			a.Answer = set.RRs
			if set.Type == dns.TypeNS && apex {
				a.Extra = z.Glue // at the apex (elsewhere it is a cut); nil unless all glue is known
			}
			return
		}
	}
	if n.Steered.Owner == nil {
		// Without steered data, a CNAME stands alone (RFC 1034 §3.6.2).
		a.Answer = zone.OfType(n.Static, dns.TypeCNAME)
		return
	}
	if n.Static != nil && q.Type == dns.TypeCNAME {
		return // nothing, or a CNAME that may not stand beside other data
	}
	answerSteered(&n.Steered, q, q.Type, a)
}

// answerAny puts the smallest of n's RRsets into a (RFC 8482 §4.1).
func answerAny(z *zone.Zone, n *zone.Node, q *Query, a *Answer) {
	if n.Name == z.Origin() {
		a.Answer = z.SOASet
	}
	for _, set := range n.Static {
		if a.Answer == nil || size(set.RRs) < size(a.Answer) {
			a.Answer = set.RRs
		}
	}
	if n.Steered.Owner == nil {
		return
	}
	for _, t := range [...]uint16{dns.TypeCNAME, dns.TypeA, dns.TypeAAAA} {
		var steered Answer
		answerSteered(&n.Steered, q, t, &steered)
		if len(a.Answer) > 0 && n.Flat() && len(steered.Answer) > 0 && rdata.IsCNAME(steered.Answer[0]) {
			steered.Answer = nil // it may not stand beside other data
		}
		a.unlessLarger(&steered)
	}
}

// unlessLarger makes a the answer b, unless a has data, and no more octets than b's. It depends on all that either depends on.
func (a *Answer) unlessLarger(b *Answer) {
	scope, located, closed := max(a.Scope, b.Scope), a.Located || b.Located, a.Closed || b.Closed
	if len(a.Answer) == 0 || len(b.Answer) > 0 && size(b.Answer) < size(a.Answer) {
		*a = *b
	}
	a.Scope, a.Located, a.Closed = scope, located, closed && len(a.Answer) == 0
}

// size returns how many octets records take without their common owner name.
func size(rrs []dns.RR) (octets int) {
	for _, rr := range rrs {
		octets += dns.Len(rr) - len(rr.Header().Name)
	}
	return octets
}

// answerSteered puts the steered data of a type into a, if there are any.
func answerSteered(s *pool.Steered, q *Query, rtype uint16, a *Answer) {
	fam, ok := pool.FamilyOf(rtype)
	switch data := s.Data.(type) {
	case *pool.Set:
		if !ok && !data.Alias() {
			return
		}
		_, window := q.chance(&data.Attributes, a)
		a.Answer, a.Class = data.Answer(fam, window, q.trail.data())
		a.Geo, a.GeoClass = pool.AnyGeo, pool.AnyGeo
		q.close(data.Closed(a.Class), a)
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

// choose puts a pool's choice, seen from v, into a. It passes over the members in tried.
func choose(v *pool.View, q *Query, fam pool.Family, a *Answer, tried pool.Tried) {
	if a.Answer = v.Fixed(fam); a.Answer != nil {
		return
	}
	ask := pool.Ask{Family: fam, Random: q.Random, Tried: tried}
	ask.Network, ask.Window = q.chance(&v.Pool.Attributes, a)
	if need := v.Pool.Need(fam); need != 0 && q.Locator != nil {
		ask.At, ask.Bits = q.Locator.Locate(q.Client, need)
		a.Scope, a.Located = max(a.Scope, ask.Bits), true
	}
	rrs, m, class := v.Choose(&ask, q.trail.data())
	if m == nil {
		return
	}
	g := &v.Pool.Groups[m.Group]
	a.Answer, a.member, a.Class, a.Geo, a.GeoClass = rrs, m, class, g.Geo(), g.Class
	q.close(pool.Closed(&v.Pool.Attributes, class), a)
}

// chance returns the number of the client's network, where it counts at a host, and what says which of more addresses are answered:
// the network too, where the client keeps its member, or where answers are signed, so that few differ (rules 9.2 and 9.4).
func (q *Query) chance(host *api.Attributes, a *Answer) (network, window uint64) {
	if host.Of(api.Sticky) != api.StickyClient && !(q.Signed && host.Says(api.MaxAnswers)) {
		return 0, q.Random
	}
	network, bits := pool.Network(q.Client, q.Bits)
	a.Scope = max(a.Scope, bits)
	return network, network
}

// close takes an answer back if the host is closed (rule 9.3).
func (q *Query) close(closed bool, a *Answer) {
	if closed && len(a.Answer) > 0 {
		a.Answer, a.Closed = nil, true
		q.trail.close()
	}
}
