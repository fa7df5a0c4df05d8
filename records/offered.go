package records

import (
	"iter"
	"slices"

	"github.com/miekg/dns"
)

// offered is an offer with the claim whose it is, and with those that offer the same beside
// it: younger objects, or the same one in other clusters (rule 5.6).
type offered struct {
	*offer
	claim *claim
	also  []*claim
}

// offeredBy returns the offers of claims that share their hosts, by name, each name's in the
// order of the claims, and how many there are.
func offeredBy(claims []*claim) (all map[string][]offered, n int) {
	all = make(map[string][]offered)
	seen := make(map[*offer]bool)
	for _, c := range claims {
		for _, f := range c.offers {
			if !seen[f] { // one below klb.h is the claim's on h and on *.h
				seen[f] = true
				all[f.name] = append(all[f.name], offered{offer: f, claim: c})
			}
		}
	}
	return all, len(seen)
}

// distinction is what offers at one name differ in that stand beside each other.
type distinction struct {
	setID, code, target string
	rtype               uint16
}

// fold returns the offers at a name that count, each once: of those with one set identifier
// and type the oldest, and of CNAMEs that nothing tells apart the first (rule 1.7).
// Addresses without a set identifier form RRsets together.
func (b *builder) fold(name string, list []offered) []offered {
	if len(list) == 1 {
		return list // by far the most
	}
	type rival struct {
		offered
		of int // the place of the older one in kept
	}
	var defaults []rival
	kept, first := list[:0], make(map[distinction]int, len(list))
	for _, f := range list {
		if f.setID == "" && f.rtype != dns.TypeCNAME {
			kept = append(kept, f)
			continue
		}
		key := distinction{setID: f.setID, rtype: f.rtype}
		if f.setID == "" && f.chosen() {
			key.code, key.target = f.code, f.target
		}
		i, taken := first[key]
		switch {
		case !taken:
			first[key] = len(kept)
			kept = append(kept, f)
		case f.code == anyGeo && kept[i].code == anyGeo && f.target != kept[i].target:
			defaults = append(defaults, rival{f, i})
		default:
			b.yield(name, f, &kept[i])
		}
	}
	coded, _ := twins(kept)
	for _, f := range defaults {
		if coded[f.target] { // others lead there for a code
			b.yield(name, f.offered, &kept[f.of])
			continue
		}
		// The older one's is the default, and this one among all others (rule 5.6).
		plain := *f.offer
		plain.code = ""
		kept = append(kept, offered{offer: &plain, claim: f.claim})
	}
	return kept
}

// yield has f give way to an older offer at the same name, o. Where both lead to one hostname, f says
// the rest of it, such as its weight, in vain, and its Gateway is one that it leads to all the same.
func (b *builder) yield(name string, f offered, o *offered) {
	beside := f.target == o.target && len(f.addrs)+len(o.addrs) == 0 && f.code == o.code
	const conflict = "%s: the set identifier %q belongs to %s %s"
	switch owner := inCluster(o.claim.by, f.claim.by); {
	case f.setID != "" && !f.same(o.offer) && beside:
		b.note(f.claim, reasonConflicted, conflict, trimDot(name), f.setID, o.claim.kind, owner)
	case f.setID != "" && !f.same(o.offer):
		b.drop(&f, reasonConflicted, conflict, trimDot(name), f.setID, o.claim.kind, owner)
	case f.target != o.target:
		b.drop(&f, reasonDropped, "%s: one name has one CNAME: %s is served, and %s dropped", trimDot(name), trimDot(o.target), trimDot(f.target))
	}
	if f.claim != o.claim && (beside || f.same(o.offer)) {
		o.also = append(o.also, f.claim)
	}
}

// chosen tells whether an endpoint says which clients it is for, or how many of them.
func (f *offer) chosen() bool { return f.code != "" || f.weight >= 0 }

// same tells whether two offers say the same of one name.
func (f *offer) same(o *offer) bool {
	return f.target == o.target && f.weight == o.weight && f.code == o.code && f.ttl == o.ttl && slices.Equal(f.addrs, o.addrs)
}

// claims yields the claims that offer it, the owner first.
func (f *offered) claims() iter.Seq[*claim] {
	return func(yield func(*claim) bool) {
		if yield(f.claim) {
			slices.Values(f.also)(yield)
		}
	}
}

// drop counts an offer that is not served, and tells those whose it is why.
func (b *builder) drop(f *offered, reason, format string, args ...any) {
	if b.dropped == nil {
		b.dropped = make(map[*claim]int)
	}
	for c := range f.claims() {
		b.dropped[c]++
		b.note(c, reason, format, args...)
	}
}

// share returns the part of the offer in a draw; one without a weight is neutral.
func (f *offer) share() uint64 {
	if f.weight < 0 {
		return 1
	}
	return uint64(f.weight)
}
