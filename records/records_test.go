package records

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

var testTime = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is objects that can be changed, of several clusters.
type world struct {
	clusters []*api.Cluster
	changed  []map[api.Ref]bool
	// overrides are the operator's own words.
	overrides *api.Overrides
	// crowded has few hosts, which are steered, and addresses of several clusters:
	// many claims come to one name.
	crowded bool
	// acquired has who has acquired a host; acquiredChanged are those that are new there.
	acquired        tree.Map[api.Owner]
	acquiredChanged []string
	// zoned has Zones and Records.
	zoned bool
	// written has only what was owned on record.
	written bool
	// serials are kept of zones without a Zone; serialsChanged are those that are new there.
	// keeper is the cluster where somebody keeps them.
	serials        tree.Map[api.Kept]
	serialsChanged []string
	keeper         string
	// pooling changes in which namespaces clusters pool.
	pooling bool
	// reading changes what has been listed of clusters; awaited are those of which nothing has.
	reading   bool
	awaited   []*api.Cluster
	expecting bool
}

func newWorld(clusters ...string) *world {
	w := &world{}
	for _, name := range clusters {
		c := &api.Cluster{Name: name, UID: "uid-" + name}
		for k := range c.Listings {
			c.Listings[k] = api.Listed
		}
		w.clusters = append(w.clusters, c)
		w.changed = append(w.changed, make(map[api.Ref]bool))
	}
	return w
}

func (w *world) setGateway(cluster int, name string, g *api.Gateway) {
	set(w, cluster, api.KindGateway, name, g, func(c *api.Cluster) *tree.Map[*api.Gateway] { return &c.Gateways },
		func(g *api.Gateway) *api.Meta { return &g.Meta })
}

func (w *world) setPolicy(cluster int, name string, p *api.DNSPolicy) {
	set(w, cluster, api.KindDNSPolicy, name, p, func(c *api.Cluster) *tree.Map[*api.DNSPolicy] { return &c.Policies },
		func(p *api.DNSPolicy) *api.Meta { return &p.Meta })
}

func (w *world) setProbe(cluster int, name string, p *api.HealthCheckProbe) {
	set(w, cluster, api.KindProbe, name, p, func(c *api.Cluster) *tree.Map[*api.HealthCheckProbe] { return &c.Probes },
		func(p *api.HealthCheckProbe) *api.Meta { return &p.Meta })
}

func (w *world) setSecret(cluster int, name string, s *api.Secret) {
	set(w, cluster, api.KindSecret, name, s, func(c *api.Cluster) *tree.Map[*api.Secret] { return &c.Secrets },
		func(s *api.Secret) *api.Meta { return &s.Meta })
}

func (w *world) setZone(cluster int, name string, z *api.Zone) {
	set(w, cluster, api.KindZone, name, z, func(c *api.Cluster) *tree.Map[*api.Zone] { return &c.Zones },
		func(z *api.Zone) *api.Meta { return &z.Meta })
}

func (w *world) setRecord(cluster int, name string, r *api.Record) {
	set(w, cluster, api.KindRecord, name, r, func(c *api.Cluster) *tree.Map[*api.Record] { return &c.Records },
		func(r *api.Record) *api.Meta { return &r.Meta })
}

func (w *world) setDNSRecord(cluster int, name string, r *api.DNSRecord) {
	set(w, cluster, api.KindDNSRecord, name, r, func(c *api.Cluster) *tree.Map[*api.DNSRecord] { return &c.DNSRecords },
		func(r *api.DNSRecord) *api.Meta { return &r.Meta })
}

func (w *world) setDNSEndpoint(cluster int, name string, e *api.DNSEndpoint) {
	set(w, cluster, api.KindDNSEndpoint, name, e, func(c *api.Cluster) *tree.Map[*api.DNSEndpoint] { return &c.DNSEndpoints },
		func(e *api.DNSEndpoint) *api.Meta { return &e.Meta })
}

// set puts an object into a cluster; nil deletes it.
func set[T any](w *world, cluster int, kind api.Kind, name string, o *T, in func(*api.Cluster) *tree.Map[*T], meta func(*T) *api.Meta) {
	next := *w.clusters[cluster]
	e := in(&next).Edit()
	if o == nil {
		e.Delete(name)
	} else {
		meta(o).Name, meta(o).Cluster = name, next.Name
		next.Pools.Mark(meta(o))
		e.Set(name, o)
	}
	*in(&next) = e.Map()
	w.clusters[cluster] = &next
	w.changed[cluster][api.Ref{Kind: kind, Name: name}] = true
}

