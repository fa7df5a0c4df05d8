package records

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

var longLabel = strings.Repeat("l", 60)

// realm is a world of several clusters in which a platform's Zone, publish lines or sub-zones of the Corefile say who may have what.
type realm struct {
	struggle
	names   []string
	apexes  map[string]bool
	origins []string
}

var realmNames = []string{
	"t.example.org.", "*.t.example.org.", "h.t.example.org.", "*.h.t.example.org.", "x.h.t.example.org.", "klb.h.t.example.org.", "x.klb.h.t.example.org.",
	"klb.t.example.org.", "h.klb.t.example.org.", "y.x.klb.h.t.example.org.", "klb.x.klb.h.t.example.org.", longLabel + "." + longLabel + ".h.t.example.org.",
	"a.b.c.d.h.t.example.org.", "c.d.h.t.example.org.", "d.h.t.example.org.",
}

func newRealm(r *rand.Rand, w *world) (*realm, *Options) {
	g := &realm{names: realmNames, apexes: make(map[string]bool)}
	g.cuts, g.zones, g.recorded = r.IntN(4) > 0, r.IntN(2) == 0, r.IntN(3) == 0
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.org.", TTL: 60, LoadBalancedTTL: 300}}}
	if r.IntN(4) == 0 {
		sub := pick(r, []string{"h.t.example.org.", "t.example.org.", "x.h.t.example.org."})
		opt.Zones = append(opt.Zones, ZoneOptions{Origin: sub, TTL: 60, LoadBalancedTTL: 300})
	}
	for _, z := range opt.Zones {
		g.apexes[z.Origin] = true
		g.origins = append(g.origins, trimDot(z.Origin))
	}
	if r.IntN(2) == 0 {
		opt.ZoneNamespaces = pick(r, [][]string{{"dns"}, {"dns", "victim"}})
	}
	g.zones = g.zones && g.recorded && opt.ZoneNamespaces != nil // else a Zone takes the names below it (rules 5.2 and 6.5)
	if r.IntN(3) == 0 {
		opt.Publish = []Publish{{Domain: "example.org.", Namespaces: []string{"victim", "evil"}}, {Domain: pick(r, []string{"h.t.example.org.", "t.example.org."}), Namespaces: []string{"victim", "eve"}}}
	}
	if r.IntN(3) > 0 {
		d := everything
		if r.IntN(2) == 0 {
			d = []api.Delegation{
				{Namespaces: []string{"victim"}, Zones: []string{"*.t", "t"}, Records: []api.RecordDelegation{{Pattern: "*"}}},
				{Namespaces: []string{"evil", "eve"}, Zones: []string{pick(r, []string{"*", "*.h.t", "x*.*.t", "t", "*.t"})}, Records: []api.RecordDelegation{
					{Pattern: pick(r, []string{"*", "*.t", "*.h.t", "k*.h.t", "x.*.*.t"})}, {Pattern: "*", Types: []string{pick(r, []string{"A", "TXT", "CNAME"})}},
				}},
			}
		}
		w.setZone(r.IntN(len(w.clusters)), "dns/z", &api.Zone{DomainName: "example.org.", TTL: 360, Minimum: 60, Delegations: d})
	}
	return g, opt
}

