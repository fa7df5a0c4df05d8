package kuadrant

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/console"
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// eventLog logs what happens in an engine. It is the engine's listener.
type eventLog struct {
	published                             func() // is told of each snapshot
	log                                   logger
	objects, zones, hosts, targets, words bounded
	since                                 marks // what console.Server.Since has
	failing                               marks // hosts for which nothing is up
	faulty                                marks // objects that are not served in full
	// ask is the start of a command that queries this server; nil or "" if unknown.
	ask atomic.Pointer[string]
	// overrides are those that were checked last; begun is true once the starting line was logged. Only the compiling goroutine uses them.
	overrides *api.Overrides
	begun     bool
	// corefile returns the Corefile once everything it reads is listed, nil before; looked is the one that idle checked last.
	corefile func() *engine.Options
	looked   *engine.Options
}

// logger takes lines of the log.
type logger interface {
	Infof(format string, args ...any)
	Warningf(format string, args ...any)
}

func newEventLog(log logger, published func()) *eventLog {
	return &eventLog{
		published: published, log: log, corefile: func() *engine.Options { return nil },
		objects: bounded{more: "objects are not served in full; the console lists them"},
		zones:   bounded{more: "lines about zones were not logged"},
		hosts:   bounded{more: "hosts failed or recovered; the console lists them"},
		targets: bounded{more: "targets changed state; the metric coredns_kuadrant_target_health has them"},
		words:   bounded{more: "words of the Corefile or overrides match nothing; check the names"},
	}
}

// maxLines is how many lines of one kind are logged in a second: a large cluster's first list may hold thousands of policies with the same
// fault, and a failing rack takes down thousands of targets.
const maxLines = 20

// maxText bounds what a line says of an object, in octets: a Gateway may have any number of wrong addresses.
const maxText = 1000

// bounded lets maxLines lines a second through, and logs the number of the others when the second is over. Any goroutine may use it.
type bounded struct {
	more string // what the others were

	mu      sync.Mutex
	second  time.Time // when the current second began
	lines   int
	skipped int
}

// write writes a line with logf, unless there were too many; then warnf gets the line that counts them.
func (b *bounded) write(warnf, logf func(string, ...any), format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := time.Now(); now.Sub(b.second) >= time.Second {
		b.second, b.lines = now, 0
	}
	if b.lines++; b.lines <= maxLines {
		logf(format, args...)
		return
	}
	if b.skipped++; b.skipped == 1 {
		time.AfterFunc(time.Second, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			warnf("%d more %s", b.skipped, b.more)
			b.skipped = 0
		})
	}
}

func (s *eventLog) warn(b *bounded, format string, args ...any) {
	b.write(s.log.Warningf, s.log.Warningf, format, args...)
}

func (s *eventLog) tell(b *bounded, format string, args ...any) {
	b.write(s.log.Warningf, s.log.Infof, format, args...)
}

// Published implements engine.Listener.
func (s *eventLog) Published(before, now *records.Snapshot, took time.Duration) {
	compileDuration.Observe(took.Seconds())
	s.faults(before, now)
	s.openZones(before, now)
	s.standIns(before, now)
	s.groups(before, now)
	s.unmet(now)
	s.idle(now)
	s.begin(now)
	s.since.set(console.SinceUnread, now.UnreadOwners() > 0)
	s.since.set(console.SinceOverrides, now.Objects().Overrides.Any())
	s.published()
}

// begin logs once what was read, and how to query it.
func (s *eventLog) begin(now *records.Snapshot) {
	if s.begun || !listed(now, api.Kind.HoldsNames) {
		return
	}
	s.begun = true
	var clusters []string
	for _, c := range now.Objects().Clusters {
		clusters = append(clusters, fmt.Sprintf("%q", c.Name))
	}
	names := 0
	for _, z := range now.Zones() {
		names += z.Listed
	}
	line := fmt.Sprintf("read %s %s: %d %s in %d %s", inspect.Plural(len(clusters), "cluster"), cmp.Or(strings.Join(clusters, ", "), "none"),
		names, inspect.Plural(names, "name"), len(now.Zones()), inspect.Plural(len(now.Zones()), "zone"))
	if ask := s.ask.Load(); ask != nil && *ask != "" {
		line += ". Try: " + *ask + " " + toAsk(now)
	}
	s.log.Infof("%s", line)
}

// toAsk returns a query for one of the first names with addresses. It prefers names with members to choose from, and takes names with
// checks, which may all fail, last. If no name has addresses, it is the SOA of the first zone.
func toAsk(now *records.Snapshot) string {
	checked := make(map[string]bool)
	for key := range now.Checks().All() {
		for group := range now.Checks().Users(key) {
			checked[group] = true
		}
	}
	best, rank, left := ". SOA", 0, 100
	for i, z := range now.Zones() {
		if i == 0 {
			best = z.Origin() + " SOA"
		}
		for n := range now.Names(z, "", nil) {
			if left--; left < 0 {
				return best
			}
			if strings.HasPrefix(n.Name, "*") || n.Hidden != "" || !slices.Contains(n.Types, "A") && !slices.Contains(n.Types, "CNAME") {
				continue
			}
			is := 1
			if !checked[n.Name+"."] {
				is += min(n.Members, 2) + 1
			}
			if is > rank {
				best, rank = n.Name, is
			}
		}
	}
	return best
}

