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

// feed is one way to read a cluster: a line of the Corefile, or a Secret. It has its own rights to pool and to write.
type feed struct {
	name           string
	source         source.Source
	stats          *source.Stats
	pools          api.Pools
	group          string
	writer         *controller.Writer // nil if nothing is written
	writesRegistry bool               // the writer keeps the registry and serials, and runs from the start
	extra          bool               // a cluster of the Corefile beside the main one
	of             *source.Remote     // what the Secret holds; nil for a line of the Corefile
	same           feedSettings

	// selection says which objects are read, without their kinds.
	selection string

	// The engine's mu guards the rest. uid is the cluster's; "" until it is known.
	uid     string
	last    *api.Cluster       // what the source last published; nil before that
	written chan struct{}      // closed once the writer has ended; nil before it ran
	cancel  context.CancelFunc // ends the source; nil if it does not run
	unwrite context.CancelFunc // ends the writer; nil if it does not run
}

// feedSettings say how a feed reads and writes. On a reload, a feed with equal settings goes on.
type feedSettings struct {
	text   string
	config *rest.Config // with the content of the files it names
}

// settingsOf returns the settings of a feed that reads an API server.
func settingsOf(config *rest.Config, text string) feedSettings {
	c := rest.CopyConfig(config)
	if c.BearerTokenFile != "" {
		c.BearerToken = "" // read from the file on each use
	}
	_ = rest.LoadTLSFiles(c) // users of the files report their errors
	return feedSettings{text: text, config: c}
}

// equal reports whether two settings are the same. Functions in a configuration, such as a proxy's, cannot be
// compared: they count as different.
func (s feedSettings) equal(o feedSettings) bool { return reflect.DeepEqual(s, o) }

// begin reads a feed until the engine or the feed ends. The caller holds mu.
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

// end stops reading a feed. The caller holds mu, and has removed it from the feeds.
func (f *feed) end() {
	for _, cancel := range []context.CancelFunc{f.cancel, f.unwrite} {
		if cancel != nil {
			cancel()
		}
	}
	f.cancel, f.unwrite = nil, nil
}

// letWrite starts or ends a feed's writer. The caller holds mu.
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

// byAge orders the feeds of Secrets, the older Secret first.
func byAge(a, b *feed) int {
	return cmp.Or(cmp.Compare(a.of.Created, b.of.Created), strings.Compare(a.name, b.name))
}
