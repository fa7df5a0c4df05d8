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

// Published yields the published state of each zone, by origin: of the zones served, and the last
// serials of some served before, by this process or an earlier one on this machine.
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

// keptOf returns a zone's last published state: from the status of its Zone, or from beside the
// Zones if that is newer. beside is true if it should be kept there. That is always so for a zone
// of the Corefile: it may get or lose a Zone, which not all replicas see at once, and with two
// places, two contents could have one serial. It is also so for a Zone outside of the cluster that
// keeps serials: then write access and the elected replica there do not matter.
func keptOf(at *endpoint.Zone, in *api.Objects) (kept api.Kept, beside bool) {
	if at.Object != nil {
		for _, c := range in.Clusters {
			if z, ok := c.Zones.Get(at.Object.Name); ok && c.Name == at.Object.Cluster {
				kept = z.Kept
			}
		}
	}
	other, _ := in.Serials.Get(at.Origin)
	return kept.Newer(other), at.Origin == at.Corefile.Origin || at.Object != nil && at.Object.Cluster != in.SerialWriter
}

// Proposals returns what the writer should keep beside the Zones, in the order of Snapshot.Zones.
// Their verdicts have what it should keep in the status of Zones.
func (s *Snapshot) Proposals() (all []zone.Proposal) {
	for _, z := range s.Served {
		if p, ok := z.Proposed(); ok && p.Beside {
			all = append(all, p)
		}
	}
	return all
}