// changePools changes now and then in which namespaces a cluster pools, where that is to change.
func (w *world) changePools(r *rand.Rand) {
	if w.pooling && r.IntN(12) == 0 {
		w.setPools(r.IntN(len(w.clusters)), pick(r, []api.Pools{{}, api.PoolsIn(), api.PoolsIn("n1"), api.PoolsIn("n2", "n3")}))
	}
}

// setPools changes in which namespaces a cluster pools.
func (w *world) setPools(cluster int, p api.Pools) {
	next := *w.clusters[cluster]
	for _, ref := range next.As(next.Name, p) {
		w.changed[cluster][ref] = true
	}
	w.clusters[cluster] = &next
}

// keep has serials kept in the first cluster, or not.
func (w *world) keep(on bool) {
	if w.keeper = ""; on {
		w.keeper = w.clusters[0].Name
	}
}

// objects returns the world with what changed since the last call.
func (w *world) objects() api.Objects {
	o := api.Objects{
		Overrides: w.overrides, Acquired: w.acquired, AcquiredChanged: w.acquiredChanged,
		Serials: w.serials, SerialsChanged: w.serialsChanged, Keeper: w.keeper, Awaited: w.awaited, Expecting: w.expecting,
	}
	w.acquiredChanged, w.serialsChanged = nil, nil
	for i, c := range w.clusters {
		next := *c
		next.Changed = nil
		for ref := range w.changed[i] {
			next.Changed = append(next.Changed, ref)
		}
		w.changed[i] = make(map[api.Ref]bool)
		o.Clusters = append(o.Clusters, &next)
	}
	return o
}

// dump writes down everything that a snapshot answers from and says.
func dump(s *Snapshot) string {
	var b strings.Builder
	for _, z := range s.zones {
		soa := strings.Replace(z.soa[0].String(), fmt.Sprint(z.serial), "N", 1)
		if z.gate != nil { // what is shown depends on the way: see showing
			soa = z.site.soa(z.mname(), 0).String()
		}
		fmt.Fprintf(&b, "zone %s %x %d names %d voids %d listed %d conflicts %d turns soa %v %v glue %v\n", z.origin, z.hash, z.names.Len(), z.voids, z.listed, z.conflicts, z.turns,
			soa, z.negative[0].Header().Ttl == min(z.SOA().Hdr.Ttl, z.SOA().Minttl), z.glue)
		for name, n := range z.names.All() {
			wild := ""
			if n.wild != nil {
				wild = n.wild.name
				if own, _ := z.names.Get(wild); own != n.wild {
					wild += " STALE"
				}
			}
			fmt.Fprintf(&b, "%s children %d wild %q cut %v turn %v lost %d void %v\n", name, n.children, wild, n.cut, n.turn, n.lost, n.void)
			if n.stale || n.name != name {
				fmt.Fprintf(&b, "STALE %s %v\n", n.name, n.stale)
			}
			for _, set := range n.static {
				fmt.Fprintf(&b, "  static %v\n", set.rrs)
			}
			for _, name := range slices.Sorted(func(yield func(string) bool) {
				for _, e := range n.entries {
					yield(e.record.Cluster + " " + e.record.Name)
				}
			}) {
				fmt.Fprintf(&b, "  record %s\n", name)
			}
			dumpSteered(&b, &n.steered)
		}
	}
	for key, w := range s.checks.all.All() {
		fmt.Fprintf(&b, "check %s used by %q missing %v", key, slices.Compact(slices.Sorted(w.users.all())), w.target.Missing)
		for _, h := range w.target.Values {
			fmt.Fprintf(&b, " %s %s", h.Name, h.Value)
		}
		fmt.Fprintln(&b)
		if own := w.target.Key(); own != key {
			fmt.Fprintf(&b, "STALE %s\n", own)
		}
	}
	for _, c := range s.clusters {
		fmt.Fprintf(&b, "cluster %s accepted %d refused %d\n", c.name, c.accepted, c.refused)
		for name := range c.verdicts.All() {
			fmt.Fprintf(&b, "%s %+v\n", name, *s.Verdict(c.name, api.Ref{Kind: api.KindDNSPolicy, Name: name}))
		}
	}
	for _, c := range s.in.Clusters {
		for _, kind := range []api.Kind{api.KindZone, api.KindRecord, api.KindDNSRecord, api.KindDNSEndpoint} {
			for name := range c.Names(kind, "") {
				v := s.Verdict(c.Name, api.Ref{Kind: kind, Name: name})
				if v == nil {
					continue // a child
				}
				v.Kept.Serial = 0 // it depends on the way
				fmt.Fprintf(&b, "%s %s %+v\n", kind, name, *v)
			}
		}
	}
	for host, cl := range s.unread.hosts.All() {
		fmt.Fprintf(&b, "unread %s %s %s %s\n", host, cl.kind, cl.by.Cluster, cl.by.Name)
	}
	fmt.Fprintf(&b, "unread zones %v\n", s.unread.zones)
	for _, z := range s.zones {
		fmt.Fprintf(&b, "%s unread %d %v\n", z.origin, z.unreadNames, z.unread != nil)
	}
	return b.String()
}

