package engine

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coredns-kuadrant/kuadrant/health"
)

// probing returns what a prober needs that the Corefile says, and hands on what
// it tells. apiServers are those of rest.Configs: URLs, or hosts with or without
// a port; changed is called for each target of which something else has been found, with its
// state before.
func probing(cfg *Options, apiServers []string, log Logger, changed func(t *health.Target, before health.State)) health.Options {
	guard := cfg.Probing()
	for _, server := range apiServers {
		host := hostOf(server)
		if addr, err := netip.ParseAddr(host); err == nil {
			for _, form := range health.Forms(addr) {
				guard.Deny = append(guard.Deny, netip.PrefixFrom(form, form.BitLen()))
			}
		} else if host != "" && !slices.Contains(guard.DenyHosts, host) {
			guard.DenyHosts = append(guard.DenyHosts, host)
		}
	}
	told := &teller{warnf: log.Warningf, infof: log.Infof}
	return health.Options{
		Guard: guard.NotHere(),
		Changed: func(t *health.Target, before, after health.Word) {
			told.changed(t, before, after)
			if before.State() != after.State() || before.Checked() != after.Checked() || before.Reason() != after.Reason() || before.Status() != after.Status() {
				changed(t, before.Found())
			}
		},
		Ended: func(t *health.Target, o health.Outcome, took time.Duration) {
			ProbeDuration.WithLabelValues(t.Protocol.String(), o.Result()).Observe(took.Seconds())
		},
	}
}

// hostOf returns the host of an API server.
func hostOf(server string) string {
	if _, err := netip.ParseAddr(server); err == nil {
		return server
	}
	if !strings.Contains(server, "://") {
		server = "https://" + server
	}
	u, err := url.Parse(server)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// teller logs how targets change, so many lines a second at most: a rack that
// fails takes thousands of targets with it. Any number of goroutines may use it.
type teller struct {
	warnf, infof func(format string, args ...any)

	mu      sync.Mutex
	second  time.Time // when the lines began that count
	lines   int
	skipped int
}

// maxTold is how many changes of targets are logged in a second.
const maxTold = 20

// changed logs one change.
func (t *teller) changed(target *health.Target, before, after health.Word) {
	if before.Found() == after.Found() && (before.Known() || after.Reason() == health.Good) && after.Reason() != health.Forbidden {
		return // neither a state that is new, nor a target that cannot be checked
	}
	if after.Found() == health.Up && !before.Known() && after.Reason() == health.Good {
		return // as it should be
	}
	if !t.admit() {
		return
	}
	what := target.Check.String()
	switch {
	case after.Found() == health.Up && after.Reason() == health.Good:
		t.infof("target %s is up", what)
	case after.Reason() == health.Good:
		t.infof("target %s answers, and is not up yet", what)
	case after.Reason() == health.Forbidden:
		t.warnf("target %s is not checked, and counts as up: %s: probe-allow opens addresses, the port is 80, 443 or 1024 to 49151", what, after.Reason())
	case after.Found() == health.Up:
		t.warnf("target %s is not checked, and counts as up: %s", what, after.Reason())
	case after.Status() != 0:
		t.warnf("target %s is %s: %s %d", what, after.Found(), after.Reason(), after.Status())
	default:
		t.warnf("target %s is %s: %s", what, after.Found(), after.Reason())
	}
}

// admit tells whether one more line may be written now. How many may not is said
// at the end of the second.
func (t *teller) admit() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); now.Sub(t.second) >= time.Second {
		t.second, t.lines = now, 0
	}
	if t.lines++; t.lines <= maxTold {
		return true
	}
	if t.skipped++; t.skipped == 1 {
		time.AfterFunc(time.Second, t.sum)
	}
	return false
}

// sum says how many lines have not been written.
func (t *teller) sum() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.warnf("%d more changes of targets were not logged: coredns_kuadrant_target_health has them all", t.skipped)
	t.skipped = 0
}
