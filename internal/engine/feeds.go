package engine

import (
	"cmp"
	"context"
	"reflect"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/controller"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
)

// feed is one way to read a cluster: a line of the Corefile, or a Secret. The right to pool, and the one to write, are
// its own.
type feed struct {
	name           string
	source         source.Source
	stats          *source.Stats
	pools          api.Pools
	writer         *controller.Writer // nil if nothing is written
	writesRegistry bool               // the writer keeps the registry and serials, and runs from the beginning
	extra          bool               // a cluster of the Corefile beside the main one
	of             *source.Remote     // what the Secret says; nil for a line of the Corefile
	same           feedSettings

	// selection says which objects are read, but for their kinds.
	selection string

	// What follows is guarded by the engine's mu. uid is that of the cluster; "" until it is known.
	uid     string
	last    *api.Cluster       // what the source has published last; nil before that
	written chan struct{}      // closed once the writer has ended; nil before it was let run
	cancel  context.CancelFunc // ends the source; nil if it does not run
	unwrite context.CancelFunc // ends the writer; nil if it does not run
}

// feedSettings say how a feed reads and writes. Feeds with equal ones are the same: a reload lets the first go on.
type feedSettings struct {
	text   string
	config *rest.Config // with what the files hold that it names
}

// settingsOf returns the settings of a feed that reads an API server.
func settingsOf(config *rest.Config, text string) feedSettings {
	c := rest.CopyConfig(config)
	if c.BearerTokenFile != "" {
		c.BearerToken = "" // it is read again from the file
	}
	_ = rest.LoadTLSFiles(c) // whoever uses the files says what is wrong with them
	return feedSettings{text: text, config: c}
}

// equal reports whether two settings are the same. Functions in a configuration, such as that of a proxy, cannot be
// compared: they count as different.
func (s feedSettings) equal(o feedSettings) bool { return reflect.DeepEqual(s, o) }

// begin reads a feed until ctx of the engine ends, or it is ended. The caller holds mu.
func (a *clusters) begin(f *feed) {
	ctx, cancel := context.WithCancel(a.ctx)
	f.cancel = cancel
	a.done.Go(func() {
		err := f.source.Run(ctx, func(c *api.Cluster) { a.take(f, c) })
		if err != nil && ctx.Err() == nil {
			a.log.Errorf("%s: reading stopped: %v; restart the server", f.source.Name(), err)
		}
	})
}

// end reads a feed no more. The caller holds mu, and has taken it from the feeds.
func (f *feed) end() {
	for _, cancel := range []context.CancelFunc{f.cancel, f.unwrite} {
		if cancel != nil {
			cancel()
		}
	}
	f.cancel, f.unwrite = nil, nil
}

// letWrite lets the writer of a feed run, or ends it. The caller holds mu.
func (a *clusters) letWrite(f *feed, may bool) {
	switch {
	case f.writer == nil || f.cancel == nil || may == (f.unwrite != nil):
	case !may:
		f.unwrite()
		f.unwrite = nil
	default:
		before, ended := f.written, make(chan struct{})
		ctx, cancel := context.WithCancel(a.ctx)
		f.unwrite, f.written = cancel, ended
		a.done.Go(func() {
			defer close(ended)
			if before != nil {
				<-before
			}
			f.writer.Run(ctx)
		})
	}
}

// byAge orders the feeds of Secrets: the older Secret goes first.
func byAge(a, b *feed) int {
	return cmp.Or(cmp.Compare(a.of.Created, b.of.Created), strings.Compare(a.name, b.name))
}
