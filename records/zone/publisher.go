package zone

import (
	"strconv"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/miekg/dns"
)

// state says how the published version of a zone stands to its newest one.
type state uint8

const (
	unpublished state = iota // no content known here has been kept: SOA records have an interim serial, and nothing is transferred
	current                  // it has the newest content
	behind                   // it has another one
)

// content says which content of a zone was kept.
type content uint8

const (
	ofNone      content = iota // none that this server knows
	ofNewest                   // that of the newest version
	ofRecent                   // of a version between the published one and the newest
	ofPublished                // the published one, under another serial
)

// afterKept is the state after that content was kept with a serial higher than the published one; rows are the states before. An unpublished
// zone has no published content, and the published one of a current zone is the newest. What a new content leads to: see nextPublisher.
var afterKept = [...][4]state{
	unpublished: {ofNone: unpublished, ofNewest: current, ofRecent: behind, ofPublished: unpublished},
	current:     {ofNone: current, ofNewest: current, ofRecent: behind, ofPublished: current},
	behind:      {ofNone: behind, ofNewest: current, ofRecent: behind, ofPublished: behind},
}

// publisher separates a zone's newest version from the published one, which SOA records and transfers
// show, if a writer keeps serials (rule 6.7, docs/decisions/0027). It is immutable.
type publisher struct {
	state state
	// published is the published version; nil if it is unpublished. It holds what transfers need,
	// and its journal has the steps between published versions.
	published *Zone
	// recent are the versions since, oldest first, without the newest: the writer may yet keep any
	// of them.
	recent []version
	// changed has the names at which the newest version may differ from the published one, with the
	// snapshot generation of their last change. It lacks changes up to the generation blind; 0 if
	// it has all.
	changed tree.Map[uint32]
	blind   uint32
	// kept is what the writer kept last; zero for nothing.
	kept api.Kept
	// seen is the newest version ever published here, or kept by anybody: from then on nothing
	// older is published, and nothing else under its serial.
	seen Numbered
	// proposed is the serial with which the newest version should be kept.
	proposed uint32
	// since is when the published version fell behind the newest one; zero if it has not.
	since time.Time
	// withheld is true if the newest version may lack names: it is not proposed.
	withheld bool
	// beside is true if the zone's state is kept beside the Zones.
	beside bool
}

// version is a replaced version of a zone, reduced to what transfers need.
type version struct {
	*Zone
	cost int // names that the next version made anew: the memory held by this one alone
}

// Numbered is a content with its serial; serial 0 means none.
type Numbered struct {
	Serial uint32
	hash   digest
}

// The bounds of the versions held back. Sources publish some tens of times a second at most, so a
// writer has a second or two to keep what it was offered before we forget that. A slower one is
// offered the newest again. Versions that share little with the next are forgotten first.
const (
	maxRecent      = 64
	maxRecentNames = maxJournalRecords
)

// headStart is how far ahead of servers without a writer SOA records are dated while no serial is
// kept: an earlier server here may have counted up since its own start. The first serial to be kept
// is dated as far ahead again: other replicas date theirs meanwhile by their own clocks and starts,
// and should not be higher.
const headStart = 2 * time.Hour

// Past is what is known of a zone besides its versions.
type Past struct {
	// Retired is the zone's last published state when it was served before.
	Retired Numbered
	// Kept is what any server kept of it; Beside is true if that is kept beside the Zones.
	Kept   api.Kept
	Beside bool
	// Published is the newest publication by others of which this server knows: an earlier process on this machine, or writers
	// under another Lease.
	Published api.Kept
	// Written is true if a writer keeps serials.
	Written bool
	// Listed is true if every source that may have names of the zone is listed.
	Listed bool
}

// last is the zone's newest known publication anywhere; zero for none.
func (z *Zone) last() Numbered {
	if z.publisher != nil {
		return z.publisher.seen
	}
	return Numbered{z.serial, z.hash}
}

// bare returns z reduced to what transfers need.
func (z *Zone) bare() *Zone {
	return &Zone{
		Zone: z.Zone, Nodes: z.Nodes, trees: trees{dnames: z.dnames}, hash: z.hash, made: z.made,
		serial: z.serial, SOASet: z.SOASet, Negative: z.Negative, journal: z.journal,
	}
}

// push adds a replaced version, unless it is the published one, which is kept anyway.
func (g *publisher) push(before *Zone, cost int) {
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
	recent := make([]version, len(old)+1) // earlier versions still have theirs
	copy(recent, old)
	recent[len(old)] = version{bare, cost}
	g.recent = recent
}

