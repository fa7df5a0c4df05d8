package records

import (
	"net/netip"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/geo"
)

// Query is one question and what the answer to it may depend on.
type Query struct {
	// Name is the name asked for, in lower case with a final dot. It lies in the
	// zone that is asked.
	Name string
	// Owner is Name as the answer should spell it (rule 7.2).
	Owner string
	Type  uint16
	// Signed is true where the answer is signed once it is found (rule 7.6). Within tells
	// which zones are signed like the one that is asked, by their origins: a chain ends
	// where it would leave them, and the client's resolver goes on. nil stands for all.
	Signed bool
	Within func(origin string) bool
	// Client is where the client is (rule 3.1).
	Client netip.Addr
	// Locator finds the client's location, where the answer depends on it; nil
	// where nothing is known of any client.
	Locator geo.Locator
	// Random is one draw, uniform over all values.
	Random uint64
	// trail takes down how the answer comes about; nil but for Explain.
	trail *trail
}

// Answer is what Lookup found. Its records are shared with the snapshot and
// with other answers: nobody may change them; its slices are clipped.
type Answer struct {
	// Rcode is NOERROR, NXDOMAIN, or SERVFAIL where Unlisted or a loop of
	// CNAMEs keeps the answer from being known.
	Rcode             int
	Answer, Ns, Extra []dns.RR
	// Scope is the prefix length that the answer holds for (rule 3.6): 0 where
	// it does not depend on the client.
	Scope int
	// Referral is true where the answer is a referral to other servers: the zone has no
	// authority over the name (rule 7.2).
	Referral bool
	// Unlisted is true where the name may exist in a source that has not been
	// listed yet (rule 7.4).
	Unlisted bool
	// Located is true where the client's location was looked up.
	Located bool
	Steering
}

// Steering says how a steered answer was chosen. It is zero for other answers.
type Steering struct {
	// owner and member are what Owner and Member tell of: reading them costs
	// memory accesses that most answers have no use for.
	owner  *claim
	member *member // nil for simple answers
	// Geo is the code of the chosen member's group, "*" where it has none;
	// GeoClass is its geo.Class.
	Geo, GeoClass string
	Class         Class
}

// Steered tells whether a policy owns the name.
func (s *Steering) Steered() bool { return s.owner != nil }

// Owner returns the namespace/name of the object that owns the name, "" for none.
func (s *Steering) Owner() string {
	if s.owner == nil {
		return ""
	}
	return s.owner.by.Name
}

// Member returns the set identifier of the chosen member; "" for simple answers.
func (s *Steering) Member() string {
	if s.member == nil {
		return ""
	}
	return trimDot(s.member.target)
}

// anyGeo stands for the code of members without one.
const anyGeo = "*"

// Lookup answers q from z, one of s's zones. For names that are not wildcards,
// asked in lower case, it does not allocate, unless a CNAME leads on to another
// name served here or some of a name's targets are down.
//
// The answer goes into a, which must be zero: it is large for the stack of a
// query's goroutine, and is not copied there.
func (s *Snapshot) Lookup(z *Zone, q *Query, a *Answer) {
	s.find(z, q, a)
	if q.Signed {
		s.seal(q, a)
	}
}

// find is Lookup without what signing asks for.
func (s *Snapshot) find(z *Zone, q *Query, a *Answer) {
	n, turn := z.search(q.Name, q.Type)
	q.trail.hop(z, q, n, turn)
	switch {
	case z.withholds(q, n):
		q.trail.end(endWithheld)
		a.fail(true)
		return
	case turn != nil:
		if z.turn(turn, q, a) {
			s.chase(q, a, &budget{maxHops, maxTries}, false)
			s.addAdditional(a)
		}
		return
	case n == nil:
		s.deny(z, q, a, dns.RcodeNameError, false)
		return
	}
	z.answerNode(n, q, a)
	if len(a.Answer) == 0 {
		s.deny(z, q, a, dns.RcodeSuccess, n.steered.owner != nil)
		a.Scope = 0
		return
	}
	if n.name != q.Owner && a.Answer[0].Header().Name == n.name {
		a.Answer = withOwner(a.Answer, n.name, q.Owner)
	}
	switch {
	case q.Type == dns.TypeANY && n.flat() && isCNAME(a.Answer[0]):
		s.anyFlat(z, n, q, a)
	case q.Type == dns.TypeCNAME || q.Type == dns.TypeANY:
	case n.flat() && isCNAME(a.Answer[0]):
		s.flatten(z, n, q, a, &budget{maxHops, maxTries})
	default:
		s.chase(q, a, &budget{maxHops, maxTries}, false)
	}
	if len(a.Answer) == 0 && a.Rcode != dns.RcodeServerFailure {
		a.Scope = 0 // nothing negative depends on the client (rule 3.6)
	}
	s.addAdditional(a)
}

