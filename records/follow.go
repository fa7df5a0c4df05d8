package records

import (
	"maps"
	"slices"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// After returns s with serials that follow those of other, which another compiler
// has published meanwhile: equal zones have its serial, others a higher one (rule
// 6.7). Where a writer keeps serials, zones show what other shows if that is newer. It
// is s itself where nothing is to be changed. A journal goes on where one compiler alone
// has published since the two parted; otherwise two contents may have had one serial, and
// it begins anew.
func (s *Snapshot) After(other *Snapshot, now time.Time) *Snapshot {
	next := s
	for i, z := range s.zones {
		follower := z.follower(other, s.generation, now)
		if follower == z {
			continue
		}
		if next == s {
			copied := *s
			copied.zones, next = slices.Clone(s.zones), &copied
		}
		next.zones[i] = follower
		if z.object != nil && follower.keep() != z.keep() {
			next.changed = withVerdict(next.changed, Reported{Cluster: z.object.Cluster, Ref: api.Ref{Kind: api.KindZone, Name: z.object.Name}})
		}
	}
	for i, r := range next.changed {
		if next != s && r.Ref.Kind == api.KindZone {
			next.changed[i].Verdict = next.Verdict(r.Cluster, r.Ref)
		}
	}
	if retired := retire(s.zoneSet.index, s.retired, other); !maps.Equal(retired, s.retired) {
		if next == s {
			copied := *s
			next = &copied
		}
		next.retired = retired
	}
	return next
}

// withVerdict returns changed, which stays as it is, with one more object in its place.
func withVerdict(changed []Reported, r Reported) []Reported {
	i, found := slices.BinarySearchFunc(changed, r, func(a, b Reported) int {
		return compareRestated(restated{a.Cluster, a.Ref}, restated{b.Cluster, b.Ref})
	})
	if found {
		return slices.Clone(changed)
	}
	return slices.Insert(slices.Clone(changed), i, r)
}

// follower returns z, of the snapshot of a generation, as it may be served once other is
// published: z itself where it may be as it is.
func (z *Zone) follower(other *Snapshot, generation uint32, now time.Time) *Zone {
	if z.gate != nil {
		return z.gatedFollower(other, generation, now)
	}
	at, ok := other.zoneSet.index[z.origin]
	if !ok {
		last, was := other.retired[z.origin]
		switch {
		case !was:
			return z
		case !newer(z.serial, last.serial):
			return z.renumbered(nextSerial(last.serial, now))
		}
		return z.withoutJournal()
	}
	o := other.zones[at].Shown()
	switch {
	case o == nil:
		return z
	case z.knows(o.SOA()):
		return z
	case o.hash != z.hash:
		if next := nextSerial(o.serial, now); newer(next, z.serial) {
			return z.renumbered(next)
		}
	case !newer(z.serial, o.serial):
		same := *z
		same.become(o)
		same.numbered, same.journal = 0, o.journal.since(z.published(generation))
		return &same
	}
	return z.withoutJournal()
}

// gatedFollower is follower where a writer keeps serials: what other shows is shown here
// where that is newer, until something newer is kept.
func (z *Zone) gatedFollower(other *Snapshot, generation uint32, now time.Time) *Zone {
	g, next := *z.gate, *z
	if at, ok := other.zoneSet.index[z.origin]; ok {
		o := other.zones[at].Shown()
		if o == nil || g.shown != nil && !newer(o.serial, g.shown.serial) && (o.serial != g.shown.serial || o.hash == g.shown.hash) {
			return z
		}
		g.shown, g.changed, g.blind = o.bare(), tree.Map[uint32]{}, generation // it shares no names with z
		if o.hash == z.hash && len(g.recent) == 0 {
			g.blind = 0
		}
		g.see(numbered{o.serial, o.hash})
	} else {
		retired, was := other.retired[z.origin]
		if !was || !newer(retired.serial, z.serial) {
			return z
		}
		g.shown, g.seen = nil, retired
	}
	next.gate = &g
	next.display(newest(z.serial, g.seen.serial))
	g.proposed = g.proposal(&next, z, now)
	return &next
}

func (z *Zone) withoutJournal() *Zone {
	if len(z.journal.deltas) == 0 {
		return z
	}
	other := *z
	other.journal = journal{}
	return &other
}

// knows tells whether z is the generation of soa, or its journal has it.
func (z *Zone) knows(soa *dns.SOA) bool {
	return z.SOA() == soa || z.journal.index(soa) >= 0
}

// renumbered returns z with another serial.
func (z *Zone) renumbered(serial uint32) *Zone {
	other := *z
	other.number(serial)
	return &other
}

// last is the newest that is known of the zone to have been shown anywhere; zero for
// nothing.
func (z *Zone) last() numbered {
	if z.gate != nil {
		return z.gate.seen
	}
	return numbered{z.serial, z.hash}
}
