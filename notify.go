package kuadrant

import (
	"cmp"
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coredns-kuadrant/kuadrant/records"
)

// notifyPause is the least time between two NOTIFYs of one zone (RFC 1996 §3.5 leaves it
// open): changes meanwhile are told together. The first one after a start waits as long,
// so that the servers listen when secondaries ask back.
const notifyPause = time.Second

// maxNotifying is how many zones a server block's secondaries are told of at a time. One
// takes long where a secondary does not answer: three times two seconds.
const maxNotifying = 16

// notifier tells secondaries of zones whose serial has moved, through the transfer plugins
// of the server blocks (RFC 1996, rule 6.7). Publishing never waits for it, and the
// secondaries of one server block never for those of another. Its methods may be called
// at any time, by any goroutine.
type notifier struct {
	snap  func() *records.Snapshot
	warnf func(format string, args ...any)
	infof func(format string, args ...any)
	wake  chan struct{}

	mu        sync.Mutex // guards what follows
	listeners []*listening
	// told is what the listeners before these have been told, by the origin of the zone.
	told map[string]toldZone
	// refusers are the addresses that do not take NOTIFY.
	refusers refusers
	// began is when the listeners began to be told.
	began time.Time
}

// listening is one transfer plugin, for the zones of its server block. The notifier's mu
// guards it.
type listening struct {
	zones  map[string]bool // of the Corefile
	notify func(zone string) error
	// told is what its secondaries have been told, by the origin of the zone; nil before
	// the first look.
	told map[string]*toldZone
	// owed are the zones that they are to be told of.
	owed map[string]struct{}
	// running counts the zones that they are being told of.
	running int
	// seen is the snapshot that was looked through last; nil for all to be looked at.
	seen *records.Snapshot
}

// toldZone is what secondaries have been told of one zone.
type toldZone struct {
	serial uint32
	at     time.Time
	busy   bool // they are being told
	stale  bool // some know an older serial
}

func newNotifier(snap func() *records.Snapshot) *notifier {
	return &notifier{
		snap: snap, warnf: log.Warningf, infof: log.Infof, wake: make(chan struct{}, 1),
		refusers: make(refusers),
	}
}

// listen adds a transfer plugin: notify is its Notify. zones are the Corefile's zones in
// its server block; it is told of those, and of the zones below that lie in no other zone
// of the Corefile.
func (n *notifier) listen(zones map[string]bool, notify func(zone string) error) *listening {
	l := &listening{zones: zones, notify: notify, owed: make(map[string]struct{})}
	n.mu.Lock()
	n.listeners = append(n.listeners, l)
	n.mu.Unlock()
	n.ring()
	return l
}

// use goes over to the transfer plugins of another Corefile: nothing is told twice, and nothing that was not told yet is
// lost.
func (n *notifier) use(listeners []*listening) {
	n.mu.Lock()
	n.told, n.began, n.refusers = n.states(), time.Now(), make(refusers)
	n.listeners = nil
	for _, l := range listeners {
		n.listeners = append(n.listeners, &listening{zones: l.zones, notify: l.notify, owed: make(map[string]struct{})})
	}
	n.mu.Unlock()
	n.ring()
}

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
	if n.began.IsZero() {
		n.began = time.Now()
	}
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
// how long to wait for more; ok is false if nothing is due at any time.
func (n *notifier) look(now time.Time) (wait time.Duration, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	snap := n.snap()
	if snap == nil {
		return 0, false
	}
	for _, l := range n.listeners {
		n.compare(l, snap)
		if left, due := n.tell(l, snap, now); due && (!ok || left < wait) {
			wait, ok = left, true
		}
	}
	return wait, ok
}

// tell begins to tell l of the zones that are owed to it, where their time has come. It
// returns as look does. The caller holds mu.
func (n *notifier) tell(l *listening, snap *records.Snapshot, now time.Time) (wait time.Duration, ok bool) {
	for origin := range l.owed {
		z := snap.Zone(origin)
		if z == nil || z.Origin() != origin {
			delete(l.owed, origin) // it is gone
			continue
		}
		state := l.told[origin]
		if state == nil {
			state = &toldZone{at: n.began}
			l.told[origin] = state
		}
		left := notifyPause - now.Sub(state.at)
		switch {
		case state.busy || left <= 0 && l.running == maxNotifying:
			// The end of what is under way rings.
		case left > 0:
			if !ok || left < wait {
				wait, ok = left, true
			}
		default:
			delete(l.owed, origin)
			*state = toldZone{serial: z.Serial(), at: now, busy: true}
			l.running++
			go n.begin(l, origin, state)
		}
	}
	return wait, ok
}

// begin tells l of a zone.
func (n *notifier) begin(l *listening, origin string, state *toldZone) {
	n.note(l, origin, l.notify(origin))
	n.mu.Lock()
	state.busy = false
	l.running--
	if !l.has(n.snap(), origin) { // it has gone meanwhile
		delete(l.told, origin)
		n.refusers.forget(refusal{l, origin})
	}
	n.mu.Unlock()
	n.ring()
}

// has reports whether l is told of a zone of the snapshot.
func (l *listening) has(snap *records.Snapshot, origin string) bool {
	z := snap.Zone(origin)
	return z != nil && z.Origin() == origin && l.zones[z.CorefileZone()]
}

