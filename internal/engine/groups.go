package engine

import (
	"context"
	"errors"
	"maps"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

const (
	// groupsEvery is how often the end of a CNAME that names active groups is resolved: Kuadrant's TXT has a TTL of 60 seconds.
	groupsEvery   = 15 * time.Second
	groupsTimeout = 5 * time.Second
	groupsAtOnce  = 16
)

// groupTexts resolves the TXT records behind CNAMEs that name active groups, in the background (rule 9.5).
type groupTexts struct {
	servers []string // with ports, asked in turn; empty for the system's resolvers
	changed func()
	// known is replaced, never changed.
	known atomic.Pointer[map[string]api.GroupText]

	mu     sync.Mutex
	wanted []string // CNAME targets, sorted
	news   chan struct{}
}

func newGroupTexts(servers []string, changed func()) *groupTexts {
	return &groupTexts{servers: servers, changed: changed, news: make(chan struct{}, 1)}
}

// texts returns what is known, by the CNAME's target. The map must not be changed.
func (g *groupTexts) texts() map[string]api.GroupText {
	if g == nil || g.known.Load() == nil {
		return nil
	}
	return *g.known.Load()
}

// settled reports whether each wanted target was resolved, or failed.
func (g *groupTexts) settled() bool {
	if g == nil {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	known := g.texts()
	return !slices.ContainsFunc(g.wanted, func(target string) bool { _, is := known[target]; return !is })
}

// want sets the targets to resolve.
func (g *groupTexts) want(targets []string) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if slices.Equal(g.wanted, targets) {
		return
	}
	g.wanted = targets
	select {
	case g.news <- struct{}{}:
	default:
	}
}

// run resolves until ctx ends.
func (g *groupTexts) run(ctx context.Context) {
	tick := time.NewTicker(groupsEvery)
	defer tick.Stop()
	for {
		g.mu.Lock()
		targets := g.wanted
		g.mu.Unlock()
		now := g.resolveAll(ctx, targets)
		if ctx.Err() != nil {
			return
		}
		if !maps.EqualFunc(now, g.texts(), func(a, b api.GroupText) bool { return reflect.DeepEqual(a, b) }) {
			g.known.Store(&now)
			g.changed()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-g.news:
		}
	}
}

// resolveAll resolves all targets, some at a time: one without an answer does not delay the others for long.
func (g *groupTexts) resolveAll(ctx context.Context, targets []string) map[string]api.GroupText {
	texts := make([]api.GroupText, len(targets))
	var asking sync.WaitGroup
	turns := make(chan struct{}, groupsAtOnce)
	for i, target := range targets {
		turns <- struct{}{}
		asking.Go(func() {
			texts[i] = g.resolve(ctx, target)
			<-turns
		})
	}
	asking.Wait()
	all := make(map[string]api.GroupText, len(targets))
	for i, target := range targets {
		all[target] = texts[i]
	}
	return all
}

// resolve asks the servers in turn, until one answers.
func (g *groupTexts) resolve(ctx context.Context, name string) api.GroupText {
	ctx, cancel := context.WithTimeout(ctx, groupsTimeout)
	defer cancel()
	resolvers := []*net.Resolver{net.DefaultResolver}
	if len(g.servers) > 0 {
		resolvers = nil
	}
	for _, server := range g.servers {
		resolvers = append(resolvers, &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, server)
		}})
	}
	var fault error
	for _, r := range resolvers {
		texts, err := r.LookupTXT(ctx, name)
		if err == nil {
			slices.Sort(texts)
			return api.GroupText{Texts: texts}
		}
		if fault = err; isNotFound(err) {
			break
		}
	}
	if isNotFound(fault) {
		return api.GroupText{Err: "it has no TXT record"}
	}
	text := fault.Error()
	if of := (*net.DNSError)(nil); errors.As(fault, &of) {
		text = of.Err
	}
	return api.GroupText{Err: "resolve it: " + strings.ToValidUTF8(text, "\uFFFD")}
}

func isNotFound(err error) bool {
	of := (*net.DNSError)(nil)
	return errors.As(err, &of) && of.IsNotFound
}