func (g *realm) make(w *world, r *rand.Rand, namespace string, created int64) {
	name, host, c := namespace+"/"+pick(r, []string{"p", "q", "s"}), pick(r, g.names), r.IntN(len(w.clusters))
	meta := api.Meta{Created: created, UID: pick(r, []string{"", "u1"})}
	own := namespace == victimNamespace
	kinds := 11
	if own && !g.ownZone(w) {
		kinds = 7
	} else if !g.zones && !own {
		kinds = 10
	}
	switch k := r.IntN(kinds); {
	case k < 3:
		kind, address := api.IPAddress, addressFrom(namespace)
		if r.IntN(3) == 0 {
			kind, address = api.HostnameAddress, "lb."+namespace+".net"
		}
		w.setGateway(c, name, &api.Gateway{Listeners: []api.Listener{{Name: "l", Hostname: trimDot(host), AttachedRoutes: 1}, {Name: "m", Hostname: trimDot(pick(r, g.names)), AttachedRoutes: 1}}, Addresses: []api.Address{{Type: kind, Value: address}}})
		w.setPolicy(c, name, &api.DNSPolicy{Meta: meta, Target: api.Target{Name: name[len(namespace)+1:]}, Strategy: pick(r, []api.Strategy{api.Simple, api.WeightedGeo})})
	case k < 5:
		w.setDNSEndpoint(c, name, &api.DNSEndpoint{Meta: meta, Endpoints: g.rows(r, namespace)})
	case k < 7:
		meta.Labels = map[string]string{api.LabelZoneName: pick(r, append([]string{"h.t.example.org", "t.example.org"}, g.origins...))}
		w.setDNSRecord(c, name, &api.DNSRecord{Meta: meta, RootHost: pick(r, []string{"h.t.example.org.", "t.example.org.", "*.t.example.org.", "klb.h.t.example.org."}), Endpoints: g.rows(r, namespace)})
	case k < 10:
		rtype := pick(r, g.types("A", "CNAME", "TXT", "MX"))
		rec := &api.Record{Meta: meta, DomainName: host, Type: rtype, Class: "IN", TTL: api.NoTTL, RData: dataFrom(namespace, rtype)}
		if own {
			rec.Parent, rec.DomainName = "victim/z", pick(r, []string{"@", "h", "x", "x.h", "klb.h", "x.klb", "*"})
		} else if r.IntN(4) == 0 {
			rec.Parent, rec.DomainName = pick(r, []string{"dns/z", "victim/z", "evil/q", "evil/z"}), pick(r, []string{"@", "h", "h.t", "x.klb.h.t", "x", "klb"})
		}
		w.setRecord(c, name, rec)
	default:
		z := &api.Zone{Meta: meta, DomainName: rdata.Base(host), TTL: 60, Minimum: 30, Delegations: everything}
		if own {
			if name == "victim/z" {
				return
			}
			z.Parent, z.DomainName = "victim/z", pick(r, []string{"h", "x", "x.h"})
			z.Delegations = []api.Delegation{{Namespaces: []string{"victim"}, Zones: []string{"*"}, Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}}}
		} else if r.IntN(3) == 0 {
			z.Parent, z.DomainName = pick(r, []string{"dns/z", "victim/z", "evil/q", "evil/p"}), pick(r, []string{"t", "h", "h.t", "x.klb.h.t", "x", "klb", "d", "d.h.t"})
		}
		if g.apexes[z.DomainName] || strings.Contains(z.DomainName, "klb") {
			return // who may have Zones may have those of the Corefile; names below klb are a chain's (rule 2.8)
		}
		w.setZone(c, name, z)
	}
}

func (g *realm) ownZone(w *world) bool {
	for _, c := range w.clusters {
		if _, ok := c.Zones.Get("victim/z"); ok {
			return true
		}
	}
	return false
}

func (g *realm) rows(r *rand.Rand, namespace string) (all []api.Endpoint) {
	for range 1 + r.IntN(3) {
		rtype := pick(r, g.types("A", "CNAME", "TXT", "MX"))
		e := apiEndpoint(pick(r, g.names), rtype, strings.Trim(dataFrom(namespace, rtype), `"`))
		if (rtype == "A" || rtype == "CNAME") && r.IntN(3) == 0 {
			e.SetID, e.Weight = pick(r, []string{"a", "b"}), int64(r.IntN(3))
			e.Geo = pick(r, []string{"", "IE", "*"})
		}
		all = append(all, e)
	}
	if r.IntN(4) == 0 {
		all = append(all, chainOf(pick(r, []string{"h.t.example.org.", "t.example.org.", "x.klb.h.t.example.org."}), addressFrom(namespace))...)
	}
	return all
}

