package kuadrant

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/corefile"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// The numbers of rule 8.5.
const (
	// defaultGuard is how long removals are held back where the Corefile says nothing.
	defaultGuard = 5 * time.Minute
	// guardedNames is the number of names with data from which on a zone is guarded, and
	// guardedShare how much of them may go at once, in percent.
	guardedNames = 10
	guardedShare = 30
	// lossWindow is the time in which removals count together: the lists of the kinds and
	// namespaces of a cluster come one by one after an outage, each by itself with pauses
	// of up to 15 s between attempts.
	lossWindow = time.Minute
	// maxHeld bounds the objects that are held back at a time: a directory in which other
	// objects stand every second must not fill the memory.
	maxHeld = 1_000_000
)

// guard is the brake on mass withdrawal (rule 8.5). It stands between what the sources
// publish and what is compiled: objects that are gone, and whose deletion nobody has
// reported, stay in what is compiled for a time where a zone would lose too much with
// them; so does what vanishes from the status of a Gateway.
//
// What it holds back is laid over the clusters of the sources, which stay as they are: a
// hand-over (rule 8.3) begins with the sources' own, and takes what is held along.
//
// It belongs to the compiling goroutine, but for what mu guards.
type guard struct {
	// period is how long removals are held back; 0 for a guard that does nothing.
	period time.Duration
	// selection is what the sources read: what the Corefile leaves out is not held.
	selection source.Selection
	// reselected are the clusters of which policies were selected by other labels before, and have not been
	// listed since: what the first list lacks of them is what the operator has asked for. relisted are those that
	// have been with this step. mu guards reselected too.
	reselected, relisted map[string]bool
	// byHand are the clusters whose Gateways' status somebody writes into a file.
	byHand map[string]bool
	// foreign are the clusters that begin to be read from somewhere else with this step, lost those of which
	// everything has gone with it, as their Secrets are missing.
	foreign, lost map[string]bool

	adopted      bool        // what is held has other times with this step
	wake         func()      // has everything compiled anew
	timer        *time.Timer // calls wake when the next hold ends; nil before the first
	warnf, infof func(format string, args ...any)

	// mu guards clusters, zones and reselected against engines that take over: only the
	// compiling goroutine changes them.
	mu       sync.Mutex
	clusters map[string]*guardedCluster
	zones    map[string]*guardedZone
	// shown is what of it others may see; nil for nothing.
	shown atomic.Pointer[heldBack]
}

// guardedCluster is what is held back of one cluster.
type guardedCluster struct {
	// held and status, by Gateway, are not changed but replaced.
	held   map[api.Ref]*heldObject
	status map[string]*heldStatus
	// mine is the cluster as it was compiled last; own tells of which kinds the trees in
	// it belong to the guard.
	mine *api.Cluster
	own  [api.NumKinds]bool
}

// heldObject is an object whose removal is held back.
type heldObject struct {
	until time.Time
	names zoneNames // those that would go with it
}

// zoneNames are names by the origins of their zones, each once.
type zoneNames map[string]map[string]struct{}

func (z zoneNames) add(origin, name string) {
	if z[origin] == nil {
		z[origin] = make(map[string]struct{})
	}
	z[origin][name] = struct{}{}
}

// guardedZone is what is held back of one zone, and what it has lost of late.
type guardedZone struct {
	names   map[string]int // held back → by how many objects
	objects int            // how many objects are held back for it
	of      int            // how many names it had when that began
	until   time.Time      // when the last of them goes
	expired int            // how many of them have had their time
	said    time.Time      // when that was logged last
	// lost is how many names have gone without being held back until the end of window.
	lost   int
	window time.Time
}

func newGuard(wake func(), warnf, infof func(format string, args ...any)) *guard {
	return &guard{
		period: defaultGuard, byHand: make(map[string]bool), foreign: make(map[string]bool), lost: make(map[string]bool), wake: wake,
		reselected: make(map[string]bool), relisted: make(map[string]bool), warnf: warnf, infof: infof,
		clusters: make(map[string]*guardedCluster), zones: make(map[string]*guardedZone),
	}
}

// configure takes in what the Corefile says, and what the feeds read. What is held is so for the new period. The caller holds
// the engine's compiling.
func (g *guard) configure(cfg *corefile.Options, selection source.Selection) {
	g.byHand = make(map[string]bool)
	for _, m := range cfg.Manifests {
		g.byHand[m.Cluster] = true
	}
	g.selection = selection
	if cfg.Guard != nil {
		g.holdFor(*cfg.Guard)
	} else {
		g.holdFor(defaultGuard)
	}
}

// holdFor makes period that for which removals are held.
func (g *guard) holdFor(period time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.period
	if g.period = period; period == 0 {
		g.clusters, g.zones = make(map[string]*guardedCluster), make(map[string]*guardedZone)
		g.shown.Store(nil)
	}
	if g.period == before {
		return
	}
	g.adopted = true
	for _, c := range g.clusters {
		held := make(map[api.Ref]*heldObject, len(c.held))
		for ref, h := range c.held {
			held[ref] = &heldObject{h.until.Add(g.period - before), h.names}
		}
		c.held = held
	}
	for _, z := range g.zones {
		z.until = z.until.Add(g.period - before)
	}
}

