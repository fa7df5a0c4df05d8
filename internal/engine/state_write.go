package engine

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	statefile "github.com/coredns-kuadrant/kuadrant/internal/state"
)

// When the state is written: writeQuiet after a change, and writePause after the last time, or writeShare times its duration: a
// million Records must not keep a processor busy. A starting server does not pause: one that dies again and again must not leave
// a state older than its lists.
const (
	writeQuiet = time.Second
	writePause = 10 * time.Second
	writeShare = 20
)

// stateWriter writes one engine's state to disk. Only its goroutine writes objects while the engine runs, and only stop afterwards.
// Serials are in state_serials.go.
type stateWriter struct {
	of   *Engine
	dir  string
	wake bell
	// written is the time of the last write, in nanoseconds since 1970; 0 for none by this engine.
	written atomic.Int64

	next    time.Time // when it may be written again
	started bool      // the state has held everything that is read once, or had its time

	failures sync.Map // by file: why its last write failed
	numbers  stateSerials
}

// openState returns the state's writer, and makes its directory; nil if the Corefile has no state.
func (e *Engine) openState(cfg *Options) (*stateWriter, error) {
	if cfg.State == "" {
		return nil, nil
	}
	if k := e.settings().state; k != nil && k.dir == cfg.State {
		return k, nil
	}
	if err := statefile.Prepare(cfg.State); err != nil {
		return nil, cfg.At("state").Errorf("state: %w", err)
	}
	return &stateWriter{of: e, dir: cfg.State, wake: newBell()}, nil
}

// changed wakes the writer. k may be nil.
func (k *stateWriter) changed() {
	if k != nil {
		k.wake.ring()
	}
}

// run writes the state after changes, until ctx ends.
func (k *stateWriter) run(ctx context.Context) {
	for k.wake.wait(ctx, writeQuiet, k.next) {
		if !k.save() {
			k.changed()
		}
	}
}

// save writes the state; false means that it must be tried again.
func (k *stateWriter) save() bool {
	begin := time.Now()
	now := k.of.Current()
	k.started = k.started || k.of.late.Load() || now.Snapshot != nil && now.Snapshot.Complete() && !now.Stale()
	pause := writePause
	if !k.started {
		pause = writeQuiet
	}
	k.next = begin.Add(pause)
	saved := now.Snapshot == nil || k.saveSerials(now.Snapshot, true)
	c := k.of.remembered()
	if c == nil {
		return saved
	}
	err := statefile.Write(k.dir, c)
	took := time.Since(begin)
	k.next = begin.Add(max(pause, writeShare*took))
	if !k.report(statefile.Name, err, "a start without the API server would use the old file") {
		return false
	}
	k.written.Store(c.Written.UnixNano())
	return saved
}

// report logs once that a file cannot be written, and what follows, and that it can be again. It reports whether err is nil.
func (k *stateWriter) report(name string, err error, follows string) bool {
	path := filepath.Join(k.dir, name)
	if err == nil {
		if _, failed := k.failures.LoadAndDelete(name); failed {
			k.of.log.Infof("state %s: writable again", path)
		}
		return true
	}
	if why, failed := k.failures.Swap(name, err.Error()); !failed || why != err.Error() {
		k.of.log.Warningf("state %s: cannot write: %v; retrying. Until then %s", path, err, follows)
	}
	return false
}

// remembered returns what to keep on disk of e now; nil for nothing.
func (e *Engine) remembered() *statefile.Contents {
	now := e.Current()
	snap := now.Snapshot
	if snap == nil {
		return nil
	}
	objects := snap.Objects()
	c := &statefile.Contents{Written: e.Now(), Groups: objects.ActiveGroups, Owners: objects.Acquired.All()}
	e.mu.Lock()
	defer e.mu.Unlock()
	place := e.secrets.place
	if !e.secrets.expecting.Load() {
		c.Place = place
	}
	for _, of := range objects.Clusters {
		i := slices.IndexFunc(e.known, func(c *cluster) bool { return c.compiled && c.now.Name == of.Name })
		if i < 0 || !known(of) || !tellsAnything(of) {
			continue
		}
		from := e.known[i]
		one := statefile.Cluster{Cluster: of, Identity: from.identity, Selection: e.settings().selection, Heard: c.Written}
		if slices.Contains(now.FromState, of.Name) {
			one.Heard = from.heard
		}
		if from.bySecret {
			one.Place = place
		}
		c.Clusters = append(c.Clusters, one)
	}
	if len(c.Clusters) == 0 {
		return nil // the state on disk is better than nothing
	}
	if !e.answerable(now) || now.Stale() {
		c.Clusters = append(c.Clusters, e.unused...)
	}
	c.Health = func(yield func(string, string) bool) {
		for key, t := range snap.Checks().All() {
			if w := t.Cell.Load(); w.Known() && !yield(key, w.Found().String()) {
				return
			}
		}
	}
	return c
}

// tellsAnything reports whether a cluster has listings or objects.
func tellsAnything(c *api.Cluster) bool {
	for k := range api.NumKinds {
		if c.Count(k) > 0 || len(c.ListedIn[k]) > 0 || c.Listings[k].Complete() && !c.Listings[k].Left() {
			return true
		}
	}
	return false
}
