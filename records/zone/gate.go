package zone

import (
	"slices"
	"strconv"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// gate stands between the newest version of a zone and the published one, which SOA records
// and transfers show, where a writer keeps serials (rule 6.7, docs/decisions/0027). It is immutable.
type gate struct {
	// published is the published version; nil if none has been kept. It holds what
	// transfers need, and its journal has the steps from one published version to the next.
	published *Zone
	// recent are the versions since, the oldest first, without the newest: the writer may
	// come to keep any of them.
	recent []version
	// changed has the names at which the newest version may differ from the published one, with the
	// generation of the snapshot in which they changed last. What changed up to the
	// generation blind is not in it; 0 for all is in it.
	changed tree.Map[uint32]
	blind   uint32
	// kept is what the writer has kept last; the zero Kept for nothing.
	kept api.Kept
	// seen is the newest that was ever published here, or kept by anybody: nothing older is
	// published from then on, and nothing else under its serial.
	seen Numbered
	// proposed is the serial that the newest version should be kept with.
	proposed uint32
	// since is from when on the published version has been behind the newest one; zero if it is not.
	since time.Time
	// withheld is true if the newest version may lack names: it is not proposed.
	withheld bool
	// beside is true if the zone is kept beside the Zones.
	beside bool
}

// version is a version of a zone that a newer one has replaced, reduced to what transfers
// need.
type version struct {
	*Zone
	cost int // the names that the next one has made anew: what it alone holds in memory
}

// Numbered is a content with its serial; the serial 0 is none.
type Numbered struct {
	Serial uint32
	hash   digest
}

// The bounds of what is held back. Sources publish some tens of times in a second at the
// most: a writer has a second or two to keep what it was offered before that is forgotten
// here. One that takes longer is offered the newest again. Versions that share little with
// the next one are forgotten first.
const (
	maxRecent      = 64
	maxRecentNames = maxJournalRecords
)

// headStart is how far ahead of servers without a writer the serial is dated that SOA records
// show while none is kept: one that ran here before may have counted up since its own start. The
// first serial that is to be kept is dated as far ahead again: what other replicas show meanwhile
// is dated by their own clocks and starts, and should not be higher.
const headStart = 2 * time.Hour

// Past is what is known of a zone besides its versions.
type Past struct {
	// Retired is what the zone was served with when it was served last.
	Retired Numbered
	// Kept is what is kept of it, whichever server wrote it; Beside is true if that is kept
	// beside the Zones.
	Kept   api.Kept
	Beside bool
	// Published is what a process that ran here before has left.
	Published api.Kept
	// Gated is true if a writer keeps serials.
	Gated bool
	// Listed is true if the zone lacks no name for a source that is not listed.
	Listed bool
}

// last is the newest that is known of the zone to have been published anywhere; zero for
// nothing.
func (z *Zone) last() Numbered {
	if z.gate != nil {
		return z.gate.seen
	}
	return Numbered{z.serial, z.hash}
}

// bare returns z as transfers need it: it keeps nothing else in memory.
func (z *Zone) bare() *Zone {
	return &Zone{
		Zone: z.Zone, Nodes: z.Nodes, trees: trees{dnames: z.dnames}, hash: z.hash, made: z.made,
		serial: z.serial, SOASet: z.SOASet, Negative: z.Negative, journal: z.journal,
	}
}

// pass puts z, which is the edited zone, behind its gate, and gives it the serial that is
// published. before is the version before it, nil for none.
func (e *Edit) pass(z, before *Zone, p Past, now time.Time) {
	g := e.openGate(z, before)
	if before == nil {
		g.seen = p.Retired
	}
	g.kept, g.beside, g.withheld = p.Kept, p.Beside, !p.Listed
	was := g.published
	if p.Kept.Serial != 0 {
		g.look(z, e.id)
	}
	switch {
	case g.published != nil && g.published.hash == z.hash:
		g.since = time.Time{}
	case g.since.IsZero() || g.published != was:
		g.since = now
	}
	z.gate = &g
	z.display(g.interim(before, now))
	g.proposed = g.proposal(z, before, now)
}

// openGate returns the gate of before as it is once z is the newest version.
func (e *Edit) openGate(z, before *Zone) gate {
	switch {
	case before == nil:
		return gate{}
	case before.gate == nil:
		before = &Zone{
			Zone: before.Zone, Nodes: before.Nodes, trees: trees{dnames: before.dnames}, hash: before.hash, made: before.made,
			gate: &gate{published: before.bare(), seen: before.last()},
		}
	}
	g := *before.gate
	anew := before.Nodes != e.Zone.Nodes
	if before.hash != z.hash {
		g.push(before, e.replaced(before, anew))
	}
	switch {
	case g.published == nil:
	case g.published.hash == z.hash && len(g.recent) == 0:
		g.changed, g.blind = tree.Map[uint32]{}, 0
	case anew:
		g.changed, g.blind = tree.Map[uint32]{}, e.id
	case before.hash != z.hash:
		g.note(e.changedNames(), e.id)
	}
	return g
}

// replaced returns how many names of before the edited zone does not share with it.
func (e *Edit) replaced(before *Zone, anew bool) int {
	if anew {
		return before.Nodes.Len()
	}
	return len(e.Settled)
}

// push adds a version that has been replaced, but for the published one, which is kept anyway.
func (g *gate) push(before *Zone, cost int) {
	if g.published != nil && g.published.hash == before.hash && len(g.recent) == 0 {
		return
	}
	old, names := g.recent, cost
	for i := len(old) - 1; i >= 0; i-- {
		if names += old[i].cost; names > maxRecentNames || len(old)-i == maxRecent {
			old = old[i+1:]
			break
		}
	}
	if cost > maxRecentNames {
		g.recent = nil
		return
	}
	bare := before.bare()
	bare.journal = journal{}
	recent := make([]version, len(old)+1) // the versions before still have theirs
	copy(recent, old)
	recent[len(old)] = version{bare, cost}
	g.recent = recent
}

// note adds names that changed in a generation of the snapshot.
func (g *gate) note(names []string, generation uint32) {
	if len(names) > maxJournalRecords {
		g.changed, g.blind = tree.Map[uint32]{}, generation
		return
	}
	edit := g.changed.Edit()
	for _, name := range names {
		edit.Set(name, generation)
	}
	if g.changed = edit.Map(); g.changed.Len() > maxJournalRecords {
		g.changed, g.blind = tree.Map[uint32]{}, generation
	}
}

// look publishes the version with the content that is kept, where there is one and its serial
// is higher than the published one. z is the newest version, made by the edit id.
func (g *gate) look(z *Zone, id uint32) {
	hash, ok := parseHash(g.kept.Hash)
	n := Numbered{g.kept.Serial, hash}
	g.see(n)
	if !ok || n != g.seen || g.published != nil && !newer(n.Serial, g.published.serial) {
		return
	}
	if z.hash == hash {
		g.publish(z, n.Serial)
		g.recent, g.changed, g.blind = nil, tree.Map[uint32]{}, 0
		return
	}
	for i := len(g.recent) - 1; i >= 0; i-- {
		if v := g.recent[i]; v.hash == hash {
			first := g.published == nil
			g.publish(v.Zone, n.Serial)
			g.recent = g.recent[i+1:]
			g.forget(v.made)
			if first {
				g.blind = id // nothing was noted
			}
			return
		}
	}
	if g.published != nil && g.published.hash == hash {
		g.publish(g.published, n.Serial)
	}
}

// see takes in what is published or kept somewhere.
func (g *gate) see(n Numbered) {
	if g.seen.Serial == 0 || newer(n.Serial, g.seen.Serial) {
		g.seen = n
	}
}

// publish makes v the published version.
func (g *gate) publish(v *Zone, serial uint32) {
	next := v.bare()
	next.number(serial)
	// The same content with another serial is what others have published meanwhile.
	if g.published != nil && g.published.hash != v.hash {
		next.journal = g.published.journal.with(g.delta(next))
	}
	g.published = next
}

// delta returns what next differs in from the published version; nil if that is more than a
// journal holds.
func (g *gate) delta(next *Zone) *Delta {
	if g.blind != 0 {
		return deltaOf(g.published, next, nil)
	}
	names := make([]string, 0, g.changed.Len())
	for name := range g.changed.All() {
		names = append(names, name)
	}
	return deltaOf(g.published, next, names)
}

// forget drops the names that changed last in the generation made, which is published now, or
// before it.
func (g *gate) forget(made uint32) {
	edit := g.changed.Edit()
	for name, generation := range g.changed.All() {
		if !newer(generation, made) {
			edit.Delete(name)
		}
	}
	g.changed = edit.Map()
	if g.blind != 0 && !newer(g.blind, made) {
		g.blind = 0
	}
}

// interim returns the serial for SOA records where nothing may be transferred yet: the
// newest that is known, be its content known here or not, else a first one.
func (g *gate) interim(before *Zone, now time.Time) uint32 {
	serial := g.seen.Serial
	if before != nil && before.gate != nil && before.gate.published == nil {
		serial = newest(before.serial, serial)
	}
	if serial == 0 {
		return firstSerial(now.Add(headStart))
	}
	return serial
}

// display gives the zone the SOA record of the published version, with the serial interim where
// there is none.
func (z *Zone) display(interim uint32) {
	if p := z.gate.published; p != nil {
		z.serial, z.SOASet, z.Negative, z.journal = p.serial, p.SOASet, p.Negative, journal{}
		return
	}
	z.number(interim)
}

// proposal returns the serial that the newest version should be kept with. Where nothing
// new is known it is that of before, whatever the time.
func (g *gate) proposal(z, before *Zone, now time.Time) uint32 {
	hash, _ := parseHash(g.kept.Hash)
	if g.published != nil && g.published.hash == z.hash && g.published.serial == g.seen.Serial &&
		(g.kept.Serial != g.seen.Serial || hash == z.hash) {
		return g.published.serial
	}
	var proposed uint32
	if before != nil && before.gate != nil {
		proposed = before.gate.proposed
	}
	switch known := g.seen.Serial; {
	case known == 0:
		return newest(proposed, firstSerial(now.Add(2*headStart)))
	case before != nil && before.hash == z.hash && proposed != 0 && newer(proposed, known):
		return proposed
	default:
		return nextSerial(known, now)
	}
}

// parseHash reads what Zone.Hash has written; ok is false for any other text.
func parseHash(text string) (hash digest, ok bool) {
	if len(text) != 32 {
		return digest{}, false
	}
	hi, err := strconv.ParseUint(text[:16], 16, 64)
	if err != nil {
		return digest{}, false
	}
	lo, err := strconv.ParseUint(text[16:], 16, 64)
	return digest{hi, lo}, err == nil
}

// PublishedVersion returns the version of the zone that transfers have, with its serial and journal:
// the zone itself where no writer keeps serials, else the newest version that is kept. It
// is nil if none is (rule 6.7). Of the version nothing but its origin, SOA, serial,
// Since and Transfer may be asked.
func (z *Zone) PublishedVersion() *Zone {
	if z.gate == nil {
		return z
	}
	return z.gate.published
}

// Proposal is what the writer should keep of a zone. It must write Kept only where After
// is kept at that moment, in one step with looking (by the resourceVersion of what it has
// read): two writers could give one serial to two contents otherwise. Beside the Zones,
// what is kept is the api.Kept.Newer one of what stands there and in the Zone's status, if
// there is one.
type Proposal struct {
	Origin      string
	Kept, After api.Kept
	// Beside is true if it is kept beside the Zones, as api.Objects.Serials has it: of
	// the zones of the Corefile. Else it is kept in the Zone's status.
	Beside bool
}

// Proposed returns what the writer should keep of the zone; ok is false if nobody keeps
// serials, or the zone may lack names. Kept equals After where nothing is to be written.
func (z *Zone) Proposed() (p Proposal, ok bool) {
	g := z.gate
	if g == nil || g.withheld {
		return Proposal{}, false
	}
	return Proposal{Origin: z.Origin(), Kept: api.Kept{Hash: z.Hash(), Serial: g.proposed}, After: g.kept, Beside: g.beside}, true
}

// changedNames returns the names at which the edited zone may differ from the one before
// it.
func (e *Edit) changedNames() []string {
	if len(e.redirected) > 0 {
		e.settleRedirected()
		e.redirected = nil
	}
	slices.Sort(e.Settled)
	e.Settled = slices.Compact(e.Settled)
	return e.Settled
}

// Published returns what the zone is published with: where a writer keeps serials, what is kept.
func (z *Zone) Published() api.Kept {
	if z.gate != nil {
		return z.gate.kept
	}
	return api.Kept{Hash: z.Hash(), Serial: z.serial}
}

// Keep returns what the status of the zone's Zone should say. Of a zone that is kept beside
// the Zones it is a copy.
func (z *Zone) Keep() api.Kept {
	switch g := z.gate; {
	case g == nil:
		return api.Kept{Hash: z.Hash(), Serial: z.serial}
	case g.withheld || g.beside:
		return g.kept
	default:
		return api.Kept{Hash: z.Hash(), Serial: g.proposed}
	}
}
