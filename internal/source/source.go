// Package source reads objects from Kubernetes API servers and from directories of manifests. A
// Source publishes all it knows of one cluster as an immutable api.Cluster, first when the first
// list is complete, then after changes.
//
// An object that did not change keeps its pointer from one published cluster to the next, even if
// it was read again in between, so that consumers may skip it.
package source

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// Source publishes what it knows of one cluster.
type Source interface {
	// Run publishes a cluster once the first list is complete, then after changes, until ctx ends.
	// Each kind of source says what "complete" means.
	//
	// It calls publish from one goroutine at a time; publish must not block for long. A published
	// cluster is immutable. Its Changed lists what differs from the cluster published before, or
	// everything the first time.
	//
	// Run returns nil when ctx ends, after everything that it started has ended. It returns an
	// error only for what can never work. It may be called again after it has returned, and then
	// starts anew; two calls must not overlap.
	Run(ctx context.Context, publish func(*api.Cluster)) error
	// Name returns the name of the cluster.
	Name() string
	// Identity says where the objects come from. What a source has published stands in for another
	// source of the same identity until that one has listed, even if the two select different
	// objects. It holds no secrets.
	Identity() string
}

// Logf logs one line for the operator, formatted as by fmt.Printf, without a newline. Several
// goroutines may call it at a time.
type Logf func(format string, args ...any)

// logs returns the functions to use if some may be nil.
func logs(warnf, infof Logf) (_, _ Logf) {
	if warnf == nil {
		warnf = func(string, ...any) {}
	}
	if infof == nil {
		infof = warnf
	}
	return warnf, infof
}

// Stats is the state of a running source. The zero Stats is ready for use. It is safe for
// concurrent use.
type Stats struct {
	lastEvent atomic.Int64
	synced    atomic.Bool
	lost      atomic.Int64 // when synced last became false; 0 for never
	problem   atomic.Pointer[string]
}

// LastEvent returns when the source last heard from its API server or directory; the zero time if
// it never did.
func (s *Stats) LastEvent() time.Time {
	if n := s.lastEvent.Load(); n != 0 {
		return time.Unix(0, n)
	}
	return time.Time{}
}

// Synced reports whether everything is listed, and no known problem delays changes.
func (s *Stats) Synced() bool { return s.synced.Load() }

func (s *Stats) setSynced(is bool) {
	if was := s.synced.Swap(is); was && !is {
		s.lost.Store(time.Now().UnixNano())
	}
}

// Lost returns since when Synced is false; the zero time if it never was true.
func (s *Stats) Lost() time.Time {
	if n := s.lost.Load(); n != 0 {
		return time.Unix(0, n)
	}
	return time.Time{}
}

// Problem returns why a directory of manifests cannot be read, as logged; "" for none, and for
// other sources.
func (s *Stats) Problem() string {
	if p := s.problem.Load(); p != nil {
		return *p
	}
	return ""
}

// event records that the source just heard something.
func (s *Stats) event() { s.lastEvent.Store(time.Now().UnixNano()) }
