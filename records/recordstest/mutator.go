package recordstest

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// Mutator changes a World at random, by lines that can be applied again. It has few names, so that
// objects collide. The fields enable kinds of objects and events.
type Mutator struct {
	*rand.Rand
	Clusters  int  // their number, at least 1
	Gateways  bool // Gateways with policies, simple and steered
	Zones     bool // Zones and Records, cuts and DNAMEs among them
	Endpoints bool // DNSRecords and DNSEndpoints
	Children  bool // what a writer writes, or appears to have written
	Health    bool // checks, probes, their results, manual overrides
	Providers bool // Secrets, and policies that refer to them
	Registry  bool // its lines, right and wrong
	Listings  bool // kinds that are not listed, and namespaces that do not pool
	Klb       bool // data at and below the names of chains
	Crowded   bool // one host, of few objects
	Targets   bool // addresses in annotations of Gateways
	Groups    bool // groups of clusters, and what names the active ones
}

// NewMutator returns a Mutator whose fields the seed draws: across seeds, all kinds of objects
// occur.
func NewMutator(seed uint64) *Mutator {
	on := func(bit uint) bool { return seed>>bit&1 == 0 }
	return &Mutator{
		Rand: rand.New(rand.NewPCG(seed, 1)), Clusters: 1 + int(seed%3), Gateways: true, Zones: on(0), Endpoints: on(1), Health: on(2),
		Children:  on(3),
		Providers: on(2), Registry: on(1), Listings: seed%5 == 4, Klb: on(0), Crowded: seed%4 == 3,
	}
}

func pick[T any](r *Mutator, from ...T) T { return from[r.IntN(len(from))] }

// maybe returns a text one time in n, else "".
func (r *Mutator) maybe(n int, format string, args ...any) string {
	if r.IntN(n) > 0 {
		return ""
	}
	return " " + fmt.Sprintf(format, args...)
}

func (r *Mutator) host() string {
	if r.Crowded {
		return pick(r, "*.a.example.com", "b.a.example.com", "a.example.com")
	}
	all := []string{
		"a.example.com", "*.example.com", "*.a.example.com", "b.a.example.com", "example.com", "deep.example.com",
		"*.deep.example.com", "A.EXAMPLE.com", "ns1.example.com",
	}
	if r.Klb {
		all = append(all, "klb.a.example.com", "x.klb.a.example.com", "default.klb.a.example.com", "q.klb.deep.example.com",
			"*.klb.deep.example.com")
	}
	return pick(r, append(all, "elsewhere.org", "bad..", "", "klb.klb.example.com", "*.klb.example.com")...)
}

// name returns the name of an object; its prefix gives the kind.
func (r *Mutator) name(kind string) string {
	return pick(r, "n1/", "n1/", "n2/", "n3/") + kind + pick(r, "1", "2", "3")
}

// gateway returns a bare name; two of them have the same hash in n1, and so the same names below
// klb.
func (r *Mutator) gateway() string { return pick(r, "g1", "g2", "g14125", "g18325") }

func (r *Mutator) words() string {
	return fmt.Sprintf(" at=%ds", r.IntN(5)) + r.maybe(12, "deleting")
}

func (r *Mutator) code() string {
	return pick(r, "IE", "GEO-EU", "US-CA", "AS64500", "UK", "IE", "US", pick(r, "X_1", "ABCDEF-GHIJKL", "default", "KLB", "a.b", "ſ"))
}

func (r *Mutator) address() string {
	return pick(r, "192.0.2.1", "192.0.2.2", "192.0.2.1", "2001:db8::1", "lb.example.net", "a.example.com", "nonsense!", "east/192.0.2.7",
		"multi:192.0.2.9", "uid-c1/192.0.2.8")
}

// check returns one of a few checks, which share addresses and differ in their requests or their
// terms.
func (r *Mutator) check() string {
	return pick(r, "HTTP:80/up,interval=1s,failures=1", "HTTP:80/up,interval=1m,failures=1", "HTTP:80/up,interval=1s,headers=headers",
		"TCP:443,interval=1s", "GRPC:443,host=grpc.example.com", "HTTP:80/")
}

