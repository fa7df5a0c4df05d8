package records

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// Published yields what each zone is published with, by its origin: those that are served,
// and the last serials of some that were before, by this process or one that ran here before.
func (s *Snapshot) Published() iter.Seq2[string, api.Kept] {
	return func(yield func(string, api.Kept) bool) {
		for _, z := range s.Served {
			kept := z.Published()
			if kept.Serial != 0 && !yield(z.Origin(), kept) {
				return
			}
		}
		rest := make(map[string]api.Kept)
		for origin, kept := range s.Opt.Published {
			if _, served := s.Table.Index[origin]; !served {
				rest[origin] = kept
			}
		}
		for origin, last := range s.retired {
			rest[origin] = api.Kept{Serial: last.Serial}
		}
		newest := slices.SortedFunc(maps.Keys(rest), func(a, b string) int {
			return cmp.Or(cmp.Compare(rest[b].Serial, rest[a].Serial), cmp.Compare(a, b))
		})
		for _, origin := range newest[:min(len(newest), zone.MaxRetired)] {
			if !yield(origin, rest[origin]) {
				return
			}
		}
	}
}

// keptOf returns what is kept of a zone as published last: by the status of its Zone, or
// beside the Zones where that is newer. beside is true if it is to be kept there. A zone
// of the Corefile always is: it may get a Zone or lose it, which not all replicas see at
// once, and two places would let two contents have one serial. So is that of a Zone in another
// cluster than the one in which serials are kept: whether that may be written to, and who is
// elected there, does not matter then.
func (d *draft) keptOf(at *endpoint.Zone) (kept api.Kept, beside bool) {
	if at.Object != nil {
		for _, in := range d.next.In.Clusters {
			if z, ok := in.Zones.Get(at.Object.Name); ok && in.Name == at.Object.Cluster {
				kept = z.Kept
			}
		}
	}
	other, _ := d.next.In.Serials.Get(at.Origin)
	return kept.Newer(other), at.Origin == at.Corefile.Origin || at.Object != nil && at.Object.Cluster != d.next.In.Keeper
}

// Proposals returns what the writer should keep beside the Zones, in the order of
// Snapshot.Zones. What it should keep in the status of Zones their verdicts say too.
func (s *Snapshot) Proposals() (all []zone.Proposal) {
	for _, z := range s.Served {
		if p, ok := z.Proposed(); ok && p.Beside {
			all = append(all, p)
		}
	}
	return all
}
