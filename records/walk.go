package records

import (
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// The budget of a query, whatever the objects are.
const (
	maxHops  = 16 // CNAMEs followed between names served here (rule 7.1)
	maxTries = 64 // members whose hostname turns out not to have the data
)

// Further draws for the same query must not reuse the sequence that a pool makes of Query.Random:
// they would follow from the first choice.
const (
	onward uint64 = 0x6a09e667f3bcc908 // for the next name of a chain
	retry  uint64 = 0xbb67ae8584caa73b // for another member at the same name
)

// walk goes from the CNAME at the end of an answer from name to name, through the zones served here (rule 7.1). It has neither the question
// nor the answer, which stay on the stack for that.
type walk struct {
	snap *Snapshot
	// at is the question at the name reached.
	at Query
	// hops and tries are those made.
	hops, tries int
	// flats are the names on the way from the first one at which no CNAME may stand. From there on, the chain must end at data here.
	flats []flat
}

// flat is a name whose chain the answer must not show (rule 2.7). Pool members whose hostname leads to no address here lack the family, and
// are passed over (rule 4.6): so a denial is the same for every client. It is no denial if one of them is unknown.
type flat struct {
	zone *zone.Zone
	node *zone.Node
	// name and owner are the query's there, and random the last draw.
	name, owner string
	random      uint64
	// from is where its records begin in the answer. hops are those made until there.
	from, hops int
	// member is the one chosen last, nil for a host without members; tried are those before.
	member *pool.Member
	tried  pool.Tried
	// failed, unlisted and closed report what came of one of its members.
	failed, unlisted, closed bool
}

// follow goes on with q from the CNAME that n gave to a, the answer so far; n is nil for that of a DNAME. z is n's zone.
func (s *Snapshot) follow(z *zone.Zone, n *zone.Node, q *Query, a *Answer) {
	w := walk{snap: s, at: *q}
	if n != nil && n.Flat() {
		w.open(z, n, 0, a.member)
	}
	for {
		var more Answer
		from := len(a.Answer)
		z, n, found := w.step(q, a.Answer, &more)
		a.Scope, a.Located = max(a.Scope, more.Scope), a.Located || more.Located
		if len(w.flats) == 0 {
			a.take(found, &more)
		} else {
			a.Answer = appendNew(a.Answer, more.Answer)
		}
		switch {
		case found == leads:
			if n != nil && (n.Flat() || len(w.flats) > 0) {
				w.open(z, n, from, more.member)
			}
		case len(w.flats) == 0:
			return
		case found == given:
			w.gather(a)
			return
		case !w.again(q, a, found, more.Unlisted, more.Closed):
			return
		}
	}
}

// take adds what a name has to an answer that shows its chain.
func (a *Answer) take(found finding, more *Answer) {
	switch found {
	case unknown:
		a.fail(more.Unlisted)
		return
	case given, leads:
	default:
		a.Closed, a.Rcode, a.Ns, a.Extra = more.Closed, more.Rcode, more.Ns, more.Extra // RFC 6604 §3: the rcode is the last name's
	}
	a.Answer = appendNew(a.Answer, more.Answer)
}

// step visits the name that the CNAME at the end of own, the records so far, leads to.
func (w *walk) step(q *Query, own []dns.RR, more *Answer) (z *zone.Zone, n *zone.Node, found finding) {
	if len(w.flats) > 0 {
		own = own[w.flats[len(w.flats)-1].from:]
	}
	target := own[len(own)-1].(*dns.CNAME).Target
	z = w.snap.ZoneOf(target, w.at.Type)
	switch {
	case z == nil:
		q.trail.end(endElsewhere)
		return nil, nil, ended // the client's resolver goes on
	case len(w.flats) == 0 && !q.within(z):
		q.trail.end(endSignedApart)
		return nil, nil, ended // the client's resolver goes on, and asks the signer of that zone
	}
	if w.hops++; w.hops > maxHops || owns(own, target) {
		// A loop, or a chain too long to be intended.
		q.trail.end(endLoop)
		return nil, nil, unknown
	}
	w.at.Name, w.at.Owner, w.at.Random = target, target, pool.Next(w.at.Random^onward)
	n, found = w.snap.visit(z, &w.at, more)
	return z, n, found
}

// open notes that the records of n, from there on in the answer, are not shown.
func (w *walk) open(z *zone.Zone, n *zone.Node, from int, member *pool.Member) {
	w.flats = append(w.flats, flat{
		zone: z, node: n, name: w.at.Name, owner: w.at.Owner, random: w.at.Random, from: from, hops: w.hops, member: member,
	})
}

// again has the last of the flats choose another member, as what it leads to has no data here; the one before if it has none, and so on. It
// returns false once the answer is complete.
func (w *walk) again(q *Query, a *Answer, found finding, unlisted, closed bool) bool {
	for len(w.flats) > 0 {
		f := &w.flats[len(w.flats)-1]
		f.failed, f.unlisted, f.closed = f.failed || found == unknown, f.unlisted || unlisted, f.closed || closed
		a.Answer = slices.Clip(a.Answer[:f.from])
		if w.tries++; f.member != nil {
			var next Answer
			w.choose(f, q, a, &next)
			switch n := len(next.Answer); {
			case n == 0:
			case !rdata.IsCNAME(next.Answer[n-1]):
				a.Answer = appendNew(a.Answer, next.Answer)
				w.gather(a)
				return false
			case w.tries < maxTries:
				a.Answer = appendNew(a.Answer, next.Answer)
				return true
			default:
				f.failed = true // what it leads to is unknown
			}
		}
		found, unlisted, closed = denied, f.unlisted, f.closed
		if f.failed {
			found = unknown
		}
		a.Rcode, a.Ns, a.Extra, a.Closed = dns.RcodeSuccess, f.zone.Negative, nil, closed
		w.flats = w.flats[:len(w.flats)-1]
	}
	if found == unknown {
		a.fail(unlisted)
		a.Closed = closed
	}
	return false
}

// choose puts the next member of a flat host into next.
func (w *walk) choose(f *flat, q *Query, a, next *Answer) {
	v := f.node.Steered.Data.(*pool.View)
	f.tried, f.random = f.tried.With(v.Pool, f.member), pool.Next(f.random^retry)
	w.hops, w.at.Name, w.at.Owner, w.at.Random = f.hops, f.name, f.owner, f.random
	q.trail.hop(f.zone, &w.at, f.node, nil)
	fam, _ := pool.FamilyOf(w.at.Type)
	choose(v, &w.at, fam, next, f.tried)
	f.member, f.closed = next.member, f.closed || next.Closed
	a.Scope, a.Located = max(a.Scope, next.Scope), a.Located || next.Located
	if f.from == 0 && len(next.Answer) > 0 { // it is the asked name's
		next.owner = a.owner
		a.Steering = next.Steering
	}
}

// gather completes the answer with the records that the first of the flats has led to, under its name.
func (w *walk) gather(a *Answer) {
	f := &w.flats[0]
	chain := a.Answer[f.from:]
	ttl := chain[0].Header().Ttl
	var found []dns.RR
	for _, rr := range chain {
		ttl = min(ttl, rr.Header().Ttl)
		if rr.Header().Rrtype == w.at.Type {
			found = append(found, rdata.CopyHeader(rr))
		}
	}
	for _, rr := range found {
		rr.Header().Name, rr.Header().Ttl = f.owner, ttl
	}
	a.Answer = slices.Clip(slices.Concat(a.Answer[:f.from], found))
	a.Rcode, a.Ns, a.Extra, a.Closed = dns.RcodeSuccess, nil, nil, false // those of a member that was passed over
}

// anyFlat answers ANY at a name where no CNAME may stand, with the addresses of one family, the smaller ones (RFC 8482 §4.1).
func (s *Snapshot) anyFlat(z *zone.Zone, n *zone.Node, q *Query, a *Answer) {
	sub := *q
	failed, unlisted := false, false
	*a = Answer{}
	for _, sub.Type = range [...]uint16{dns.TypeA, dns.TypeAAAA} {
		var one Answer
		if _, found := s.visit(z, &sub, &one); found == leads {
			s.follow(z, n, &sub, &one)
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

// owns reports whether one of rrs is a CNAME at name, in any spelling. A DNAME may lead to its own
// owner.
func owns(rrs []dns.RR, name string) bool {
	return slices.ContainsFunc(rrs, func(rr dns.RR) bool { return rdata.IsCNAME(rr) && strings.EqualFold(rr.Header().Name, name) })
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
