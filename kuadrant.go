// Package kuadrant is a CoreDNS plugin that answers queries for the hosts of
// Gateway API gateways, steered by Kuadrant DNSPolicies.
//
// It watches Gateways and DNSPolicies through client-go, or reads them from
// directories of YAML files, compiles them into an immutable snapshot of zones
// and answers from that. See docs/architecture.md for the rooms of the project.
package kuadrant

import (
	"sync"
	"time"

	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/metadata"

	"github.com/coredns-kuadrant/kuadrant/internal/corefile"
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
)

// Kuadrant is the plugin in one server block. All blocks of a Corefile share one engine. Several goroutines may use it at once, and several
// servers may compile it.
type Kuadrant struct {
	Next plugin.Handler

	block  *corefile.Block
	engine *engine.Engine
	blocks *serverBlocks
	// geoip is CoreDNS's geoip plugin in the same server block; nil for none.
	geoip metadata.Provider
	// signing is CoreDNS's dnssec plugin in the same server block; nil for none.
	signing *signing
	// ahead are the zones whose secondaries have a newer serial than the server.
	ahead aheads
	// rewritten is true if the server block has CoreDNS's rewrite plugin, which may change options of queries.
	rewritten bool
	// before is how many plugins the server block has before this one.
	before int
}

// New returns the plugin of one server block, which answers from an engine that the caller runs.
func New(b *corefile.Block, e *engine.Engine) *Kuadrant {
	return &Kuadrant{block: b, engine: e, blocks: new(serverBlocks)}
}

// Name implements plugin.Handler.
func (k *Kuadrant) Name() string { return pluginName }

// Ready implements ready.Readiness. It is true once there is data to answer from (rule 7.4).
func (k *Kuadrant) Ready() bool { return k.engine.Ready() }

// CacheBypassZones implements the cache plugin's ZoneBypasser: an answer may
// depend on the client, which the cache does not know.
func (k *Kuadrant) CacheBypassZones() []string { return k.block.Zones }

// aheads are the zones logged of late because a client asked for changes since a future serial. Any
// goroutine may use it.
type aheads struct {
	mu    sync.Mutex
	since time.Time
	zones map[string]struct{}
}

// signing is the dnssec plugin of one server block.
type signing struct {
	add plugin.Plugin // puts it in front of another handler
	// bare is the plugin in front of passedOn.
	bare plugin.Handler
	// known says which zones of the Corefile the plugin lists. It is filled before the first query.
	known map[string]bool
}

// serverBlocks is what the server blocks of one Corefile share, beside their server.
type serverBlocks struct {
	// lent locates clients for callers without a query.
	lent lentLocators
	// signings are the dnssec plugins of all server blocks. They are known before the first query.
	signings []*signing
	// listeners are the transfer plugins.
	listeners []*listening
	// ask is the start of a command that queries the first server block; "" if that does not serve plain DNS.
	ask string
}
