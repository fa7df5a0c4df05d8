package records

import (
	"fmt"
	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/miekg/dns"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

func askAll(t *testing.T, s *Snapshot, name string) {
	t.Helper()
	for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeANY, dns.TypeNS, dns.TypeSOA, dns.TypeTXT, 65280} {
		z := s.Zone(name)
		for _, signed := range []bool{false, true} {
			q := Query{Name: name, Owner: name, Type: qtype, Client: netip.MustParseAddr("192.0.2.77"), Locator: nobody{}, Random: uint64(qtype), Signed: signed}
			askOne(t, s, z, &q)
		}
	}
}

// checkReach checks that each zone of after that was served knows the way from there.
func checkReach(t *testing.T, before, after *Snapshot) {
	t.Helper()
	for _, z := range after.zones {
		i, ok := before.zoneSet.index[z.origin]
		if !ok {
			continue
		}
		if _, ok := z.Since(before.zones[i].serial); !ok {
			t.Fatalf("zone %s does not know the way from %d to %d", z.origin, before.zones[i].serial, z.serial)
		}
	}
}

// checkedHost puts a Gateway with a checked policy into the first cluster.
func (w *world) checkedHost(name, host, geo string, addresses ...string) {
	g := &api.Gateway{Listeners: []api.Listener{{Name: "l", Hostname: host, AttachedRoutes: -1}}}
	for _, a := range addresses {
		g.Addresses = append(g.Addresses, api.Address{Type: api.IPAddress, Value: a})
	}
	p := &api.DNSPolicy{Target: api.Target{Name: name}, HealthCheck: someChecks[0]}
	if geo != "" {
		p.Strategy, p.DefaultWeight, p.Geo, p.DefaultGeo = api.WeightedGeo, 1, geo, "IE"
	}
	w.setGateway(0, "n/"+name, g)
	w.setPolicy(0, "n/"+name, p)
}

var childOptions = &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}, {Origin: "k.example.com.", TTL: 60, LoadBalancedTTL: 300}}}

// contentOf returns what a transfer has of a zone, by the text of its records. A record
// that it has twice is an error.
func contentOf(t *testing.T, z *Zone) map[string]bool {
	t.Helper()
	content := make(map[string]bool)
	for set := range z.Transfer() {
		for _, rr := range set {
			if content[rr.String()] || !rdata.IsSubdomain(z.origin, rr.Header().Name) || rr.Header().Rrtype == dns.TypeSOA || rr.Header().Rrtype != set[0].Header().Rrtype {
				t.Fatalf("zone %s has %s, twice or out of place", z.origin, rr)
			}
			content[rr.String()] = true
		}
	}
	return content
}

// find sets what checks have found of the targets at an address.
func find(s *Snapshot, address string, state health.State) {
	for _, t := range s.Checks().All() {
		if t.Address == address {
			t.Cell.Set(state)
		}
	}
}

// gatewayOf makes a Gateway with listeners l0, l1 and so on.
func gatewayOf(hosts []string, addresses ...string) *api.Gateway {
	g := new(api.Gateway)
	for i, host := range hosts {
		g.Listeners = append(g.Listeners, api.Listener{Name: fmt.Sprint("l", i), Hostname: host, AttachedRoutes: 1})
	}
	for _, a := range addresses {
		kind := api.IPAddress
		if strings.Trim(a, "0123456789abcdef.:") != "" {
			kind = api.HostnameAddress
		}
		g.Addresses = append(g.Addresses, api.Address{Type: kind, Value: a})
	}
	return g
}

// ofPolicy names a policy.
func ofPolicy(name string) api.Ref { return api.Ref{Kind: api.KindDNSPolicy, Name: name} }

// ownRecord is a DNSRecord that this server has written for a policy.
func ownRecord(policy, uid, host, zone string) *api.DNSRecord {
	return &api.DNSRecord{
		Meta:       api.Meta{UID: "u-record", Labels: map[string]string{api.LabelManagedBy: api.ManagedBy}, Controlled: true},
		Controller: &api.Controller{Kind: "DNSPolicy", Name: policy, UID: uid}, RootHost: host, ZoneID: zone,
	}
}

// parentOf makes a policy of the UID u.
func parentOf(gateway, uid string, strategy api.Strategy) *api.DNSPolicy {
	return &api.DNSPolicy{Meta: api.Meta{UID: uid}, Target: api.Target{Name: gateway}, Strategy: strategy, DefaultWeight: 120}
}

// published is what was served of each zone, by origin and serial: one content, unless two
// compilers were at work.
type published map[string]map[uint32][]seenZone

type seenZone struct {
	soa     string
	content map[string]bool
}

var statusCheck = &api.HealthCheck{Protocol: api.HTTP, Port: 80, Path: "/", Interval: time.Minute, FailureThreshold: 2, SuccessThreshold: 1, Expected: []int{200}}