// Mutate changes one thing, or a few related ones.
func (r *Mutator) Mutate(t testing.TB, w *World) {
	t.Helper()
	for n := len(w.list) + 1; n <= r.Clusters; n++ {
		w.Apply(t, fmt.Sprintf("cluster c%d", n))
	}
	w.Apply(t, fmt.Sprintf("cluster c%d", 1+r.IntN(max(1, r.Clusters))))
	if r.Health && w.Snapshot != nil {
		w.Apply(t, "find "+pick(r, "192.0.2.1", "192.0.2.2", "2001:db8::1", "lb.example.net")+" "+pick(r, "up", "down", "unknown"))
	}
	var able []func() string
	for _, m := range []struct {
		on   bool
		make func() string
	}{
		{r.Gateways, r.pair},
		{r.Gateways, r.pair},
		{r.Gateways, r.policy},
		{r.Zones, r.zone},
		{r.Zones, r.record},
		{r.Zones, r.record},
		{r.Endpoints, r.endpoints},
		{r.Children, r.child},
		{r.Health, r.health},
		{r.Providers, r.provider},
		{r.Registry, r.registry},
		{r.Listings, r.listing},
		{r.Groups, r.group},
	} {
		if m.on {
			able = append(able, m.make)
		}
	}
	w.Apply(t, pick(r, able...)())
}

// gone returns a line that deletes an object one time in n, else the line that creates it.
func (r *Mutator) gone(n int, kind, name, line string) string {
	if r.IntN(n) == 0 {
		return "delete " + kind + " " + name
	}
	return kind + " " + name + " " + line
}

func (r *Mutator) pair() string {
	name := pick(r, "n1/", "n2/") + r.gateway()
	hosts, routes, addresses := []string{r.host()}, []string{pick(r, "1", "1", "1", "0", "-")}, []string{r.address()}
	for range r.IntN(3) {
		hosts, routes, addresses = append(hosts, r.host()), append(routes, pick(r, "1", "-", "2")), append(addresses, r.address())
	}
	line := "host=" + strings.Join(hosts, ",") + " routes=" + strings.Join(routes, ",") + r.maybe(8, "programmed=False") + r.words()
	if r.IntN(8) > 0 {
		line += " addr=" + strings.Join(addresses, ",")
	}
	if !r.Crowded {
		line += r.maybe(3, "geo=%s", r.code())
	}
	if r.Health {
		line += r.maybe(10, "override=%s", pick(r, "up", "down", "drain", "what"))
	}
	if r.Targets {
		line += r.maybe(3, "target=%s", r.address()+","+r.address())
	}
	text := r.gone(6, "gateway", name, line)
	if r.IntN(2) == 0 {
		text += "\n" + r.policyOf(name)
	}
	return text
}

func (r *Mutator) policy() string { return r.policyOf(pick(r, "n1/", "n2/") + r.gateway()) }

func (r *Mutator) policyOf(name string) string {
	line := pick(r, "", "", "weight=0", "weight=1", "weight=120 geo="+r.code(), "weight=120 geo=IE default",
		"strategy=weightedGeo default=IE", "strategy=weightedGeo weight=7", "strategy=simple")
	if r.Crowded {
		line = pick(r, "weight=1", "weight=120 geo=IE default")
	}
	line += r.words() + r.maybe(4, "section=l0") + r.maybe(10, "gateway=%s", r.gateway()) + r.maybe(12, "spec.loadBalancing=7") + r.maybe(2,
		"uid=u%d", r.IntN(2))
	if r.Health {
		line += r.maybe(2, "check=%s", r.check()) + r.maybe(8, "override=%s", pick(r, "up", "down", "drain")) + r.maybe(8, "fallback=%s", pick(r,
			"none", "default", "any")) +
			r.maybe(12, "exclude=192.0.2.1")
	}
	if r.Targets {
		line += r.maybe(2, "targets=annotation") + r.maybe(2, "probe-address=status")
	}
	if r.Providers && !strings.Contains(line, "strategy") {
		line += r.maybe(4, "provider=%s", pick(r, "provider", "other", "gone"))
	}
	return r.gone(8, "policy", name, line)
}

func (r *Mutator) zone() string {
	line := pick(r, "example.com.", "a.example.com.", "a in=n1/z1", "b in=n2/z2", "deep.example.com.", "sub in=n1/z3", "sub in=n1/missing",
		"elsewhere.org.", "a..b.", "x in=n1/z2")
	if r.Klb {
		line = pick(r, line, line, "klb.a in=n1/z1", "klb.deep.example.com.", "default.klb.a.example.com.")
	}
	line += pick(r, "", " delegate=*", " delegate=*", " delegate=n1", " delegate=*/*,@/A,NS", " delegate=*/*,@/NS,DNAME delegate=*") +
		r.words() + r.maybe(4, "ttl=500") +
		r.maybe(4, "mname=master.example.net.") + r.maybe(15, "spec.delegations=7") + fmt.Sprintf(" minimum=%d", pick(r, 30, 360))
	return r.gone(4, "zone", r.name("z"), line)
}

