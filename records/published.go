package records

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// resumed returns the serial that the zone has in view of what it was published with by
// whoever ran here before: the same for the same content, a later one for any other (rule
// 6.7). serial is what it would have without that; first is true where nothing was published
// here since.
func (z *Zone) resumed(serial uint32, published api.Kept, first bool, now time.Time) uint32 {
	if published.Serial == 0 {
		return serial
	}
	switch newer, same := int32(published.Serial-serial) > 0, published.Hash == z.Hash(); {
	case same && (first || newer):
		return published.Serial
	case !same && (first || newer || published.Serial == serial):
		next := nextSerial(published.Serial, now)
		if published.Hash == "" && int32(serial-next) > 0 {
			return serial // the hour: it may be that more was published than is known
		}
		return next
	}
	return serial
}

// Published yields what each zone is published with, by its origin: those that are served,
// and the last serials of some that were before, here or by whoever ran here before.
func (s *Snapshot) Published() iter.Seq2[string, api.Kept] {
	return func(yield func(string, api.Kept) bool) {
		for _, z := range s.zones {
			kept := api.Kept{Hash: z.Hash(), Serial: z.serial}
			if z.gate != nil {
				kept = z.gate.kept
			}
			if kept.Serial != 0 && !yield(z.Origin(), kept) {
				return
			}
		}
		rest := make(map[string]api.Kept)
		for origin, kept := range s.opt.Published {
			if _, served := s.zoneSet.Index[origin]; !served {
				rest[origin] = kept
			}
		}
		for origin, last := range s.retired {
			rest[origin] = api.Kept{Serial: last.serial}
		}
		newest := slices.SortedFunc(maps.Keys(rest), func(a, b string) int {
			return cmp.Or(cmp.Compare(rest[b].Serial, rest[a].Serial), cmp.Compare(a, b))
		})
		for _, origin := range newest[:min(len(newest), maxRetired)] {
			if !yield(origin, rest[origin]) {
				return
			}
		}
	}
}

// keptOf returns what is kept of a zone as published last: by the status of its Zone, or
// beside the Zones where that is newer. beside is true where it is to be kept there. A zone
// of the Corefile always is: it may get a Zone or lose it, which not all replicas see at
// once, and two places would let two contents have one serial. So is that of a Zone in another
// cluster than the one in which serials are kept: whether that may be written to, and who is
// elected there, does not matter then.
func (c *compiler) keptOf(at *endpoint.Zone) (kept api.Kept, beside bool) {
	if at.Object != nil {
		for _, in := range c.next.in.Clusters {
			if z, ok := in.Zones.Get(at.Object.Name); ok && in.Name == at.Object.Cluster {
				kept = z.Kept
			}
		}
	}
	other, _ := c.next.in.Serials.Get(at.Origin)
	return kept.Newer(other), at.Origin == at.Corefile.Origin || at.Object != nil && at.Object.Cluster != c.next.in.Keeper
}
