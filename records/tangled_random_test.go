package records

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// tangle is where names of several owners lie at, above and below each other: random objects are made of its parts.
type tangle struct {
	names []string
	// labels are domainNames of objects with a zoneRef; parents are the Zones that these name, and zones those that
	// DNSRecords name.
	labels, parents, zones []string
	uids                   []string
}

// crossed has names at, above and below several klb labels, in zones of the Corefile that lie in each other, and those
// that tell owners.
var crossed = tangle{
	names: []string{
		"a.example.org.", "b.a.example.org.", "klb.a.example.org.", "x.klb.a.example.org.", "*.a.example.org.", "klb.x.klb.a.example.org.", "y.klb.x.klb.a.example.org.",
		"x.klb.b.a.example.org.", "sub.example.org.", "a.sub.example.org.", "x.klb.sub.example.org.", "klb.klb.a.example.org.", "ns.sub.example.org.", "ns.a.example.org.",
		"_o-a-a.example.org.", "_o-a-x.klb.a.example.org.", "_o-cname-a.example.org.", "_o-a-a.sub.example.org.", "_o-a-_wildcard.a.example.org.", "o.t-a-a.example.org.", "t-a-a.example.org.", "*.x.klb.a.example.org.", "*.example.org.",
		"c*.example.org.", "c_wildcard.example.org.", "x.*.example.org.", "x._wildcard.example.org.",
	},
	labels: []string{"@", "a", "klb", "klb.a", "x", "b.a", "sub", "t-a-a"}, parents: []string{"n1/p", "n2/q", "n3/p", "n2/p"},
	zones: []string{"example.org", "a.example.org", "sub.example.org"}, uids: []string{"", "u1", "u2"},
}

// near has few names at and below one klb label, in one zone of the Corefile.
var near = tangle{
	names: []string{
		"a.example.org.", "b.a.example.org.", "klb.a.example.org.", "x.klb.a.example.org.", "c.b.a.example.org.", "*.a.example.org.", "klb.b.a.example.org.",
		"example.org.", "d.x.klb.a.example.org.", "ns.b.a.example.org.",
	},
	labels: []string{"@", "a", "klb", "x", "b.a", "klb.a"}, parents: []string{"n1/p", "n2/q", "n3/r"},
	zones: []string{"example.org", "a.example.org"}, uids: []string{""},
}

// mutate makes, changes or deletes an object.
func (g *tangle) mutate(w *world, r *rand.Rand) {
	name := pick(r, []string{"n1", "n2", "n3"}) + "/" + pick(r, []string{"p", "q", "r"})
	meta := api.Meta{Created: int64(r.IntN(4)), UID: pick(r, g.uids)}
	gone := r.IntN(6) == 0
	host, c := pick(r, g.names), r.IntN(len(w.clusters))
	switch k := r.IntN(12); {
	case k < 3 && gone:
		w.setZone(c, name, nil)
	case k < 3:
		w.setZone(c, name, g.zone(r, meta, host))
	case k < 6 && gone:
		w.setRecord(c, name, nil)
	case k < 6:
		data := pick(r, someData)
		rec := &api.Record{Meta: meta, DomainName: host, Type: data.rtype, RData: data.data, Class: "IN", TTL: pick(r, []int64{api.NoTTL, 60})}
		if data.rtype == "NS" && r.IntN(2) == 0 {
			rec.RData = pick(r, g.names)
		}
		if r.IntN(4) == 0 {
			rec.DomainName, rec.Parent = pick(r, g.labels), pick(r, g.parents)
		}
		w.setRecord(c, name, rec)
	case k < 8 && gone:
		w.setDNSEndpoint(c, name, nil)
	case k < 8:
		w.setDNSEndpoint(c, name, &api.DNSEndpoint{Meta: meta, Endpoints: g.endpoints(r)})
	case k < 9 && gone:
		w.setDNSRecord(c, name, nil)
	case k < 9:
		meta.Labels = map[string]string{api.LabelZoneName: pick(r, g.zones)}
		w.setDNSRecord(c, name, &api.DNSRecord{Meta: meta, RootHost: pick(r, g.names), Endpoints: append(chainOf(pick(r, g.names), "192.0.2.8"), g.endpoints(r)...)})
	case gone && r.IntN(2) == 0:
		w.setPolicy(c, name, nil)
	case gone:
		w.setGateway(c, name, nil)
	default:
		address, kind := "192.0.2.7", api.IPAddress
		if r.IntN(3) == 0 {
			address, kind = "lb.example.net", api.HostnameAddress
		}
		w.setGateway(c, name, &api.Gateway{
			Listeners: []api.Listener{{Name: "l", Hostname: trimDot(host), AttachedRoutes: 1}, {Name: "m", Hostname: trimDot(pick(r, g.names)), AttachedRoutes: 1}}, Addresses: []api.Address{{Type: kind, Value: address}},
		})
		w.setPolicy(c, name, &api.DNSPolicy{Meta: meta, Target: api.Target{Name: name[3:], Section: pick(r, []string{"", "", "m"})}, Strategy: pick(r, []api.Strategy{api.Simple, api.WeightedGeo})})
	}
}