func (r *Mutator) record() string {
	where := pick(r, "a.example.com.", "b.a.example.com.", "*.a.example.com.", "ns1.example.com.", "ns1.a.example.com.", "example.com.",
		"elsewhere.org.", "bad..example.com.", "@ in=n1/z1", "a in=n1/z1",
		"ns1.a in=n1/z1", "@ in=n1/z2", "ns1 in=n1/z2", "b in=n2/z2", "deep in=n1/z1", "*.b.a.example.com.", `x\.y.a.example.com.`,
		"x.*.a.example.com.", "_acme-challenge.a.example.com.", "_acme-challenge.example.com.", "_a._b.b.a.example.com.", "*._x.a.example.com.")
	if r.Klb {
		where = pick(r, where, where, "x.klb.a.example.com.", "klb.a.example.com.", "q.klb.deep.example.com.", "z.default.klb.a.example.com.")
	}
	return r.gone(5, "record", r.name("r"), where+r.words()+r.maybe(2, "ttl=%d", 60*r.IntN(2))+r.maybe(15, "class=CH")+" "+r.data())
}

// group changes a cluster's group, the record that names active ones, or what a CNAME there leads to.
func (r *Mutator) group() string {
	texts := pick(r, "version=1;groups=blue", "version=1;groups=green", "version=1;groups=blue&&green", "version=1", "nonsense")
	switch r.IntN(4) {
	case 0:
		return fmt.Sprintf("cluster c%d group=%s", 1+r.IntN(r.Clusters), pick(r, "blue", "green", ""))
	case 1:
		return "resolved groups.example.net. " + pick(r, "", texts)
	}
	return r.gone(5, "record", pick(r, "n1/", "n1/", "n2/")+pick(r, "r1", "r2"),
		"kuadrant-active-groups.example.com."+r.words()+pick(r, ` TXT "`+texts+`"`, ` TXT "`+texts+`"`, " CNAME groups.example.net."))
}

func (r *Mutator) data() string {
	return pick(r, "A 192.0.2.1", "A 192.0.2.77", "AAAA 2001:db8::77", "CNAME b.a", "CNAME lb.example.net.", "NS ns1",
		"NS ns1.a.example.com.", "NS ns2.example.net.", "DNAME a.example.com.",
		"DNAME example.net.", `TXT "text"`, "MX 10 a.example.com.", "SRV 0 0 80 b.a",
		"DS 1 8 2 00000000000000000000000000000000000000000000000000000000000000ff", "A nonsense", "SOA a. b. 1 2 3 4 5",
		`TYPE65280 \# 2 0102`, "HTTPS 1 . alpn=h2")
}

func (r *Mutator) endpoints() string {
	h := pick(r, "a.example.com", "b.a.example.com", "deep.example.com", "example.com", "*.a.example.com")
	b := strings.TrimPrefix(h, "*.")
	var rows []string
	if r.IntN(3) == 0 { // a chain of rule 2.3
		rows = append(rows, h+" CNAME klb."+b+" ttl=300")
		for _, code := range []string{"IE", "US"}[:1+r.IntN(2)] {
			g, leaf := strings.ToLower(code)+".klb."+b, pick(r, "one", "two")+".klb."+b
			rows = append(rows, fmt.Sprintf("klb.%s CNAME %s set=%s geo=%s", b, g, code, code), fmt.Sprintf("klb.%s CNAME %s set=default geo=*", b,
				g),
				fmt.Sprintf("%s CNAME %s set=%s weight=%d", g, leaf, leaf, r.IntN(3)), leaf+" A 192.0.2.1 "+pick(r, "192.0.2.2", "nonsense")+" ttl=30")
		}
	}
	for range r.IntN(3) {
		at, data := pick(r, h, b, "txt."+b, "elsewhere.org", "_acme-challenge."+b), r.data()
		if r.Klb {
			at = pick(r, at, at, "klb."+b, "x.klb."+b)
		}
		if strings.HasPrefix(data, "CNAME") {
			data = "CNAME " + pick(r, "lb.example.net", "b.a.example.com", h)
		}
		rtype, target, _ := strings.Cut(data, " ")
		rows = append(rows, at+" "+rtype+" '"+strings.ReplaceAll(target, " ", "\u0020")+"'"+r.maybe(2, "ttl=%d", 60*r.IntN(2))+r.maybe(2,
			"set=s%d weight=%d", r.IntN(2), r.IntN(3))+r.maybe(4, "geo=%s", r.code()))
	}
	below := ""
	for _, row := range rows {
		below += "\n    " + row
	}
	if r.IntN(2) == 0 {
		return r.gone(5, "dnsendpoint", r.name("e"), r.words()+below)
	}
	line := "root=" + pick(r, h, h, "*.a.example.com", "bad..", "elsewhere.org") + " " + pick(r, "served=example.com", "served=example.com",
		"served=a.example.com", "zone=example.com", "") + r.words()
	if r.Health {
		line += r.maybe(3, "check=%s", r.check())
	}
	return r.gone(5, "dnsrecord", r.name("e"), line+below)
}

