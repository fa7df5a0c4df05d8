package kuadrant

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coredns/coredns/plugin/pkg/dnstest"
	"github.com/coredns/coredns/plugin/test"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// asker is where clients ask from, with what they may be answered with.
type asker struct {
	from   string
	leaves []string // the first octets of the addresses
	asked  atomic.Int64
}

// TestGeoQueriesDuringUpdates asks for a weightedGeo host from several places in
// parallel with changes of its objects (case N16): every answer is one that the
// objects of some moment allow, whole and for the client's place.
func TestGeoQueriesDuringUpdates(t *testing.T) {
	const versions = 300
	k := newPlugin(t, "kuadrant example.com", shopNets)
	now, e := geoVersion(nil, 0), k.engine
	publish := func(c *api.Cluster) {
		e.Publish(records.Compile(e.Snapshot(), api.Objects{Clusters: []*api.Cluster{c}}, e.Options(), e.Now()))
	}
	publish(now)

	places := []*asker{
		{from: "10.1.0.1", leaves: []string{"192.0.2."}},
		// Every third version has no member for the US: then the default counts.
		{from: "10.2.0.1", leaves: []string{"198.51.100.", "192.0.2."}},
		{from: "172.16.0.1", leaves: []string{"192.0.2."}},
	}
	var done atomic.Bool
	var clients sync.WaitGroup
	for i := range 2 * len(places) {
		clients.Go(func() { places[i%len(places)].ask(t, k, &done) })
	}
	for v := range versions {
		now = geoVersion(now, v+1)
		publish(now)
	}
	waitFor(t, "queries from everywhere", func() bool {
		return t.Failed() || !slices.ContainsFunc(places, func(p *asker) bool { return p.asked.Load() < versions })
	})
	done.Store(true)
	clients.Wait()
}

// ask asks until done, and checks every reply.
func (p *asker) ask(t *testing.T, k *Kuadrant, done *atomic.Bool) {
	for !done.Load() {
		rec := dnstest.NewRecorder(&test.ResponseWriter{RemoteIP: p.from})
		if _, err := k.ServeDNS(context.Background(), rec, question("shop.example.com.", dns.TypeA)); err != nil {
			t.Error(err)
			return
		}
		if why := chainFault(rec.Msg, p.leaves); why != "" {
			t.Errorf("from %s: %s\n%v", p.from, why, rec.Msg)
			return
		}
		p.asked.Add(1)
	}
}

// chainFault says what is wrong with a reply that should be a chain to one of
// the addresses in leaves, "" where nothing is.
func chainFault(m *dns.Msg, leaves []string) string {
	if m.Rcode != dns.RcodeSuccess || len(m.Answer) != 4 {
		return "not a chain of four records"
	}
	next := "shop.example.com."
	for _, rr := range m.Answer[:3] {
		c, ok := rr.(*dns.CNAME)
		if !ok || c.Hdr.Name != next {
			return "a chain that is broken before " + rr.String()
		}
		next = c.Target
	}
	a, ok := m.Answer[3].(*dns.A)
	if !ok || a.Hdr.Name != next {
		return "a chain without its end"
	}
	group := "ie.klb.shop.example.com."
	if strings.HasPrefix(a.A.String(), "198.51.100.") {
		group = "us.klb.shop.example.com."
	}
	if !slices.ContainsFunc(leaves, func(l string) bool { return strings.HasPrefix(a.A.String(), l) }) || m.Answer[2].Header().Name != group {
		return "an address of elsewhere"
	}
	return ""
}

// geoVersion returns version v of a cluster whose Gateways share
// shop.example.com, after the version before, nil for none: two in Ireland,
// which is the default, and one in the US, which comes and goes. Addresses,
// weights and the Gateways in Ireland change too.
func geoVersion(before *api.Cluster, v int) *api.Cluster {
	c := &api.Cluster{Name: "c", UID: "c", Listings: [api.NumKinds]api.Listing{api.Listed, api.Listed}}
	if before != nil {
		c.Gateways, c.Policies = before.Gateways, before.Policies
	}
	gateways, policies := c.Gateways.Edit(), c.Policies.Edit()
	changed := func(name string) {
		c.Changed = append(c.Changed, api.Ref{Kind: api.KindGateway, Name: name}, api.Ref{Kind: api.KindDNSPolicy, Name: name})
	}
	for i, name := range []string{"ie1", "ie2", "us"} {
		full := "ns/" + name
		changed(full)
		if name == "us" && v%3 == 2 || name == "ie2" && v%2 == 1 {
			gateways.Delete(full)
			policies.Delete(full)
			continue
		}
		network, code := "192.0.2.", "IE"
		if name == "us" {
			network, code = "198.51.100.", "US"
		}
		gateways.Set(full, &api.Gateway{
			Meta:      api.Meta{Name: full, Cluster: "c"},
			Listeners: []api.Listener{{Name: "l", Hostname: "shop.example.com", AttachedRoutes: 1}},
			Addresses: []api.Address{{Type: api.IPAddress, Value: network + strconv.Itoa(1+(v+i)%250)}},
		})
		policies.Set(full, &api.DNSPolicy{
			Meta: api.Meta{Name: full, Cluster: "c"}, Target: api.Target{Name: name},
			Strategy: api.WeightedGeo, DefaultWeight: int64(1 + v%7), Geo: code, DefaultGeo: "IE",
		})
	}
	c.Gateways, c.Policies = gateways.Map(), policies.Map()
	return c
}
