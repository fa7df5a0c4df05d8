package kuadrant

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coredns/coredns/plugin/pkg/reuseport"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/internal/console"
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// consoleServer is the console of one engine.
type consoleServer struct {
	listener net.Listener
	server   *http.Server
}

// openConsole opens the console's listener, if the Corefile has a console. During a reload, two
// instances listen at one address for a moment.
func (s *server) openConsole(cfg *engine.Options) (*consoleServer, error) {
	c := cfg.Console
	if c.Address == "" {
		return nil, nil
	}
	at := cfg.At("console")
	opt := console.Options{Source: s, Hosts: strings.Fields(c.Hosts), Logf: log.Warningf, Infof: log.Infof}
	if c.TokenFile != "" {
		token, err := console.OpenToken(c.TokenFile)
		if err != nil {
			return nil, at.Errorf("console: read token: %w", err)
		}
		opt.Token = token
	}
	l, err := s.listenConsole(c.Address)
	if err != nil {
		return nil, at.Errorf("console: %w", err)
	}
	return &consoleServer{console.Bounded(l), console.HTTPServer(console.New(opt))}, nil
}

// listenConsole listens at an address. Two listeners with SO_REUSEPORT silently share a port, so it first checks that the port is free.
// Only the previous console may still have it: during a reload.
func (s *server) listenConsole(address string) (net.Listener, error) {
	at, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, err
	}
	if s.console == nil || s.console.listener.Addr().(*net.TCPAddr).Port != at.Port {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return nil, err
		}
		_ = l.Close()
	}
	return reuseport.Listen("tcp", address)
}

// run serves until ctx ends, or the listener fails, which is logged.
func (s *consoleServer) run(ctx context.Context) {
	end := context.AfterFunc(ctx, func() { _ = s.server.Close() })
	defer end()
	log.Infof("console: http://%s/", s.listener.Addr())
	if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		log.Warningf("console %s: stopped: %v; queries are still answered. Restart the server to restore it",
			s.listener.Addr(), err)
	}
}

// close ends the server, whether or not it has run.
func (s *consoleServer) close() {
	_ = s.server.Close()
	_ = s.listener.Close()
}

// Look implements console.Source.
func (s *server) Look() (inspect.View, bool) {
	e := s.engine
	snap := e.Snapshot()
	if snap == nil {
		return inspect.View{}, false
	}
	v := inspect.View{Snapshot: snap, Random: e.Random, FaultySince: func(o records.Object) time.Time {
		return s.events.faulty.of(inspect.ObjectText(o)).UTC()
	}}
	if p := e.Prober(); p != nil {
		v.Since = p.Since
	}
	if b := s.blocks.Load(); b != nil {
		v.LocatorOf = b.lent.locator
	}
	if db := e.Locator(); db != nil {
		v.Locator = db
	}
	if held := e.Held(); len(held) > 0 {
		v.Held = make(map[string]int, len(held))
		for _, z := range held {
			v.Held[z.Origin] = z.Names
		}
	}
	return v, true
}

// Bounds of what is shown; everything is counted.
const (
	maxShownFailing   = 50  // hosts that fail open
	maxShownOverrides = 20  // overrides
	maxShownOverride  = 200 // octets of one
)

// Server implements console.Source.
func (s *server) Server() console.Server {
	e := s.engine
	shown := console.Server{
		Version: Version(), Started: s.started.UTC(), Ready: e.Ready(), Clusters: consoleClusters(e), Overrides: []string{},
		FailOpens: []console.FailOpen{}, Held: []console.Held{}, Events: s.news.events(), Since: make(map[string]time.Time),
	}
	shown.Host, _ = os.Hostname()
	shown.Pod = os.Getenv("KUBERNETES_SERVICE_HOST") != ""
	for _, what := range []string{console.SinceUnread, console.SinceOverrides} {
		if at := s.events.since.of(what); !at.IsZero() {
			shown.Since[what] = at.UTC()
		}
	}
	if snap := e.Snapshot(); snap != nil {
		for o := range snap.Objects().Overrides.All() {
			if shown.OverridesInForce++; shown.OverridesInForce <= maxShownOverrides {
				shown.Overrides = append(shown.Overrides, api.Cut(o.String(), maxShownOverride))
			}
		}
		shown.Snapshot = e.Current().Made.UTC()
		shown.UnreadOwners, shown.Targets = snap.UnreadOwners(), snap.Checks().Len()
	}
	if p := e.Prober(); p != nil {
		shown.Overdue = p.Overdue().Seconds()
	}
	open := e.Failing()
	shown.FailingOpen = len(open)
	for i, host := range slices.Sorted(maps.Keys(open)) {
		since := s.events.failing.of(host).UTC()
		if first, ok := shown.Since[console.SinceFailing]; !since.IsZero() && (!ok || since.Before(first)) {
			shown.Since[console.SinceFailing] = since
		}
		if i < maxShownFailing {
			shown.FailOpens = append(shown.FailOpens, console.FailOpen{Host: host, Whom: open[host].Whom, Since: since})
		}
	}
	for _, z := range e.Held() {
		shown.Held = append(shown.Held, console.Held{Zone: trimName(z.Origin), Names: z.Names, Since: z.Since.UTC(), Until: z.Until.UTC()})
	}
	for origin, n := range e.Unregistered() {
		if shown.Unregistered == nil {
			shown.Unregistered = make(map[string]int)
		}
		shown.Unregistered[trimName(origin)] = n
	}
	return shown
}

