package kuadrant

import (
	"maps"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/controller"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// Keep implements recordstest.Stage: the registry holds what a writer would keep now, as in a ConfigMap that is written.
func (s *scenario) Keep() map[string]api.Owner {
	s.t.Helper()
	e := s.plugin.engine
	lines := maps.Collect(e.Snapshot().SiteHoldings())
	for group := range e.Snapshot().Groups() {
		maps.Insert(lines, e.Snapshot().Holdings(group))
	}
	all := tree.Map[api.Owner]{}.Edit()
	before := maps.Collect(e.Snapshot().Objects().Acquired.All())
	kept := controller.Kept{Generation: uint64(s.step) + 1, Known: true}
	for _, key := range slices.Sorted(maps.Keys(lines)) {
		o := lines[key]
		all.Set(key, o)
		if before[key] != o {
			kept.OwnersChanged = append(kept.OwnersChanged, key)
		}
		delete(before, key)
	}
	kept.OwnersChanged = slices.AppendSeq(kept.OwnersChanged, maps.Keys(before))
	kept.Owners = all.Map()
	e.TakeKept(kept)
	waitFor(s.t, "snapshot with the registry", func() bool {
		return maps.Equal(maps.Collect(e.Snapshot().Objects().Acquired.All()), lines)
	})
	return lines
}
