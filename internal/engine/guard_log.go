package engine

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coredns-kuadrant/kuadrant/records"
)

// HeldZone is what is held in one zone.
type HeldZone struct {
	Origin string
	Names  int       // how many would go, as of the decision
	Since  time.Time // when the first of them was missed
	Until  time.Time // when the last of them goes
}

// show publishes the holds. A name that two sources hold counts twice.
func (g *guard) show() {
	zones, holds := make(map[string]HeldZone), make(map[*hold]bool)
	for _, c := range g.clusters {
		if c.held == nil || holds[c.held] {
			continue
		}
		holds[c.held] = true
		for origin, l := range c.held.losses {
			z := zones[origin]
			since, until := c.held.at, c.held.at.Add(g.period)
			if z.Names > 0 && z.Since.Before(since) {
				since = z.Since
			}
			if until.Before(z.Until) {
				until = z.Until
			}
			zones[origin] = HeldZone{origin, z.Names + l.Gone, since, until}
		}
	}
	list := slices.SortedFunc(maps.Values(zones), func(a, b HeldZone) int { return strings.Compare(a.Origin, b.Origin) })
	g.published.Store(&list)
}

// say logs new holds of a cluster, and the end of the last one.
func (g *guard) say(s *guardStep) {
	switch h := s.held; {
	case h != nil && h != s.was.held:
		if h.clusters[0] == strconv.Quote(s.in.Name) {
			g.log.Warningf("cluster %s: holding %s until %s: %d objects vanished without a DELETE event. "+
				"Restore them, or release them with `guard 0` and a reload. Without `state`, do not restart",
				strings.Join(h.clusters, ", "), lossesText(h.losses), h.at.Add(g.period).UTC().Format("15:04:05 UTC"), h.objects)
		}
	case s.was.held == nil || h != nil:
	case s.expired > 0:
		g.log.Warningf("cluster %q: withdrawing the names of %d objects, still missing after %v", s.in.Name, s.expired, g.period)
	default:
		g.log.Infof("cluster %q: names are no longer held", s.in.Name)
	}
}

// maxSaid is how many zones a line of the log names.
const maxSaid = 3

// lossesText says how many names go from which zones.
func lossesText(losses map[string]records.Loss) string {
	var list []string
	for _, origin := range slices.Sorted(maps.Keys(losses)) {
		list = append(list, fmt.Sprintf("%d of %d names of %s", losses[origin].Gone, losses[origin].Names, origin))
	}
	if more := len(list) - maxSaid; more > 0 {
		list = append(list[:maxSaid], fmt.Sprintf("names of %d more zones", more))
	}
	return strings.Join(list, ", ")
}

// noteReload logs large losses that a new configuration causes: the operator wanted them, so they are not held.
func (g *guard) noteReload(prev, snap *records.Snapshot, steps []*guardStep) {
	word := g.reloaded || slices.ContainsFunc(steps, func(s *guardStep) bool { return s.unread })
	if g.reloaded = word && snap.Behind(); !word || snap.Behind() || prev == nil {
		return
	}
	losses := prev.Losses(snap)
	maps.DeleteFunc(losses, func(_ string, l records.Loss) bool { return !l.Exceeds(lossShare) })
	if len(losses) > 0 {
		g.log.Warningf("reload: the configuration removes %s; they are not held. To restore them, undo the change and reload", lossesText(losses))
	}
}
