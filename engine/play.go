package engine

import (
	"fmt"
	"time"

	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// Load puts in force what a Corefile says, and reads and runs nothing: whoever calls it publishes what is answered from.
func (e *Engine) Load(cfg *Options) error {
	s, err := e.prepare(cfg)
	if err == nil {
		e.inForce.Store(s)
	}
	return err
}

// Publish makes snap what queries are answered from.
func (e *Engine) Publish(snap *records.Snapshot) {
	e.compiling.Lock()
	defer e.compiling.Unlock()
	e.publish(snap, nil)
}

// Play puts in force what a Corefile says of zones and checks, with sources in place of its clusters, and a locator, nil for
// none, whose files are not watched. checked is called after each check.
func (e *Engine) Play(cfg *Options, locator *geo.DB, sources []source.Source, checked func(*health.Target)) {
	opts := probing(cfg, nil, e.log, e.targetChanged)
	ended := opts.Ended
	opts.Ended = func(t *health.Target, o health.Outcome, took time.Duration) {
		ended(t, o, took)
		checked(t)
	}
	s := &settings{opt: cfg.Records(), prober: health.NewProber(opts)}
	for _, from := range sources {
		s.feeds = append(s.feeds, &feed{name: from.Name(), source: from, stats: new(source.Stats), same: feedSettings{text: fmt.Sprintf("%p", from)}})
	}
	e.apply(s)
	with := *s
	with.locator = locator
	e.inForce.Store(&with)
}