// consoleClusters describes how each cluster is read and written to.
func consoleClusters(e *engine.Engine) []console.Cluster {
	all := make(map[string]*console.Cluster)
	for name, stats := range e.Reading() {
		all[name] = &console.Cluster{
			Name: name, Synced: stats.Synced(), LastEvent: stats.LastEvent().UTC(), Lost: stats.Lost().UTC(), Problem: stats.Problem(),
		}
	}
	for _, name := range e.Current().FromState {
		if all[name] == nil {
			all[name] = &console.Cluster{Name: name}
		}
		all[name].FromState = true
	}
	for _, w := range e.Writers() {
		if c := all[w.Cluster()]; c != nil {
			c.Written, c.Leader, c.Backlog = true, w.Leads(), w.Backlog()
			c.Writer, _, _ = strings.Cut(w.Holder(), "_")
		}
	}
	list := make([]console.Cluster, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, *all[name])
	}
	return list
}

// marks remember since when conditions hold. Any goroutine may use them.
type marks struct {
	mu    sync.Mutex
	since map[string]time.Time
}

// set notes whether a condition holds.
func (m *marks) set(what string, is bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, was := m.since[what]; is && !was {
		if m.since == nil {
			m.since = make(map[string]time.Time)
		}
		m.since[what] = time.Now()
	} else if !is {
		delete(m.since, what)
	}
}

// of returns since when a condition holds; the zero time if it does not.
func (m *marks) of(what string) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.since[what]
}

// news is a log that keeps its last lines for the console. Any goroutine may use it.
type news struct {
	engine.Logger
	mu   sync.Mutex
	last []console.Event // the newest last
}

// maxNews is how many lines are kept.
const maxNews = 50

func (n *news) keep(warning bool, format string, args []any) {
	text := api.Cut(fmt.Sprintf(format, args...), maxText)
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.last) == maxNews {
		n.last = append(n.last[:0], n.last[1:]...)
	}
	n.last = append(n.last, console.Event{At: time.Now().UTC(), Warning: warning, Text: text})
}

// events returns the lines, the newest first.
func (n *news) events() []console.Event {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := append([]console.Event{}, n.last...)
	slices.Reverse(all)
	return all
}

// Infof implements engine.Logger.
func (n *news) Infof(format string, args ...any) {
	n.keep(false, format, args)
	n.Logger.Infof(format, args...)
}

// Warningf implements engine.Logger.
func (n *news) Warningf(format string, args ...any) {
	n.keep(true, format, args)
	n.Logger.Warningf(format, args...)
}

// Errorf implements engine.Logger.
func (n *news) Errorf(format string, args ...any) {
	n.keep(true, format, args)
	n.Logger.Errorf(format, args...)
}

// trimName returns a name without its final dot; the root keeps it.
func trimName(name string) string {
	if name == "." {
		return name
	}
	return strings.TrimSuffix(name, ".")
}

// modulePath is the module that the plugin is in.
const modulePath = "github.com/coredns-kuadrant/kuadrant"

// Version returns the version of the plugin that the program was built with, such as v1.2.3;
// "(devel)" for one built from a checkout.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if info.Main.Path == modulePath {
		return info.Main.Version
	}
	for _, m := range info.Deps {
		if m.Path == modulePath {
			return m.Version
		}
	}
	return fmt.Sprintf("in %s %s", info.Main.Path, info.Main.Version)
}

// mostLeftOut bounds the lines that a preview has about parts of the manifests that do not count.
const mostLeftOut = 50

// Preview implements console.Source. The preview shares all unchanged data with the live snapshot,
// and is dropped after the comparison.
func (s *server) Preview(p console.PreviewRequest) (*inspect.Preview, error) {
	e := s.engine
	var left []string
	unread := ""
	name, err := previewCluster(e.Snapshot(), p.Cluster)
	if err != nil {
		return nil, err
	}
	sel := e.Selection()
	in := e.Snapshot().Objects()
	sel.Pools = in.PoolsOf(name)
	applied, stated, err := source.ReadManifests(source.DirectoryOptions{
		Cluster: name, Selection: sel, Infof: func(string, ...any) {},
		Logf: func(format string, args ...any) {
			line := fmt.Sprintf(format, args...)
			if source.IsSkipped(line) {
				unread = cmp.Or(unread, strings.TrimPrefix(line, "standard input: "))
			}
			if len(left) < mostLeftOut {
				left = append(left, line)
			}
		},
	}, bytes.NewReader(p.Manifests), source.Stdin)
	if of := (*source.ManifestError)(nil); errors.As(err, &of) {
		return nil, &inspect.RequestError{Field: "manifests", Text: of.Text}
	}
	if unread != "" { // as kubectl apply would say
		return nil, &inspect.RequestError{Field: "manifests", Text: unread}
	}
	before, after := e.Imagine(name, applied, api.Application{Stated: stated, Prune: p.Prune, Now: e.Now().Unix()})
	var space *geo.Space
	if db := e.Locator(); db != nil {
		space = db.Space(nil)
	}
	found := inspect.Compare(before, after, space, nil)
	found.LeftOut = left
	return found, nil
}

// previewCluster returns the cluster that manifests would be applied to.
func previewCluster(snap *records.Snapshot, name string) (string, error) {
	var known []string
	if snap != nil {
		for _, c := range snap.Objects().Clusters {
			if known = append(known, c.Name); c.Name == name || c.Name == engine.LocalCluster && name == "" {
				return c.Name, nil
			}
		}
	}
	if len(known) == 1 && name == "" {
		return known[0], nil
	}
	text := fmt.Sprintf("no cluster %.60q", name)
	if name == "" {
		text = "name the cluster to apply to"
	}
	return "", &inspect.RequestError{Field: "cluster", Text: text + "; clusters are " + strings.Join(known, ", "), NotFound: name != ""}
}
