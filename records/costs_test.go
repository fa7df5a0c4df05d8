package records_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// The tests here are about what one tenant's objects cost all others (rule 8.4). They count allocations, members and octets, and no time.

// open is a world in one zone in which everybody may publish everything.
func open(t testing.TB, texts ...string) *recordstest.World {
	t.Helper()
	w := recordstest.New(t, recordstest.Zones("example.com."), texts...)
	w.Options.Publish = []records.Publish{{Domain: ".", Namespaces: []string{"*"}}, {
		Domain: ".", Namespaces: []string{"*"},
		Types: []string{"NS", "DNAME"},
	}}
	return w
}

// lines writes n lines, each with its number for %d.
func lines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(format, "%d", fmt.Sprint(i)) + "\n")
	}
	return b.String()
}

// advance compiles what has changed in w, and returns how many allocations and octets that takes.
func advance(w *recordstest.World) (mallocs, octets uint64) {
	in := w.Objects()
	var from, to runtime.MemStats
	runtime.ReadMemStats(&from)
	w.Snapshot = records.Compile(w.Snapshot, in, w.Options, w.Now)
	runtime.ReadMemStats(&to)
	return to.Mallocs - from.Mallocs, to.TotalAlloc - from.TotalAlloc
}

// TestCostsGrowWithNumbers: n times as many objects cost no more than n times as much, with half as much again for trees. With lines they
// are compiled from nothing once more, under the registry that a writer has made of them.
func TestCostsGrowWithNumbers(t *testing.T) {
	rows := func(n int, row func(i, j int) string) string {
		text := "dnsendpoint evil/e\n    evil.example.com CNAME klb.evil.example.com\n    klb.evil.example.com CNAME n0.klb.evil.example.com"
		for i := range n {
			for j := range n {
				if i != j {
					text += "\n    " + row(i, j)
				}
			}
		}
		return text
	}
	loop := func(i, j int) string {
		return fmt.Sprintf("n%d.klb.evil.example.com CNAME n%d.klb.evil.example.com set=s%d weight=1", i, j, j)
	}
	for what, c := range map[string]struct {
		few, times int
		text       func(n int) string
	}{
		"endpoints that lead to each other": {16, 4, func(n int) string { return rows(map[int]int{16: 4, 64: 8}[n], loop) }},
		"endpoints that lead to each other, with a way out": {16, 4, func(n int) string {
			n = map[int]int{16: 4, 64: 8}[n]
			return rows(n, loop) + fmt.Sprintf("\n    n%d.klb.evil.example.com CNAME lb.example.net set=end weight=1", n-1)
		}},
		"CNAMEs of one name": {100, 4, func(n int) string {
			return lines(n,
				"record evil/r%d evil.example.com. CNAME lb%d.example.net.")
		}},
		"TXT of one name, with a TTL each": {100, 4, func(n int) string {
			return lines(n,
				`record evil/r%d evil.example.com. ttl=%d TXT "%d"`)
		}},
		"TXT of one name, more than it has": {2000, 2, func(n int) string { return lines(n, `record evil/r%d evil.example.com. TXT "%d"`) }},
		"Zones beside each other":           {300, 4, func(n int) string { return lines(n, "zone evil/z%d z%d.example.com. delegate=*") }},
		"Zones of one name":                 {300, 4, func(n int) string { return lines(n, "zone evil/z%d z.example.com. delegate=*") }},
		"Zones that refer to one":           {300, 4, func(n int) string { return lines(n, "zone evil/z%d z%d in=z0 delegate=*") }},
		"NS below klb and contenders on its host": {100, 4, func(n int) string {
			return lines(n, "gateway evil/g%d host=h.example.com addr=192.0.2.66\npolicy evil/g%d weight=1\n"+
				"record evil/n%d n%d.klb.h.example.com. NS ns.example.net.")
		}},
		"probes of one address that name other hosts": {100, 4, func(n int) string {
			return lines(n, "gateway n/g%d host=h%d.example.com addr=192.0.2.1\npolicy n/g%d check=HTTP:80/up\n"+
				"probe n/p%d 192.0.2.1 host=elsewhere%d.example.com check=TCP:443")
		}},
		"Records and patterns": {50, 4, func(n int) string {
			patterns := make([]string, n)
			for i := range n {
				patterns[i] = fmt.Sprintf("*.a%d.b.c", i)
			}
			return "zone evil/z evil.example.com. delegate=*/" + strings.Join(patterns, ",") + "\n" + lines(n,
				"record evil/r%d r%d.x.y.evil.example.com. A 192.0.2.1")
		}},
		"Secrets and policies": {100, 4, func(n int) string {
			return lines(n, "policy n/p%d gateway=none check=TCP:80,headers=x\nsecret n/s%d X=y")
		}},
		"Secrets of providers": {100, 4, func(n int) string {
			return lines(n, "gateway n/g%d host=h%d.example.com addr=192.0.2.1\npolicy n/g%d provider=s%d\n"+
				"secret n/s%d type=kuadrant.io/coredns ZONES=example.com")
		}},
		"Zones without a line, and what is registered below them": {100, 4, func(n int) string {
			return "zone evil/z z.example.com. delegate=*\n" + lines(n, "zone evil/z%d sub.z.example.com. delegate=*\n"+
				"record other%d/r r%d.sub.z.example.com. A 192.0.2.1\nowner r%d.sub.z.example.com. c1 Record other%d/r")
		}},
		"Records": {300, 4, func(n int) string { return lines(n, "record evil/r%d r%d.example.com. A 192.0.2.1") }},
		"Records of one name in many namespaces": {100, 4, func(n int) string {
			return lines(n, `record evil%d/r r.example.com. AAAA 2001:db8::%d`)
		}},
		"hosts": {200, 4, func(n int) string { return lines(n, "gateway n/g%d host=h%d.example.com addr=192.0.2.1\npolicy n/g%d") }},
		"hosts of one policy": {16, 4, func(n int) string {
			return "gateway n/g host=" + strings.ReplaceAll(strings.TrimSpace(lines(n, "h%d.example.com")), "\n", ",") + " addr=192.0.2.1\npolicy n/g"
		}},
		"hosts of DNSEndpoints": {200, 4, func(n int) string { return lines(n, "dnsendpoint n/e%d\n    e%d.example.com A 192.0.2.1") }},
		"members of one host": {100, 4, func(n int) string {
			return lines(n, "gateway n/g%d host=h.example.com addr=2001:db8::%d\npolicy n/g%d weight=1 check=TCP:80")
		}},
		"simple policies of one host": {100, 4, func(n int) string {
			return lines(n, "gateway n/g%d host=h.example.com addr=2001:db8::%d\npolicy n/g%d check=TCP:80")
		}},
		"wildcards, and names that they cover": {100, 4, func(n int) string {
			return lines(n, "gateway n/g%d host=*.h%d.example.com addr=192.0.2.1\npolicy n/g%d\n"+
				"record evil/r%d x.y.h%d.example.com. A 192.0.2.1\nrecord evil/t%d _acme-challenge.z.h%d.example.com. TXT x")
		}},
		"names that one wildcard covers": {100, 4, func(n int) string {
			return "gateway n/g host=*.example.com addr=192.0.2.1\npolicy n/g\n" +
				lines(n, "record evil/r%d x%d.example.com. A 192.0.2.1\nrecord evil/t%d _acme-challenge.z%d.example.com. TXT x")
		}},
		"delegations of zones": {100, 4, func(n int) string {
			return lines(n, "zone evil/z%d z%d.example.com. delegate=*\nrecord evil/r%d r in=z%d A 192.0.2.1")
		}},
		"delegations to other servers, with glue": {100, 4, func(n int) string {
			return lines(n, "record evil/n%d n%d.example.com. NS ns.n%d.example.com.\nrecord evil/a%d ns.n%d.example.com. A 192.0.2.1")
		}},
		"servers of one delegation": {100, 4, func(n int) string {
			return lines(n, "record evil/n%d n.example.com. NS ns%d.n.example.com.\nrecord evil/a%d ns%d.n.example.com. A 192.0.2.1")
		}},
		"probes of one host": {100, 4, func(n int) string {
			return "gateway n/g host=h.example.com addr=192.0.2.1\npolicy n/g check=HTTP:80/up\n" +
				lines(n, "probe n/p%d 192.0.2.1 host=h.example.com check=TCP:%d")
		}},
		"groups": {16, 4, func(n int) string {
			return "record n/active kuadrant-active-groups.example.com. TXT \"version=1;groups=g1\"\n" +
				lines(n, "cluster c%d group=g%d\ngateway n/g host=h.example.com addr=2001:db8::%d\npolicy n/g weight=1")
		}},
		"children": {100, 4, func(n int) string {
			return lines(n, "gateway n/g%d host=l0:h%d.example.com addr=192.0.2.1\npolicy n/g%d uid=p%d\n"+
				"dnsrecord n/g%d-l0 root=h%d.example.com owner=DNSPolicy/g%d/p%d managed labels=kuadrant.io/managed:true\n"+
				"    h%d.example.com A 192.0.2.1")
		}},
	} {
		cost := func(n int) (nothing, registered uint64) {
			w := open(t, c.text(n))
			nothing, _ = advance(w)
			w.Register()
			w.Snapshot = nil
			registered, _ = advance(w)
			return nothing, registered
		}
		few, fewLines := cost(c.few)
		many, manyLines := cost(c.few * c.times)
		if times := uint64(c.times) * 3; many > few*times/2+1000 || manyLines > fewLines*times/2+1000 {
			t.Errorf("%s: %d take %d allocations, with lines %d; %d times as many %d, with lines %d", what, c.few, few, fewLines, c.times, many, manyLines)
		}
	}
}

