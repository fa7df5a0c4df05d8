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

// notifyPause is the minimum time between two NOTIFYs of one zone (RFC 1996 §3.5 leaves it open);
// one NOTIFY covers all changes meanwhile. The first NOTIFY after a start waits as long, so that
// the servers listen when secondaries ask back.
const notifyPause = time.Second

// maxNotifying is how many zones a server block notifies secondaries of at once. If a secondary
// does not answer, one takes three times two seconds.
const maxNotifying = 16

// notifier sends NOTIFY for zones whose serial has moved, through the transfer plugins of the
// server blocks (RFC 1996, rule 6.7). Publishing never waits for it, and one server block's
// secondaries never wait for another's. Any goroutine may call its methods at any time.
type notifier struct {
	snap  func() *records.Snapshot
	warnf func(format string, args ...any)
	infof func(format string, args ...any)
	wake  chan struct{}

	mu        sync.Mutex // guards what follows
	listeners []*listening
	// notified is what the previous Corefile's listeners were told, by zone origin.
	notified map[string]notifiedZone
	// refusers are the addresses that do not accept NOTIFY.
	refusers refusers
	// began is when the current listeners began.
	began time.Time
}

// listening is one transfer plugin, for the zones of its server block. The notifier's mu guards it.
type listening struct {
	zones  map[string]bool // of the Corefile
	notify func(zone string) error
	// notified is what its secondaries have been told, by zone origin; nil before the first look.
	notified map[string]*notifiedZone
	// owed are the zones that still need a NOTIFY.
	owed map[string]struct{}
	// running counts the zones whose NOTIFY is under way.
	running int
	// seen is the last snapshot that was compared; nil to compare all zones.
	seen *records.Snapshot
}

// notifiedZone is what secondaries have been told of one zone.
type notifiedZone struct {
	serial uint32
	at     time.Time
	busy   bool // a NOTIFY is under way
	stale  bool // some know an older serial
}

func newNotifier(snap func() *records.Snapshot) *notifier {
	return &notifier{
		snap: snap, warnf: log.Warningf, infof: log.Infof, wake: make(chan struct{}, 1),
		refusers: make(refusers),
	}
}

// listen adds a transfer plugin, whose Notify is notify. zones are the Corefile's zones in its
// server block. It is told of those, and of zones below them that lie in no other zone of the
// Corefile.
func (n *notifier) listen(zones map[string]bool, notify func(zone string) error) *listening {
	l := &listening{zones: zones, notify: notify, owed: make(map[string]struct{})}
	n.mu.Lock()
	n.listeners = append(n.listeners, l)
	n.mu.Unlock()
	n.ring()
	return l
}

// use switches to the transfer plugins of another Corefile. No NOTIFY is repeated or lost.
func (n *notifier) use(listeners []*listening) {
	n.mu.Lock()
	n.notified, n.began, n.refusers = n.states(), time.Now(), make(refusers)
	n.listeners = nil
	for _, l := range listeners {
		n.listeners = append(n.listeners, &listening{zones: l.zones, notify: l.notify, owed: make(map[string]struct{})})
	}
	n.mu.Unlock()
	n.ring()
}

// ring makes the notifier look at the newest snapshot. It never waits.
func (n *notifier) ring() {
	select {
	case n.wake <- struct{}{}:
	default: // a look is due already
	}
}

// run sends NOTIFYs until ctx ends. Those still without an answer end by themselves later: CoreDNS
// has no way to cancel them.
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

// look finds what has changed, and begins the NOTIFYs that are due. It returns how long to wait for
// the next; ok is false if none is waiting.
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

// tell begins l's NOTIFYs that are due. It returns as look does. The caller holds mu.
func (n *notifier) tell(l *listening, snap *records.Snapshot, now time.Time) (wait time.Duration, ok bool) {
	for origin := range l.owed {
		z := snap.Zone(origin)
		if z == nil || z.Origin() != origin {
			delete(l.owed, origin) // it is gone
			continue
		}
		state := l.notified[origin]
		if state == nil {
			state = &notifiedZone{at: n.began}
			l.notified[origin] = state
		}
		left := notifyPause - now.Sub(state.at)
		switch {
		case state.busy || left <= 0 && l.running == maxNotifying:
			// The next NOTIFY that ends rings.
		case left > 0:
			if !ok || left < wait {
				wait, ok = left, true
			}
		default:
			delete(l.owed, origin)
			*state = notifiedZone{serial: z.Serial(), at: now, busy: true}
			l.running++
			go n.begin(l, origin, state)
		}
	}
	return wait, ok
}

