package engine

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"testing/synctest"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// feed is a source that publishes what a test hands it.
type fakeSource struct {
	name, place string
	uid         string // "" for place
	pools       api.Pools
	publish     func(*api.Cluster)
	last        *api.Cluster // nil before anything was published
	// unseen tells of which objects nobody reports that they are gone; nil for none.
	unseen func(api.Ref) bool
	// also are reported to have changed, whatever becomes of them.
	also []api.Ref
}

// refOf names an object of the kind for a host, as in hosts.
func refOf(kind api.Kind, host string) api.Ref {
	if !strings.Contains(host, "/") {
		host = "ns/" + host
	}
	return api.Ref{Kind: kind, Name: host}
}

func (f *fakeSource) Name() string { return f.name }

func (f *fakeSource) Identity() string { return f.place + " cluster=" + f.name }

func (f *fakeSource) Run(ctx context.Context, publish func(*api.Cluster)) error {
	f.publish = publish
	<-ctx.Done()
	return nil
}

// hosts are the simple hosts below example.com of a cluster, with their
// addresses; there is a probe of each. Their objects are in the namespace ns where no other stands before
// the name, as in "other/www".
type hosts map[string]string

// show publishes h and nothing else, with all kinds listed but those in
// forbidden, of which no object is seen, and waits until it is compiled.
func (f *fakeSource) show(h hosts, forbidden ...api.Kind) {
	c := f.cluster(h)
	for k := range c.Listings {
		c.Listings[k] = api.Listed
	}
	for _, k := range forbidden {
		c.Listings[k] = api.NotListed
		c.Share(k, new(api.Cluster))
	}
	f.send(c)
}

// cluster returns a cluster with h. Objects that are the same as before are the
// same pointers.
func (f *fakeSource) cluster(h hosts) *api.Cluster {
	c := &api.Cluster{Name: f.name, UID: cmp.Or(f.uid, f.place), Pools: f.pools}
	gateways, policies, probes := c.Gateways.Edit(), c.Policies.Edit(), c.Probes.Edit()
	for name, address := range h {
		full := name
		if !strings.Contains(name, "/") {
			full = "ns/" + name
		}
		name = full[strings.Index(full, "/")+1:]
		meta := api.Meta{Name: full, Cluster: f.name}
		f.pools.Mark(&meta)
		var g *api.Gateway
		var p *api.DNSPolicy
		var probe *api.HealthCheckProbe
		if f.last != nil {
			g, _ = f.last.Gateways.Get(full)
			p, _ = f.last.Policies.Get(full)
			probe, _ = f.last.Probes.Get(full)
		}
		if g == nil || g.Addresses[0].Value != address {
			g = &api.Gateway{
				Meta:      meta,
				Listeners: []api.Listener{{Name: "l", Hostname: name + ".example.com", AttachedRoutes: 1}},
				Addresses: []api.Address{{Type: api.IPAddress, Value: address}},
			}
		}
		if p == nil {
			p = &api.DNSPolicy{Meta: meta, Target: api.Target{Name: name}}
		}
		if probe == nil || probe.Address != address {
			probe = &api.HealthCheckProbe{Meta: meta, Address: address}
			probe.Controlled = true // as those of Kuadrant's operators
		}
		gateways.Set(full, g)
		policies.Set(full, p)
		probes.Set(full, probe)
	}
	c.Gateways, c.Policies, c.Probes = gateways.Map(), policies.Map(), probes.Map()
	return c
}

// send publishes c with exactly what changed, and waits until it is compiled.
func (f *fakeSource) send(c *api.Cluster) {
	before := f.last
	if before == nil {
		before = new(api.Cluster)
	}
	c.Changed = slices.Concat(
		f.also,
		changes(api.KindGateway, before.Gateways.All(), c.Gateways.Get), changes(api.KindGateway, c.Gateways.All(), before.Gateways.Get),
		changes(api.KindDNSPolicy, before.Policies.All(), c.Policies.Get), changes(api.KindDNSPolicy, c.Policies.All(), before.Policies.Get),
		changes(api.KindProbe, before.Probes.All(), c.Probes.Get), changes(api.KindProbe, c.Probes.All(), before.Probes.Get),
		changes(api.KindZone, before.Zones.All(), c.Zones.Get), changes(api.KindZone, c.Zones.All(), before.Zones.Get),
		changes(api.KindRecord, before.Records.All(), c.Records.Get), changes(api.KindRecord, c.Records.All(), before.Records.Get),
		changes(api.KindDNSRecord, before.DNSRecords.All(), c.DNSRecords.Get), changes(api.KindDNSRecord, c.DNSRecords.All(), before.DNSRecords.Get),
		changes(api.KindDNSEndpoint, before.DNSEndpoints.All(), c.DNSEndpoints.Get), changes(api.KindDNSEndpoint, c.DNSEndpoints.All(), before.DNSEndpoints.Get),
	)
	slices.SortFunc(c.Changed, func(a, b api.Ref) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
	c.Changed = slices.Compact(c.Changed)
	for _, ref := range c.Changed {
		if f.unseen != nil && !c.Has(ref) && f.unseen(ref) {
			c.Inferred = append(c.Inferred, ref)
		}
	}
	f.last = c
	f.publish(c)
	synctest.Wait()
}

// changes returns those of all that get does not find.
func changes[T comparable](kind api.Kind, all iter.Seq2[string, T], get func(string) (T, bool)) (refs []api.Ref) {
	for name, object := range all {
		if o, ok := get(name); !ok || o != object {
			refs = append(refs, api.Ref{Kind: kind, Name: name})
		}
	}
	return refs
}

// everything are all kinds.
func everything() (kinds []api.Kind) {
	for k := range api.NumKinds {
		kinds = append(kinds, k)
	}
	return kinds
}