// TestConditionsAreShort: what an object is told of one fault is said once, however many ways lead past it; Zones each of which waits
// for the one before do not each say what all before them say; and what lies outside all zones is told of some, where these are many.
func TestConditionsAreShort(t *testing.T) {
	said := func(w *recordstest.World, kind api.Kind, name string) (text string) {
		for _, c := range w.Snapshot.Verdict("c1", api.Ref{Kind: kind, Name: name}).Conditions {
			text += c.Message
		}
		return text
	}
	w := open(t, "dnsendpoint evil/e\n    evil.example.com CNAME klb.evil.example.com\n"+lines(50,
		"    klb.evil.example.com CNAME n%d.klb.evil.example.com set=s%d\n"+
			"    n%d.klb.evil.example.com CNAME hub.klb.evil.example.com geo=XX")+
		"    hub.klb.evil.example.com A 192.0.2.1\n    hub.klb.evil.example.com CNAME lb.example.net")
	advance(w)
	text := said(w, api.KindDNSEndpoint, "evil/e")
	for _, what := range []string{"lb.example.net dropped", `"XX"`} {
		if n := strings.Count(text, what); n > 1 {
			t.Errorf("%s is told %d times: %s", what, n, text)
		}
	}
	for _, first := range []string{"x in=missing", "a..b."} {
		text := "zone evil/z0 " + first + "\n"
		for i := range 1000 {
			text += fmt.Sprintf("zone evil/z%d x in=z%d\n", i+1, i)
		}
		w := open(t, text)
		advance(w)
		if n := len(said(w, api.KindZone, "evil/z1000")); n > 4096 || n == 0 {
			t.Errorf("the verdict of the last of 1,000 Zones, of which the first is %s, has %d octets", first, n)
		}
	}
	w = open(t, "record a/r elsewhere.org. A 192.0.2.1\ndnsendpoint a/e\n"+lines(1000, "    x%d.elsewhere.org A 192.0.2.1"))
	for i := range 2000 {
		w.Options.Zones = append(w.Options.Zones, recordstest.Zones(fmt.Sprintf("zone-%d.example.", i)).Zones...)
	}
	advance(w)
	if a, b := len(said(w, api.KindRecord, "a/r")), len(said(w, api.KindDNSEndpoint, "a/e")); a > 4096 || b > 4096 || a*b == 0 {
		t.Errorf("beside 2,000 zones verdicts have %d and %d octets", a, b)
	}
	w = open(t, strings.ReplaceAll(lines(500,
		"gateway n/g%d host=app.example.com addr=10.0.0.1 geo=AS1%d programmed=False\npolicy n/g%d weight=1 geo=AS1%d fallback=none"),
		"10.0.0.1", "10.0.0.1"))
	advance(w)
	if text := w.Snapshot.Fails("app.example.com").Whom; len(text) > 1000 || text == "" {
		t.Errorf("a host that fails open for many says so in %d octets: %.100s", len(text), text)
	}
}