// child returns a DNSRecord or a probe that this server has written, or appears to have.
func (r *Mutator) child() string {
	gateway := r.gateway()
	name := pick(r, "n1/", "n2/") + r.gateway() + pick(r, "-l0", "-l1")
	by := fmt.Sprintf("managed owner=DNSPolicy/%s/u%d", gateway, r.IntN(3))
	if r.IntN(4) == 0 {
		return r.gone(3, "probe", name+"-192.0.2.1", "192.0.2.1 check=HTTP:80/up "+by)
	}
	return r.gone(4, "dnsrecord", name, by+" root="+strings.TrimPrefix(pick(r, "a.example.com", "*.a.example.com", "b.a.example.com"),
		"bad")+" zone="+pick(r, "example.com", "a.example.com", "elsewhere")+
		r.maybe(2, "provider=%s", pick(r, "provider", "other", "headers", "gone")))
}

func (r *Mutator) health() string {
	if r.IntN(3) == 0 {
		lines := []string{}
		for _, subject := range []string{
			"cluster c1", "cluster c9", "gateway n1/g1", "gateway c2/n1/g1", "target 192.0.2.1",
			"target lb.example.net",
		} {
			lines = append(lines, strings.TrimSpace(r.maybe(4, "%s %s", subject, pick(r, "up", "down"))))
		}
		return "overrides " + strings.Join(lines, ";")
	}
	return r.gone(5, "probe", pick(r, "n1/", "n2/")+r.gateway(), pick(r, "192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1",
		"lb.example.net")+" check="+r.check()+
		r.maybe(2, "host=%s", pick(r, "a.example.com", "b.a.example.com", "internal.test", "*.a.example.com", pick(r, "*", "a/b.example.com",
			"..", `\.example.com`)))+r.maybe(2, "healthy=%v", r.IntN(2) == 0)+r.words())
}

func (r *Mutator) provider() string {
	name := pick(r, "n1/", "n2/") + pick(r, "headers", "provider", "other")
	return r.gone(4, "secret", name, pick(r, "", "type=kuadrant.io/coredns ZONES=example.com",
		"type=kuadrant.io/coredns ZONES=example.com,a.example.com,elsewhere", "ZONE_ID=example.com DOMAIN_NAME=*.a.example.com",
		"ZONE_ID=elsewhere DOMAIN_NAME=example.com", "X-Key=a", "X-Key=b")+r.maybe(2, "labels=kuadrant.io/probe-headers:true")+r.maybe(4,
		"labels=kuadrant.io/default-provider:true"))
}

func (r *Mutator) registry() string {
	key := pick(r, "a.example.com.", "*.a.example.com.", "b.a.example.com.", "deep.example.com.", "example.com.", "zone:a.example.com.",
		"zone:b.a.example.com.", "_acme-challenge.a.example.com.", "_a._b.b.a.example.com.")
	if r.IntN(3) == 0 {
		return "owner " + key
	}
	kind := pick(r, "DNSPolicy", "DNSPolicy", "Zone", "DNSRecord", "DNSEndpoint", "Record")
	name := map[string]string{
		"DNSPolicy": pick(r, "n1/", "n2/") + r.gateway(), "Zone": r.name("z"), "DNSRecord": r.name("e"),
		"DNSEndpoint": r.name("e"), "Record": r.name("r"),
	}[kind]
	return fmt.Sprintf("owner %s c%d %s %s", key, 1+r.IntN(3), kind, name) + r.maybe(6, "secret=%s", pick(r, "provider", "gone"))
}

func (r *Mutator) listing() string {
	if r.IntN(2) == 0 {
		return fmt.Sprintf("cluster c%d pools=%s", 1+r.IntN(r.Clusters), pick(r, "", "n1", "n2,n3"))
	}
	return fmt.Sprintf("cluster c%d %s=%s", 1+r.IntN(r.Clusters), pick(r, "Secret", "Gateway", "DNSPolicy", "Record", "DNSEndpoint", "Zone"),
		pick(r, "listed", "listed", "notlisted", "notlisted:n1", "notwatched"))
}

// Seeds yields the seeds of a test with random worlds: 0 to n-1, or those in
// KUADRANT_SEEDS=FROM+COUNT. It stops after the first seed that failed.
func Seeds(t testing.TB, n uint64) iter.Seq[uint64] {
	t.Helper()
	from := uint64(0)
	if v := os.Getenv("KUADRANT_SEEDS"); v != "" {
		if _, err := fmt.Sscanf(v, "%d+%d", &from, &n); err != nil {
			t.Fatalf("KUADRANT_SEEDS is %q, want FROM+COUNT, such as 1000+500", v)
		}
	}
	return func(yield func(uint64) bool) {
		for seed := from; seed < from+n && yield(seed) && !t.Failed(); seed++ {
		}
	}
}