func (g *tangle) zone(r *rand.Rand, meta api.Meta, host string) *api.Zone {
	z := &api.Zone{Meta: meta, DomainName: rdata.Base(host), TTL: uint32(60 * (1 + r.IntN(2))), Minimum: 30}
	if r.IntN(3) == 0 {
		z.DomainName = "example.org."
	}
	if r.IntN(3) == 0 {
		z.DomainName, z.Parent = pick(r, g.labels[1:]), pick(r, g.parents)
	}
	d := api.Delegation{Zones: []string{"*"}, Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}}
	if r.IntN(3) == 0 {
		d.Records = d.Records[:1]
	}
	if r.IntN(3) == 0 {
		d.Namespaces = []string{pick(r, []string{"n1", "n2"})}
	}
	if r.IntN(4) == 0 {
		d.Records[0].Types = []string{"A", "NS"}
	}
	z.Delegations = []api.Delegation{d}
	return z
}

func (g *tangle) endpoints(r *rand.Rand) (all []api.Endpoint) {
	for range 1 + r.IntN(3) {
		data := pick(r, someData)
		ep := apiEndpoint(pick(r, g.names), data.rtype, data.data)
		if r.IntN(3) == 0 {
			ep.SetID = pick(r, []string{"s", "t"})
		}
		if data.rtype == "CNAME" {
			ep.Targets = []string{pick(r, g.names)}
		}
		all = append(all, ep)
	}
	return all
}

// putOnRecord has some of what is on record be what the snapshot says, as the elected replica writes it, and at times
// something else.
func (g *tangle) putOnRecord(w *world, r *rand.Rand, s *Snapshot) {
	e := w.acquired.Edit()
	for range 1 + r.IntN(4) {
		key := pick(r, g.names)
		if r.IntN(4) == 0 {
			key = api.ZoneKey(rdata.Base(key))
		}
		o, ok := s.Owner(key)
		switch {
		case r.IntN(8) == 0:
			e.Set(key, api.Owner{
				Cluster: pick(r, w.clusters).Name, Kind: pick(r, []api.Kind{api.KindDNSPolicy, api.KindZone, api.KindDNSRecord, api.KindDNSEndpoint, api.KindRecord}),
				Name: pick(r, []string{"n1", "n2", "n3"}) + "/" + pick(r, []string{"p", "q", "r"}), UID: pick(r, g.uids),
			})
		case ok:
			e.Set(key, o)
		default:
			e.Delete(key)
		}
		w.acquiredChanged = append(w.acquiredChanged, key)
	}
	w.acquired = e.Map()
}

// follow changes a world step by step, and compares each snapshot with the one compiled from nothing. Where recorded is
// true, who owns what comes to be on record, now and then.
func (g *tangle) follow(t *testing.T, r *rand.Rand, w *world, opt *Options, recorded bool) {
	t.Helper()
	var snap *Snapshot
	for step := range 60 {
		for range 1 + r.IntN(3) {
			g.mutate(w, r)
		}
		w.changePools(r)
		if snap != nil && recorded && r.IntN(2) == 0 {
			g.putOnRecord(w, r, snap)
		}
		before, in := snap, w.objects()
		if snap = compiled(t, snap, in, opt); snap == nil {
			t.Errorf("step %d: a panic", step)
			return
		}
		fresh := Compile(nil, in, opt, testTime)
		if got, want := dump(snap), dump(fresh); got != want {
			t.Errorf("step %d: %s", step, differing(got, want))
			return
		}
		if why := g.differ(before, snap, fresh, in); why != "" {
			t.Errorf("step %d: %s", step, why)
			return
		}
	}
}