// TestManyAtOneName: what is served at one name has a bound, what is not served takes no place from it (rule 5.5), the oldest stay, and one
// that goes makes room.
func TestManyAtOneName(t *testing.T) {
	count := func(w *recordstest.World, name string, qtype uint16) int {
		return len(lookup(w.Snapshot, name, qtype, 1).Answer)
	}
	text := "dnsendpoint b/e at=2h\n"
	for i := range 5 {
		text += fmt.Sprintf("    x.example.com A%s\n", strings.TrimSuffix(strings.ReplaceAll(lines(256, fmt.Sprintf(" 10.%d.0.%%d", i)), "\n",
			""), "\n"))
	}
	w := open(t, text, "gateway a/g host=app.example.com addr=192.0.2.1\npolicy a/g at=1h", "dnsendpoint b/txt at=2h\n    app.example.com TXT"+
		strings.ReplaceAll(lines(1000, " t%d"), "\n", ""), "record a/r app.example.com. at=3h TXT \"mine\"")
	advance(w)
	if n := count(w, "x.example.com.", dns.TypeA); n > 1000 || n < 500 {
		t.Errorf("an answer of %d addresses", n)
	}
	if got := w.Ask(t, "app.example.com TXT"); !strings.Contains(got, "mine") {
		t.Errorf("data that are not served leave no place for %s", got)
	}
	// 502 policies want one host.
	w = open(t, lines(502, "gateway n/g%d host=app.example.com addr=10.0.%d.1\npolicy n/g%d weight=1 check=TCP:80"))
	lost := func() (all []string) {
		for tr := range w.Snapshot.Troubles() {
			if strings.Contains(tr.Why, "at most 500 policies may share a host") {
				all = append(all, tr.Name)
			}
		}
		return all
	}
	advance(w)
	if got := lost(); len(got) != 502-500 || w.Snapshot.Checks().Len() > 500 {
		t.Errorf("%v have no place, and there are %d checks", got, w.Snapshot.Checks().Len())
	}
	w.Apply(t, "delete policy n/g7")
	if w.Step(t); len(lost()) != 1 {
		t.Errorf("with one less %v have no place", lost())
	}
}

