// Package source is where objects come from: Kubernetes API servers and
// directories of YAML files. A Source delivers everything it knows of one
// cluster as an immutable api.Cluster, first when the first list is complete,
// then after changes.
//
// An object that did not change keeps its pointer from one published cluster to
// the next, whatever was read again in between, so that a consumer may skip it.
package source

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// Source delivers what it knows of one cluster.
type Source interface {
	// Run publishes a cluster once the first list is complete, then after
	// changes, until ctx ends. "Complete" is said by each kind of source.
	//
	// publish is called from one goroutine at a time, and must not block for
	// long. A published cluster is immutable; its Changed lists what differs
	// from the cluster published before, the first time everything.
	//
	// Run returns nil when ctx ends, after everything that it started has
	// ended; an error only for what can never work. It may be called again
	// afterwards, and then begins anew; not twice at a time.
	Run(ctx context.Context, publish func(*api.Cluster)) error
	// Name is the name of the cluster.
	Name() string
	// Identity says where objects come from: what one source has published
	// stands in for another of the same identity until that has listed, whatever
	// the two select. It holds no secrets.
	Identity() string
}

// Logf takes one line for the operator, in the manner of fmt.Printf and without
// a line feed. It may be called from several goroutines at a time.
type Logf func(format string, args ...any)

// logs returns the functions to use where some may be nil.
func logs(warnf, infof Logf) (_, _ Logf) {
	if warnf == nil {
		warnf = func(string, ...any) {}
	}
	if infof == nil {
		infof = warnf
	}
	return warnf, infof
}

// Stats is what a source tells about itself while it runs. The zero Stats is
// ready for use; any number of goroutines may use one at a time.
type Stats struct {
	lastEvent atomic.Int64
	synced    atomic.Bool
	lost      atomic.Int64 // when synced became false; 0 for never
	problem   atomic.Pointer[string]
}

// LastEvent returns when the source last heard from what it reads; the zero
// time before it first did.
func (s *Stats) LastEvent() time.Time {
	if n := s.lastEvent.Load(); n != 0 {
		return time.Unix(0, n)
	}
	return time.Time{}
}

// Synced reports whether everything is listed and nothing is known to stand in
// the way of hearing about changes.
func (s *Stats) Synced() bool { return s.synced.Load() }

// setSynced notes whether that is so.
func (s *Stats) setSynced(is bool) {
	if was := s.synced.Swap(is); was && !is {
		s.lost.Store(time.Now().UnixNano())
	}
}

// Lost returns since when Synced is false; the zero time where it never was true.
func (s *Stats) Lost() time.Time {
	if n := s.lost.Load(); n != 0 {
		return time.Unix(0, n)
	}
	return time.Time{}
}

// Problem says what stands in the way of reading a directory of manifests, as the log has it; "" for nothing, and for other
// sources.
func (s *Stats) Problem() string {
	if p := s.problem.Load(); p != nil {
		return *p
	}
	return ""
}

// event notes that something was heard just now.
func (s *Stats) event() { s.lastEvent.Store(time.Now().UnixNano()) }
