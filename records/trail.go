package records

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// trail takes down how an answer comes about, in the order in which Lookup finds it: the names that it looks at, and what
// it chooses from. Nothing is found out a second time for it, so that it is the way of that very answer. It is nil but for
// Explain, and its methods do nothing then.
type trail struct{ hops []*hop }

// hop is one name that a search came to.
type hop struct {
	zone       *zone.Zone
	name       string
	rtype      uint16
	node, turn *zone.Node // as Zone.Search returns them
	// again is true if the name was looked at before, and another choice is made.
	again bool
	// traces are what was found of its data: of a set once, of a view for each choice.
	traces []*pool.Trail
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

// hop begins what is taken down of a name.
func (t *trail) hop(z *zone.Zone, q *Query, n, turn *zone.Node) {
	if t != nil {
		t.addHop(z, q, n, turn)
	}
}

func (t *trail) addHop(z *zone.Zone, q *Query, n, turn *zone.Node) {
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

// data begins what is taken down of the data of the name that the way has come to; nil if nothing is.
func (t *trail) data() *pool.Trail {
	if t == nil {
		return nil
	}
	h, one := t.last(), new(pool.Trail)
	h.traces = append(h.traces, one)
	return one
}