// flat tells whether the steered data of n stand beside other data: a CNAME among them
// is no answer.
func (n *node) flat() bool { return n.static != nil && n.steered.owner != nil }

// deny makes a a negative answer to q (RFC 2308 §2), or one whose chain ends so, unless a source that is not listed could
// have the name (rule 7.4). owned reports whether the owner of the name has been read.
func (s *Snapshot) deny(z *Zone, q *Query, a *Answer, rcode int, owned bool) {
	if !owned && !s.denies(q.Name) {
		q.trail.end(endUnlisted)
		a.fail(true)
		return
	}
	a.Rcode, a.Ns, a.Extra = rcode, z.negative, nil
}

// fail makes a the answer that cannot be known. What it depends on stays.
func (a *Answer) fail(unlisted bool) {
	*a = Answer{Rcode: dns.RcodeServerFailure, Unlisted: unlisted, Scope: a.Scope, Located: a.Located}
}

func isCNAME(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeCNAME }

// answerNode puts the data of n that q asks for into a.
func (z *Zone) answerNode(n *node, q *Query, a *Answer) {
	apex := n.name == z.origin
	if apex && q.Type == dns.TypeSOA {
		a.Answer = z.soa
		return
	}
	for _, set := range n.static {
		// RFC 8482 §4.1: one RRset is enough of an answer to ANY.
		if set.rtype == q.Type || q.Type == dns.TypeANY {
			a.Answer = set.rrs
			if set.rtype == dns.TypeNS && apex {
				a.Extra = z.glue // at the apex: elsewhere it is a cut; nil where it is not all
			}
			return
		}
	}
	if n.steered.owner == nil {
		// Without steered data, a CNAME has nothing beside it (RFC 1034 §3.6.2).
		a.Answer = ofType(n.static, dns.TypeCNAME)
		return
	}
	if n.static != nil && q.Type == dns.TypeCNAME {
		return // nothing, or a CNAME that may not stand beside other data
	}
	if q.Type != dns.TypeANY {
		n.steered.answer(q, q.Type, a)
		return
	}
	for _, t := range [...]uint16{dns.TypeCNAME, dns.TypeA, dns.TypeAAAA} {
		if n.steered.answer(q, t, a); len(a.Answer) > 0 {
			return
		}
	}
}

func (s *steered) answer(q *Query, rtype uint16, a *Answer) {
	fam, ok := familyOf(rtype)
	switch {
	case s.set != nil && (ok || s.set.alias()):
		a.Answer, a.Class = s.set.answer(fam, q.trail)
		a.Geo, a.GeoClass = anyGeo, anyGeo
	case s.view != nil && (ok || s.view.pool.aliases):
		s.view.answer(q, fam, a, nil)
	default:
		return
	}
	a.owner = s.owner
}

func familyOf(rtype uint16) (family, bool) {
	switch rtype {
	case dns.TypeA:
		return famA, true
	case dns.TypeAAAA:
		return famAAAA, true
	case dns.TypeCNAME:
		return famCNAME, true
	}
	return famOther, false
}

// alias tells whether the set is a CNAME: it answers every type then (RFC 1034
// §3.6.2).
func (s *addressSet) alias() bool { return len(s.rrs) > 0 && isCNAME(s.rrs[0]) }