// has returns what the victim has, with the answers.
func (g *realm) has(s *Snapshot) map[string]string {
	all := make(map[string]string)
	owns := func(key string) bool {
		o, ok := s.Owner(key)
		return ok && strings.HasPrefix(o.Name, victimNamespace+"/")
	}
	for _, name := range g.names {
		if owns(api.ZoneKey(rdata.Base(name))) {
			o, _ := s.Owner(api.ZoneKey(rdata.Base(name)))
			all["zone "+rdata.Base(name)] = o.Cluster + " " + o.Name
		}
		z := s.Zone(rdata.Base(name))
		inOwn := z != nil && z.object != nil && z.object.Namespace() == victimNamespace
		if owns(name) || inOwn {
			all["A "+name] = outcomes(s, name)
		}
		var n *node
		if z != nil {
			n, _ = z.names.Get(name)
		}
		for _, rtype := range []uint16{dns.TypeTXT, dns.TypeMX} {
			if !inOwn && (n == nil || len(n.entries) == 0) {
				continue // it is a wildcard's
			}
			if a := ask(s, name, rtype); inOwn || !g.recorded && strings.Contains(a, "victim") && strings.Contains(a, "\t"+dns.TypeToString[rtype]+"\t") {
				all[dns.TypeToString[rtype]+" "+name] = a
			}
		}
	}
	return all
}

// TestOthersTakeNothingInRealms: the same as TestOthersTakeNothing, where Zones lie in each other, delegations have patterns, and there are
// several clusters, publish lines and zones of the Corefile in each other; step by step is as from nothing (rules 5.1 to 5.7 and 6.5).
func TestOthersTakeNothingInRealms(t *testing.T) {
	oneGoroutine(t)
	kept := 0
	for seed := range seeds(t, 1500) {
		r := rand.New(rand.NewPCG(seed, 77))
		w := newWorld([]string{"c", "c2", "c3"}[:1+r.IntN(3)]...)
		g, opt := newRealm(r, w)
		if r.IntN(3) == 0 {
			z := &api.Zone{Meta: api.Meta{Created: victimDate}, DomainName: pick(r, []string{"t.example.org.", "h.t.example.org.", "d.h.t.example.org.", "c.d.h.t.example.org.", "klb.h.t.example.org.", "x.klb.h.t.example.org.", "h.klb.t.example.org."}), TTL: 60, Minimum: 30}
			z.Delegations = []api.Delegation{{Namespaces: []string{"victim"}, Zones: []string{"*"}, Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}}}
			w.setZone(r.IntN(len(w.clusters)), "victim/z", z)
		}
		for range 1 + r.IntN(3) {
			g.make(w, r, victimNamespace, victimDate)
		}
		s := Compile(nil, w.objects(), opt, testTime)
		created := int64(victimDate + 1)
		if g.recorded {
			created = 1
			for _, name := range g.names {
				w.acquireKeys(s, name, api.ZoneKey(name))
			}
			s = Compile(s, w.objects(), opt, testTime)
		}
		was, before := g.has(s), w.describeAll(s)
		kept += len(was)
		tg := &tangle{names: g.names}
		for step := range 1 + r.IntN(5) {
			g.make(w, r, pick(r, []string{"evil", "evil", "eve"}), created+int64(r.IntN(3)))
			in, last := w.objects(), s
			s = Compile(s, in, opt, testTime)
			fresh := Compile(nil, in, opt, testTime)
			if got, want := dump(s), dump(fresh); got != want {
				t.Fatalf("seed %d step %d: step by step it is not what it is from nothing: %s", seed, step, differing(got, want))
			}
			if why := tg.differ(last, s, fresh, in); why != "" {
				t.Fatalf("seed %d step %d: %s", seed, step, why)
			}
			is := g.has(s)
			for what, text := range was {
				if beside := slices.Contains(opt.ZoneNamespaces, victimNamespace) && !strings.HasPrefix(what, "A "); beside && strings.Contains(is[what], "victim") {
					continue // what the administering namespace has beside others owns nothing (rule 5.3)
				}
				if is[what] == text || strings.Contains(what, endpoint.KLB) || (strings.HasPrefix(what, "TXT ") || strings.HasPrefix(what, "MX ")) && aliased(s, what[strings.IndexByte(what, ' ')+1:]) {
					continue // chains of wildcards are those of younger hosts (rule 2.8), and nothing stands beside hostnames (rule 5.3)
				}
				t.Errorf("seed %d: %s was %q and is %q; on record: %v, opt %v %v %v\n%s---\n%s", seed, what, text, is[what], g.recorded, g.origins, opt.ZoneNamespaces, opt.Publish, before, w.describeAll(s))
				break
			}
			if t.Failed() {
				break
			}
		}
	}
	t.Log(kept, "belongings")
}

