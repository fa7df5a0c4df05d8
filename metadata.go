package kuadrant

import (
	"context"
	"net/netip"
	"strconv"

	"github.com/coredns/coredns/plugin/metadata"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// sharedKey finds a query's sharedLookup in its context.
type sharedKey struct{}

// sharedLookup lets metadata and ServeDNS tell of one and the same choice. It
// belongs to the goroutine of its query.
type sharedLookup struct {
	plugin *Kuadrant
	found  *lookup // nil until somebody asks
}

// Metadata implements metadata.Provider: it tells log, dnstap and view how the
// answer was chosen. The lookup is done when the first value is asked for, or
// by ServeDNS.
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

// lookup returns what was found for r, looking it up where nobody has.
func (s *sharedLookup) lookup(ctx context.Context, w dns.ResponseWriter, r *dns.Msg) *lookup {
	if s.found == nil || !s.found.answers(r) {
		s.find(ctx, w, r)
	}
	return s.found
}

func (s *sharedLookup) find(ctx context.Context, w dns.ResponseWriter, r *dns.Msg) {
	s.found = new(lookup)
	s.plugin.lookup(ctx, w.RemoteAddr(), r, s.found)
}

// metadataValues are the labels below kuadrant/ and what they say; all are
// empty for answers that are not steered, but for the scope.
var metadataValues = map[string]func(*records.Answer) string{
	"owner":  func(a *records.Answer) string { return a.Owner() },
	"member": func(a *records.Answer) string { return a.Member() },
	"geo":    func(a *records.Answer) string { return a.Geo },
	"class": func(a *records.Answer) string {
		if !a.Steered() {
			return ""
		}
		return a.Class.String()
	},
	"scope": func(a *records.Answer) string { return strconv.Itoa(a.Scope) },
}

// shared returns the query's sharedLookup where this plugin made it, else nil.
func (k *Kuadrant) shared(ctx context.Context) *sharedLookup {
	s, _ := ctx.Value(sharedKey{}).(*sharedLookup)
	if s == nil || s.plugin != k {
		return nil
	}
	return s
}

// answers tells whether l was made for the question that r asks now: another
// plugin may have rewritten it since.
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

// metadataLocator locates the client of one query by what CoreDNS's geoip
// plugin found. It knows no network, so the scope is the source length.
type metadataLocator struct {
	codes *geo.Codes
	bits  int
}

// Locate implements geo.Locator.
func (m metadataLocator) Locate(netip.Addr, geo.Need) (*geo.Codes, int) { return m.codes, m.bits }

// locatorOf returns a locator made of the geoip plugin's metadata, nil where
// there is none.
func locatorOf(ctx context.Context, subnet *dns.EDNS0_SUBNET) geo.Locator {
	country, continent := metadata.ValueFunc(ctx, geoipCountry), metadata.ValueFunc(ctx, geoipContinent)
	as := metadata.ValueFunc(ctx, geoipAS)
	if country == nil && continent == nil && as == nil {
		return nil
	}
	m := metadataLocator{codes: geo.FromCodes(
		call(as), call(metadata.ValueFunc(ctx, geoipSubdivision)), call(country), call(continent))}
	if subnet != nil {
		m.bits = int(subnet.SourceNetmask)
	}
	return m
}

func call(f metadata.Func) string {
	if f == nil {
		return ""
	}
	return f()
}