// dumpVitals writes down what is said, and whether it is checked.
func dumpVitals(all []vital) (text string) {
	for _, v := range all {
		text += fmt.Sprintf("%x %v %x ", v.gateway.Load(), v.check != nil, v.check.Load())
		if v.joined != nil {
			text += fmt.Sprintf("joined by %d: ", len(v.joined.cells))
			for _, c := range v.joined.cells {
				text += fmt.Sprintf("%x ", c.Load())
			}
		}
	}
	return text
}

func dumpSteered(b *strings.Builder, s *steered) {
	switch {
	case s.owner == nil:
		return
	case s.set != nil:
		fmt.Fprintf(b, "  owner %s/%s %v vitals %s\n", s.owner.by.Cluster, s.owner.by.Name, s.set.rrs, dumpVitals(s.set.vitals))
	case s.view != nil:
		v := s.view
		fmt.Fprintf(b, "  owner %s/%s skip %d group %d flat %v default %d needs %v\n",
			s.owner.by.Cluster, s.owner.by.Name, v.skip, v.group, v.flat, v.pool.deflt, v.pool.needs)
		for _, m := range v.pool.members {
			fmt.Fprintf(b, "    %s weight %d group %v word %x %s %v\n", m.target, m.weight, v.pool.groups[m.group], m.word.Load(), dumpVitals(m.vitals), m.answers)
		}
	default:
		fmt.Fprintf(b, "  owner %s/%s empty\n", s.owner.by.Cluster, s.owner.by.Name)
	}
}

// differing returns the lines that only one of two texts has.
func differing(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	var out strings.Builder
	for _, line := range a {
		if !slices.Contains(b, line) {
			fmt.Fprintf(&out, "\nstep by step: %s", line)
		}
	}
	for _, line := range b {
		if !slices.Contains(a, line) {
			fmt.Fprintf(&out, "\nfrom nothing: %s", line)
		}
	}
	return out.String() + "\n(or in another order)"
}

// checkSerials checks that a serial grows with the content, and only then.
func checkSerials(t *testing.T, before, after *Snapshot) {
	t.Helper()
	for _, z := range after.zones {
		i, ok := before.zoneSet.index[z.origin]
		if !ok {
			continue
		}
		old := before.zones[i]
		if same := old.hash == z.hash; same != (old.serial == z.serial) || int32(z.serial-old.serial) < 0 {
			t.Fatalf("zone %s: same content %v, serial %d after %d", z.origin, same, z.serial, old.serial)
		}
	}
}

