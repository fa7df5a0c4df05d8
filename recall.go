package kuadrant

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records"
	statefile "github.com/coredns-kuadrant/kuadrant/state"
)

// recollection is what an engine has from the state on disk that is not among its objects.
type recollection struct {
	// unclaimed are clusters that no source of the Corefile reads. The state keeps them until
	// all that are read have been listed: a mistake in the Corefile must not cost it.
	unclaimed []statefile.Cluster
	// heard is when the clusters were last heard of whose objects come from the state.
	heard map[string]time.Time
}

// unsaved is how many serials of a zone each run of a server may have published after the
// state was written, where it did not stop as it should: a source publishes two hundred times a
// second at most, and the state is written every ten seconds, or where it is large every minute.
// In a serial with a date that is a month.
const unsaved = 10_000

// recall reads the state on disk where e is to keep one: owners, serials and health count
// from here on. It returns what it has read, nil for nothing. before is the engine that e
// takes over from, nil for none: it knows more than the state that it keeps, where it knows
// anything.
func (e *engine) recall(before *engine) *statefile.Contents {
	if before != nil {
		e.recollection, e.opt.Published = before.recollection, before.opt.Published
	}
	if e.keeper == nil || before != nil && before.keeper != nil && before.keeper.dir == e.keeper.dir && before.snap.Load() != nil {
		return nil
	}
	path := filepath.Join(e.keeper.dir, statefile.Name)
	c, err := statefile.Read(e.keeper.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		e.warnf("The state in %s is not used: %v; starting without what was known before, and the file is written anew once something has been listed", path, err)
		return nil
	}
	if e.keeping.waits() {
		e.keeping.recall(c, e.opt.Zones) // what is kept in the cluster goes on
	} else {
		e.opt.Published = published(c, e.opt.Published)
	}
	if err := statefile.GoOn(e.keeper.dir); err != nil { // the file would be taken for newer than it is
		e.warnf("The state in %s cannot be written: %v; after a crash of this server serials may go back", path, err)
	}
	if before != nil && before.snap.Load() != nil {
		return nil
	}
	e.opt.Health = make(map[string]health.State)
	for key, word := range c.Health {
		if s, ok := health.ParseState(word); ok {
			e.opt.Health[key] = s
		}
	}
	return c
}

// published returns what zones were published with: known, and in its place what c says
// where that is newer (rule 6.7).
func published(c *statefile.Contents, known map[string]api.Kept) map[string]api.Kept {
	all := maps.Clone(known)
	if all == nil {
		all = make(map[string]api.Kept)
	}
	for zone, kept := range c.Serials {
		if c.Runs > 0 {
			kept = api.Kept{Serial: kept.Serial + unsaved*uint32(c.Runs)}
		}
		if k, ok := all[zone]; !ok || int32(kept.Serial-k.Serial) > 0 {
			all[zone] = kept
		}
	}
	return all
}

// resume puts the clusters of c that e's sources read in place of what these have not listed
// yet, and answers from them.
func (e *engine) resume(c *statefile.Contents) {
	var clusters []*api.Cluster
	origins := make(map[string]string)
	e.heard, e.unclaimed = make(map[string]time.Time), nil
	for _, one := range c.Clusters {
		identity, read := e.origins[one.Name]
		if !read || identity != one.Identity || origins[one.Name] != "" {
			e.unclaimed = append(e.unclaimed, one)
			continue
		}
		clusters, origins[one.Name] = append(clusters, e.admissible(one)), identity
		e.heard[one.Name] = one.Heard
	}
	if len(clusters) == 0 {
		return
	}
	if c.Remotes != "" && c.Remotes == e.remotesID() && len(e.unclaimed) == 0 {
		e.remotes.expecting.Store(false) // there were no others
	}
	e.takeOver(clusters, origins)
	for _, s := range e.handover.standIns {
		s.recall()
	}
	for _, name := range slices.Sorted(maps.Keys(origins)) {
		e.infof("Answering for cluster %s from the state in %s, as it was at %s, until %s can be listed", name, e.keeper.dir, e.heard[name].Format(time.RFC3339), origins[name])
	}
	e.publish(records.Compile(nil, e.objects(e.clusters), e.opt, e.now()))
	e.noteRecalled(e.recalled())
}

// admissible returns a cluster of the state less what the Corefile does not have read. Where
// it has more read than it had when the state was written, the state does not say all.
func (e *engine) admissible(c statefile.Cluster) *api.Cluster {
	own := *c.Cluster
	for k := range api.NumKinds {
		switch watched := e.watches == nil || e.watches(k); {
		case !watched:
			own.Share(k, new(api.Cluster))
			own.Listings[k], own.ListedIn[k] = api.NotWatched, nil
		case own.Listings[k] == api.NotWatched:
			own.Listings[k] = api.NotListed
		case c.Selection != e.selection:
			own.Listings[k], own.ListedIn[k] = api.NotListed, nil
		}
	}
	return &own
}

// recall says that what the stand-in knows comes from the state on disk.
func (s *standIn) recall() {
	s.old = true
	for k := range api.NumKinds {
		l := s.known.Listings[k]
		s.recalled[k] = s.known.Count(k) > 0 || k.HoldsNames() && l != api.NotWatched && l.Complete()
	}
}

// remain says of what is handed over by another engine, which of that comes from the state
// on disk.
func (h *handover) remain(before *handover) {
	for name, s := range h.standIns {
		if b := before.standIns[name]; b != nil {
			s.old, s.recalled = b.old, b.recalled
		}
	}
	for _, c := range h.left {
		if before.isRecalled(c.Name) {
			h.leftRecalled = append(h.leftRecalled, c.Name)
		}
	}
}

// isRecalled tells whether something of a cluster is served from the state on disk.
func (h *handover) isRecalled(cluster string) bool {
	s := h.standIns[cluster]
	return s != nil && slices.Contains(s.recalled[:], true) || len(h.left) > 0 && slices.Contains(h.leftRecalled, cluster)
}

// recalled returns the clusters of which something is served from the state on disk. The
// caller holds mu, or nobody else uses e yet.
func (e *engine) recalled() (names []string) {
	for _, c := range e.clusters {
		if e.handover.isRecalled(c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// noteRecalled makes names the clusters that are served from the state on disk, and says of
// which that has ended.
func (e *engine) noteRecalled(names []string) {
	before := e.served.Swap(&names)
	if before != nil {
		ended := slices.DeleteFunc(slices.Clone(*before), func(name string) bool { return slices.Contains(names, name) })
		if len(ended) > 0 {
			e.infof("Answering for cluster %s from what has been listed, and no longer from the state on disk", strings.Join(ended, " and "))
		}
	}
	if len(names) == 0 && e.opt.Health != nil && e.answerable(e.snap.Load()) {
		e.opt.Health = nil // whatever comes from here on is new; compiling alone reads it
	}
}

// servedFromState returns the clusters of which something is served from the state on disk.
func (e *engine) servedFromState() []string {
	if served := e.served.Load(); served != nil {
		return *served
	}
	return nil
}

// stale tells whether there are such clusters.
func (e *engine) stale() bool { return len(e.servedFromState()) > 0 }

// selectionText says which objects of a cluster are read, but for their kinds.
func (cfg *config) selectionText(namespaces []string) string {
	return fmt.Sprintf("namespaces=%q policies=%q", slices.Compact(slices.Sorted(slices.Values(namespaces))), cfg.policies)
}
