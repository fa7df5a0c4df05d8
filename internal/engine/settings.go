package engine

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// settings are what an engine makes of one Corefile. A reload replaces them whole; parts with equal settings go on. settings are
// read-only once in force, except opt.Published, opt.Health and opt.Denied, which the compiling goroutine owns.
type settings struct {
	of        *Options
	opt       *records.Options
	reads     source.Selection
	selection string         // reads as text, without the kinds
	guard     *time.Duration // Options.Guard, or its default; nil leaves it as it is
	feeds     []*feed        // the lines of the Corefile that name clusters
	secrets   secretsConfig
	locator   *geo.DB        // nil if the Corefile names no database
	handed    *geo.DB        // Options.Locator
	prober    *health.Prober // nil if the Corefile turns that off
	probing   []any          // the inputs of prober
	override  *overrideFile  // nil if the Corefile names none
	groups    *groupTexts
	state     *stateWriter // nil if the Corefile has no state
	parts     Parts        // further running parts
}

// Parts are functions that run until the next settings come in force, by what they belong to: those that are in these too go on.
type Parts map[any]func(context.Context)

// settings returns the settings in force; empty before the first. Any goroutine may call it.
func (e *Engine) settings() *settings {
	if s := e.inForce.Load(); s != nil {
		return s
	}
	return &settings{}
}

// Configure applies a Corefile, and runs more while it is in force. If the Corefile cannot work, the engine stays as it is.
func (e *Engine) Configure(cfg *Options, more Parts) error {
	s, err := e.prepare(cfg)
	if err != nil {
		return err
	}
	s.parts = more
	e.apply(s)
	return nil
}

// Load puts a Corefile's settings in force. It reads and runs nothing; the caller publishes the next snapshot.
func (e *Engine) Load(cfg *Options) error {
	s, err := e.prepare(cfg)
	if err == nil {
		e.inForce.Store(s)
	}
	return err
}

// apply puts s in force. Existing answers stay, under the new options, until the feeds have listed as much (rule 8.3,
// docs/decisions/0007).
func (e *Engine) apply(s *settings) {
	e.compiling.Lock()
	defer e.compiling.Unlock()
	was, prev := e.settings(), e.Snapshot()
	begins := e.inForce.Load() == nil
	if !begins {
		s.opt.Published, s.opt.Health = was.opt.Published, was.opt.Health
		if prev != nil {
			s.opt.Denied = prev.Denied()
		}
	}
	e.inForce.Store(s)
	if s.guard != nil {
		e.guard.period = *s.guard
	}
	e.guard.reloaded = !begins
	e.mu.Lock()
	if e.selection, e.deny = s.selection, nil; s.prober != nil {
		e.deny = s.prober.Deny
	}
	e.secrets.withhold = e.guard.period > 0
	e.setFeeds(s)
	e.readState(s, was)
	e.resume()
	e.settle()
	e.mu.Unlock()
	if prev != nil {
		e.compileNow()
	} else {
		e.answerFromState()
	}
	e.runParts(s)
	e.mu.Lock()
	for _, f := range s.feeds {
		if f.cancel == nil {
			e.begin(f)
		}
	}
	e.followSecrets()
	e.settle()
	e.mu.Unlock()
}

// setFeeds replaces the Corefile's feeds by those of s. A feed with equal settings goes on. A cluster that loses its last feed
// stays until the new feeds have listed as much, since they may hold the same hosts; without new feeds it goes at once. The caller
// holds mu.
func (e *Engine) setFeeds(s *settings) {
	before := e.feeds
	for i, f := range s.feeds {
		f.selection = s.selection
		if j := slices.IndexFunc(before, func(o *feed) bool { return o.of == nil && o.name == f.name && o.same.equal(f.same) }); j >= 0 {
			s.feeds[i] = before[j]
			s.feeds[i].group = f.group
		}
	}
	e.feeds = slices.Clone(s.feeds)
	for _, f := range before {
		if f.of != nil {
			e.feeds = append(e.feeds, f)
		} else if !slices.Contains(s.feeds, f) {
			f.end()
		}
	}
	e.expectRegistry(s.feeds)
	var unread []*feed
	for _, f := range s.feeds {
		if f.uid == "" && !e.recognize(f) {
			unread = append(unread, f)
		}
	}
	e.configureSecrets(s.secrets)
	for _, c := range e.known {
		c.leaveOut(s.reads.Watches)
		if c.gone != 0 && !e.reserved(c.now.Name) { // the guard goes on with it
			continue
		}
		if len(e.feedsOf(c.now.UID)) == 0 && !slices.ContainsFunc(c.awaits, func(f *feed) bool { return slices.Contains(e.feeds, f) }) {
			c.awaits = unread
		}
	}
}