var (
	someHosts = []string{
		"a.example.com", "*.example.com", "*.a.example.com", "b.a.example.com", "example.com", "klb.a.example.com",
		"x.klb.a.example.com", "deep.example.com", "*.deep.example.com", "q.klb.deep.example.com", "ns1.example.com",
		"A.EXAMPLE.com", "elsewhere.org", "bad", "", "*.klb.deep.example.com",
	}
	someAddresses = []api.Address{
		{Type: api.IPAddress, Value: "192.0.2.1"},
		{Type: api.IPAddress, Value: "192.0.2.2"},
		{Type: api.IPAddress, Value: "2001:db8::1"},
		{Type: api.HostnameAddress, Value: "lb.example.net"},
		{Type: api.HostnameAddress, Value: "a.example.com"},
		{Type: api.IPAddress, Value: "nonsense"},
	}
	someMulti = []api.Address{
		{Type: api.MultiClusterIPAddress, Value: "east/192.0.2.7"},
		{Type: api.MultiClusterIPAddress, Value: "west/192.0.2.8"},
		{Type: api.MultiClusterIPAddress, Value: "192.0.2.9"},
		{Type: api.MultiClusterIPAddress, Value: "192.0.2.10"},
		{Type: api.MultiClusterHostnameAddress, Value: "east/lb.example.net"},
		{Type: api.MultiClusterIPAddress, Value: "east/192.0.2.9"},
		{Type: api.MultiClusterIPAddress, Value: "east/2001:db8::9"},
		{Type: api.MultiClusterIPAddress, Value: "uid-c1/192.0.2.8"}, // c1's own, in another way
	}
	// Two of the names have one hash in n1, and so the same names below klb.
	someGateways = []string{"g1", "g2", "g14125", "g18325"}
	someCodes    = []string{"", "", "IE", "GEO-EU", "US-CA", "AS64500", "UK"}
)

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func (w *world) mutate(r *rand.Rand) {
	cluster := r.IntN(len(w.clusters))
	w.changePools(r)
	w.changeReading(r, cluster)
	if w.zoned && r.IntN(3) > 0 {
		w.mutateZones(r, cluster)
		return
	}
	bare := pick(r, someGateways)
	name := pick(r, []string{"n1", "n2"}) + "/" + bare
	what := r.IntN(10)
	if !w.written && r.IntN(20) == 0 {
		w.acquire(r)
		return
	}
	if r.IntN(8) == 0 {
		w.mutateChild(r, cluster)
		return
	}
	if w.crowded {
		name, what = "n1/"+bare, r.IntN(20)
	}
	switch what {
	case 9:
		if r.IntN(8) == 0 {
			next := *w.clusters[cluster]
			next.Listings[api.KindSecret] = pick(r, []api.Listing{api.Listed, api.Listed, api.NotListed, api.NotWatched})
			next.ListedIn[api.KindSecret] = pick(r, [][]string{nil, {"n1"}})
			w.clusters[cluster] = &next
			return
		}
		w.setSecret(cluster, pick(r, []string{"n1", "n2"})+pick(r, []string{"/headers", "/headers", "/provider", "/other"}), randomSecret(r))
	case 6:
		w.setProbe(cluster, name, nil)
	case 7:
		w.setProbe(cluster, name, randomProbe(r))
	case 8:
		w.overrides = randomOverrides(r)
	case 0:
		w.setGateway(cluster, name, nil)
	case 1:
		w.setPolicy(cluster, name, nil)
	case 2, 3, 12, 13, 14, 15:
		w.setGateway(cluster, name, w.randomGateway(r))
	default:
		p := w.randomPolicy(r)
		if w.crowded {
			p.Target.Name = bare
		}
		w.setPolicy(cluster, name, p)
	}
}

// mutateChild changes a DNSRecord, or a probe, that this server has written, or seems to have.
func (w *world) mutateChild(r *rand.Rand, cluster int) {
	name := pick(r, []string{"n1/", "n2/"}) + pick(r, someGateways) + pick(r, []string{"-l0", "-l1", "-l2"})
	if r.IntN(4) == 0 {
		if r.IntN(3) == 0 {
			w.setProbe(cluster, name+"-192-0-2-1", nil)
			return
		}
		p := randomProbe(r)
		p.Labels, p.Controlled = map[string]string{api.LabelManagedBy: api.ManagedBy}, r.IntN(4) > 0
		p.Controller = &api.Controller{Kind: "DNSPolicy", Name: pick(r, someGateways), UID: pick(r, []string{"u1", "u2"})}
		w.setProbe(cluster, name+"-192-0-2-1", p)
		return
	}
	if r.IntN(4) == 0 {
		w.setDNSRecord(cluster, name, nil)
		return
	}
	rec := ownRecord(pick(r, someGateways), pick(r, []string{"u1", "u1", "u2"}), pick(r, someHosts[:4])+".", pick(r, []string{"", "example.com", "a.example.com", "elsewhere"}))
	rec.Provider = api.Provider{Kind: "Secret", Name: pick(r, []string{"", "provider", "other", "headers", "gone"})}
	if r.IntN(3) == 0 {
		rec.Provider.Kind = "ExternalDNS"
		rec.Ready = pick(r, []*api.Condition{nil, {Type: "Ready", Status: api.ConditionTrue}, {Type: "Ready", Status: api.ConditionFalse, Reason: "Bad", Message: "not now"}})
	}
	if r.IntN(8) == 0 {
		rec.Labels = nil
	}
	w.setDNSRecord(cluster, name, rec)
}

