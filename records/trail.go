package records

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// trail records how an answer comes about, in the order in which Lookup finds it: the names looked at, and the choices. Nothing is computed
// twice, so it describes that very answer. It is nil except for Explain, and its methods then do nothing.
type trail struct{ hops []*hop }

// hop is one name that a search reached.
type hop struct {
	zone       *zone.Zone
	name       string
	rtype      uint16
	node, turn *zone.Node // as returned by Zone.Search
	// again is true if the name was looked at before, and another member is chosen.
	again bool
	// traces describe its data: one for a set; for a view, one for each choice.
	traces []*pool.Trail
	end    ending // why the way ends here; endNone if it does not, or in an answer
}

// ending says why a way ends without the data asked for.
type ending uint8

const (
	endNone        ending = iota
	endWithheld           // the owner of the name cannot be read (rule 7.4)
	endUnlisted           // a source that may have the name is not listed (rule 7.4)
	endElsewhere          // a CNAME leads out of the zones served here
	endSignedApart        // a CNAME leads into a zone signed by others (rule 7.6)
	endClosed             // all targets are down, and the host is to have no answer then (rule 9.3)
	endLoop               // too many CNAMEs, or a loop
)

// hop begins the record of a name.
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

// end records why the way ends at the current name.
func (t *trail) end(why ending) {
	if t != nil {
		t.last().end = why
	}
}

// close records that the host of the current name fails closed: none of its addresses is answered.
func (t *trail) close() {
	if t != nil {
		h := t.last()
		h.end = endClosed
		h.traces[len(h.traces)-1].Close()
	}
}

func (t *trail) last() *hop { return t.hops[len(t.hops)-1] }

// data begins the record of the current name's data; nil if nothing is recorded.
func (t *trail) data() *pool.Trail {
	if t == nil {
		return nil
	}
	h, one := t.last(), new(pool.Trail)
	h.traces = append(h.traces, one)
	return one
}
