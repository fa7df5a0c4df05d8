package kuadrant

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coredns/caddy"
	_ "github.com/coredns/coredns/plugin/transfer"
	_ "github.com/coredns/coredns/plugin/tsig"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/engine"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// epochs counts clusters, none of which follows another one.
var epochs atomic.Uint64

// zoneObjects are objects of one cluster that a test changes.
type zoneObjects struct {
	cluster api.Cluster
	changed map[api.Ref]bool
	epoch   uint64
}

func newZoneObjects() *zoneObjects {
	o := &zoneObjects{cluster: api.Cluster{Name: "c", UID: "c"}, changed: make(map[api.Ref]bool), epoch: epochs.Add(1)}
	for k := range o.cluster.Listings {
		o.cluster.Listings[k] = api.Listed
	}
	return o
}

// everyName delegates all names, the zone's own and those of zones below it.
func everyName() []api.Delegation {
	return []api.Delegation{{Zones: []string{"*"}, Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}}}
}

// zone puts a Zone, which is named after the first label of its domain.
func (o *zoneObjects) zone(domain string) {
	z := &api.Zone{
		Meta:       api.Meta{Name: "dns/" + strings.ReplaceAll(domain, ".", "-"), Cluster: "c"},
		DomainName: domain, TTL: 300, Refresh: 86400, Retry: 7200, Expire: 3600000, Minimum: 300, Delegations: everyName(),
	}
	edit := o.cluster.Zones.Edit()
	edit.Set(z.Name, z)
	o.cluster.Zones = edit.Map()
	o.changed[api.Ref{Kind: api.KindZone, Name: z.Name}] = true
}

// record puts a Record; without data it takes it away.
func (o *zoneObjects) record(name, owner, rtype, data string) {
	name = "dns/" + name
	edit := o.cluster.Records.Edit()
	if data == "" {
		edit.Delete(name)
	} else {
		edit.Set(name, &api.Record{
			Meta: api.Meta{Name: name, Cluster: "c"}, DomainName: owner, Type: rtype, Class: "IN", TTL: api.NoTTL, RData: data,
		})
	}
	o.cluster.Records = edit.Map()
	o.changed[api.Ref{Kind: api.KindRecord, Name: name}] = true
}

// ttl gives a Record a TTL of its own.
func (o *zoneObjects) ttl(name string, ttl int64) {
	name = "dns/" + name
	edit := o.cluster.Records.Edit()
	was, _ := edit.Get(name)
	rec := *was
	rec.TTL = ttl
	edit.Set(name, &rec)
	o.cluster.Records = edit.Map()
}

// published returns the objects as they are, with what has changed.
func (o *zoneObjects) published() *api.Cluster {
	c := o.cluster
	c.Epoch, c.Changed = o.epoch, slices.Collect(maps.Keys(o.changed))
	o.changed = make(map[api.Ref]bool)
	return &c
}

// zoneServer is a CoreDNS in this process that serves objects which a test changes. No
// source has anything to say: the test compiles by itself.
type zoneServer struct {
	*zoneObjects
	addr   string
	engine *engine.Engine
	// keeper is the cluster in which a writer keeps serials, "" for none; news are those that are new since the last compile.
	keeper  string
	serials api.Serials
	news    []string
}

// serveZones starts a server for example.org, with other lines in its server block, and
// other server blocks.
func serveZones(t testing.TB, lines, blocks string) *zoneServer {
	t.Helper()
	port := freePort(t)
	inst, err := caddy.Start(caddy.CaddyfileInput{Filepath: "Corefile", ServerTypeName: "dns", Contents: fmt.Appendf(nil,
		"example.org:%d {\nbind 127.0.0.1\nkuadrant {\nmanifests %s c\nnameserver ns1.example.net\nnameserver ns2.example.net\n}\n%s\n}\n%s\n", port, t.TempDir(), lines, blocks)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := inst.Stop(); err != nil {
			t.Error(err)
		}
		inst.ShutdownCallbacks()
	})
	s := &zoneServer{zoneObjects: newZoneObjects(), addr: fmt.Sprintf("127.0.0.1:%d", port), engine: answering.Load().engine}
	waitFor(t, "first snapshot", func() bool { return s.engine.Snapshot() != nil })
	return s
}

