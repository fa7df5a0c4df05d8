package kuadrant

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/console"
	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// said writes the log lines about what happens in an engine. It is the engine's listener.
type said struct {
	published                             func() // is told of each snapshot
	log                                   logger
	objects, zones, hosts, targets, words bounded
	since                                 marks // what console.Server.Since has
	failing                               marks // hosts that fail open
	faulty                                marks // objects that are not served in full
	// ask begins a command that asks this server; nil or "" if nobody can say.
	ask atomic.Pointer[string]
	// overrides are those that were looked through last, and begun is true once it was said what was read. Only the compiling
	// goroutine uses them.
	overrides *api.Overrides
	begun     bool
}

// logger takes lines of the log.
type logger interface {
	Infof(format string, args ...any)
	Warningf(format string, args ...any)
}

func newSaid(log logger, published func()) *said {
	return &said{
		published: published, log: log,
		objects: bounded{more: "objects are not served in full; the console lists them"},
		zones:   bounded{more: "lines about zones were not logged"},
		hosts:   bounded{more: "hosts began or stopped failing open; the console lists them"},
		targets: bounded{more: "targets changed state; the metric coredns_kuadrant_target_health has them"},
		words:   bounded{more: "overrides match nothing; check the names"},
	}
}

// maxLines is how many lines of one kind are logged in a second: the first list of a large cluster may hold thousands of policies
// with the same fault, and a rack that fails takes thousands of targets with it.
const maxLines = 20

// maxText bounds what a line says of an object, in octets: a Gateway may have any number of addresses that are wrong.
const maxText = 1000

// bounded lets maxLines lines a second through. How many it has not, it says when the second is over. Any goroutine may use it.
type bounded struct {
	more string // what the others were

	mu      sync.Mutex
	second  time.Time // when the lines began that count
	lines   int
	skipped int
}

// write writes a line with logf, unless there were too many. warnf takes the line that says so.
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

func (s *said) warn(b *bounded, format string, args ...any) {
	b.write(s.log.Warningf, s.log.Warningf, format, args...)
}

func (s *said) tell(b *bounded, format string, args ...any) {
	b.write(s.log.Warningf, s.log.Infof, format, args...)
}

// Published implements engine.Listener.
func (s *said) Published(before, now *records.Snapshot, took time.Duration) {
	compileDuration.Observe(took.Seconds())
	s.faults(before, now)
	s.openZones(before, now)
	s.standIns(before, now)
	s.unmet(now)
	s.begin(now)
	s.since.set(console.SinceUnread, now.UnreadOwners() > 0)
	s.since.set(console.SinceOverrides, now.Objects().Overrides.Any())
	s.published()
}

