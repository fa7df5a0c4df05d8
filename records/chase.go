package records

import (
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// budget bounds the work for one answer, whatever the objects are.
type budget struct {
	hops  int // CNAMEs followed between names served here (rule 7.1)
	tries int // members whose hostname turns out not to have the data
}

// The budget of a query.
const (
	maxHops  = 16
	maxTries = 64
)

// Further draws for the same query must not reuse the sequence that a pool makes of Query.Random:
// they would follow from the first choice.
const (
	onward uint64 = 0x6a09e667f3bcc908 // for the next name of a chain
	retry  uint64 = 0xbb67ae8584caa73b // for another member at the same name
)

// flatten replaces the CNAMEs that n gave to a by addresses, if no CNAME may stand at n (rule 2.7).
// Pool members whose hostname leads to no address here lack the family, and are passed over (rule
// 4.6): so a denial is the same for every client. It is no denial if one of them is unknown. left
// is what remains of the answer's budget.
func (s *Snapshot) flatten(z *zone.Zone, n *zone.Node, q *Query, a *Answer, left *budget) {
	sub, hops := *q, left.hops
	var tried pool.Tried
	failed, unlisted, closed := false, false, false
	for rdata.IsCNAME(a.Answer[0]) {
		by := a.Steering
		left.hops = hops
		if s.chase(&sub, a, left, true); len(a.Answer) > 0 {
			s.gather(z, q, a)
		}
		if len(a.Answer) > 0 {
			return
		}
		failed, unlisted, closed = failed || a.Rcode == dns.RcodeServerFailure, unlisted || a.Unlisted, closed || a.Closed
		next := Answer{Steering: by}
		if left.tries--; by.member != nil {
			v := n.Steered.Data.(*pool.View)
			tried = tried.With(v.Pool, by.member)
			sub.Random = pool.Next(sub.Random ^ retry)
			fam, _ := pool.FamilyOf(q.Type)
			q.trail.hop(z, q, n, nil)
			choose(v, &sub, fam, &next, tried)
			if more := len(next.Answer); left.tries <= 0 && more > 0 && rdata.IsCNAME(next.Answer[more-1]) {
				next.Answer, failed = nil, true // what it leads to is unknown
			}
		}
		next.Scope, next.Located = max(a.Scope, next.Scope), a.Located || next.Located
		if len(next.Answer) == 0 {
			if failed {
				a.fail(unlisted)
			}
			a.Scope, a.Located, a.Closed = next.Scope, next.Located, closed || next.Closed
			return
		}
		*a = next
	}
	if n.Name != q.Owner {
		a.Answer = q.Copies.WithOwner(a.Answer, n.Name, q.Owner)
	}
}

// gather keeps the chain's records of the query type, with the query name as their owner.
func (s *Snapshot) gather(z *zone.Zone, q *Query, a *Answer) {
	ttl := a.Answer[0].Header().Ttl
	var flat []dns.RR
	for _, rr := range a.Answer {
		ttl = min(ttl, rr.Header().Ttl)
		if rr.Header().Rrtype == q.Type {
			flat = append(flat, rdata.CopyHeader(rr))
		}
	}
	for _, rr := range flat {
		rr.Header().Name, rr.Header().Ttl = q.Owner, ttl
	}
	a.Answer, a.Ns = slices.Clip(flat), nil
	if len(flat) == 0 {
		s.deny(z, q, a, dns.RcodeSuccess, true)
	}
}

// anyFlat answers ANY at a name where no CNAME may stand, with the addresses of one family, the smaller ones (RFC 8482 §4.1).
func (s *Snapshot) anyFlat(z *zone.Zone, n *zone.Node, q *Query, a *Answer) {
	sub := *q
	failed, unlisted := false, false
	*a = Answer{}
	for _, sub.Type = range [...]uint16{dns.TypeA, dns.TypeAAAA} {
		var one Answer
		q.trail.hop(z, &sub, n, nil)
		answerNode(z, n, &sub, &one)
		switch {
		case len(one.Answer) == 0:
		case rdata.IsCNAME(one.Answer[0]):
			s.flatten(z, n, &sub, &one, &budget{maxHops, maxTries})
		case n.Name != q.Owner:
			one.Answer = q.Copies.WithOwner(one.Answer, n.Name, q.Owner)
		}
		failed, unlisted = failed || one.Rcode == dns.RcodeServerFailure, unlisted || one.Unlisted
		a.unlessLarger(&one)
	}
	switch {
	case len(a.Answer) > 0:
	case failed:
		a.fail(unlisted)
	default:
		s.deny(z, q, a, dns.RcodeSuccess, n.Steered.Owner != nil)
	}
}

// chase follows the CNAME at the end of a's answer through the zones served here (rule 7.1). With
// flat, it must end at addresses here.
func (s *Snapshot) chase(q *Query, a *Answer, left *budget, flat bool) {
	sub := *q
	for {
		last, ok := a.Answer[len(a.Answer)-1].(*dns.CNAME)
		if !ok {
			return
		}
		z := s.ZoneOf(last.Target, q.Type)
		if z == nil {
			q.trail.end(endElsewhere)
			return // the client's resolver goes on
		}
		if !flat && !q.within(z) {
			q.trail.end(endSignedApart)
			return // the client's resolver goes on, and asks the signer of that zone
		}
		if left.hops--; left.hops < 0 || owns(a.Answer, last.Target) {
			// A loop, or a chain too long to be intended.
			q.trail.end(endLoop)
			a.fail(false)
			return
		}
		sub.Name, sub.Owner, sub.Random = last.Target, last.Target, pool.Next(sub.Random^onward)
		if !s.follow(z, &sub, a, left, flat) {
			return
		}
	}
}

// owns reports whether one of rrs is a CNAME at name, in any spelling. A DNAME may lead to its own
// owner.
func owns(rrs []dns.RR, name string) bool {
	return slices.ContainsFunc(rrs, func(rr dns.RR) bool { return rdata.IsCNAME(rr) && strings.EqualFold(rr.Header().Name, name) })
}

// follow appends the data for q in z to a's answer, and reports whether the chain may go on from
// there.
func (s *Snapshot) follow(z *zone.Zone, q *Query, a *Answer, left *budget, flat bool) bool {
	n, turn := z.Search(q.Name, q.Type)
	q.trail.hop(z, q, n, turn)
	var more Answer
	switch {
	case z.Withholds(q.Type, n):
		q.trail.end(endWithheld)
		a.fail(true)
		return false
	case turn != nil:
		on := leadOn(z, turn, q, &more)
		a.Rcode, a.Answer = more.Rcode, appendNew(a.Answer, more.Answer)
		if more.Referral {
			a.Ns, a.Extra = more.Ns, more.Extra // the client's resolver goes on from there
		}
		return on
	case n == nil:
		s.deny(z, q, a, dns.RcodeNameError, false) // RFC 6604 §3: the rcode is the last name's
		return false
	}
	answerNode(z, n, q, &more)
	if len(more.Answer) == 0 {
		a.Closed, a.Scope, a.Located = more.Closed, max(a.Scope, more.Scope), a.Located || more.Located
		s.deny(z, q, a, dns.RcodeSuccess, s.ownerRead(n))
		return false
	}
	if rdata.IsCNAME(more.Answer[0]) && (flat || n.Flat()) {
		s.flatten(z, n, q, &more, left)
	} else if n.Name != q.Owner {
		more.Answer = q.Copies.WithOwner(more.Answer, n.Name, q.Owner)
	}
	a.Scope, a.Located = max(a.Scope, more.Scope), a.Located || more.Located
	switch {
	case more.Rcode == dns.RcodeServerFailure:
		a.fail(more.Unlisted)
		return false
	case len(more.Answer) == 0:
		a.Closed, a.Rcode, a.Ns, a.Extra = more.Closed, more.Rcode, more.Ns, nil
		return false
	}
	had := len(a.Answer)
	a.Answer = appendNew(a.Answer, more.Answer)
	return len(a.Answer) > had
}

// appendNew returns the records of a chain so far followed by more. It drops a DNAME at the start
// of more that the chain has already: a DNAME may lead back to its own owner.
func appendNew(rrs, more []dns.RR) []dns.RR {
	if len(more) > 0 && more[0].Header().Rrtype == dns.TypeDNAME &&
		slices.ContainsFunc(rrs, func(rr dns.RR) bool { return dns.IsDuplicate(rr, more[0]) }) {
		more = more[1:]
	}
	return slices.Clip(slices.Concat(rrs, more))
}
