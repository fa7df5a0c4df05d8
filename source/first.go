package source

import (
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// settled reports whether the first cluster can be published. r is locked.
func (r *kubernetesRun) settled() bool {
	secrets, failing := false, false
	for kind := range api.NumKinds {
		state := &r.states[kind]
		switch {
		case !r.opts.Watches(kind) || state.settled(kind):
		case kinds[kind].byName:
			secrets = true
		case kinds[kind].optional && state.failed:
			failing = true
		default:
			return false
		}
	}
	// Nothing else is missing.
	return !(failing && !r.spare.over(r, r.timing.spare)) && !(secrets && !r.grace.over(r, r.timing.grace))
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

func (d *delay) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
}

// stopDelays ends what settled has begun.
func (r *kubernetesRun) stopDelays() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.grace.stop()
	r.spare.stop()
}
