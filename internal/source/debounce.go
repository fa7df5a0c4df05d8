package source

import "time"

// debounce joins a burst of events into one: it fires when no event has come
// for `quiet`, but never later than `most` after the first one. It belongs to
// one goroutine, which reads C in its select loop.
type debounce struct {
	C           <-chan time.Time
	quiet, most time.Duration

	timer *time.Timer
	first time.Time // of the burst's first event; zero between bursts
}

func newDebounce(quiet, most time.Duration) *debounce {
	t := time.NewTimer(most)
	t.Stop()
	return &debounce{C: t.C, quiet: quiet, most: most, timer: t}
}

// touch notes an event.
func (d *debounce) touch() {
	now := time.Now()
	if d.first.IsZero() {
		d.first = now
	}
	d.timer.Reset(max(0, min(d.quiet, d.first.Add(d.most).Sub(now))))
}

// done ends the burst; the caller has taken in everything up to now.
func (d *debounce) done() {
	d.first = time.Time{}
	d.timer.Stop()
}
