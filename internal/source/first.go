package source

import (
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// settled reports whether the first cluster can be published. r is locked.
func (r *kubernetesRun) settled() bool {
	failing := false
	for kind := range api.NumKinds {
		state := &r.states[kind]
		switch {
		case !r.opts.Watches(kind) || state.settled(kind):
		case kinds[kind].optional && state.failed:
			failing = true
		default:
			return false
		}
	}
	// Nothing else is missing.
	return !(failing && !r.spare.over(r, r.timing.spare))
}

// awaitsProviders reports whether the first cluster waits for Secrets that policies refer to as
// DNS providers: the hosts of these are not known before. r is locked.
func (r *kubernetesRun) awaitsProviders() bool {
	if !r.opts.Watches(api.KindSecret) || !r.secrets.needs.providing() {
		return false
	}
	if r.states[api.KindSecret].settled(api.KindSecret) && r.secrets.ready("") {
		return false
	}
	return !r.spare.over(r, r.timing.spare)
}

// delay is a time that begins once.
type delay struct {
	timer *time.Timer // nil until it begins
	ended bool
}

// over reports whether the time is over; the first call begins it. r is locked.
func (d *delay) over(r *kubernetesRun, length time.Duration) bool {
	if d.timer == nil {
		d.timer = time.AfterFunc(length, func() { r.change(func() { d.ended = true }) })
	}
	return d.ended
}

// stopDelay ends what settled has begun.
func (r *kubernetesRun) stopDelay() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.spare.timer != nil {
		r.spare.timer.Stop()
	}
}