// tcpCheck is another check than that of checkedHost.
var tcpCheck = api.HealthCheck{Protocol: api.TCP, Port: 443, Interval: time.Second, FailureThreshold: 1, SuccessThreshold: 1}

func tellAll(all []api.Child) string {
	var b strings.Builder
	for i := range all {
		b.WriteString(tell(&all[i]))
	}
	return b.String()
}

func worldOptions(seed uint64) *Options {
	return &Options{Zones: []ZoneOptions{
		{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300, Nameservers: []Nameserver{{Name: "ns1.example.com."}}},
		{Origin: "klb.deep.example.com.", TTL: 60, LoadBalancedTTL: 300, Flatten: seed%2 == 0},
	}, ProbeAllow: []netip.Prefix{netip.MustParsePrefix("192.0.2.2/31")}}
}

// writeChildren does what a writer does for an object.
func (w *world) writeChildren(s *Snapshot, cluster int, of api.Ref) {
	wanted := make(map[api.Ref]bool)
	for _, c := range s.Children(w.clusters[cluster].Name, of) {
		wanted[api.Ref{Kind: c.Kind, Name: c.Name}] = true
		if c.Record != nil {
			w.setDNSRecord(cluster, c.Name, written(&c))
		} else {
			w.setProbe(cluster, c.Name, writtenProbe(&c))
		}
	}
	for _, ref := range s.Existing(w.clusters[cluster].Name, of) {
		switch {
		case wanted[ref]:
		case ref.Kind == api.KindDNSRecord:
			w.setDNSRecord(cluster, ref.Name, nil)
		default:
			w.setProbe(cluster, ref.Name, nil)
		}
	}
}

func askOne(t *testing.T, s *Snapshot, z *Zone, q *Query) {
	t.Helper()
	name, qtype := q.Name, q.Type
	var a Answer
	s.Lookup(z, q, &a)
	m := new(dns.Msg).SetQuestion(name, qtype)
	m.Answer, m.Ns, m.Extra, m.Rcode = a.Answer, a.Ns, a.Extra, a.Rcode
	wire, err := m.Pack()
	if err != nil {
		t.Fatalf("%s %s: %v in %v", name, dns.TypeToString[qtype], err, m)
	}
	if err := new(dns.Msg).Unpack(wire); err != nil {
		t.Fatalf("%s %s: %v", name, dns.TypeToString[qtype], err)
	}
	checkAnswer(t, q, &a)
}

// check has every journal of s lead from each generation that it knows to the present
// one, and counts the steps.
func (p published) check(t *testing.T, s *Snapshot) (steps int) {
	t.Helper()
	for _, z := range s.zones {
		if n := z.journal; len(n.deltas) > maxGenerations || n.records > maxJournalRecords {
			t.Fatalf("zone %s: a journal of %d generations with %d records", z.origin, len(n.deltas), n.records)
		}
		for serial, all := range p[z.origin] {
			deltas, ok := z.Since(serial)
			if !ok {
				continue
			}
			for _, was := range all {
				was.checkWay(t, z, deltas)
				steps += len(deltas)
			}
		}
	}
	return steps
}

// nobody is a Locator that places every client in Ireland.
type nobody struct{}

func (nobody) Locate(addr netip.Addr, _ geo.Need) (*geo.Codes, int) {
	return &geo.Codes{"AS64500", "US-CA", "IE", "GEO-EU"}, min(8, addr.BitLen())
}

// note takes down what s has. With one compiler, one serial never means two things.
func (p published) note(t *testing.T, s *Snapshot, compilers int) {
	t.Helper()
	for _, z := range s.zones {
		if p[z.origin] == nil {
			p[z.origin] = make(map[uint32][]seenZone)
		}
		now := seenZone{z.SOA().String(), contentOf(t, z)}
		was := p[z.origin][z.serial]
		if slices.ContainsFunc(was, func(s seenZone) bool { return s.soa == now.soa && maps.Equal(s.content, now.content) }) {
			continue
		}
		if len(was) == compilers {
			t.Fatalf("zone %s, serial %d: %v, and now %v", z.origin, z.serial, was, now)
		}
		p[z.origin][z.serial] = append(was, now)
	}
}

// tell writes a child down.
func tell(c *api.Child) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", c.Kind, c.Name)
	if c.Replace {
		b.WriteString(" replace")
	}
	b.WriteString("\n")
	if r := c.Record; r != nil {
		fmt.Fprintf(&b, "  %s provider %q %q zone %q\n", r.RootHost, r.Provider.Kind, r.Provider.Name, r.ZoneID)
		for _, e := range r.Endpoints {
			fmt.Fprintf(&b, "  %s %d %s %s %q %v\n", e.DNSName, e.TTL, e.Type, strings.Join(e.Targets, ","), e.SetID, e.Properties)
		}
	}
	if p := c.Probe; p != nil {
		fmt.Fprintf(&b, "  %s host %s %s:%d%s\n", p.Address, p.Host, p.Check.Protocol, p.Check.Port, p.Check.Path)
	}
	return b.String()
}