// TestRRsetThatNoMessageHolds: of records that no message can hold together, those of the oldest objects are served, the others are
// told, and take over when there is room (rule 8.1, RFC 2181 §5.2 and §9).
func TestRRsetThatNoMessageHolds(t *testing.T) {
	name := strings.Repeat(strings.Repeat("a", 60)+".", 3) + strings.Repeat("b", 50) + ".example.com."
	record := func(i, age, data int) string {
		return fmt.Sprintf("record dns/r%d %s at=%dh TXT %s", i, name, age, strings.Repeat(fmt.Sprintf("\"%03d%s\" ", data, strings.Repeat("x",
			252)), 80))
	}
	w := open(t)
	for i := range 6 { // younger ones come first in the order of their data
		w.Apply(t, record(i, 100-i, 5-i))
	}
	w.Apply(t, record(6, 1, 5)) // the data of the youngest are those of the oldest, too
	check := func(want string) {
		t.Helper()
		advance(w)
		served := ""
		for i := range 6 {
			v := w.Snapshot.Verdict("c1", api.Ref{Kind: api.KindRecord, Name: fmt.Sprintf("dns/r%d", i)})
			if v == nil {
				continue
			}
			if c := v.Conditions[0]; c.Message == api.MessageServed {
				served += fmt.Sprint(i)
			} else if c.Reason != "Conflicted" || !strings.Contains(c.Message, "the TXT records at the name have more than the 60000 octets") {
				t.Errorf("r%d: %+v", i, c)
			}
		}
		m := new(dns.Msg).SetQuestion(name, dns.TypeTXT)
		m.Answer, m.Compress = lookup(w.Snapshot, name, dns.TypeTXT, 1).Answer, true
		if wire, err := m.Pack(); served != want || err != nil || len(wire) > dns.MaxMsgSize || len(m.Answer) != len(want) {
			t.Errorf("served are %q, want %q, in %d records: %v", served, want, len(m.Answer), err)
		}
	}
	check("05")
	w.Apply(t, "delete record dns/r6")
	check("45")
	w.Apply(t, "delete record dns/r5")
	check("34")
	w.Apply(t, "record dns/r1 "+name+" at=99h TXT \"small\"")
	check("134")
	// The name servers that a Zone has and those that its parent has are one RRset above, and those of the Zone come first.
	long := strings.Repeat(strings.Repeat("a", 60)+".", 3) + "example.net."
	w = recordstest.New(t, recordstest.Zones("example.com."), "zone dns/z example.com. delegate=*\nzone dns/sub sub.example.com. delegate=*",
		lines(200, "record dns/a%d @ in=sub NS n%d."+long), lines(200, "record dns/b%d sub in=z NS m%d."+long))
	advance(w)
	a := records.Answer{}
	w.Snapshot.Lookup(w.Snapshot.Zone("sub.example.com."), &records.Query{
		Name: "sub.example.com.", Owner: "sub.example.com.",
		Type: dns.TypeNS,
	}, &a)
	if _, why := w.Snapshot.Verdict("c1", api.Ref{Kind: api.KindRecord, Name: "dns/b99"}).Problem(); len(a.Answer) != 200 ||
		!strings.Contains(why, "have more than the 60000 octets") {
		t.Errorf("the zone below has %d servers, and the last of the zone above is told %q", len(a.Answer), why)
	}
	// Many texts of one object come and go at the cost of their number.
	cost := func(n int) uint64 {
		rows := lines(n, "    big.example.com TXT %d"+strings.Repeat("x", 200))
		w := open(t, "dnsendpoint a/e\n"+rows)
		advance(w)
		if _, why := w.Snapshot.Verdict("c1", api.Ref{Kind: api.KindDNSEndpoint, Name: "a/e"}).Problem(); !strings.Contains(why,
			"have more than the 60000 octets") {
			t.Errorf("the object is told %q", why)
		}
		w.Apply(t, "delete dnsendpoint a/e")
		_, octets := advance(w)
		return octets
	}
	if few, many := cost(500), cost(1000); many > 4*few {
		t.Errorf("twice as many texts take %d octets of memory where %d were enough", many, few)
	}
}

