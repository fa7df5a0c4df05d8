package records

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// asPolicyAndRecord is one Gateway with its policy, and the DNSRecord that Kuadrant's
// operators would write for it.
type asPolicyAndRecord struct {
	cluster           int
	name, host        string
	geo, deflt        string
	weight            int64
	v4, v6, hostnames []string
	check             *api.HealthCheck
	created           int64
}

func (o *asPolicyAndRecord) asPolicy(w *world) {
	g := &api.Gateway{Listeners: []api.Listener{{Name: "l", Hostname: trimDot(o.host), AttachedRoutes: 1}}}
	for _, a := range slices.Concat(o.v4, o.v6) {
		g.Addresses = append(g.Addresses, api.Address{Type: api.IPAddress, Value: a})
	}
	for _, a := range o.hostnames {
		g.Addresses = append(g.Addresses, api.Address{Type: api.HostnameAddress, Value: a})
	}
	_, bare, _ := strings.Cut(o.name, "/")
	p := &api.DNSPolicy{Target: api.Target{Name: bare}, Strategy: api.WeightedGeo, DefaultWeight: o.weight, Geo: o.geo, DefaultGeo: o.deflt, HealthCheck: o.check}
	p.Created = o.created
	w.setGateway(o.cluster, o.name, g)
	w.setPolicy(o.cluster, o.name, p)
}

func (o *asPolicyAndRecord) asRecord(w *world) {
	h := rdata.Base(o.host)
	klb, g, code := "klb."+h, "default", "*"
	if o.geo != "" {
		g, code = strings.ToLower(o.geo), o.geo
	}
	_, bare, _ := strings.Cut(o.name, "/")
	ns, _, _ := strings.Cut(o.name, "/")
	leaf := endpoint.Hash("uid-"+w.clusters[o.cluster].Name) + "-" + endpoint.Hash(bare+"-"+ns) + "." + klb
	all := []api.Endpoint{{DNSName: o.host, Type: "CNAME", Targets: []string{trimDot(klb)}, TTL: 300, Weight: api.NoWeight}}
	set := code
	if code == "*" {
		set = "default"
	}
	all = append(all, api.Endpoint{DNSName: klb, Type: "CNAME", Targets: []string{trimDot(g + "." + klb)}, TTL: 300, SetID: set, Geo: code, Weight: api.NoWeight})
	if o.geo != "" && o.deflt == o.geo {
		all = append(all, api.Endpoint{DNSName: klb, Type: "CNAME", Targets: []string{trimDot(g + "." + klb)}, TTL: 300, SetID: "default", Geo: "*", Weight: api.NoWeight})
	}
	if len(o.v4)+len(o.v6) > 0 {
		all = append(all, api.Endpoint{DNSName: g + "." + klb, Type: "CNAME", Targets: []string{trimDot(leaf)}, TTL: 60, SetID: trimDot(leaf), Weight: o.weight})
	}
	if len(o.v4) > 0 {
		all = append(all, api.Endpoint{DNSName: leaf, Type: "A", Targets: o.v4, TTL: 60, Weight: api.NoWeight})
	}
	if len(o.v6) > 0 {
		all = append(all, api.Endpoint{DNSName: leaf, Type: "AAAA", Targets: o.v6, TTL: 60, Weight: api.NoWeight})
	}
	for _, a := range o.hostnames {
		all = append(all, api.Endpoint{DNSName: g + "." + klb, Type: "CNAME", Targets: []string{a}, TTL: 60, SetID: a, Weight: o.weight})
	}
	for i := range all {
		all[i].Index = i
	}
	rec := &api.DNSRecord{RootHost: o.host, Endpoints: all, HealthCheck: o.check}
	rec.Labels = map[string]string{api.LabelZoneName: "example.com"}
	rec.Created = o.created
	w.setDNSRecord(o.cluster, o.name+"-l", rec)
}

func randomPair(r *rand.Rand, i int, deflt string, wild bool) *asPolicyAndRecord {
	o := &asPolicyAndRecord{
		cluster: r.IntN(2), name: fmt.Sprintf("n/g%d", i), host: "a.example.com.", weight: int64(pick(r, []int{0, 1, 3})),
		geo: pick(r, []string{"IE", "US", "GEO-EU", "IE", "JP"}), created: int64(i + 1),
	}
	if r.IntN(8) == 0 {
		o.geo = ""
	}
	if o.geo == deflt {
		o.deflt = deflt
	}
	if wild {
		o.host = "*.a.example.com."
	}
	switch k := r.IntN(6); {
	case k == 0:
		o.hostnames = []string{fmt.Sprintf("lb%d.example.net", r.IntN(3))}
	case k == 1:
		o.v6 = []string{fmt.Sprintf("2001:db8::%d", i+1)}
	default:
		for j := range 1 + r.IntN(3) {
			o.v4 = append(o.v4, fmt.Sprintf("192.0.%d.%d", i, j+1))
		}
		if r.IntN(3) == 0 {
			o.v6 = []string{fmt.Sprintf("2001:db8::%d", i+1)}
		}
	}
	if r.IntN(2) == 0 {
		c := *someChecks[0]
		c.Host = pick(r, []string{"", "check.example.com"})
		o.check = &c
	}
	return o
}