// expectRegistry says whether the first feed keeps the registry. The caller holds mu.
func (e *Engine) expectRegistry(feeds []*feed) {
	i := slices.IndexFunc(feeds, func(f *feed) bool { return f.writesRegistry })
	switch {
	case i < 0:
		e.registry.expect(nil, "")
	case feeds[i].cancel == nil: // a new one
		e.registry.expect(feeds[i].writer, feeds[i].name)
	}
}

// runParts starts the parts of s, and ends running parts that s lacks.
func (e *Engine) runParts(s *settings) {
	parts := Parts{e: e.compileLoop, e.failing: e.failing.run}
	maps.Copy(parts, s.parts)
	if s.locator != nil && s.locator != s.handed {
		parts[s.locator] = s.locator.Watch
	}
	if s.prober != nil {
		parts[s.prober] = s.prober.Run
	}
	if s.override != nil {
		parts[s.override] = s.override.watch
	}
	if s.groups != nil {
		parts[s.groups] = s.groups.run
	}
	if s.state != nil {
		parts[s.state] = s.state.run
	}
	if e.running == nil {
		e.running = make(map[any]context.CancelFunc)
		e.after(clusterPatience, func() {
			e.late.Store(true)
			e.wake.ring()
		})
	}
	for part, end := range e.running {
		if parts[part] == nil {
			end()
			delete(e.running, part)
		}
	}
	for part, run := range parts {
		if e.running[part] == nil {
			ctx, cancel := context.WithCancel(e.ctx)
			e.running[part] = cancel
			e.done.Go(func() { run(ctx) })
		}
	}
}

// prepare makes settings of a Corefile, without changing the engine. It opens databases, and fails if the Corefile cannot
// work.
func (e *Engine) prepare(cfg *Options) (*settings, error) {
	was := e.settings()
	s := &settings{of: cfg, opt: cfg.Records(), reads: cfg.Selection, selection: selectionText(cfg.Selection), guard: cfg.Guard}
	if d := DefaultGuard; s.guard == nil {
		s.guard = &d
	}
	if err := e.readClusters(s, cfg); err != nil {
		return nil, err
	}
	for _, f := range s.feeds {
		f.group = cfg.GroupOf(f.name)
	}
	var err error
	if s.handed, s.locator = cfg.Locator, cfg.Locator; s.locator == nil {
		if s.locator, err = openGeo(cfg, e.log); err != nil {
			return nil, err
		}
	}
	s.opt.Unlocated = s.locator == nil && !cfg.Lent
	switch {
	case cfg.Override == "":
	case was.override != nil && was.override.file.Path == cfg.Override:
		s.override = was.override
	default:
		if s.override, err = openOverrides(cfg.Override, e.log, e.wake.ring); err != nil {
			return nil, cfg.At("override").Errorf("override: %w", err)
		}
	}
	if s.groups = was.groups; s.groups == nil || !slices.Equal(s.groups.servers, cfg.Resolvers) {
		s.groups = newGroupTexts(cfg.Resolvers, e.wake.ring)
	}
	if s.state, err = e.openState(cfg); err != nil {
		return nil, err
	}
	if !cfg.ProbesOff {
		servers := apiServers(s.feeds)
		s.probing = []any{cfg.ProbeAllow, cfg.ProbeDeny, servers}
		if s.prober = was.prober; s.prober == nil || !reflect.DeepEqual(s.probing, was.probing) {
			s.prober = health.NewProber(e.proberOptions(cfg, servers))
		}
	}
	return s, nil
}

// selectionText returns which objects are read, without their kinds.
func selectionText(sel source.Selection) string {
	policies := ""
	if sel.Policies != nil {
		policies = sel.Policies.String()
	}
	return fmt.Sprintf("namespaces=%q policies=%q", sel.Namespaces, policies)
}