// TestManyStars: a pattern with any number of `*` is matched at once; one that tried all ways would not end (rule 6.4).
func TestManyStars(t *testing.T) {
	label, stars := strings.Repeat("a", rdata.MaxLabel), strings.Repeat("*a", 31)
	name := strings.Join([]string{label, label, label, label[:47]}, ".")
	for pattern, want := range map[string]bool{
		strings.Join([]string{stars, stars, stars, stars[:46]}, "."):             true,
		strings.Join([]string{stars + "*", stars, stars, stars[:45] + "b"}, "."): false,
		strings.Join([]string{"*", stars + "b", stars, stars[:46]}, "."):         false,
		strings.Repeat("*.", 100) + "*":                                          false,
	} {
		w := open(t, "zone dns/z example.com. delegate=*/"+pattern, "record a/r "+name+".example.com. A 192.0.2.1")
		advance(w)
		if got := w.Snapshot.Verdict("c1", api.Ref{Kind: api.KindRecord, Name: "a/r"}).Conditions[0].Status == api.ConditionTrue; got != want {
			t.Errorf("%s matches %s: %v", pattern, name, got)
		}
	}
}

// TestLoopsBetweenObjects: chains without an end, of CNAMEs of three kinds of objects and of DNAMEs, end in an answer of a bounded size;
// and a referral has the addresses of some servers, however many a tenant names.
func TestLoopsBetweenObjects(t *testing.T) {
	text := "dnsendpoint evil/e a.example.com CNAME b.example.com\nrecord evil/b b.example.com. CNAME c.example.com.\n" +
		"gateway evil/c host=c.example.com addr=a.example.com\npolicy evil/c\n" +
		"dnsrecord evil/d root=d.example.com served=example.com\n    d.example.com CNAME d2.d.example.com\n" +
		"    d2.d.example.com CNAME d.example.com\n"
	for i := range 200 { // an apex whose members all lead into the loop
		text += fmt.Sprintf("record evil/x%d x%d.example.com. CNAME x%d.example.com.\n", i, i, (i+1)%200)
	}
	w := open(t, text, "dnsendpoint evil/apex\n"+lines(200, "    example.com CNAME x%d.example.com set=s%d"),
		"record evil/p p.example.com. DNAME q.example.com.\nrecord evil/q q.example.com. DNAME p.example.com.\n"+
			"record evil/grow grow.example.com. DNAME grow.grow.example.com.\n"+
			"record evil/self self.example.com. DNAME self.example.com.\nrecord evil/down down.example.com. DNAME x.down.example.com.")
	advance(w)
	for _, name := range []string{"a", "b", "c", "d", "x0", "x.p", "y.x.q", "x.grow", "x.self", "x.down", ""} {
		name = strings.TrimPrefix(name+".example.com.", ".")
		for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeTXT, dns.TypeANY, dns.TypeDS} {
			var a records.Answer
			took := testing.AllocsPerRun(1, func() { a = lookup(w.Snapshot, name, qtype, 1) })
			if n := len(a.Answer) + len(a.Ns) + len(a.Extra); n > 4*16 || took > 64*64 {
				t.Errorf("%s %s: %s with %d records, %v allocations", name, dns.TypeToString[qtype], dns.RcodeToString[a.Rcode], n, took)
			}
		}
	}
	text = ""
	for i := range 200 {
		text += fmt.Sprintf("record evil/ns%d evil.example.com. NS ns%d.evil.example.com.\n", i, i) + lines(30,
			fmt.Sprintf("record evil/a%d-%%d ns%d.evil.example.com. A 192.0.2.%%d", i, i))
	}
	w = open(t, text)
	advance(w)
	if a := lookup(w.Snapshot, "x.evil.example.com.", dns.TypeA, 1); !a.Referral || len(a.Extra) > dns.MaxMsgSize/16+30 {
		t.Errorf("referral=%v with %d servers and %d of their addresses", a.Referral, len(a.Ns), len(a.Extra))
	}
}

