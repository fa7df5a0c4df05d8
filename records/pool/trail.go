package pool

import (
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/health"
)

// Trail records what a Set or a View finds while it makes an answer. Nothing is computed again. It is nil except for Explain; its methods
// then do nothing.
type Trail struct {
	// View is the view asked, nil for a Set; Ask is its input.
	View *View
	Ask  Ask
	// Draws are the choices, in order: the last one counts.
	Draws []*Draw
	// Judged has the findings on the addresses of the set, or of the chosen member.
	Judged Judged
}

// Judged has the findings on addresses that stand together, or on a hostname.
type Judged struct {
	RRs     []dns.RR
	cells   []Cells      // nil if there are none except for
	gateway *health.Cell // their Gateway's cell
	classes []Class      // nil if all have the class lowest
	lowest  Class
	// among are those that are answered; nil for all of the class lowest.
	among []dns.RR
}

// Of returns the finding on the i-th address, and whether it is answered.
func (j *Judged) Of(i int) (cells Cells, class Class, answered bool) {
	cells, class = Cells{Gateway: j.gateway}, j.lowest
	if j.cells != nil {
		cells = j.cells[i]
	}
	if j.classes != nil {
		class = j.classes[i]
	}
	return cells, class, class == j.lowest && (j.among == nil || slices.Contains(j.among, j.RRs[i]))
}

// judge records the findings on addresses.
func (t *Trail) judge(j Judged) {
	if t != nil {
		t.Judged = j
	}
}

// Close records that none of the addresses is answered (rule 9.3).
func (t *Trail) Close() {
	t.Judged.among = []dns.RR{}
}

// window records which records are answered, after the first skip of rrs, and returns rrs.
func (t *Trail) window(rrs []dns.RR, skip int) []dns.RR {
	if t != nil {
		t.Judged.among = rrs[skip:]
	}
	return rrs
}

// Draw is one choice among the members of a pool.
type Draw struct {
	pool    *Pool
	ask     Ask
	only    int32   // the group to choose from
	classes []Class // by member; unseen if passed over
	chosen  *Member // nil for none
	rank    rank    // of the chosen member
	total   uint64  // of all members of that rank
}

// unseen is the class of a member that was passed over.
const unseen = ForcedDown + 1

// draw begins the record of a choice among the members of p.
func (t *Trail) draw(p *Pool, a *Ask, only int32) *Draw {
	d := &Draw{pool: p, ask: *a, only: only, classes: slices.Repeat([]Class{unseen}, len(p.Members))}
	d.ask.Tried = slices.Clone(a.Tried)
	t.Draws = append(t.Draws, d)
	return d
}

// Group returns the code of the group to choose from; "" for all.
func (d *Draw) Group() string {
	if d.only == None {
		return ""
	}
	return d.pool.Groups[d.only].Geo()
}

// Outcome is what came of one member in a draw.
type Outcome struct {
	// Match is how its geo code fits the client.
	Match Match `json:"match"`
	// Class is its state, as that of an address; "" if nobody looked.
	Class string `json:"class,omitempty"`
	// Share is its part of such draws, from 0 to 1.
	Share float64 `json:"share"`
	// Verdict says whether it was taken, or why not.
	Verdict Verdict `json:"verdict"`
}

// Of returns the outcome for the i-th member.
func (d *Draw) Of(i int) Outcome {
	m, class := &d.pool.Members[i], d.classes[i]
	o := Outcome{Match: matches[d.pool.near(m.Group, d.ask.At)]}
	if class != unseen {
		o.Class = class.Shown(m.Unchecked())
	}
	switch {
	case m == d.chosen:
		o.Verdict = VerdictTaken
	case !d.pool.has(m, d.ask.Family):
		o.Verdict = VerdictFamily
	case d.only != None && m.Group != d.only:
		o.Verdict = VerdictGroup
	case d.ask.Tried.has(i):
		o.Verdict = VerdictTried
	case class == unseen:
		o.Verdict = VerdictBounded
	default:
		o.Verdict = d.pool.verdict(d.pool.rank(m, class, d.ask.At), d.rank)
	}
	switch {
	case o.Verdict != VerdictTaken && o.Verdict != VerdictNotDrawn:
	case Closed(&d.pool.Attributes, class):
		o.Verdict = VerdictClosed
	default:
		o.Share = float64(m.share()) / float64(d.total)
	}
	return o
}

// Verdict says why a member was taken, or not.
type Verdict string

// The verdicts, each for what kept the member from being taken first.
const (
	VerdictTaken    Verdict = "taken"
	VerdictNotDrawn Verdict = "not-drawn" // as good and as near, and the draw fell on another
	VerdictFarther  Verdict = "farther"   // another one as good is nearer
	VerdictWorse    Verdict = "worse"     // another one is of a better class
	VerdictStandby  Verdict = "standby"   // another one as good has a lower priority
	VerdictBounded  Verdict = "bounded"   // kuadrant.io/geo-fallback does not let answers go so far
	VerdictFamily   Verdict = "family"    // it has nothing of the type that is asked for
	VerdictGroup    Verdict = "group"     // the name asked is that of another group
	VerdictTried    Verdict = "tried"     // its hostname leads to no such data here
	VerdictClosed   Verdict = "closed"    // it is down, and the host fails closed (rule 9.3)
)
