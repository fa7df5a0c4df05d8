package records

import (
	"slices"

	"github.com/miekg/dns"
)

// budget is what one answer may take: its work must have a bound, whatever the
// objects are.
type budget struct {
	hops  int // CNAMEs between names served here, one after the other (rule 7.1)
	tries int // members whose hostname turns out to have no such data
}

// The budget of a query.
const (
	maxHops  = 8
	maxTries = 16
)

// Draws for other choices of the same query must not be steps of the sequence
// that Pool.pick makes of Query.Random: they would follow from the first choice.
const (
	onward uint64 = 0x6a09e667f3bcc908 // for the next name of a chain
	retry  uint64 = 0xbb67ae8584caa73b // for another member at the same name
)

// end leads an answer that n gave to its end: along its CNAMEs, and where none
// may stand at n, to the addresses alone. left is what the whole answer may
// still take.
func (s *Snapshot) end(z *Zone, n *node, q *Query, a *Answer, left *budget) {
	if n.static == nil || !isCNAME(a.Answer[0]) {
		s.chase(q, a, left)
		return
	}
	sub, hops := *q, left.hops
	var tried []*member
	for isCNAME(a.Answer[0]) {
		by := a.Steering
		left.hops = hops
		if s.chase(&sub, a, left); len(a.Answer) > 0 {
			s.flatten(z, q, a)
		}
		if left.tries--; len(a.Answer) > 0 || by.member == nil || left.tries < 0 {
			return
		}
		// The member's hostname has no such data: it is passed over like any
		// member that lacks the family (rule 4.6).
		tried = append(tried, by.member)
		sub.Random = nextRandom(sub.Random ^ retry)
		fam, _ := familyOf(q.Type)
		next := Answer{Steering: by}
		n.steered.view.answer(&sub, fam, &next, tried)
		if len(next.Answer) == 0 {
			return // what the last one gave: a denial, or SERVFAIL
		}
		*a = next
	}
	if n.name != q.Owner {
		a.Answer = withOwner(a.Answer, n.name, q.Owner)
	}
}

// anyFlat answers ANY at a name where no CNAME may stand: with the addresses of
// one family (RFC 8482 §4.1).
func (s *Snapshot) anyFlat(z *Zone, n *node, q *Query, a *Answer) {
	sub := *q
	for _, sub.Type = range [...]uint16{dns.TypeA, dns.TypeAAAA} {
		*a = Answer{}
		if z.answerNode(n, &sub, a); len(a.Answer) > 0 {
			s.end(z, n, &sub, a, &budget{maxHops, maxTries})
		}
		if len(a.Answer) > 0 {
			return
		}
	}
	if a.Rcode == dns.RcodeSuccess && a.Ns == nil {
		s.deny(z, a, dns.RcodeSuccess)
	}
}

// chase follows the CNAME at the end of a's answer through the zones served
// here (rule 7.1).
func (s *Snapshot) chase(q *Query, a *Answer, left *budget) {
	sub := *q
	for {
		last, ok := a.Answer[len(a.Answer)-1].(*dns.CNAME)
		if !ok {
			return
		}
		z := s.Zone(last.Target)
		if z == nil {
			return // the client's resolver goes on
		}
		if q.Type == dns.TypeDS && z.origin == last.Target { // the parent's (rule 7.1)
			if up, ok := parent(last.Target); ok && s.Zone(up) != nil {
				z = s.Zone(up)
			}
		}
		if left.hops--; left.hops < 0 {
			// A loop, or a chain too long to be meant.
			*a = Answer{Rcode: dns.RcodeServerFailure}
			return
		}
		sub.Name, sub.Owner, sub.Random = last.Target, last.Target, nextRandom(sub.Random^onward)
		if !s.follow(z, &sub, a, left) {
			return
		}
	}
}

// follow appends what q finds in z to a's answer; it tells whether the answer
// may go on from there.
func (s *Snapshot) follow(z *Zone, q *Query, a *Answer, left *budget) bool {
	n := z.find(q.Name)
	if n == nil {
		s.deny(z, a, dns.RcodeNameError) // RFC 6604 §3: the rcode is the last name's
		return false
	}
	var more Answer
	z.answerNode(n, q, &more)
	if len(more.Answer) == 0 {
		s.deny(z, a, dns.RcodeSuccess)
		return false
	}
	if n.static != nil && isCNAME(more.Answer[0]) {
		s.end(z, n, q, &more, left)
	} else if n.name != q.Owner {
		more.Answer = withOwner(more.Answer, n.name, q.Owner)
	}
	a.Scope, a.Located = max(a.Scope, more.Scope), a.Located || more.Located
	switch {
	case more.Rcode == dns.RcodeServerFailure:
		*a = more
		return false
	case len(more.Answer) == 0:
		a.Rcode, a.Ns, a.Extra = more.Rcode, more.Ns, nil
		return false
	}
	a.Answer = slices.Concat(a.Answer, more.Answer)
	return true
}

// flatten replaces a chain at a name that holds other data, where no CNAME may
// stand, by the addresses at its end (rule 2.7).
func (s *Snapshot) flatten(z *Zone, q *Query, a *Answer) {
	ttl := a.Answer[0].Header().Ttl
	var flat []dns.RR
	for _, rr := range a.Answer {
		ttl = min(ttl, rr.Header().Ttl)
		if rr.Header().Rrtype == q.Type {
			flat = append(flat, copyHeader(rr))
		}
	}
	for _, rr := range flat {
		rr.Header().Name, rr.Header().Ttl = q.Owner, ttl
	}
	a.Answer, a.Ns = slices.Clip(flat), nil
	if len(flat) == 0 {
		a.Scope = 0
		s.deny(z, a, dns.RcodeSuccess)
	}
}