// TestOthersCostTheSame: what a change of one tenant's policy costs, and what a query for it does, does not grow with what another
// publishes in the zone, or below the name. Who contends for the host is looked at again with it.
func TestOthersCostTheSame(t *testing.T) {
	const policy = "gateway victim/app host=app.example.com addr=192.0.2.1\npolicy victim/app at=1h weight="
	for what, evil := range map[string]string{
		"hosts of the zone":      "gateway evil/g%d host=h%d.example.com addr=192.0.2.66\npolicy evil/g%d at=2h",
		"names below the host":   "dnsendpoint evil/e%d x%d.app.example.com A 192.0.2.66",
		"contenders on the host": "gateway evil/g%d host=app.example.com addr=192.0.2.66\npolicy evil/g%d at=2h weight=1",
		"Records below klb.H":    "record evil/r%d x%d.klb.app.example.com. at=2h A 192.0.2.66",
	} {
		measure := func(n int) (change uint64, query float64) {
			w := open(t, policy+"1", lines(n, evil))
			advance(w)
			w.Apply(t, policy+"2")
			change, _ = advance(w)
			query = testing.AllocsPerRun(10, func() {
				if a := lookup(w.Snapshot, "app.example.com.", dns.TypeA, 1); strings.Contains(a.Answer[len(a.Answer)-1].String(), "192.0.2.66") {
					t.Error("the host is another's")
				}
			})
			return change, query
		}
		fewChange, fewQuery := measure(100)
		manyChange, manyQuery := measure(1000)
		most := 2 * fewChange
		if what == "contenders on the host" {
			most *= 5
		}
		if manyChange > most+500 || manyQuery > fewQuery {
			t.Errorf("beside 100 %s a change takes %d allocations and a query %v, beside 1000 %d and %v", what, fewChange, fewQuery, manyChange,
				manyQuery)
		}
	}
}

// TestWhatIsRememberedHasABound: what a snapshot remembers of zones that were served once, and hands on to a reload, does not grow with
// each change; and keys of checks are short, however long path and codes of the check are.
func TestWhatIsRememberedHasABound(t *testing.T) {
	w := open(t, "zone dns/z example.com. delegate=*", lines(100, "zone a/z%d z%d.example.com. delegate=*"))
	advance(w)
	if n := len(w.Snapshot.Denied()); n > 1 {
		t.Errorf("all zones lie at or below example.com, and %d names are handed on", n)
	}
	codes := ""
	for code := 100; code < 600; code++ {
		codes += fmt.Sprintf(", %d", code)
	}
	hosts, addresses := strings.ReplaceAll(strings.TrimSpace(lines(64, "h%d.example.com")), "\n", ","),
		strings.ReplaceAll(strings.TrimSpace(lines(16, "192.0.2.%d")), "\n", ",")
	w = open(t, "gateway n/g host="+hosts+" addr="+addresses,
		"policy n/g spec.healthCheck={protocol: HTTP, port: 80, interval: 1s, path: /"+strings.Repeat("x", 2047)+"}")
	advance(w)
	size := 0
	for key := range w.Snapshot.Checks().All() {
		size += len(key)
	}
	if size > 1<<20 || size == 0 {
		t.Errorf("the keys of %d targets have %d bytes", w.Snapshot.Checks().Len(), size)
	}
	w = open(t, "zone dns/z example.com. delegate=*")
	advance(w)
	for i := range 1100 {
		w.Apply(t, fmt.Sprintf("zone b/z z%d.example.com.", i))
		advance(w)
	}
	if _, octets := advance(w); octets > 1<<17 {
		t.Errorf("after 1,100 names of one Zone a compile takes %d octets", octets)
	}
}
