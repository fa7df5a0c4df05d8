package records

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

var ownNames = []string{"a.example.org.", "b.a.example.org.", "klb.a.example.org.", "x.klb.a.example.org.", "c.b.a.example.org.", "*.a.example.org.", "klb.b.a.example.org.", "example.org.", "d.x.klb.a.example.org.", "ns.b.a.example.org."}

func (w *world) ownMutate(r *rand.Rand, acquire bool) {
	ns := pick(r, []string{"n1", "n2", "n3"})
	name := ns + "/" + pick(r, []string{"p", "q", "r"})
	created := int64(r.IntN(4))
	gone := r.IntN(5) == 0
	host := pick(r, ownNames)
	c := r.IntN(len(w.clusters))
	k := r.IntN(12)
	name += fmt.Sprint([]int{0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 4, 4}[k]) // of one kind: see TestSameNameAndAge
	switch {
	case k < 3:
		if gone {
			w.setZone(c, name, nil)
			return
		}
		z := &api.Zone{Meta: api.Meta{Created: created}, DomainName: host, TTL: uint32(60 * (1 + r.IntN(2))), Minimum: 30}
		if base(host) != host {
			z.DomainName = "example.org."
		}
		if r.IntN(3) == 0 {
			z.DomainName, z.Parent = pick(r, []string{"a", "klb", "x", "b.a", "klb.a"}), pick(r, []string{"n1/p0", "n2/q0", "n3/r0"})
		}
		d := api.Delegation{Zones: []string{"*"}, Records: []api.RecordDelegation{{Pattern: "*"}}}
		if r.IntN(2) == 0 {
			d.Records = append(d.Records, api.RecordDelegation{Pattern: "@"})
		}
		if r.IntN(3) == 0 {
			d.Namespaces = []string{pick(r, []string{"n1", "n2"})}
		}
		if r.IntN(4) == 0 {
			d.Records[0].Types = []string{"A", "NS"}
		}
		z.Delegations = []api.Delegation{d}
		w.setZone(c, name, z)
	case k < 6:
		if gone {
			w.setRecord(c, name, nil)
			return
		}
		data := pick(r, someData)
		rec := &api.Record{Meta: api.Meta{Created: created}, DomainName: host, Type: data.rtype, RData: data.data, Class: "IN", TTL: pick(r, []int64{api.NoTTL, 60})}
		if data.rtype == "NS" && r.IntN(2) == 0 {
			rec.RData = pick(r, []string{"ns.b.a.example.org.", "x.klb.a.example.org."})
		}
		if r.IntN(4) == 0 {
			rec.DomainName, rec.Parent = pick(r, []string{"@", "a", "klb.a", "x", "b.a"}), pick(r, []string{"n1/p0", "n2/q0", "n3/r0"})
		}
		w.setRecord(c, name, rec)
	case k < 8:
		if gone {
			w.setDNSEndpoint(c, name, nil)
			return
		}
		var all []api.Endpoint
		for range 1 + r.IntN(3) {
			data := pick(r, someData)
			ep := endpoint(pick(r, ownNames), data.rtype, data.data)
			if r.IntN(3) == 0 {
				ep.SetID = pick(r, []string{"s", "t"})
			}
			if data.rtype == "CNAME" {
				ep.Targets = []string{pick(r, ownNames)}
			}
			all = append(all, ep)
		}
		w.setDNSEndpoint(c, name, &api.DNSEndpoint{Meta: api.Meta{Created: created}, Endpoints: all})
	case k < 9:
		if gone {
			w.setDNSRecord(c, name, nil)
			return
		}
		w.setDNSRecord(c, name, &api.DNSRecord{
			Meta: api.Meta{Created: created, Labels: map[string]string{api.LabelZoneName: pick(r, []string{"example.org", "a.example.org"})}}, RootHost: pick(r, ownNames[:2]),
			Endpoints: append(chainOf("a.example.org.", "192.0.2.8"), endpoint(host, "TXT", `"x"`)),
		})
	case k < 11 || !acquire:
		if gone {
			if r.IntN(2) == 0 {
				w.setPolicy(c, name, nil)
			} else {
				w.setGateway(c, name, nil)
			}
			return
		}
		address, kind := "192.0.2.7", api.IPAddress
		if r.IntN(3) == 0 {
			address, kind = "lb.example.net", api.HostnameAddress
		}
		w.setGateway(c, name, &api.Gateway{
			Listeners: []api.Listener{{Name: "l", Hostname: trimDot(host), AttachedRoutes: 1}, {Name: "m", Hostname: trimDot(pick(r, ownNames)), AttachedRoutes: 1}}, Addresses: []api.Address{{Type: kind, Value: address}},
		})
		_, bare, _ := strings.Cut(name, "/")
		w.setPolicy(c, name, &api.DNSPolicy{Meta: api.Meta{Created: created}, Target: api.Target{Name: bare}, Strategy: pick(r, []api.Strategy{api.Simple, api.WeightedGeo})})
	default:
		if r.IntN(3) == 0 {
			host = api.ZoneKey(base(host))
		}
		e := w.acquired.Edit()
		if r.IntN(3) == 0 {
			e.Delete(host)
		} else {
			e.Set(host, api.Owner{Cluster: w.clusters[c].Name, Kind: pick(r, []api.Kind{api.KindDNSPolicy, api.KindZone, api.KindDNSRecord, api.KindDNSEndpoint, api.KindRecord}), Name: name})
		}
		w.acquired, w.acquiredChanged = e.Map(), append(w.acquiredChanged, host)
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
	for seed := range seeds(t, 11, 491, 544, 560, 597, 774, 843) {
		opt := &Options{Zones: []ZoneOptions{{Origin: "example.org.", TTL: 60, LoadBalancedTTL: 300}}}
		if seed%3 == 0 {
			opt.ZoneNamespaces = []string{"n1"}
		}
		if seed%7 == 0 {
			opt.Publish = []Publish{{"example.org.", []string{"n1", "n2"}}}
		}
		if seed%5 == 0 {
			opt.Zones[0].OwnerTXT = "_o-"
		}
		r := rand.New(rand.NewPCG(seed, 4711))
		w := newWorld("c1", "c2")
		var snap *Snapshot
	steps:
		for step := range 60 {
			for range 1 + r.IntN(3) {
				w.ownMutate(r, seed%2 == 0)
			}
			before := snap
			in := w.objects()
			if snap = compiled(t, snap, in, opt); snap == nil {
				t.Errorf("seed %d step %d: a panic", seed, step)
				break
			}
			if got, want := dump(snap), dump(Compile(nil, in, opt, testTime)); got != want {
				t.Errorf("seed %d step %d: %s", seed, step, differing(got, want))
				break
			}
			if before == nil {
				continue
			}
			told := make(map[string]bool)
			for _, c := range snap.Changed() {
				told[fmt.Sprint(c.Cluster, c.Ref)] = true
			}
			for _, c := range in.Clusters {
				for _, kind := range []api.Kind{api.KindZone, api.KindRecord, api.KindDNSPolicy, api.KindDNSRecord, api.KindDNSEndpoint} {
					for name := range c.Names(kind, "") {
						ref := api.Ref{Kind: kind, Name: name}
						was, is := before.Verdict(c.Name, ref), snap.Verdict(c.Name, ref)
						if (was == nil || !was.Equal(is)) && !told[fmt.Sprint(c.Name, ref)] {
							t.Errorf("seed %d step %d: %s %v is not reported: was %+v is %+v", seed, step, c.Name, ref, was, is)
							break steps
						}
					}
				}
			}
		}
	}
}