// written returns a DNSRecord as it is read back once a child has been written.
func written(c *api.Child) *api.DNSRecord {
	r := &api.DNSRecord{
		Meta:       api.Meta{Labels: c.Labels, Controlled: true},
		Controller: &api.Controller{Kind: c.Owner.Kind.String(), Name: bareOf(c.Owner.Name), UID: c.Owner.UID},
		RootHost:   c.Record.RootHost + ".", ZoneID: c.Record.ZoneID, HealthCheck: c.Record.HealthCheck,
		Provider: api.Provider{Kind: c.Record.Provider.Kind, Name: c.Record.Provider.Name},
	}
	for i, e := range c.Record.Endpoints {
		ep := api.Endpoint{DNSName: e.DNSName + ".", Type: e.Type, TTL: e.TTL, Targets: e.Targets, SetID: e.SetID, Weight: api.NoWeight, Index: i}
		for _, p := range e.Properties {
			if p.Name == api.PropertyGeo {
				ep.Geo = p.Value
			}
		}
		r.Endpoints = append(r.Endpoints, ep)
	}
	return r
}

// writtenProbe is the same of a probe.
func writtenProbe(c *api.Child) *api.HealthCheckProbe {
	return &api.HealthCheckProbe{
		Meta:       api.Meta{Labels: c.Labels, Controlled: true},
		Controller: &api.Controller{Kind: c.Owner.Kind.String(), Name: bareOf(c.Owner.Name), UID: c.Owner.UID},
		Address:    c.Probe.Address, Host: c.Probe.Host, Check: c.Probe.Check,
	}
}

func bareOf(name string) string { return name[strings.IndexByte(name, '/')+1:] }

// checkAnswer checks what holds for every answer.
func checkAnswer(t *testing.T, q *Query, a *Answer) {
	t.Helper()
	if a.Referral {
		if len(a.Answer) > 0 || a.Rcode != dns.RcodeSuccess || len(a.Ns) == 0 || a.Ns[0].Header().Rrtype != dns.TypeNS {
			t.Fatalf("%s: a referral without name servers: %+v", q.Name, a)
		}
	} else if len(a.Answer) == 0 && a.Rcode != dns.RcodeServerFailure && (len(a.Ns) != 1 || a.Ns[0].Header().Rrtype != dns.TypeSOA) {
		t.Fatalf("%s: a negative answer without SOA: %+v", q.Name, a)
	}
	owner := q.Owner
	for i, rr := range a.Answer {
		if rr.Header().Rrtype == dns.TypeDNAME && q.Type != dns.TypeDNAME && rdata.IsSubdomain(rr.Header().Name, strings.ToLower(owner)) {
			continue // the CNAME that it makes comes next
		}
		if rr.Header().Name != owner {
			t.Fatalf("%s: record %d is %v, want the owner %s", q.Name, i, rr, owner)
		}
		if c, ok := rr.(*dns.CNAME); ok {
			owner = c.Target
			if i+1 < len(a.Answer) && q.Type == dns.TypeCNAME {
				t.Fatalf("%s: two CNAMEs for one question: %v", q.Name, a.Answer)
			}
		}
	}
	for _, rrs := range [][]dns.RR{a.Answer, a.Ns, a.Extra} {
		if len(rrs) != cap(rrs) {
			t.Fatalf("%s: a slice that an append would write into: %v", q.Name, rrs)
		}
	}
}

// checkWay checks that deltas lead from one generation of a zone to the present one.
func (s seenZone) checkWay(t *testing.T, z *Zone, deltas []*Delta) {
	t.Helper()
	soa := s.soa
	for _, d := range deltas {
		if d.Old.String() != soa || d.Old.Serial == d.New.Serial {
			t.Fatalf("zone %s from %s: a step from %s after %s", z.origin, s.soa, d.Old, soa)
		}
		soa = d.New.String()
	}
	if soa != z.SOA().String() {
		t.Fatalf("zone %s from %s leads to %s, and not to %s", z.origin, s.soa, soa, z.SOA())
	}
	if got, want := apply(t, s.content, deltas), contentOf(t, z); !maps.Equal(got, want) {
		t.Fatalf("zone %s from %s:\n%v\nwant\n%v", z.origin, s.soa, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// apply changes a copy of content as deltas say, which must fit it exactly.
func apply(t *testing.T, content map[string]bool, deltas []*Delta) map[string]bool {
	t.Helper()
	content = maps.Clone(content)
	for _, d := range deltas {
		for _, rr := range d.Removed {
			if !content[rr.String()] {
				t.Fatalf("from %d to %d: %s is removed, and was not there", d.Old.Serial, d.New.Serial, rr)
			}
			delete(content, rr.String())
		}
		for _, rr := range d.Added {
			if content[rr.String()] {
				t.Fatalf("from %d to %d: %s is added, and was there", d.Old.Serial, d.New.Serial, rr)
			}
			content[rr.String()] = true
		}
	}
	return content
}
