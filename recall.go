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
	"github.com/coredns-kuadrant/kuadrant/corefile"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records"
	statefile "github.com/coredns-kuadrant/kuadrant/state"
)

// recollection is what an engine has from the state on disk that is not among its objects.
type recollection struct {
	// unclaimed are clusters that nothing of the Corefile reads. The state keeps them until
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
		e.keeping.recall(c) // what is kept in the cluster goes on
	}
	e.opt.Published = published(c, e.opt.Published)      // counts where nobody keeps serials
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

// resume puts the clusters of c that e reads in place of what has not been listed yet, and
// answers from them. Those that Secrets named are among them: whether one still does is known
// when the Secrets have been listed (turnRemotes).
func (e *engine) resume(c *statefile.Contents) {
	var clusters []*api.Cluster
	origins := make(map[string]string)
	e.heard, e.unclaimed = make(map[string]time.Time), nil
	e.mu.Lock()
	for _, one := range c.Clusters {
		secret, ok := e.claims(one)
		if !ok || origins[one.Name] != "" {
			e.unclaimed = append(e.unclaimed, one)
			continue
		}
		admitted := e.admissible(one)
		if secret {
			countKnown(admitted)
			if e.remotes.running[one.Name] == nil {
				e.remotes.recalled[one.Name] = true
			}
		}
		clusters, origins[one.Name] = append(clusters, admitted), one.Identity
		e.heard[one.Name] = one.Heard
		if policiesIn(one.Selection) != policiesIn(e.selection) {
			e.guard.reselected[one.Name] = true
		}
	}
	if len(clusters) == 0 {
		e.mu.Unlock()
		return
	}
	e.takeOver(clusters, origins)
	for _, s := range e.handover.standIns {
		s.recall()
	}
	if c.Place != "" && c.Place == e.remotes.place && len(e.unclaimed) == 0 { // else a Secret may name what was the Corefile's
		e.remotes.expecting.Store(false) // names were denied in view of the same clusters
	}
	e.noteRemotes()
	recalled, others := e.recalled(), e.awaited()
	for _, name := range slices.Sorted(maps.Keys(origins)) {
		until := origins[name] + " can be listed"
		if e.remotes.recalled[name] {
			until = "the Secret that names it has been read and " + until
		}
		e.infof("Answering for cluster %s from the state in %s, as it was at %s, until %s", name, e.keeper.dir, e.heard[name].Format(time.RFC3339), until)
	}
	e.mu.Unlock()
	if c.Runs > 0 && e.keeping.waits() {
		// What the file has of serials is older than what was shown last: for what is kept
		// there is a moment, as compile waits for that.
		e.first, e.hurry = make(chan struct{}), time.AfterFunc(keptWait, e.keptUnanswered)
		return
	}
	e.publish(records.Compile(nil, e.objects(e.clusters, others), e.opt, e.now()), recalled)
}

// keptWait is for how long a server that was killed, and starts from the state on disk, waits
// until it is said what is kept, or nobody answers.
const keptWait = time.Second

// awaitFirst returns when e answers, where that waits for what is kept: queries that come
// meanwhile wait as well.
func (e *engine) awaitFirst() {
	if e.first == nil {
		return
	}
	select {
	case <-e.first:
	case <-time.After(2 * keptWait):
	}
}

// keptUnanswered goes by what the state on disk, or the engine before, has of what is kept,
// until somebody says what that is.
func (e *engine) keptUnanswered() {
	if e.keeping.goOn() {
		e.ring()
	}
}

// claims tells whether e reads a cluster of the state where that was read, or has to find out
// whether a Secret still names it; secret is true where no source of the Corefile reads it. The
// caller holds mu.
func (e *engine) claims(c statefile.Cluster) (secret, ok bool) {
	if e.reserved(c.Name) {
		return false, e.origins[c.Name] == c.Identity
	}
	if m := e.remotes.running[c.Name]; m != nil {
		return true, m.source.Identity() == c.Identity
	}
	return true, c.Place != "" && c.Place == e.remotes.place
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
		s.recalled[k] = s.known.Count(k) > 0 || k.HoldsNames() && !l.Left() && l.Complete()
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
	for name := range before.orphans {
		if h.standIns[name] == nil {
			h.orphan(name, true)
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
	return s != nil && slices.Contains(s.recalled[:], true) || h.orphans[cluster] || len(h.left) > 0 && slices.Contains(h.leftRecalled, cluster)
}

// orphan makes a cluster one of the orphans, or not one any more.
func (h *handover) orphan(cluster string, is bool) {
	switch {
	case !is:
		delete(h.orphans, cluster)
	case h.orphans == nil:
		h.orphans = map[string]bool{cluster: true}
	default:
		h.orphans[cluster] = true
	}
}

// goOn says which of what the stand-in knows comes from the state on disk: what did in the one
// before it, which may be nil, and all where there was none and old is true.
func (s *standIn) goOn(before *standIn, old bool) {
	switch {
	case before != nil:
		s.old, s.recalled = before.old, before.recalled
	case old:
		s.recall()
	}
}

// recalled returns the clusters of which something is served from the state on disk. The
// caller holds mu.
func (e *engine) recalled() (names []string) {
	for _, c := range e.clusters {
		if e.handover.isRecalled(c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// noteRecalled says which of the clusters in before are not served from the state on disk any
// more: names are in snap.
func (e *engine) noteRecalled(before []string, snap *records.Snapshot, names []string) {
	ended := slices.DeleteFunc(slices.Clone(before), func(name string) bool {
		there := slices.ContainsFunc(snap.Objects().Clusters, func(c *api.Cluster) bool { return c.Name == name })
		return !there || slices.Contains(names, name)
	})
	if len(ended) > 0 {
		e.infof("Answering for cluster %s from what has been listed, and no longer from the state on disk", strings.Join(ended, " and "))
	}
	if len(names) == 0 && e.opt.Health != nil && e.answerable(snap) {
		e.opt.Health = nil // whatever comes from here on is new; compiling alone reads it
	}
}

// servedFromState returns the clusters of which something is served from the state on disk.
func (e *engine) servedFromState() []string { return e.snap.whole().recalled }

// selectionText says which objects of a cluster are read, but for their kinds.
func selectionText(cfg *corefile.Options, namespaces []string) string {
	return fmt.Sprintf("namespaces=%q"+policiesText+"%q", slices.Compact(slices.Sorted(slices.Values(namespaces))), cfg.Policies)
}

// policiesText stands in a selectionText before what it says of policies.
const policiesText = " policies="

// policiesIn returns what a selectionText says of policies.
func policiesIn(selection string) string {
	_, policies, _ := strings.Cut(selection, policiesText)
	return policies
}