// states returns what secondaries have been told. What
// they are being told counts as told. What is not the same for all is stale. The caller holds mu.
func (n *notifier) states() map[string]toldZone {
	if len(n.listeners) == 0 {
		return n.told
	}
	told := make(map[string]toldZone)
	for _, l := range n.listeners {
		for origin, s := range l.told {
			other, ok := told[origin]
			told[origin] = toldZone{serial: s.serial, at: s.at, stale: s.stale || ok && (other.stale || other.serial != s.serial)}
		}
	}
	return told
}

// compare notes which zones of snap have another serial than l was told. Those that may
// lack names, or of which no serial is kept, are not transferred, and wait. The caller holds mu.
func (n *notifier) compare(l *listening, snap *records.Snapshot) {
	if l.told == nil {
		l.told = make(map[string]*toldZone)
		for origin, s := range n.told {
			l.told[origin] = &s
		}
	}
	if l.seen == snap {
		return
	}
	var before []*records.Zone
	if l.seen != nil {
		before = l.seen.Zones()
	}
	l.seen = snap
	same := len(before) == len(snap.Zones())
	for i, z := range snap.Zones() {
		if i < len(before) && before[i] == z {
			continue
		}
		same = same && before[i].Origin() == z.Origin()
		if !l.zones[z.CorefileZone()] {
			continue
		}
		if !snap.Lists(z) {
			l.seen = nil
			continue
		}
		if z.PublishedVersion() == nil {
			continue // its serial is still to be kept, which makes it another zone
		}
		if state := l.told[z.Origin()]; state == nil || state.stale || state.serial != z.Serial() {
			l.owed[z.Origin()] = struct{}{}
		}
	}
	if !same {
		n.forget(l, snap)
	}
}

// forget drops what is known of zones that l need not be told of any more. The caller
// holds mu.
func (n *notifier) forget(l *listening, snap *records.Snapshot) {
	maps.DeleteFunc(l.told, func(origin string, s *toldZone) bool {
		gone := !s.busy && !l.has(snap, origin)
		if gone {
			n.refusers.forget(refusal{l, origin})
		}
		return gone
	})
}

// note counts and logs who does not take NOTIFY: for each address when that begins, and
// when it takes NOTIFY of all zones again. err is what l's Notify has said of the zone.
func (n *notifier) note(l *listening, zone string, err error) {
	n.mu.Lock()
	begun, ended := n.refusers.note(refusal{l, zone}, err)
	n.mu.Unlock()
	for _, b := range begun {
		n.warnf("notify %s: not accepted (zone %q): %s; it may lag until its next refresh. Further failures are not logged until it accepts again",
			b.to, zone, b.why)
	}
	for _, to := range ended {
		n.infof("notify %s: accepted again (zone %q)", to, zone)
	}
}

// refusers are the addresses that do not take NOTIFY, as the Corefile's `to` has them. Of
// what fails for long each has one line in the log, so that none hides another.
type refusers map[string]*refuser

// refuser is one address that does not take NOTIFY.
type refuser struct {
	zones map[refusal]struct{}
	// silent and unwilling tell what of it was logged: that nothing comes back, which
	// concerns the server, and that an answer says no, which may concern one zone alone.
	silent, unwilling bool
}

// refusal is what an address does not take: a zone that a server block tells it of.
type refusal struct {
	by   *listening
	zone string
}

// unnamed stands for the address where CoreDNS names none.
const unnamed = "unknown"

// notTaken is what is said of an address for one NOTIFY.
type notTaken struct {
	to, why string
	answer  bool // one came, and says no
}

// note takes in what a NOTIFY has ended with, nil if all have taken it. It counts
// failures, and returns what is to be logged: the addresses for which that begins, and
// those for which all of it has ended.
func (r refusers) note(about refusal, err error) (begun []notTaken, ended []string) {
	failed := make(map[string]bool)
	for _, f := range takenApart(err) {
		failed[f.to] = true
		notifyFailures.WithLabelValues(label(f.to)).Inc()
		at := r[f.to]
		if at == nil {
			at = &refuser{zones: make(map[refusal]struct{})}
			r[f.to] = at
		}
		at.zones[about] = struct{}{}
		said := &at.silent
		if f.answer {
			said = &at.unwilling
		}
		if !*said {
			*said, begun = true, append(begun, f)
		}
	}
	for to := range r {
		if !failed[to] && r.drop(to, about) {
			ended = append(ended, to)
		}
	}
	slices.Sort(ended)
	return begun, ended
}

// forget drops what is not tried any more.
func (r refusers) forget(about refusal) {
	for to := range r {
		r.drop(to, about)
	}
}

// drop takes one refusal from an address, and reports whether it was the last.
func (r refusers) drop(to string, about refusal) bool {
	at := r[to]
	if _, ok := at.zones[about]; !ok {
		return false
	}
	delete(at.zones, about)
	if len(at.zones) > 0 {
		return false
	}
	delete(r, to)
	return true
}

// ofAddress reads the error that CoreDNS's transfer plugin makes for one address.
var ofAddress = regexp.MustCompile(`(?s)^notify for zone ".*?" was not accepted by "([^"]+)"(?:: (.*))?$`)

// takenApart returns what the error of a Notify says of each address: the transfer plugin
// joins them.
func takenApart(err error) (all []notTaken) {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			all = append(all, takenApart(e)...)
		}
		return all
	}
	f := notTaken{to: unnamed, why: err.Error()}
	if m := ofAddress.FindStringSubmatch(f.why); m != nil {
		f.to, f.why = m[1], m[2]
		f.answer = strings.HasPrefix(f.why, "rcode was ")
	}
	// One entry of the log is one line.
	f.why = cmp.Or(strings.Join(strings.Fields(f.why), " "), "no reason given")
	return []notTaken{f}
}