func (w *world) randomGateway(r *rand.Rand) *api.Gateway {
	g := &api.Gateway{Programmed: pick(r, []api.ConditionStatus{api.ConditionTrue, api.ConditionUnknown, api.ConditionFalse})}
	g.Deleting = r.IntN(10) == 0
	hosts := someHosts
	if w.crowded {
		hosts = someHosts[2:4]
	}
	for i := range r.IntN(4) {
		g.Listeners = append(g.Listeners, api.Listener{
			Name: fmt.Sprintf("l%d", i), Hostname: pick(r, hosts), AttachedRoutes: pick(r, []int32{-1, 0, 1, 2}),
			Port: pick(r, []uint16{0, 80, 443}), Protocol: pick(r, []api.ListenerProtocol{api.NotTCP, api.Plain, api.TLS}),
		})
	}
	from := someAddresses
	if w.crowded || r.IntN(4) == 0 {
		from = someMulti
	}
	if r.IntN(12) == 0 {
		from = slices.Concat(someAddresses, someMulti)
	}
	for range r.IntN(6) {
		g.Addresses = append(g.Addresses, pick(r, from))
	}
	if code := pick(r, someCodes); code != "" && !w.crowded {
		g.Labels = map[string]string{labelGeoCode: code, clusterPrefix + "east_lb-attribute-geo-code": "DE"}
	}
	return g
}

// someChecks share addresses, and differ in what they ask or in their terms.
var someChecks = []*api.HealthCheck{
	{Protocol: api.HTTP, Port: 80, Path: "/", Interval: time.Second, FailureThreshold: 1, SuccessThreshold: 1, Expected: []int{200, 201}},
	{Protocol: api.HTTP, Port: 80, Path: "/", Interval: time.Minute, FailureThreshold: 1, SuccessThreshold: 1, Expected: []int{200, 201}},
	{Protocol: api.HTTP, Port: 80, Path: "/", Interval: time.Second, FailureThreshold: 1, SuccessThreshold: 1, HeadersSecret: "headers"},
	{Protocol: api.TCP, Port: 443, Interval: time.Second, FailureThreshold: 1, SuccessThreshold: 1},
	{Protocol: api.GRPC, Port: 443, Path: "/", Host: "grpc.example.com", Interval: time.Second, FailureThreshold: 1, SuccessThreshold: 1},
}