// compile publishes the objects as they are now.
func (s *zoneServer) compile() *records.Snapshot {
	in := api.Objects{Clusters: []*api.Cluster{s.published()}, Keeper: s.keeper, Serials: s.serials, SerialsChanged: s.news}
	snap := records.Compile(s.engine.Snapshot(), in, s.engine.Options(), s.engine.Now())
	s.engine.Publish(snap)
	s.news = nil
	return snap
}

// fill puts the fixture of most cases: an apex, hosts, a wildcard, an alias, a deep name.
func (o *zoneObjects) fill() {
	o.zone("example.org.")
	for name, r := range map[string][3]string{
		"apex-ns": {"example.org.", "NS", "ns.example.org."}, "ns-a": {"ns.example.org.", "A", "192.0.2.53"},
		"www-a": {"www.example.org.", "A", "192.0.2.1"}, "www-a2": {"www.example.org.", "A", "192.0.2.2"},
		"alias": {"alias.example.org.", "CNAME", "www.example.org."}, "wild": {"*.w.example.org.", "A", "192.0.2.9"},
		"deep": {"a.ent.example.org.", "A", "192.0.2.7"}, "txt": {"www.example.org.", "TXT", `"two" "strings"`},
		"mx": {"example.org.", "MX", "10 mail.example.org."},
	} {
		o.record(name, r[0], r[1], r[2])
	}
}

// transferred is what a client got from one transfer.
type transferred struct {
	messages int
	rrs      []dns.RR
}

// xfr asks for a transfer, with keys where there are some. It takes down what comes, not
// what that means.
func xfr(t testing.TB, addr string, q *dns.Msg, keys map[string]string) (got transferred) {
	t.Helper()
	tr := &dns.Transfer{TsigSecret: keys}
	answers, err := tr.In(q, addr)
	if err != nil {
		t.Fatal(err)
	}
	for a := range answers {
		if a.Error != nil {
			t.Fatalf("%s: %v after %d records", q.Question[0].String(), a.Error, len(got.rrs))
		}
		got.messages++
		got.rrs = append(got.rrs, a.RR...)
	}
	return got
}

func axfrOf(zone string) *dns.Msg { return new(dns.Msg).SetAxfr(zone) }

func ixfrOf(zone string, serial uint32) *dns.Msg {
	return new(dns.Msg).SetIxfr(zone, serial, "ns1.example.net.", "hostmaster.example.org.")
}

// textOf returns records as a set of lines; one that comes twice is an error.
func textOf(t testing.TB, rrs []dns.RR) map[string]bool {
	t.Helper()
	set := make(map[string]bool, len(rrs))
	for _, rr := range rrs {
		if line := rr.String(); set[line] {
			t.Errorf("%s comes twice", line)
		} else {
			set[line] = true
		}
	}
	return set
}

// wholeZone checks that a transfer is that of a whole zone, and returns its SOA and the
// rest.
func wholeZone(t testing.TB, got transferred) (*dns.SOA, map[string]bool) {
	t.Helper()
	n := len(got.rrs)
	if n < 3 {
		t.Fatalf("%d records in a transfer", n)
	}
	first, ok := got.rrs[0].(*dns.SOA)
	if !ok || first.String() != got.rrs[n-1].String() {
		t.Fatalf("the transfer begins with %s and ends with %s", got.rrs[0], got.rrs[n-1])
	}
	set := textOf(t, got.rrs[1:n-1])
	if set[first.String()] {
		t.Errorf("the SOA is in the middle, too")
	}
	return first, set
}

// contentOf returns what is to be transferred of a zone.
func contentOf(t testing.TB, z *records.Zone) map[string]bool {
	t.Helper()
	var all []dns.RR
	for set := range z.Transfer() {
		all = append(all, set...)
	}
	return textOf(t, all)
}
