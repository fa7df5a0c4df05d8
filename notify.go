package kuadrant

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/coredns-kuadrant/kuadrant/records"
)

// notifyPause is the least time between two NOTIFYs of one zone (RFC 1996 §3.5 leaves it
// open): changes meanwhile are told together. The first one after a start waits as long,
// so that the servers listen when secondaries ask back.
const notifyPause = time.Second

// maxNotifying is how many zones are told of at a time. One takes long where a secondary
// does not answer: three times two seconds.
const maxNotifying = 16

// notifier tells secondaries of zones whose serial has moved, through the transfer plugins
// of the server blocks (RFC 1996, rule 6.7). Publishing never waits for it. Its methods
// may be called at any time, by any goroutine.
type notifier struct {
	snap  func() *records.Snapshot
	warnf func(format string, args ...any)
	infof func(format string, args ...any)
	// waits tells whether the notifier before this one is still at work.
	waits func() bool
	wake  chan struct{}

	mu        sync.Mutex // guards what follows
	listeners []*listening
	// told is what secondaries have been told, by the origin of the zone.
	told map[string]*toldZone
	// owed are the zones that they are to be told of.
	owed map[string]struct{}
	// running counts the zones that they are being told of.
	running int
	// seen is the snapshot that was looked through last; nil for all to be looked at.
	seen *records.Snapshot
	// began is when the notifier began to run.
	began time.Time
	// before is the notifier that this one takes over from; nil for none.
	before *notifier
}

// listening is one transfer plugin, for the zones of its server block.
type listening struct {
	zones  map[string]bool // of the Corefile
	notify func(zone string) error
	// failing is true from the first failure on until all have taken a NOTIFY.
	failing bool
}

// toldZone is what secondaries have been told of one zone.
type toldZone struct {
	serial uint32
	at     time.Time
	busy   bool // they are being told
}

func newNotifier(snap func() *records.Snapshot) *notifier {
	return &notifier{
		snap: snap, warnf: log.Warningf, infof: log.Infof, waits: func() bool { return false }, wake: make(chan struct{}, 1),
		told: make(map[string]*toldZone), owed: make(map[string]struct{}),
	}
}

// listen adds a transfer plugin: notify is its Notify. zones are the Corefile's zones in
// its server block; it is told of those, and of the zones below that lie in no other zone
// of the Corefile.
func (n *notifier) listen(zones map[string]bool, notify func(zone string) error) {
	n.mu.Lock()
	n.listeners, n.seen = append(n.listeners, &listening{zones: zones, notify: notify}), nil
	n.mu.Unlock()
	n.ring()
}

// follow has n take over from before, once that has ended: nothing is told twice, and
// nothing that before has not told yet is lost. It is called before n runs.
func (n *notifier) follow(before *notifier, waits func() bool) { n.before, n.waits = before, waits }

// ring has the notifier look at the newest snapshot. It never waits.
func (n *notifier) ring() {
	select {
	case n.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// run tells secondaries until ctx ends. NOTIFYs that have no answer yet end by themselves
// afterwards: CoreDNS has no way to end them.
func (n *notifier) run(ctx context.Context) {
	n.mu.Lock()
	n.began = time.Now()
	n.mu.Unlock()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.wake:
		case <-timer.C:
		}
		if wait, ok := n.look(time.Now()); ok {
			timer.Reset(wait)
		}
	}
}

// look finds what has changed, and begins to tell it where its time has come. It returns
// how long to wait for more; ok is false where nothing is due at any time.
func (n *notifier) look(now time.Time) (wait time.Duration, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.before != nil {
		if n.waits() {
			return 0, false
		}
		n.told, n.before = n.before.states(), nil
	}
	snap := n.snap()
	if snap == nil || len(n.listeners) == 0 {
		return 0, false
	}
	n.compare(snap)
	for origin := range n.owed {
		z := snap.Zone(origin)
		if z == nil || z.Origin() != origin {
			delete(n.owed, origin) // it is gone
			continue
		}
		state := n.told[origin]
		if state == nil {
			state = &toldZone{at: n.began}
			n.told[origin] = state
		}
		left := notifyPause - now.Sub(state.at)
		switch {
		case state.busy || left <= 0 && n.running == maxNotifying:
			// The end of what is under way rings.
		case left > 0:
			if !ok || left < wait {
				wait, ok = left, true
			}
		default:
			delete(n.owed, origin)
			n.begin(z, state, now)
		}
	}
	return wait, ok
}

// states returns what secondaries have been told, by n or by the notifiers before it. What
// n is telling counts as told.
func (n *notifier) states() map[string]*toldZone {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.before != nil {
		return n.before.states()
	}
	told := maps.Clone(n.told)
	for origin, s := range told {
		told[origin] = &toldZone{serial: s.serial, at: s.at}
	}
	return told
}

// compare notes which zones of snap have another serial than was told. Those that may lack
// names are not transferred, and wait. The caller holds mu.
func (n *notifier) compare(snap *records.Snapshot) {
	if n.seen == snap {
		return
	}
	var before []*records.Zone
	if n.seen != nil {
		before = n.seen.Zones()
	}
	n.seen = snap
	for i, z := range snap.Zones() {
		if i < len(before) && before[i] == z {
			continue
		}
		if !snap.Lists(z) {
			n.seen = nil
			continue
		}
		if state := n.told[z.Origin()]; state == nil || state.serial != z.Serial() {
			n.owed[z.Origin()] = struct{}{}
		}
	}
	if len(n.told) > len(snap.Zones()) {
		maps.DeleteFunc(n.told, func(origin string, s *toldZone) bool {
			z := snap.Zone(origin)
			return !s.busy && (z == nil || z.Origin() != origin)
		})
	}
}

// begin tells secondaries of z. The caller holds mu.
func (n *notifier) begin(z *records.Zone, state *toldZone, now time.Time) {
	state.serial, state.at = z.Serial(), now
	var to []*listening
	for _, l := range n.listeners {
		if l.zones[z.CorefileZone()] {
			to = append(to, l)
		}
	}
	if len(to) == 0 {
		return
	}
	state.busy = true
	n.running++
	go func() {
		for _, l := range to {
			n.note(l, l.notify(z.Origin()))
		}
		n.mu.Lock()
		state.busy = false
		n.running--
		n.mu.Unlock()
		n.ring()
	}()
}

// note logs when NOTIFYs of a server block begin to fail, and when that ends.
func (n *notifier) note(l *listening, err error) {
	n.mu.Lock()
	was := l.failing
	l.failing = err != nil
	n.mu.Unlock()
	switch {
	case err != nil && !was:
		n.warnf("A secondary may lag behind until it asks by itself, and more of this is not logged: %v", err)
	case err == nil && was:
		n.infof("NOTIFY is taken again by all secondaries of a server block")
	}
}
