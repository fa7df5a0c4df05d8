package engine

import (
	"sync/atomic"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// structure compiles a new structure beside the leaves if that takes long (records.CompileLeaves, decision 37). It belongs to the
// holder of the engine's compiling.
type structure struct {
	quick time.Duration // a shorter compile happens at once
	pause time.Duration // the shortest
	took  time.Duration // the time of the last compile from nothing
	next  time.Time     // none begins before
	alarm alarm         // rings at next
	aside *aside        // nil while there is none
}

// aside is a structure that is being compiled.
type aside struct {
	since api.Objects // changes since it began
	used  bool
	base  atomic.Pointer[records.Snapshot] // its result; nil before
	took  time.Duration                    // the time of the compile, once there is a base
}

const (
	quickCompile = 50 * time.Millisecond
	// The pause after a structure was compiled aside is at least minPause, and pauses times what that took.
	minPause = time.Second
	pauses   = 4
)

// compile compiles in after prev, which may be nil: all of it, or as much as can be had at once.
func (s *structure) compile(prev *records.Snapshot, in api.Objects, opt *records.Options, now time.Time, whole bool) *records.Snapshot {
	a := s.aside
	switch {
	case whole:
		s.aside = nil
		return records.Compile(prev, in, opt, now)
	case a != nil && a.base.Load() != nil:
		a.used = true
		return records.Rebase(a.base.Load(), prev, in.After(&a.since), opt, now)
	}
	next := prev.Next(in, opt)
	if behind := a != nil || prev != nil && prev.Behind(); behind || prev != nil && !next.Fits() && s.took >= s.quick {
		return next.CompileLeaves(now)
	}
	began := time.Now()
	snap := next.Compile(now)
	if !next.Fits() {
		s.took = time.Since(began)
	}
	return snap
}

// follow compiles the rest that snap, about to be published, lacks, now or after the pause.
func (e *Engine) follow(snap *records.Snapshot, now time.Time) {
	s, in := &e.structure, snap.Input()
	switch a := s.aside; {
	case a == nil:
	case a.used:
		s.aside, s.took = nil, a.took
		s.next = now.Add(max(s.pause, pauses*s.took))
	default:
		a.since = in.After(&a.since)
	}
	if !snap.Behind() || s.aside != nil {
		return
	}
	if wait := s.next.Sub(now); wait > 0 && snap.Opt == e.settings().opt { // new options do not wait
		s.alarm.set(wait, e.wake.ring)
		return
	}
	e.registry.addIncumbents(&in)
	a, opt := &aside{since: in.Unchanged()}, e.settings().opt
	s.aside = a
	e.done.Go(func() {
		began := time.Now()
		base := records.Compile(snap, in, opt, now)
		a.took = time.Since(began)
		a.base.Store(base)
		e.wake.ring()
	})
}