// compiled compiles step by step; nil where that panics.
func compiled(t *testing.T, before *Snapshot, in api.Objects, opt *Options) (s *Snapshot) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("panic: %v", r)
			s = nil
		}
	}()
	return Compile(before, in, opt, testTime)
}

// TestIncrementalZonesAndAges: few names at and below klb, Zones of several namespaces around them, and few ages: what
// is compiled step by step is what is compiled from nothing, and all verdicts that differ are reported.
func TestIncrementalZonesAndAges(t *testing.T) {
	oneGoroutine(t)
	for seed := range seeds(t, 30) {
		opt := &Options{Zones: []ZoneOptions{{Origin: "example.org.", TTL: 60, LoadBalancedTTL: 300}}}
		if seed%3 == 0 {
			opt.ZoneNamespaces = []string{"n1"}
		}
		if seed%7 == 0 {
			opt.Publish = []Publish{{Domain: "example.org.", Namespaces: []string{"n1", "n2"}}}
		}
		if seed%5 == 0 {
			opt.Zones[0].OwnerTXT = "_o-"
		}
		w := newWorld("c1", "c2")
		w.pooling = seed%4 < 2
		near.follow(t, rand.New(rand.NewPCG(seed, 4711)), w, opt, seed%2 == 0)
	}
}

// TestIncrementalOnRecord: the same for worlds of several clusters, UIDs, zones in zones, prefixes and what is on record.
func TestIncrementalOnRecord(t *testing.T) {
	oneGoroutine(t)
	for seed := range seeds(t, 30) {
		opt := &Options{Zones: []ZoneOptions{{Origin: "example.org.", TTL: 60, LoadBalancedTTL: 300}}}
		if seed%2 == 0 {
			opt.Zones = append(opt.Zones, ZoneOptions{Origin: "sub.example.org.", TTL: 30, LoadBalancedTTL: 300})
		}
		if seed%3 == 0 {
			opt.ZoneNamespaces = []string{"n1"}
		}
		if seed%4 == 1 {
			opt.Publish = []Publish{{Domain: "example.org.", Namespaces: []string{"n1", "n2"}}, {Domain: "a.example.org.", Namespaces: []string{"n3"}}}
		}
		prefix := []string{"", "_o-", "o.t-", "_o."}[seed%4]
		for i := range opt.Zones {
			opt.Zones[i].OwnerTXT = prefix
		}
		w := newWorld([]string{"c1", "c2", "c3"}[:1+seed%3]...)
		w.pooling = seed%4 < 2
		crossed.follow(t, rand.New(rand.NewPCG(seed, 81)), w, opt, seed%5 != 0)
	}
}

// differ tells where owners and verdicts differ from those compiled from nothing, and where a verdict that differs from
// the one before is not reported; "" for nowhere.
func (g *tangle) differ(before, snap, fresh *Snapshot, in api.Objects) string {
	told := make(map[string]bool)
	for _, c := range snap.Changed() {
		told[fmt.Sprint(c.Cluster, c.Ref)] = true
	}
	for _, key := range g.names {
		for _, k := range []string{key, api.ZoneKey(rdata.Base(key))} {
			a, aok := snap.Owner(k)
			b, bok := fresh.Owner(k)
			if a != b || aok != bok {
				return fmt.Sprintf("the owner of %s is %v, from nothing %v", k, a, b)
			}
		}
	}
	for _, c := range in.Clusters {
		for _, kind := range []api.Kind{api.KindZone, api.KindRecord, api.KindDNSPolicy, api.KindDNSRecord, api.KindDNSEndpoint} {
			for name := range c.Names(kind, "") {
				ref := api.Ref{Kind: kind, Name: name}
				is := snap.Verdict(c.Name, ref)
				if other := fresh.Verdict(c.Name, ref); kind != api.KindZone && ((is == nil) != (other == nil) || is != nil && !is.Equal(other)) {
					return fmt.Sprintf("%s %v: is %+v from nothing %+v", c.Name, ref, is, other)
				}
				if before == nil {
					continue
				}
				was := before.Verdict(c.Name, ref)
				if (was == nil || !was.Equal(is)) && !told[fmt.Sprint(c.Name, ref)] {
					return fmt.Sprintf("%s %v is not reported: was %+v is %+v", c.Name, ref, was, is)
				}
			}
		}
	}
	return ""
}