// aliased reports whether a host at or above a name has a hostname as a member.
func aliased(s *Snapshot, name string) bool {
	for at, ok := rdata.Base(name), true; ok; at, ok = rdata.Parent(at) {
		for _, host := range [...]string{at, rdata.Wildcard + at} {
			if data := s.steered(host); data != nil && data.owner != nil && hasAlias([]*claim{data.owner}) {
				return true
			}
		}
	}
	return false
}

// describeAll returns all objects of a world with their verdicts.
func (w *world) describeAll(s *Snapshot) string {
	var b strings.Builder
	for _, c := range w.clusters {
		told := func(kind api.Kind, name string) string {
			v := s.Verdict(c.Name, api.Ref{Kind: kind, Name: name})
			if v == nil {
				return "none"
			}
			text := ""
			for _, c := range v.Conditions {
				if c.Type == "Ready" || c.Type == "Enforced" {
					text += fmt.Sprintf("%s=%s %s: %s;", c.Type, c.Status, c.Reason, c.Message)
				}
			}
			return text
		}
		for name, z := range c.Zones.All() {
			fmt.Fprintf(&b, "%s Zone %s %s in %q, day %d, %v\n\t%s\n", c.Name, name, z.DomainName, z.Parent, z.Created, z.Delegations, told(api.KindZone, name))
		}
		for name, rec := range c.Records.All() {
			fmt.Fprintf(&b, "%s Record %s %s in %q %s %s, day %d\n\t%s\n", c.Name, name, rec.DomainName, rec.Parent, rec.Type, rec.RData, rec.Created, told(api.KindRecord, name))
		}
		rows := func(kind api.Kind, name, more string, created int64, endpoints []api.Endpoint) {
			fmt.Fprintf(&b, "%s %s %s %s, day %d:", c.Name, kind, name, more, created)
			for _, e := range endpoints {
				fmt.Fprintf(&b, " [%s %s %v set %q geo %q]", e.DNSName, e.Type, e.Targets, e.SetID, e.Geo)
			}
			fmt.Fprintln(&b, "\n\t"+told(kind, name))
		}
		for name, e := range c.DNSEndpoints.All() {
			rows(api.KindDNSEndpoint, name, "", e.Created, e.Endpoints)
		}
		for name, rec := range c.DNSRecords.All() {
			rows(api.KindDNSRecord, name, rec.RootHost+" in "+rec.Labels[api.LabelZoneName], rec.Created, rec.Endpoints)
		}
		for name, p := range c.Policies.All() {
			g, _ := c.Gateways.Get(name)
			fmt.Fprintf(&b, "%s DNSPolicy %s %s %s %v, day %d, strategy %v\n\t%s\n", c.Name, name, g.Listeners[0].Hostname, g.Listeners[len(g.Listeners)-1].Hostname, g.Addresses, p.Created, p.Strategy, told(api.KindDNSPolicy, name))
		}
	}
	for key, o := range w.acquired.All() {
		fmt.Fprintf(&b, "on record: %s %+v\n", key, o)
	}
	return b.String()
}