// faults logs each object that is not served in full, unless the snapshot before had the same reason for it. before may be nil (rule 8.1).
func (s *eventLog) faults(before, now *records.Snapshot) {
	type fault struct{ namespace, line string }
	var all, others []fault
	for _, r := range now.Changed() {
		line := ""
		if r.Verdict != nil {
			_, line = r.Verdict.Problem()
		}
		s.faulty.set(inspect.ObjectText(records.Object{Cluster: r.Cluster, Kind: r.Ref.Kind.String(), Name: r.Ref.Name}), line != "")
		if line == "" {
			continue
		}
		if before != nil {
			if old := before.Verdict(r.Cluster, r.Ref); old != nil {
				if _, known := old.Problem(); known == line {
					continue
				}
			}
		}
		line = fmt.Sprintf("%s %s in cluster %s: %s", r.Ref.Kind, r.Ref.Name, r.Cluster, api.Cut(line, maxText))
		if n := len(r.Verdict.Records); n > 1 {
			line += fmt.Sprintf("; %d hosts are affected", n)
		}
		list := &all
		if now.Elsewhere(r.Cluster, r.Ref) {
			list = &others
		}
		*list = append(*list, fault{(&api.Meta{Name: r.Ref.Name}).Namespace(), line})
	}
	if len(others) > 1 { // these are not errors, and dns-operator may have thousands
		others[0].line += fmt.Sprintf("; the same for %d more %s", len(others)-1, inspect.Plural(len(others)-1, "object"))
	}
	for _, f := range others[:min(1, len(others))] {
		s.tell(&s.objects, "%s", f.line)
	}
	for p, problem := range now.ProbeProblems(newProbes(before, now)) {
		all = append(all, fault{p.Namespace(), fmt.Sprintf("%s %s in cluster %s: %s", api.KindProbe, p.Name, p.Cluster, problem)})
	}
	// Round robin by namespace: one namespace's faults must not keep those of others out of the log.
	turns := make(map[string]int)
	type turn struct {
		n    int
		line string
	}
	lines := make([]turn, len(all))
	for i, f := range all {
		lines[i] = turn{turns[f.namespace], f.line}
		turns[f.namespace]++
	}
	slices.SortStableFunc(lines, func(a, b turn) int { return cmp.Compare(a.n, b.n) })
	for _, l := range lines {
		s.warn(&s.objects, "%s", l.line)
	}
}

// newProbes returns the probes of now that before, which may be nil, does not have; all of a cluster once it is complete.
func newProbes(before, now *records.Snapshot) (all []*api.HealthCheckProbe) {
	for _, c := range now.Objects().Clusters {
		was := before.ObjectsOf(c.Name)
		if was == nil || was.Complete() != c.Complete() {
			was = new(api.Cluster)
		}
		if was.Epoch == c.Epoch {
			for _, ref := range c.Changed {
				if p, ok := c.Probes.Get(ref.Name); ok && ref.Kind == api.KindProbe {
					all = append(all, p)
				}
			}
			continue
		}
		for name, p := range c.Probes.All() {
			if o, ok := was.Probes.Get(name); !ok || o != p && (p.Generation == 0 || o.UID != p.UID || o.Generation != p.Generation) {
				all = append(all, p)
			}
		}
	}
	return all
}

// listed reports whether all clusters have listed the kinds that of selects; false if snap is nil.
func listed(snap *records.Snapshot, of func(api.Kind) bool) bool {
	return snap != nil && !slices.ContainsFunc(snap.Objects().Clusters, func(c *api.Cluster) bool {
		for k := range api.NumKinds {
			if of(k) && !c.Listings[k].Complete() {
				return true
			}
		}
		return false
	})
}

// Fails implements engine.Listener.
func (s *eventLog) Fails(host string, is records.Failing) {
	s.failing.set(host, is.Whom != "")
	if is.Whom == "" {
		s.tell(&s.hosts, "host %q: recovered: a target is up", host)
	} else {
		s.warn(&s.hosts, "host %q: all targets for %s are down; %s", host, is.Whom, is.Outcome())
	}
}

// Checked implements engine.Listener.
func (s *eventLog) Checked(t *health.Target, o health.Outcome, took time.Duration) {
	probeDuration.WithLabelValues(t.Protocol.String(), o.Result()).Observe(took.Seconds())
}

// Found implements engine.Listener.
func (s *eventLog) Found(t *health.Target, before, after health.Value) {
	if before.Found() == after.Found() && (before.Known() || after.Reason() == health.Good) && after.Reason() != health.Forbidden {
		return // neither a state that is new, nor a target that cannot be checked
	}
	what, b := t.Check.String(), &s.targets
	found := after.Found().String()
	if after.Found() == health.Unknown {
		found = "not decided yet"
	}
	switch {
	case after.Found() == health.Up && after.Reason() == health.Good && !before.Known(): // as it should be
	case after.Found() == health.Up && after.Reason() == health.Good:
		s.tell(b, "target %s is up", what)
	case after.Reason() == health.Good:
		s.tell(b, "target %s answers but is not up yet", what)
	case after.Reason() == health.Forbidden:
		fix := "allow the address with `probe-allow`"
		if !health.PortAllowed(t.Port) {
			fix = "use port 80, 443 or 1024 to 49151"
		}
		s.warn(b, "target %s is not checked and counts as up: %s; %s", what, after.Reason(), fix)
	case after.Found() == health.Up:
		s.warn(b, "target %s is not checked and counts as up: %s", what, after.Reason())
	case after.Status() != 0:
		s.warn(b, "target %s is %s: %s %d", what, found, after.Reason(), after.Status())
	default:
		s.warn(b, "target %s is %s: %s", what, found, after.Reason())
	}
}