// begin starts l's NOTIFY of a zone.
func (n *notifier) begin(l *listening, origin string, state *notifiedZone) {
	n.note(l, origin, l.notify(origin))
	n.mu.Lock()
	state.busy = false
	l.running--
	if !l.has(n.snap(), origin) { // the zone has gone meanwhile
		delete(l.notified, origin)
		n.refusers.forget(refusal{l, origin})
	}
	n.mu.Unlock()
	n.ring()
}

// has reports whether l is responsible for a zone of the snapshot.
func (l *listening) has(snap *records.Snapshot, origin string) bool {
	z := snap.Zone(origin)
	return z != nil && z.Origin() == origin && l.zones[z.CorefileZone()]
}

// states returns what secondaries have been told. A NOTIFY under way counts as told. A zone is
// stale if listeners were told different serials. The caller holds mu.
func (n *notifier) states() map[string]notifiedZone {
	if len(n.listeners) == 0 {
		return n.notified
	}
	notified := make(map[string]notifiedZone)
	for _, l := range n.listeners {
		for origin, s := range l.notified {
			other, ok := notified[origin]
			notified[origin] = notifiedZone{serial: s.serial, at: s.at, stale: s.stale || ok && (other.stale || other.serial != s.serial)}
		}
	}
	return notified
}

// compare notes which zones of snap have another serial than l was told. Zones that may lack names,
// or whose serial is not saved yet, are not transferred, and wait. The caller holds mu.
func (n *notifier) compare(l *listening, snap *records.Snapshot) {
	if l.notified == nil {
		l.notified = make(map[string]*notifiedZone)
		for origin, s := range n.notified {
			l.notified[origin] = &s
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
			continue // saving its serial will make it another zone
		}
		if state := l.notified[z.Origin()]; state == nil || state.stale || state.serial != z.Serial() {
			l.owed[z.Origin()] = struct{}{}
		}
	}
	if !same {
		n.forget(l, snap)
	}
}

// forget drops zones that l no longer has to tell. The caller holds mu.
func (n *notifier) forget(l *listening, snap *records.Snapshot) {
	maps.DeleteFunc(l.notified, func(origin string, s *notifiedZone) bool {
		gone := !s.busy && !l.has(snap, origin)
		if gone {
			n.refusers.forget(refusal{l, origin})
		}
		return gone
	})
}

// note counts and logs addresses that do not accept NOTIFY: each address when that begins, and when
// it accepts NOTIFY for all zones again. err is the result of l's Notify for the zone.
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

// refusers are the addresses that do not accept NOTIFY, as the Corefile's `to` writes them. Each
// lasting failure has one line in the log, so that none hides another.
type refusers map[string]*refuser

// refuser is one address that does not accept NOTIFY.
type refuser struct {
	zones map[refusal]struct{}
	// silent and unwilling say what was logged: that the address does not answer, which concerns
	// the server, and that it answers with a refusal, which may concern one zone only.
	silent, unwilling bool
}

// refusal is a NOTIFY that an address does not accept: its zone and server block.
type refusal struct {
	by   *listening
	zone string
}

// unnamed stands for the address if CoreDNS names none.
const unnamed = "unknown"

// notTaken is one address that did not accept one NOTIFY.
type notTaken struct {
	to, why string
	answer  bool // it answered, with a refusal
}

// note records the result of a NOTIFY, nil if all accepted it. It counts failures, and returns what
// to log: addresses that begin to fail, and those that no longer fail at all.
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
		logged := &at.silent
		if f.answer {
			logged = &at.unwilling
		}
		if !*logged {
			*logged, begun = true, append(begun, f)
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

// forget drops refusals that are not tried any more.
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

// ofAddress parses the error that CoreDNS's transfer plugin makes for one address.
var ofAddress = regexp.MustCompile(`(?s)^notify for zone ".*?" was not accepted by "([^"]+)"(?:: (.*))?$`)

// takenApart splits a Notify's error into one failure for each address: the transfer plugin joins
// them.
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
	// A log entry is one line.
	f.why = cmp.Or(strings.Join(strings.Fields(f.why), " "), "no reason given")
	return []notTaken{f}
}
