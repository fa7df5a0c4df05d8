package engine

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/controller"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// staleLines finds registry lines whose objects went while nobody watched: those that are missing when the registry has been read, and their
// kinds and clusters listed, for the first time (rule 5.4). The registry's mu guards it.
type staleLines struct {
	// idle is true if there was no writer: the lines end at once, not 30 s later.
	idle bool
	// undecided are the lines whose objects have not been read; reading says how far all was read at the last attempt.
	undecided map[string]api.Owner
	reading   string
	// missing are the lines whose objects are missing. The guard holds them until a time; zero for no hold.
	missing map[string]api.Owner
	losses  map[string]records.Loss
	since   time.Time
	until   time.Time
	// ended are the lines that count no more; endedNow are the names of those that did so far.
	ended    map[string]api.Owner
	endedNow []string
}

func newStaleLines(kept *controller.Kept) *staleLines {
	return &staleLines{
		idle: kept.Idle, undecided: maps.Collect(kept.Owners.All()), missing: make(map[string]api.Owner), ended: make(map[string]api.Owner),
	}
}

// decideStale decides on the lines whose objects have been read, and holds them, or ends that.
func (e *Engine) decideStale(l *staleLines, in *api.Objects, fromState []string, now time.Time) {
	l.endedNow = nil
	forget := func(key string, line api.Owner) bool { is, ok := in.Acquired.Get(key); return !ok || is != line }
	maps.DeleteFunc(l.missing, forget)
	maps.DeleteFunc(l.ended, forget)
	found := l.read(in, fromState)
	period := e.guard.period
	if found && l.until.IsZero() && period > 0 {
		if l.losses = records.LineLosses(in, e.settings().opt, l.missing); tooLarge(l.losses) {
			l.since, l.until = now, now.Add(period)
			e.registry.alarm.set(period, e.wake.ring)
			e.log.Warningf("registry: holding %s until %s: their objects are missing. Restore them, or release the names with `guard 0` and a reload",
				lossesText(l.losses), l.until.UTC().Format("15:04:05 UTC"))
		}
	}
	if period == 0 || !now.Before(l.until) {
		l.until = time.Time{}
		l.end()
	}
}

// read takes the lines that can be decided on out of undecided, and reports whether more objects are missing.
func (l *staleLines) read(in *api.Objects, fromState []string) (found bool) {
	if len(l.undecided) == 0 {
		return false
	}
	reading := fmt.Sprint(fromState, in.Expecting, in.Unsure)
	for _, c := range in.Clusters {
		reading += fmt.Sprint(c.Name, c.UID, c.Listings, c.ListedIn)
	}
	if reading == l.reading {
		return false
	}
	l.reading = reading
	maps.DeleteFunc(l.undecided, func(key string, line api.Owner) bool {
		if is, ok := in.Acquired.Get(key); !ok || is != line {
			return true
		}
		if slices.Contains(fromState, in.Current(line).Cluster) {
			return false
		}
		missing, read := records.MissingOwner(in, key, line)
		if missing {
			l.missing[key], found = line, true
		}
		return read
	})
	return found
}

// end ends the lines that are missing. Where somebody has written of late, the writer ends them after 30 s.
func (l *staleLines) end() {
	if l.idle {
		maps.Copy(l.ended, l.missing)
		l.endedNow = slices.Collect(maps.Keys(l.missing))
	}
	clear(l.missing)
}

// without returns lines without those that have ended.
func (l *staleLines) without(lines tree.Map[api.Owner]) tree.Map[api.Owner] {
	if len(l.ended) == 0 {
		return lines
	}
	edit := lines.Edit()
	for key := range l.ended {
		edit.Delete(key)
	}
	return edit.Map()
}

// held returns the zones in which the guard holds lines.
func (r *registry) held() (all []HeldZone) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.stale; l != nil && !l.until.IsZero() {
		for origin, loss := range l.losses {
			all = append(all, HeldZone{origin, loss.Gone, l.since, l.until})
		}
	}
	return all
}

// toRegister returns a publication's data for the registry.
func (e *Engine) toRegister(p *Publication) *toRegister {
	r := &e.registry
	k := &toRegister{snap: p.Snapshot, generation: r.compiled, fromState: p.FromState}
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.stale; l != nil {
		k.ended, k.held = maps.Clone(l.ended), maps.Clone(l.missing)
	}
	return k
}
