package records

import (
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/geo"
)

// trail takes down how an answer comes about, in the order in which Lookup finds it:
// the names that it looks at, and what it chooses from. Nothing is found out a second
// time for it, so that it is the way of that very answer. It is nil but for Explain,
// and its methods do nothing then.
type trail struct{ hops []*hop }

// hop is one name that a search came to.
type hop struct {
	zone       *Zone
	name       string
	rtype      uint16
	node, turn *node // as Zone.search has them
	// again is true where the name was looked at before, and another choice is made.
	again   bool
	choices []*choice
	// judged is what was found of the addresses of a set; nil where nothing is said of them.
	judged *judged
	end    ending // why the way ends here; endNone where it does not, or in an answer
}

// ending says why a way ends without the data that are asked for.
type ending uint8

const (
	endNone        ending = iota
	endWithheld           // who owns the name cannot be read (rule 7.4)
	endUnlisted           // a source that may have the name is not listed (rule 7.4)
	endElsewhere          // a CNAME leads out of the zones served here
	endSignedApart        // a CNAME leads into a zone that is signed by others (rule 7.6)
	endLoop               // too many CNAMEs, or a loop of them
)

// choice is what a view was asked for.
type choice struct {
	view  *view
	fam   family
	codes *geo.Codes // nil where the client was not looked for
	bits  int
	draws []*draw
	// judged is what was found of the addresses of the member that was chosen; nil
	// where nothing is said of them.
	judged *judged
}

// draw is one run of Pool.pick.
type draw struct {
	pool     *Pool
	fam      family
	only     int32 // the group that the draw was limited to
	farthest uint  // the last rank of a group that it could take
	tried    indices
	classes  []Class // by member; unseen where it was passed over
	codes    *geo.Codes
	chosen   *member // nil for none
	rank     rank    // of the chosen one
	total    uint64  // the shares of all of that rank
}

// unseen stands for the class of a member that was passed over.
const unseen = ForcedDown + 1

// judged is what was found of addresses that stand together.
type judged struct {
	rrs     []dns.RR
	vitals  []vital
	classes []Class // nil where all are of the class lowest
	lowest  Class
}

// class returns the class of the i-th address.
func (j *judged) class(i int) Class {
	if j.classes == nil {
		return j.lowest
	}
	return j.classes[i]
}

// hop begins what is taken down of a name.
func (t *trail) hop(z *Zone, q *Query, n, turn *node) {
	if t != nil {
		t.addHop(z, q, n, turn)
	}
}

func (t *trail) addHop(z *Zone, q *Query, n, turn *node) {
	h := &hop{zone: z, name: q.Name, rtype: q.Type, node: n, turn: turn}
	h.again = slices.ContainsFunc(t.hops, func(o *hop) bool { return o.name == h.name })
	t.hops = append(t.hops, h)
}

// end says why the way ends at the name that it has come to.
func (t *trail) end(why ending) {
	if t != nil {
		t.last().end = why
	}
}

func (t *trail) last() *hop { return t.hops[len(t.hops)-1] }

// choose begins what is taken down of a choice.
func (t *trail) choose(v *view, fam family, codes *geo.Codes, bits int) {
	if t != nil {
		h := t.last()
		h.choices = append(h.choices, &choice{view: v, fam: fam, codes: codes, bits: bits})
	}
}

// draw begins what is taken down of a draw among the members of p; nil where nothing is.
func (t *trail) draw(p *Pool, fam family, only int32, farthest uint, tried indices) *draw {
	if t == nil {
		return nil
	}
	return t.addDraw(p, fam, only, farthest, tried)
}

func (t *trail) addDraw(p *Pool, fam family, only int32, farthest uint, tried indices) *draw {
	d := &draw{
		pool: p, fam: fam, only: only, farthest: farthest, tried: slices.Clone(tried),
		classes: slices.Repeat([]Class{unseen}, len(p.members)),
	}
	c := t.last().choices[len(t.last().choices)-1]
	c.draws = append(c.draws, d)
	return d
}

// judge takes down what was found of the addresses of a set, or of the member that was
// chosen last.
func (t *trail) judge(rrs []dns.RR, vitals []vital, classes []Class, lowest Class) {
	if t != nil {
		t.addJudged(&judged{rrs, vitals, classes, lowest})
	}
}

func (t *trail) addJudged(j *judged) {
	h := t.last()
	if len(h.choices) == 0 {
		h.judged = j
		return
	}
	h.choices[len(h.choices)-1].judged = j
}
