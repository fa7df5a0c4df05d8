package records

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
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
			if kept.Serial != 0 && !yield(z.origin, kept) {
				return
			}
		}
		rest := make(map[string]api.Kept)
		for origin, kept := range s.opt.Published {
			if _, served := s.zoneSet.index[origin]; !served {
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
