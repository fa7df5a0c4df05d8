package kuadrant

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"sync"

	"github.com/coredns/coredns/plugin/metadata"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// sharedKey finds a query's sharedLookup in its context.
type sharedKey struct{}

// sharedLookup makes metadata and ServeDNS use the same choice. It belongs to the goroutine of its
// query.
type sharedLookup struct {
	plugin *Kuadrant
	found  *lookup // nil until it is needed
}

// Metadata implements metadata.Provider: it tells log, dnstap and view how the answer was chosen.
// The first value that is read does the lookup, or else ServeDNS.
func (k *Kuadrant) Metadata(ctx context.Context, state request.Request) context.Context {
	if len(state.Req.Question) != 1 || !k.covers(state.Name()) {
		return ctx
	}
	shared := &sharedLookup{plugin: k}
	ctx = context.WithValue(ctx, sharedKey{}, shared)
	for name, value := range metadataValues {
		metadata.SetValueFunc(ctx, pluginName+"/"+name, func() string {
			if shared.found == nil {
				shared.find(ctx, state.W, state.Req)
			}
			return value(&shared.found.answer)
		})
	}
	return ctx
}

// lookup returns the lookup of r, and does it first if necessary.
func (s *sharedLookup) lookup(ctx context.Context, w dns.ResponseWriter, r *dns.Msg) *lookup {
	if s.found == nil || !s.found.answers(r) {
		s.find(ctx, w, r)
	}
	return s.found
}

func (s *sharedLookup) find(ctx context.Context, w dns.ResponseWriter, r *dns.Msg) {
	s.found = new(lookup)
	s.plugin.lookup(ctx, remoteAddr(w.RemoteAddr()), r, s.found)
}

// metadataValues are the labels below kuadrant/ with their values. owner is the owner of the name;
// member, geo and class are empty if nothing was chosen.
var metadataValues = map[string]func(*records.Answer) string{
	"owner":  func(a *records.Answer) string { return a.Owner() },
	"member": ifChosen(func(a *records.Answer) string { return a.Member() }),
	"geo":    ifChosen(func(a *records.Answer) string { return a.Geo }),
	"class":  ifChosen(func(a *records.Answer) string { return a.Class.String() }),
	"scope":  func(a *records.Answer) string { return strconv.Itoa(a.Scope) },
}

// ifChosen wraps value so that it returns "" if nothing was chosen.
func ifChosen(value func(*records.Answer) string) func(*records.Answer) string {
	return func(a *records.Answer) string {
		if !chosen(a) {
			return ""
		}
		return value(a)
	}
}

// shared returns the query's sharedLookup if this plugin made it, else nil.
func (k *Kuadrant) shared(ctx context.Context) *sharedLookup {
	s, _ := ctx.Value(sharedKey{}).(*sharedLookup)
	if s == nil || s.plugin != k {
		return nil
	}
	return s
}

// answers reports whether l is for the question that r asks now: another plugin may have rewritten
// it since.
func (l *lookup) answers(r *dns.Msg) bool {
	return l.request == r && l.question == r.Question[0]
}

// The labels of the geoip plugin that are read (rule 3.5).
const (
	geoipCountry     = "geoip/country/code"
	geoipContinent   = "geoip/continent/code"
	geoipSubdivision = "geoip/subdivisions/code"
	geoipAS          = "geoip/asn/number"
)

// geoipLocator returns a locator for the client of l that uses CoreDNS's geoip plugin (rule 3.5);
// nil if that found nothing.
//
// The plugin locates the transport's address or, with its option edns-subnet, the query's client
// subnet, and does not say which. So for a query with a subnet its result is not used: we ask the
// plugin once more (docs/decisions/0009).
func (k *Kuadrant) geoipLocator(ctx context.Context, l *lookup) geo.Locator {
	if !hasGeoip(ctx) {
		return nil
	}
	switch {
	case !l.subnetLocated:
		return metadataLocator{codes: geoipCodes(ctx)}
	case k.geoip == nil:
		l.unlocated = true
		return metadataLocator{codes: new(geo.Codes), bits: sourceBits(l.subnet)}
	}
	return subnetLocator{geoip: k.geoip, bits: sourceBits(l.subnet)}
}

// metadataLocator returns what the geoip plugin found for one query. bits is 0 for the transport's
// address, which has no network.
type metadataLocator struct {
	codes *geo.Codes
	bits  int
}

// Locate implements geo.Locator.
func (m metadataLocator) Locate(netip.Addr, geo.Need) (*geo.Codes, int) { return m.codes, m.bits }

// subnetLocator locates client subnets by asking the geoip plugin as if the query had come from
// there. The plugin knows no network, so bits is the source length.
type subnetLocator struct {
	geoip metadata.Provider
	bits  int
}

// Locate implements geo.Locator.
func (s subnetLocator) Locate(addr netip.Addr, _ geo.Need) (*geo.Codes, int) {
	ctx := metadata.ContextWithMetadata(context.Background())
	ctx = s.geoip.Metadata(ctx, request.Request{W: client{addr: addr.Unmap()}, Req: new(dns.Msg)})
	return geoipCodes(ctx), s.bits
}

// lentLocators are the geoip plugins of the server blocks, by zone, for callers that have no query. Any number of goroutines may use it.
type lentLocators struct {
	mu    sync.Mutex
	zones map[string]metadata.Provider
}

// lend adds the plugin of a block. Of several blocks with one zone, the first counts.
func (l *lentLocators) lend(zones map[string]bool, geoip metadata.Provider) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.zones == nil {
		l.zones = make(map[string]metadata.Provider)
	}
	for z := range zones {
		if l.zones[z] == nil {
			l.zones[z] = geoip
		}
	}
}

// locator returns the locator for the clients of a name; nil for none.
func (l *lentLocators) locator(name string) geo.Locator {
	l.mu.Lock()
	defer l.mu.Unlock()
	if geoip, ok := rdata.Closest(l.zones, name); ok {
		return addressLocator{geoip}
	}
	return nil
}

// addressLocator locates addresses by asking the geoip plugin for each.
type addressLocator struct{ geoip metadata.Provider }

// Locate implements geo.Locator.
func (a addressLocator) Locate(addr netip.Addr, need geo.Need) (*geo.Codes, int) {
	return subnetLocator{geoip: a.geoip, bits: addr.Unmap().BitLen()}.Locate(addr, need)
}

// client is the client of a query that has only a source address. Nothing may be written to it.
type client struct {
	dns.ResponseWriter
	addr netip.Addr
}

// RemoteAddr implements dns.ResponseWriter.
func (c client) RemoteAddr() net.Addr { return net.UDPAddrFromAddrPort(netip.AddrPortFrom(c.addr, 0)) }

// hasGeoip reports whether the geoip plugin has set metadata for the query.
func hasGeoip(ctx context.Context) bool {
	return metadata.ValueFunc(ctx, geoipCountry) != nil || metadata.ValueFunc(ctx, geoipContinent) != nil || metadata.ValueFunc(ctx, geoipAS) != nil
}

// geoipCodes returns the codes in the geoip plugin's metadata.
func geoipCodes(ctx context.Context) *geo.Codes {
	return geo.FromCodes(call(metadata.ValueFunc(ctx, geoipAS)), call(metadata.ValueFunc(ctx, geoipSubdivision)),
		call(metadata.ValueFunc(ctx, geoipCountry)), call(metadata.ValueFunc(ctx, geoipContinent)))
}

func call(f metadata.Func) string {
	if f == nil {
		return ""
	}
	return f()
}