// sickness sets the health of addresses by their hash.
func sickness(s *Snapshot, seed uint64) (n int) {
	for _, target := range s.Checks().All() {
		h := fnv.New32a()
		fmt.Fprint(h, target.Address, seed)
		target.Cell.Set([]health.State{health.Up, health.Down, health.Unknown, health.Up}[h.Sum32()>>8%4])
		n++
	}
	return n
}

// drawn is the members that clients get at a name, and their shares.
func drawn(s *Snapshot, name string, qtype uint16, client string) string {
	counts := map[string]bool{}
	r := rand.New(rand.NewPCG(9, 9))
	for range 150 {
		got := told(s, name, qtype, client, r.Uint64())
		var lines []string
		for line := range strings.Lines(got) { // less TTLs and SOA
			f := strings.Fields(line)
			if len(f) > 4 {
				f[1] = ""
			}
			lines = append(lines, strings.Join(f, " "))
		}
		counts[strings.Join(lines, "\n")] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(counts)), "\n---\n")
}

func weightsOf(s *Snapshot, name string) string {
	n := s.Zone(name).find(name)
	if n == nil || n.steered.view == nil {
		return ""
	}
	var all []string
	for _, m := range n.steered.view.pool.members {
		all = append(all, fmt.Sprintf("%s %d %s", m.target, m.weight, n.steered.view.pool.groups[m.group].code))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// TestReviewRecordsAsPolicies: what Kuadrant's operators write for policies is answered as
// the policies themselves are (rules 2.3 and 6.10).
func TestReviewRecordsAsPolicies(t *testing.T) {
	oneGoroutine(t)
	fails := 0
	for seed := range seeds(t, 40) {
		r := rand.New(rand.NewPCG(seed, 5))
		deflt := pick(r, []string{"IE", "US", "JP"})
		p, d := newWorld("c1", "c2"), newWorld("c1", "c2")
		var all []*asPolicyAndRecord
		for i := range 1 + r.IntN(5) {
			o := randomPair(r, i, deflt, seed%4 == 3)
			if seed%6 == 5 { // none has a code
				o.geo, o.deflt = "", ""
			} else if o.geo == "" {
				o.geo = "US"
				if deflt == "US" {
					o.deflt = "US"
				}
			}
			all = append(all, o)
			o.asPolicy(p)
			o.asRecord(d)
		}
		var word string
		if r.IntN(2) == 0 {
			o := pick(r, all)
			list := []string{fmt.Sprintf("cluster %s %s", p.clusters[o.cluster].Name, pick(r, []string{"down", "drain"}))}
			for _, a := range slices.Concat(o.v4, o.v6) {
				list = append(list, "target "+a+" "+pick(r, []string{"up", "down"}))
			}
			word = pick(r, list)
			p.overrides = overridesOf(t, word)
			d.overrides = p.overrides
		}
		opt := openZone()
		sp, sd := Compile(nil, p.objects(), opt, testTime), Compile(nil, d.objects(), opt, testTime)
		if n, m := sickness(sp, seed), sickness(sd, seed); n != m {
			t.Errorf("seed %d: %d checks for policies, %d for records", seed, n, m)
			fails++
		}
		names := []string{"x.a.example.com."}
		for name := range sp.zones[0].names.All() {
			names = append(names, name)
		}
		for name := range sd.zones[0].names.All() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		for _, name := range names {
			if sp.zones[0].find(name) != nil && sd.zones[0].find(name) != nil {
				if got, want := weightsOf(sd, name), weightsOf(sp, name); want != "" && got != want && rdata.Base(name) == "a.example.com." {
					t.Errorf("seed %d %s: weights\n%s\nwant\n%s", seed, name, got, want)
					fails++
				}
			}
			for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA} {
				for _, client := range []string{"10.1.0.1", "10.2.0.1", "10.9.0.1"} {
					if got, want := drawn(sd, name, qtype, client), drawn(sp, name, qtype, client); got != want {
						var text string
						for _, o := range all {
							text += fmt.Sprintf("%+v check %+v\n", *o, o.check)
						}
						t.Errorf("seed %d word %q %s %s from %s: records give\n%s\npolicies\n%s\n%s", seed, word, name, dns.TypeToString[qtype], client, got, want, text)
						fails++
						break
					}
				}
			}
			if fails > 3 {
				t.FailNow()
			}
		}
	}
}

func overridesOf(t *testing.T, text string) *api.Overrides {
	t.Helper()
	o, err := api.ParseOverrides("overrides", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}
