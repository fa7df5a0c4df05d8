package recordstest

import (
	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// aside is a structure that is compiled while steps continue under the one before (see
// records.CompileLeaves).
type aside struct {
	base  *records.Snapshot
	left  int         // steps until it is done
	since api.Objects // what has changed since it began
}

// compile compiles the current world: a new structure at once or, sometimes with Aside, during
// three other steps. whole is the same, compiled from nothing.
func (w *World) compile(in api.Objects) (snap, whole *records.Snapshot) {
	before := w.Snapshot
	switch {
	case w.aside != nil:
		w.aside.since = in.After(&w.aside.since)
		if w.aside.left--; w.aside.left > 0 {
			snap = records.CompileLeaves(before, in, w.Options, w.Now)
			break
		}
		snap = records.Rebase(w.aside.base, before, w.aside.since, w.Options, w.Now)
		w.aside = nil
	case w.Aside && before != nil && w.steps%3 == 0 && !before.Next(in, w.Options).Fits():
		snap = records.CompileLeaves(before, in, w.Options, w.Now)
	default:
		snap = records.Compile(before, in, w.Options, w.Now)
	}
	opt := w.Options
	if snap.Behind() && before != nil {
		opt = w.compiled
	}
	w.compiled = opt
	again := snap.Objects()
	again.Incumbents = in.Incumbents
	if snap.Complete() {
		w.lastComplete = snap
	}
	if snap.Behind() && w.aside == nil {
		w.begin(snap)
	}
	return snap, records.Compile(nil, again, opt, w.Now)
}

// begin starts to compile the structure that a snapshot is behind with.
func (w *World) begin(snap *records.Snapshot) {
	in := snap.Input()
	if w.incumbents && w.lastComplete != nil {
		in.Incumbents = w.lastComplete
	}
	w.aside = &aside{base: records.Compile(snap, in, w.Options, w.Now), left: 3, since: in.Unchanged()}
}