// note adds names that changed in a generation of the snapshot.
func (g *publisher) note(names []string, generation uint32) {
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

// keep publishes the version with the kept content, if that is known and its serial higher than the published one. z is the newest version,
// made by the edit id.
func (g *publisher) keep(z *Zone, id uint32) {
	hash, ok := parseHash(g.kept.Hash)
	n := Numbered{g.kept.Serial, hash}
	g.see(n)
	if !ok || n != g.seen || g.published != nil && !newer(n.Serial, g.published.serial) {
		return
	}
	kept, at := g.find(z, hash)
	switch kept {
	case ofNewest:
		g.publish(z, n.Serial)
		g.recent, g.changed, g.blind = nil, tree.Map[uint32]{}, 0
	case ofRecent:
		v := g.recent[at]
		g.publish(v.Zone, n.Serial)
		g.recent = g.recent[at+1:]
		if g.forget(v.made); g.state == unpublished {
			g.blind = id // nothing was noted
		}
	case ofPublished:
		g.publish(g.published, n.Serial)
	}
	g.state = afterKept[g.state][kept]
}

// find returns which content of the zone has a hash, and where in recent it is.
func (g *publisher) find(z *Zone, hash digest) (of content, at int) {
	if z.hash == hash {
		return ofNewest, 0
	}
	for i := len(g.recent) - 1; i >= 0; i-- {
		if g.recent[i].hash == hash {
			return ofRecent, i
		}
	}
	if g.published != nil && g.published.hash == hash {
		return ofPublished, 0
	}
	return ofNone, 0
}

// see notes what is published or kept somewhere.
func (g *publisher) see(n Numbered) {
	if g.seen.Serial == 0 || newer(n.Serial, g.seen.Serial) {
		g.seen = n
	}
}

// publish makes v the published version.
func (g *publisher) publish(v *Zone, serial uint32) {
	next := v.bare()
	next.number(serial)
	// The same content with another serial: others published in between.
	if g.published != nil && g.published.hash != v.hash {
		next.journal = g.published.journal.with(g.delta(next))
	}
	g.published = next
}

// delta returns what next changes from the published version; nil if that is too much for a
// journal.
func (g *publisher) delta(next *Zone) *Delta {
	if g.blind != 0 {
		return deltaOf(g.published, next, nil)
	}
	names := make([]string, 0, g.changed.Len())
	for name := range g.changed.All() {
		names = append(names, name)
	}
	return deltaOf(g.published, next, names)
}

// forget drops the names whose last change was in the generation made, which is now published, or
// before.
func (g *publisher) forget(made uint32) {
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

// interim returns the serial for SOA records while nothing may be transferred: the newest one
// known, whether or not its content is known here, else a first one.
func (g *publisher) interim(before *Zone, now time.Time) uint32 {
	serial := g.seen.Serial
	if before != nil && before.publisher != nil && before.publisher.state == unpublished {
		serial = newest(before.serial, serial)
	}
	if serial == 0 {
		return firstSerial(now.Add(headStart))
	}
	return serial
}

// display gives the zone the published version's SOA record, with the serial interim if there is
// none.
func (z *Zone) display(interim uint32) {
	if p := z.publisher.published; p != nil {
		z.serial, z.SOASet, z.Negative, z.journal = p.serial, p.SOASet, p.Negative, journal{}
		return
	}
	z.number(interim)
}

// proposal returns the serial with which the newest version should be kept. Without news it is
// before's, whatever the time.
func (g *publisher) proposal(z, before *Zone, now time.Time) uint32 {
	hash, _ := parseHash(g.kept.Hash)
	if g.state == current && g.published.serial == g.seen.Serial &&
		(g.kept.Serial != g.seen.Serial || hash == z.hash) {
		return g.published.serial
	}
	var proposed uint32
	if before != nil && before.publisher != nil {
		proposed = before.publisher.proposed
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

// parseHash parses the output of Zone.Hash; ok is false for any other text.
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

// PublishedVersion returns the version of the zone for transfers, with its serial and journal: the
// zone itself if no writer keeps serials, else the newest version kept; nil if none is (rule 6.7).
// Only its origin, SOA, serial, Since and Transfer may be used.
func (z *Zone) PublishedVersion() *Zone {
	if z.publisher == nil {
		return z
	}
	return z.publisher.published
}

// Proposal is what the writer should keep of a zone. It must write Kept only while After is what is
// kept, in one step with the check (by the resourceVersion of what it read): otherwise two writers
// could give one serial to two contents. Beside the Zones, what is kept is the api.Kept.Newer of
// what is stored there and in the Zone's status, if there is one.
type Proposal struct {
	Origin      string
	Kept, After api.Kept
	// Beside is true if it is kept beside the Zones, in the form of api.Objects.Serials: for zones
	// of the Corefile. Otherwise it is kept in the Zone's status.
	Beside bool
}

// Proposed returns what the writer should keep of the zone; ok is false if no writer keeps serials,
// or the zone may lack names. Kept equals After if there is nothing to write.
func (z *Zone) Proposed() (p Proposal, ok bool) {
	g := z.publisher
	if g == nil || g.withheld {
		return Proposal{}, false
	}
	return Proposal{Origin: z.Origin(), Kept: api.Kept{Hash: z.Hash(), Serial: g.proposed}, After: g.kept, Beside: g.beside}, true
}

// Published returns the zone's newest publication anywhere; zero for none.
func (z *Zone) Published() api.Kept {
	last := z.last()
	kept := api.Kept{Hash: last.hash.String(), Serial: last.Serial}
	if z.publisher != nil {
		return z.publisher.kept.Newer(kept)
	}
	return kept
}

// LastSerial is the serial of Published.
func (z *Zone) LastSerial() uint32 { return z.last().Serial }

// Counted reports whether this server counts the zone's serials by itself.
func (z *Zone) Counted() bool { return z.publisher == nil }

// Keep returns what the status of the zone's Zone should say. For a zone kept beside the Zones it
// is a copy.
func (z *Zone) Keep() api.Kept {
	switch g := z.publisher; {
	case g == nil:
		return api.Kept{Hash: z.Hash(), Serial: z.serial}
	case g.withheld || g.beside:
		return g.kept
	default:
		return api.Kept{Hash: z.Hash(), Serial: g.proposed}
	}
}

// number sets the zone's serial, before others see the zone. It has no journal then.
func (z *Zone) number(serial uint32) {
	soa := z.Zone.SOA(z.MName(), serial)
	denial := *soa
	denial.Hdr.Ttl = min(soa.Hdr.Ttl, soa.Minttl)
	z.serial, z.SOASet, z.Negative, z.journal = serial, []dns.RR{soa}, []dns.RR{&denial}, journal{}
}