// stop ends the timer.
func (g *guard) stop() {
	if g.timer != nil {
		g.timer.Stop()
	}
}

// compile compiles clusters, which the sources have published, with what is held back of
// prev, the snapshot before, of which nil is known. now is the time.
func (g *guard) compile(prev *records.Snapshot, clusters []*api.Cluster, now time.Time, compile func([]*api.Cluster) *records.Snapshot) *records.Snapshot {
	if g.period == 0 || prev == nil {
		g.forget()
		return compile(clusters)
	}
	s := g.look(prev, clusters, now)
	g.forget()
	r := s.decide(prev, compile)
	g.commit(s, r)
	return r.snap
}

// forget forgets what was said of the step that has been looked at.
func (g *guard) forget() {
	g.mu.Lock()
	for name := range g.relisted {
		delete(g.reselected, name)
	}
	g.mu.Unlock()
	clear(g.relisted)
	clear(g.foreign)
	clear(g.lost)
}

// decide compiles what is to be served, and chooses which of the removals that are only
// inferred are held back.
//
// It compiles as if all of them were meant. Where too much would go, it compiles as if none
// was, which tells what goes for them alone; and once more, where some of them concern other
// zones.
func (s *guardStep) decide(prev *records.Snapshot, compile func([]*api.Cluster) *records.Snapshot) *rendering {
	tried := s.render(s.companions, compile)
	if s.inferred == 0 {
		return tried
	}
	losses := prev.Losses(tried.snap)
	if len(s.over(losses)) == 0 {
		s.count(losses, nil)
		return tried
	}
	if held := s.guard.held(); held+s.inferred > maxHeld {
		s.guard.warnf("%d objects are held back and %d more have gone: these are removed at once, as no more than %d are held", held, s.inferred, maxHeld)
		return tried
	}
	kept := s.render(s.all(), compile)
	losses = kept.snap.Losses(tried.snap)
	over := s.over(losses)
	s.count(losses, over)
	if len(over) == 0 {
		return tried
	}
	kept.names = s.concerned(kept.snap, losses, over)
	if len(kept.names) == s.inferred {
		return kept
	}
	chosen := make(map[located]bool, len(kept.names))
	for at := range kept.names {
		chosen[at] = true
	}
	s.accompany(chosen)
	some := s.render(chosen, compile)
	left := kept.snap.Losses(some.snap)
	for origin := range over {
		if len(left[origin].Gone) > 0 {
			return kept // something else than its names connects an object with the zone
		}
	}
	some.names = kept.names
	return some
}

// over returns the zones that lose too much, or that have lost too much already.
func (s *guardStep) over(losses map[string]records.Loss) map[string]bool {
	over := make(map[string]bool)
	for origin, l := range losses {
		lost, names := len(l.Gone), l.Names
		if z := s.guard.zones[origin]; z != nil {
			if z.objects > 0 {
				over[origin] = true // whatever more a list lacks is held with the rest
				continue
			}
			if s.now.Before(z.window) {
				lost, names = lost+z.lost, names+z.lost
			}
		}
		if names >= guardedNames && lost*100 > names*guardedShare {
			over[origin] = true
		}
	}
	return over
}

// count adds the losses of zones that are not over to what they have lost of late.
func (s *guardStep) count(losses map[string]records.Loss, over map[string]bool) {
	s.guard.mu.Lock()
	defer s.guard.mu.Unlock()
	for origin, l := range losses {
		if over[origin] {
			continue
		}
		z := s.guard.zone(origin)
		if !s.now.Before(z.window) {
			z.lost, z.window = 0, s.now.Add(lossWindow)
		}
		z.lost += len(l.Gone)
	}
}

// concerned returns the objects with which names of the zones in over go, with these names.
func (s *guardStep) concerned(kept *records.Snapshot, losses map[string]records.Loss, over map[string]bool) map[located]zoneNames {
	gone := make(map[string]string) // the zone of each name
	s.guard.mu.Lock()
	for origin := range over {
		for _, name := range losses[origin].Gone {
			gone[name] = origin
		}
		if z := s.guard.zone(origin); z.objects == 0 {
			z.of = losses[origin].Names
		}
	}
	s.guard.mu.Unlock()
	concerned := make(map[located]zoneNames)
	for _, c := range s.clusters {
		for _, ref := range c.inferred {
			names := make(zoneNames)
			for name := range kept.NamesOf(c.in.Name, ref) {
				if origin, is := gone[name]; is {
					names.add(origin, name)
				}
			}
			if len(names) > 0 {
				concerned[located{c.in.Name, ref}] = names
			}
		}
	}
	return concerned
}

// zone returns what is known of a zone, for changing. mu is held.
func (g *guard) zone(origin string) *guardedZone {
	z := g.zones[origin]
	if z == nil {
		z = &guardedZone{names: make(map[string]int)}
		g.zones[origin] = z
	}
	return z
}

// reads tells whether the Corefile lets an object be read.
func (g *guard) reads(ref api.Ref) bool {
	ns := namespaceOf(ref.Name)
	return g.selection.Watches(ref.Kind) && (len(g.selection.Namespaces) == 0 || slices.Contains(g.selection.Namespaces, ns))
}