// begin says once what was read, and what to ask.
func (s *said) begin(now *records.Snapshot) {
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

// toAsk returns a name with addresses, of the first ones; a zone where there is none.
func toAsk(now *records.Snapshot) string {
	left := 100
	for _, z := range now.Zones() {
		for n := range now.Names(z, "", nil) {
			if strings.HasPrefix(n.Name, "*") || n.Hidden != "" {
				continue
			}
			if left--; slices.Contains(n.Types, "A") || slices.Contains(n.Types, "CNAME") {
				return n.Name
			} else if left == 0 {
				return z.Origin() + " SOA"
			}
		}
	}
	return ". SOA"
}

// faults writes one line for each object that is not served in full, and was not for another reason in the snapshot before, which
// may be nil (rule 8.1).
func (s *said) faults(before, now *records.Snapshot) {
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
	if len(others) > 1 { // nothing is wrong with them, and dns-operator may have thousands
		others[0].line += fmt.Sprintf("; the same for %d more %s", len(others)-1, inspect.Plural(len(others)-1, "object"))
	}
	for _, f := range others[:min(1, len(others))] {
		s.tell(&s.objects, "%s", f.line)
	}
	for p, problem := range now.ProbeProblems(newProbes(before, now)) {
		all = append(all, fault{p.Namespace(), fmt.Sprintf("%s %s in cluster %s: %s", api.KindProbe, p.Name, p.Cluster, problem)})
	}
	// Each namespace has its first before any has its second: nobody's faults keep those of others out of the log.
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

// newProbes returns the probes of now that before, which may be nil, has not, and all once a cluster is complete.
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

// listed reports whether all clusters have listed the kinds for which of holds; snap may be nil, which has nothing listed.
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

// openZones says of each zone once, when it becomes so, that every namespace may publish in it (rule 5.1): not before all clusters
// have listed their Zones, each of which may close one.
func (s *said) openZones(before, now *records.Snapshot) {
	isZone := func(k api.Kind) bool { return k == api.KindZone }
	known := make(map[string]bool)
	switch {
	case !listed(now, isZone):
		return
	case listed(before, isZone):
		if before.Table == now.Table {
			return
		}
		for _, origin := range before.Open() {
			known[origin] = true
		}
	}
	for _, origin := range now.Open() {
		if !known[origin] {
			s.tell(&s.zones, "zone %q: any namespace may publish; restrict with `publish` or a Zone", origin)
		}
	}
}

// standIns warns, once, of new zones of the Corefile for which nobody says who serves them, so that a name without an address stands
// in (rule 6.8). Zones have a verdict of their own.
func (s *said) standIns(before, now *records.Snapshot) {
	known := listed(before, api.Kind.HoldsNames)
	if !listed(now, api.Kind.HoldsNames) || known && before.Table == now.Table {
		return
	}
	ofObjects := make(map[string]bool)
	for _, c := range now.Objects().Clusters {
		for name := range c.Zones.All() {
			if v := now.Verdict(c.Name, api.Ref{Kind: api.KindZone, Name: name}); v != nil {
				ofObjects[v.FQDN] = true
			}
		}
	}
	for _, z := range now.Zones() {
		if !z.StandsIn() || ofObjects[z.Origin()] {
			continue
		}
		if known {
			if _, served := before.Table.Index[z.Origin()]; served {
				continue
			}
		}
		var a records.Answer
		now.Lookup(z, &records.Query{Name: z.Origin(), Owner: z.Origin(), Type: dns.TypeNS}, &a)
		if len(a.Answer) == 1 && len(a.Extra) == 0 { // no object gives it an address
			s.warn(&s.zones, "zone %q: no `nameserver` is set; using %s without an address, so resolvers cannot find it. Set `nameserver NAME ADDRESS`",
				z.Origin(), a.Answer[0].(*dns.NS).Ns)
		}
	}
}

// unmet warns of overrides that concern nothing, once for each version of the file: a name that is misspelt should not be found
// out by the outage that it was to end.
func (s *said) unmet(now *records.Snapshot) {
	overrides := now.Objects().Overrides
	if overrides == s.overrides || slices.ContainsFunc(now.Objects().Clusters, func(c *api.Cluster) bool { return !c.Complete() }) {
		return
	}
	s.overrides = overrides
	for _, o := range now.Unmet() {
		s.warn(&s.words, "override %q in line %d matches nothing; check the name", o.String(), o.Line)
	}
}

// FailOpen implements engine.Listener.
func (s *said) FailOpen(host, whom string) {
	s.failing.set(host, whom != "")
	if whom == "" {
		s.tell(&s.hosts, "host %q: recovered: a target is up", host)
	} else {
		s.warn(&s.hosts, "host %q: no target is up for %s; answering with targets that are down", host, whom)
	}
}

// Checked implements engine.Listener.
func (s *said) Checked(t *health.Target, o health.Outcome, took time.Duration) {
	probeDuration.WithLabelValues(t.Protocol.String(), o.Result()).Observe(took.Seconds())
}

// Found implements engine.Listener.
func (s *said) Found(t *health.Target, before, after health.Word) {
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
		s.warn(b, "target %s is not checked and counts as up: %s; open the address with `probe-allow`, or use port 80, 443 or 1024 to 49151", what, after.Reason())
	case after.Found() == health.Up:
		s.warn(b, "target %s is not checked and counts as up: %s", what, after.Reason())
	case after.Status() != 0:
		s.warn(b, "target %s is %s: %s %d", what, found, after.Reason(), after.Status())
	default:
		s.warn(b, "target %s is %s: %s", what, found, after.Reason())
	}
}