func randomProbe(r *rand.Rand) *api.HealthCheckProbe {
	p := &api.HealthCheckProbe{
		Address: pick(r, []string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1", "lb.example.net"}),
		Host:    pick(r, []string{"", "a.example.com", "b.a.example.com", "internal.test", "grpc.example.com"}),
		Check:   *pick(r, someChecks),
		Healthy: pick(r, []api.ConditionStatus{api.ConditionTrue, api.ConditionUnknown, api.ConditionFalse}),
	}
	p.Check.Host = p.Host
	p.Controlled, p.Deleting = r.IntN(4) == 0, r.IntN(10) == 0
	if r.IntN(10) == 0 {
		p.Invalid = "not acceptable"
	}
	return p
}

func randomSecret(r *rand.Rand) *api.Secret {
	s := new(api.Secret)
	switch r.IntN(6) {
	case 0:
		return nil
	case 1:
		s.Invalid = "not acceptable"
	case 2:
		s.Unlabelled = true
	default:
		s.Headers = []api.Header{{Name: "X-Key", Value: pick(r, []string{"a", "b"})}}
	}
	s.Labels = pick(r, []map[string]string{nil, {"team": "a"}, {api.LabelDefaultProvider: api.DefaultProviderOn}})
	s.Provider = pick(r, []api.ProviderSecret{
		{Invalid: "no provider"},
		{Zones: []string{"example.com."}},
		{Zones: []string{"example.com.", "a.example.com.", "elsewhere."}, Filter: []string{"a.example.com."}},
		{Zones: []string{"example.com."}, Domain: "a.example.com."},
		{Zones: []string{"elsewhere."}, Domain: "example.com."},
	})
	return s
}

func randomOverrides(r *rand.Rand) *api.Overrides {
	lines := make(map[string]string)
	for range r.IntN(4) {
		subject := pick(r, []string{
			"cluster c1", "cluster c9", "gateway n1/g1", "gateway n1/g2", "gateway c2/n1/g1",
			"target 192.0.2.1", "target lb.example.net", "target 2001:db8::1",
		})
		lines[subject] = pick(r, []string{"up", "down"})
	}
	text := ""
	for subject, word := range lines {
		text += subject + " " + word + "\n"
	}
	o, err := api.ParseOverrides("overrides", []byte(text))
	if err != nil {
		panic(err)
	}
	return o
}

func (w *world) randomPolicy(r *rand.Rand) *api.DNSPolicy {
	p := &api.DNSPolicy{
		Target:        api.Target{Name: pick(r, someGateways), Section: pick(r, []string{"", "", "", "l0", "l9"})},
		Strategy:      pick(r, []api.Strategy{api.Simple, api.WeightedGeo}),
		DefaultWeight: pick(r, []int64{0, 1, 120}),
		Geo:           pick(r, someCodes),
		DefaultGeo:    pick(r, someCodes),
	}
	if w.crowded {
		p.Strategy, p.Geo = api.WeightedGeo, ""
	}
	p.Created = int64(r.IntN(5))
	p.UID = pick(r, []string{"u1", "u1", "u2"})
	p.Deleting = r.IntN(12) == 0
	if r.IntN(10) == 0 {
		p.Invalid = "not acceptable"
	}
	if r.IntN(2) == 0 {
		p.HealthCheck = pick(r, someChecks)
	}
	if r.IntN(10) == 0 {
		p.Annotations = map[string]string{annotationOverride: pick(r, []string{"up", "down", "drain", "what"})}
	}
	switch r.IntN(16) {
	case 0:
		p.Provider.Kind = "ExternalDNS"
	case 1:
		p.Provider.Name = "provider"
	case 2:
		p.Provider.Name, p.Provider.Namespace = "other", pick(r, []string{"", "n1"})
	case 3:
		p.Provider.Selector = labels.SelectorFromSet(labels.Set{"team": "a"})
	}
	return p
}

// find returns the node that answers for a name.
func (z *Zone) find(name string) *node {
	n, _ := z.search(name, dns.TypeA)
	return n
}

// misreport is an object whose verdict differs, and which is not among those that have changed, or
// the other way round.
type misreport struct {
	ref      api.Ref
	reported bool
	text     string
}

// misreported returns them of a snapshot and the one before.
func misreported(before, snap *Snapshot) (all []misreport) {
	reported := make(map[string]bool)
	for _, c := range snap.Changed() {
		reported[c.Cluster+" "+fmt.Sprint(c.Ref)] = true
	}
	for i, c := range snap.in.Clusters {
		for _, kind := range []api.Kind{api.KindZone, api.KindRecord, api.KindDNSRecord, api.KindDNSEndpoint, api.KindDNSPolicy} {
			names := make(map[string]bool)
			for name := range c.Names(kind, "") {
				names[name] = true
			}
			for name := range before.in.Clusters[i].Names(kind, "") {
				names[name] = true
			}
			for name := range names {
				ref := api.Ref{Kind: kind, Name: name}
				was, is := before.Verdict(c.Name, ref), snap.Verdict(c.Name, ref)
				differ := (was == nil) != (is == nil) || was != nil && !was.Equal(is)
				if told := reported[c.Name+" "+fmt.Sprint(ref)]; differ != told {
					all = append(all, misreport{ref, told, fmt.Sprintf("%s %s\nwas %+v\nis  %+v", kind, name, was, is)})
				}
			}
		}
	}
	return all
}