// answer returns the addresses of the best state, or the CNAME.
func (s *addressSet) answer(fam family, t *trail) ([]dns.RR, Class) {
	if s.alias() {
		if s.vitals == nil {
			return s.rrs, WeightedUp
		}
		return best(s.rrs, s.vitals, t)
	}
	from, to := 0, s.v4
	switch fam {
	case famAAAA:
		from, to = s.v4, len(s.rrs)
	case famCNAME:
		return nil, WeightedUp
	case famA:
	}
	rrs := s.rrs[from:to:to]
	if s.vitals == nil {
		return rrs, WeightedUp
	}
	return best(rrs, s.vitals[from:to], t)
}

// best returns those of rrs whose vitals are of the best class, and that class.
// It reads each cell once. Where all are of one class, as they mostly are, it
// returns rrs itself. What is found of each goes to t.
func best(rrs []dns.RR, vitals []vital, t *trail) ([]dns.RR, Class) {
	if len(vitals) == 0 {
		return nil, ForcedDown
	}
	first := vitals[0].class()
	for i := 1; i < len(vitals); i++ {
		if class := vitals[i].class(); class != first {
			return bestOf(rrs, vitals, i, first, class, t)
		}
	}
	t.judge(rrs, vitals, nil, first)
	return rrs, first
}

// bestOf is best where the first n of vitals are of the class first, and the next
// one is of another.
func bestOf(rrs []dns.RR, vitals []vital, n int, first, next Class, t *trail) ([]dns.RR, Class) {
	classes := make([]Class, len(vitals))
	for i := range n {
		classes[i] = first
	}
	classes[n] = next
	for i := n + 1; i < len(vitals); i++ {
		classes[i] = vitals[i].class()
	}
	lowest := slices.Min(classes)
	t.judge(rrs, vitals, classes, lowest)
	out := make([]dns.RR, 0, len(rrs))
	for i, rr := range rrs {
		if classes[i] == lowest {
			out = append(out, rr)
		}
	}
	return slices.Clip(out), lowest
}

// answer puts the pool's choice, as seen from v, into a. The members in tried
// are passed over.
func (v *view) answer(q *Query, fam family, a *Answer, tried indices) {
	p := v.pool
	if fam == famCNAME && v.skip == 0 && p.chained {
		a.Answer = p.members[0].answers[famCNAME][:1:1] // the same for every member
		return
	}
	var codes *geo.Codes
	if need := p.need(fam); need != 0 && q.Locator != nil {
		codes, a.Scope = q.Locator.Locate(q.Client, need)
		a.Located = true
	}
	q.trail.choose(v, fam, codes, a.Scope)
	m, class := p.pick(fam, codes, v.group, q.Random, tried, q.trail)
	if v.group != anyGroup && (m == nil || !class.usable()) {
		// Without a usable member the group answers as the host would (rule 2.4).
		m, class = p.pick(fam, codes, anyGroup, q.Random, tried, q.trail)
	}
	if m == nil {
		return
	}
	a.Answer = v.records(m, fam, q.trail)
	g := &p.groups[m.group]
	a.member, a.Class, a.Geo, a.GeoClass = m, class, g.code, g.class
	if a.Geo == "" {
		a.Geo = anyGeo
	}
}

// records returns the member's answer as it is given at the view's name.
func (v *view) records(m *member, fam family, t *trail) []dns.RR {
	rrs := m.answer(fam)
	if len(rrs) == 0 {
		return nil
	}
	chain := m.cnames
	if m.vitals != nil && m.leaf != nil && len(rrs) > chain {
		if alive, _ := best(rrs[chain:], m.vitalsOf(fam), t); len(alive) < len(rrs)-chain {
			rrs = slices.Concat(rrs[:chain], alive)
		}
	}
	switch {
	case v.group == anyGroup || m.group == v.group:
		rrs = rrs[v.skip:]
	case len(rrs) < v.skip: // addresses at the name of the choice itself, and none of the family
		return nil
	case v.pool.groups[m.group].name == "": // no name stands for the other group
		rrs = rrs[v.skip-1:]
		rrs = withOwner(rrs, rrs[0].Header().Name, v.pool.groups[v.group].name)
	default:
		rrs = withOwner(rrs[v.skip:], v.pool.groups[m.group].name, v.pool.groups[v.group].name)
	}
	if fam == famCNAME && len(rrs) > 1 {
		return rrs[:1:1]
	}
	return rrs
}
