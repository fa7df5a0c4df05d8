package kuadrant

import (
	"context"
	"math"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/coredns/coredns/plugin"
	"github.com/miekg/dns"
)

// cacheName is CoreDNS's plugin that keeps answers for all clients. It keeps none of our zones in its own server block. But other plugins
// ask us for the targets of their CNAMEs, and it keeps their answers: those of file, and those of kubernetes for Services of type
// ExternalName. What we answer is for one client (docs/decisions/0049).
const cacheName = "cache"

// guardCaches wraps add, which puts a plugin into the chain of a server block, so that the cache plugin gives nobody what we answered
// another client.
func guardCaches(add plugin.Plugin) plugin.Plugin {
	return func(next plugin.Handler) plugin.Handler {
		h := add(next)
		if h == nil || h.Name() != cacheName {
			return h
		}
		return &beforeCache{next: next, cache: add(plugin.HandlerFunc(func(ctx context.Context, w dns.ResponseWriter, r *dns.Msg) (int, error) {
			return serveBehindCache(ctx, next, w, r)
		}))}
	}
}

// beforeCache stands before the cache plugin of a server block. The cache plugin keeps answers with the mark of the query that they were
// made for, and beforeCache has a query answered anew that gets one with another mark.
type beforeCache struct {
	cache plugin.Handler
	next  plugin.Handler // the plugin after it
}

// Name implements plugin.Handler. It returns the name of the plugin that it stands before.
func (b *beforeCache) Name() string { return cacheName }

// ServeDNS implements plugin.Handler.
func (b *beforeCache) ServeDNS(ctx context.Context, w dns.ResponseWriter, r *dns.Msg) (int, error) {
	q := &cachedQuery{ResponseWriter: w, within: cachedQueryOf(ctx), number: cachedQueries.Add(1)}
	rcode, err := b.cache.ServeDNS(context.WithValue(ctx, cachedQueryKey{}, q), q, r)
	if q.anothers {
		return plugin.NextOrFailure(cacheName, b.next, ctx, w, r)
	}
	return rcode, err
}

// cachedQuery is a query to the cache plugin, and the writer of its reply.
type cachedQuery struct {
	dns.ResponseWriter
	within *cachedQuery // the query for whose sake this one is asked; nil for none
	number uint64
	// ours is true if we answered a part of it: the cache plugin also asks in the background.
	ours atomic.Bool
	// anothers is true if the reply was made for another query.
	anothers bool
}

type cachedQueryKey struct{}

var cachedQueries atomic.Uint64

func cachedQueryOf(ctx context.Context) *cachedQuery {
	q, _ := ctx.Value(cachedQueryKey{}).(*cachedQuery)
	return q
}

// takePart keeps cache plugins from giving what we answer to other clients.
func takePart(ctx context.Context) {
	for q := cachedQueryOf(ctx); q != nil; q = q.within {
		q.ours.Store(true)
	}
}

// mark returns a record that says which query a reply was made for. It is in no message that anybody but the cache plugin sees.
func (q *cachedQuery) mark() *dns.NULL {
	head := dns.RR_Header{Name: ".", Rrtype: dns.TypeNULL, Class: dns.ClassNONE, Ttl: math.MaxUint32}
	return &dns.NULL{Hdr: head, Data: strconv.FormatUint(q.number, 10)}
}

// WriteMsg implements dns.ResponseWriter. It takes the mark off.
func (q *cachedQuery) WriteMsg(m *dns.Msg) error {
	if n := len(m.Extra) - 1; n >= 0 {
		if mark, ok := m.Extra[n].(*dns.NULL); ok && mark.Hdr.Class == dns.ClassNONE {
			if q.anothers = mark.Data != q.mark().Data; q.anothers {
				return nil
			}
			m.Extra = m.Extra[:n]
		}
	}
	return q.ResponseWriter.WriteMsg(m)
}

// serveBehindCache has a query answered that the cache plugin passes on to next, and marks the reply if we take part in it.
func serveBehindCache(ctx context.Context, next plugin.Handler, w dns.ResponseWriter, r *dns.Msg) (int, error) {
	if q := cachedQueryOf(ctx); q != nil && w != dns.ResponseWriter(q) { // else it keeps nothing
		w = &markWriter{w, q}
	}
	return plugin.NextOrFailure(cacheName, next, ctx, w, r)
}

// markWriter writes replies for the cache plugin.
type markWriter struct {
	dns.ResponseWriter
	query *cachedQuery
}

// WriteMsg implements dns.ResponseWriter.
func (w *markWriter) WriteMsg(m *dns.Msg) error {
	if w.query.ours.Load() {
		marked := *m
		marked.Extra = append(slices.Clip(m.Extra), w.query.mark())
		m = &marked
	}
	return w.ResponseWriter.WriteMsg(m)
}
