package records_test

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// victim is one who has a name.
type victim struct {
	name, host, objects string
	steers              bool // it has names below klb.H' too
	pools               bool // its targets are members to choose from (rule 5.6)
}

const (
	simplePolicy   = "gateway victim/app host=%h addr=192.0.2.1\npolicy victim/app"
	weightedPolicy = "gateway victim/app host=%h addr=192.0.2.1\npolicy victim/app weight=100 geo=IE default\n" +
		"gateway victim/app-us host=%h addr=192.0.2.2\npolicy victim/app-us weight=100 geo=US"
	appHost, wildHost, apexHost = "app.shop.example.com.", "*.wild.shop.example.com.", "example.com."
)

var victims = []victim{
	{"DNSPolicy simple", appHost, simplePolicy, false, false},
	{"DNSPolicy hostname", appHost, "gateway victim/app host=%h addr=lb.example.org\npolicy victim/app", false, false},
	{"DNSPolicy weighted", appHost, weightedPolicy, true, true},
	{"Record", appHost, "record victim/app %n A 192.0.2.1", false, false},
	{"DNSRecord", appHost, "dnsrecord victim/app root=%n served=example.com %n A 192.0.2.1", false, false},
	{
		"DNSRecord chain", appHost, "dnsrecord victim/app root=%n served=example.com" + strings.ReplaceAll(chainRows, "%a", "192.0.2"), true,
		true,
	},
	{"DNSEndpoint", appHost, "dnsendpoint victim/app %n A 192.0.2.1", false, false},
	{"DNSEndpoint hostname", appHost, "dnsendpoint victim/app %n CNAME lb.example.org", false, false},
	{"DNSEndpoint sets", appHost, "dnsendpoint victim/app\n    %n A 192.0.2.1 set=ie geo=IE\n    %n A 192.0.2.2 set=us geo=US", false, true},
	{"Zone", appHost, "zone victim/shop shop.example.com. delegate=victim\nrecord victim/ns @ in=shop NS ns.shop.example.com.\n" +
		"record victim/ns-a ns in=shop A 192.0.2.53\nrecord victim/app app in=shop A 192.0.2.1", false, false},
	{
		"Zone at the host", appHost,
		"zone victim/app %n delegate=victim\nrecord victim/ns @ in=app NS ns.example.net.\nrecord victim/app @ in=app A 192.0.2.1", false, false,
	},
	{"DNSPolicy simple wildcard", wildHost, simplePolicy, false, false},
	{"DNSPolicy weighted wildcard", wildHost, weightedPolicy, true, true},
	{"DNSPolicy simple apex", apexHost, simplePolicy, false, false},
	{"DNSPolicy weighted apex", apexHost, weightedPolicy, true, true},
}

// situation is what is said about who may publish (rules 5.1 and 5.2), and when and where the others come.
type situation struct {
	name, zone string
	opt        records.Options
	refuses    bool // the others may publish nothing, and may have no Zone either
	way        string
}

// The others' objects are younger; or they are older, and the registry has what the victim has; or they are in another cluster, in a
// namespace of the victim's name that is set apart there.
const (
	younger    = "younger"
	registered = "registered"
	apart      = "apart"
)

func situations() (all []situation) {
	server := records.Nameserver{Name: serverName, Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.250")}}
	options := func(server records.Nameserver, zoneNamespaces []string, publish ...records.Publish) records.Options {
		opt := recordstest.Zones("example.com.")
		opt.Zones[0].Nameservers, opt.ZoneNamespaces, opt.Publish = []records.Nameserver{server}, zoneNamespaces, publish
		return *opt
	}
	some, onlyVictim := []string{"infra", "victim"}, records.Publish{Domain: "example.com.", Namespaces: []string{"victim"}}
	const zone = "zone infra/example-com example.com. at=0h delegate=infra,victim"
	for _, way := range []string{younger, registered, apart} {
		all = append(all,
			situation{"a Zone for both", zone + ",evil", options(server, some), way == apart, way},
			situation{"a Zone for both but for its apex and Zones", zone + " delegate=evil/*", options(server, some), way == apart, way},
			situation{"a Zone for both but for other types", zone + " delegate=evil/*/A,AAAA,CNAME", options(server, some), way == apart, way},
			situation{"a Zone for the victim", zone, options(server, some), true, way},
			situation{"no Zone", "", options(server, some), false, way},
			situation{"no Zone, and servers elsewhere", "", options(records.Nameserver{Name: "ns.example.net."}, some), false, way},
			situation{"no Zone, and Zones of all", "", options(server, nil), false, way},
			situation{"publish", "", options(server, some, onlyVictim), true, way},
			situation{"publish, and Zones of all", "", options(server, nil, onlyVictim), false, way})
	}
	return all
}

// exception is what a rule lets others do to a name.
type exception struct {
	rule string
	of   func(v *victim, s *situation, a *attempt) bool
	told bool // nobody need be told: a grant allows it
}

// exceptions are all that there are. Each is used, or TestTakeover fails.
var exceptions = []exception{
	{"5.6: simple objects of one namespace/name in two clusters are the same object", func(v *victim, s *situation, a *attempt) bool {
		return s.way != apart && strings.HasSuffix(a.name, " victim/app of another cluster") && kindOf(v.name) == kindOf(a.name) &&
			v.pools == a.pools
	}, false},
	{"5.6: weightedGeo objects of one namespace pool their members, and simple ones unite their addresses", func(v *victim, s *situation,
		a *attempt,
	) bool {
		return s.way != apart && strings.HasSuffix(a.name, " victim/other of another cluster") && kindOf(v.name) == kindOf(a.name) &&
			v.pools == a.pools && !strings.HasSuffix(v.name, " hostname")
	}, false},
	{"5.3: the Records of one namespace are one owner, whichever cluster they are in", func(v *victim, s *situation, a *attempt) bool {
		return s.way != apart && strings.HasPrefix(a.name, "Record A victim/") && (v.name == "Record" || kindOf(v.name) == "Zone")
	}, false},
	{"5.4: the registry has no line for a record where one namespace alone may publish: its oldest object has the name", func(v *victim,
		s *situation, a *attempt,
	) bool {
		return s.way == registered && (kindOf(v.name) == "Zone" || v.name == "Record" && strings.HasPrefix(s.name, "publish") ||
			v.name == "Record" && s.refuses) && strings.Contains(a.name, " victim/")
	}, true},
	{"5.2: where nothing limits who may have Zones, whoever has one says who may publish in it", func(_ *victim, s *situation,
		a *attempt,
	) bool {
		return s.name == "no Zone, and Zones of all" && strings.HasPrefix(a.name, "Zone")
	}, true},
	{"2.8: the names at and below klb are those of the wildcard's base where that has a chain", func(v *victim, _ *situation,
		a *attempt,
	) bool {
		return v.host == wildHost && v.steers && strings.HasSuffix(a.name, " at the wildcard's base") &&
			(strings.Contains(a.name, " weighted ") ||
				strings.Contains(a.name, " chain "))
	}, false},
	{"6.5: a Zone that is delegated takes the names below it, where the registry has none of others", func(_ *victim, s *situation,
		a *attempt,
	) bool {
		return s.way == younger && s.name == "a Zone for both" && strings.HasPrefix(a.name, "Zone")
	}, true},
}

func kindOf(name string) string { kind, _, _ := strings.Cut(name, " "); return kind }

// TestTakeover: whatever a namespace publishes that comes later, the names of another are answered as before (rules 5.1 to 5.7), and
// who wanted them is told why not. Every attempt is made on every victim, in one situation after the other; with KUADRANT_SEEDS in all.
func TestTakeover(t *testing.T) {
	all, used, turn := situations(), make([]int, len(exceptions)), 0
	for i := range victims {
		v := &victims[i]
		var played []*play
		for i := range all {
			played = append(played, newPlay(t, v, &all[i]))
		}
		for n := 0; ; n++ {
			more := false
			for i, p := range played {
				if n >= len(p.attempts) {
					continue
				}
				more = true
				if i != turn%len(all) && os.Getenv("KUADRANT_SEEDS") == "" {
					continue
				}
				if e := p.attempt(t, &p.attempts[n]); e >= 0 {
					used[e]++
				}
			}
			if turn++; !more {
				break
			}
		}
	}
	for i, e := range exceptions {
		if used[i] == 0 {
			t.Errorf("nothing needs the exception any more: %s", e.rule)
		}
	}
}

// play is a victim in a situation.
type play struct {
	v        *victim
	s        *situation
	w        *recordstest.World
	first    *records.Snapshot
	attempts []attempt
	asked    []asking
	want     []string
}

func newPlay(t *testing.T, v *victim, s *situation) *play {
	t.Helper()
	p := &play{v: v, s: s, w: recordstest.New(t, &s.opt, "cluster c2", "cluster c1", s.zone, aged(at(v.objects, v.host), "96h"))}
	if s.way == apart {
		p.w.Apply(t, "cluster c2 pools=nowhere", "cluster c1")
	}
	p.first = records.Compile(nil, p.w.Objects(), &s.opt, p.w.Now)
	var klb []string
	for name := range p.first.Differing(new(records.Snapshot)) {
		if strings.Contains(name, "klb."+rdata.Base(v.host)) {
			klb = append(klb, name)
		}
	}
	slices.Sort(klb)
	if v.steers != (len(klb) > 0) && v.host != apexHost {
		t.Fatalf("%s, %s: names below the host: %q", s.name, v.name, klb)
	}
	server := s.opt.Zones[0].Nameservers[0].Addresses != nil
	p.asked = questionsAbout(v.host, klb, v.name == "Zone", server)
	if s.way == registered {
		p.w.Snapshot = p.first
		p.w.Register()
		p.first = records.Compile(p.first, p.w.Objects(), &s.opt, p.w.Now)
	}
	if p.want = answersTo(p.first, p.asked); !strings.Contains(p.want[0], "192.0.2.1") && !strings.Contains(p.want[0], "lb.example.org") {
		t.Fatalf("%s, %s: the victim has no name: %s", s.name, v.name, p.want[0])
	}
	p.attempts = attemptsOn(v.host, klb, server)
	return p
}

// aged gives the objects of a text an age.
func aged(text, at string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if line[0] != ' ' {
			f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
			word := ""
			if f[0] == "record" { // its data end the line
				name, data, _ := strings.Cut(f[2], " ")
				line = fmt.Sprintf("record %s %s at=%s %s\n", f[1], name, at, data)
			} else {
				if len(f) > 2 {
					word = " " + f[2]
				}
				line = fmt.Sprintf("%s %s at=%s%s\n", f[0], f[1], at, word)
			}
		}
		out.WriteString(line)
	}
	return out.String()
}

// attempt makes an attempt and takes it back, and returns the exception that was needed, -1 for none.
func (p *play) attempt(t *testing.T, a *attempt) (needed int) {
	t.Helper()
	text, cluster := a.objects, "c1"
	if after, ok := strings.CutPrefix(text, "c2:"); ok {
		text, cluster = after, "c2"
	}
	if p.s.way == apart {
		text, cluster = strings.ReplaceAll(text, "evil/", "victim/"), "c2"
	}
	age := "192h"
	if p.s.way == registered {
		age = "72h"
	}
	p.w.Apply(t, "cluster "+cluster, aged(text, age))
	after := records.Compile(p.first, p.w.Objects(), &p.s.opt, p.w.Now)
	of := slices.IndexFunc(exceptions, func(e exception) bool { return e.of(p.v, p.s, a) })
	needed = -1
	for i, is := range answersTo(after, p.asked) {
		if is == p.want[i] {
			continue
		}
		if needed = of; of < 0 {
			t.Errorf("%s, %s: %s by %s: %s was\n%s\nand is now\n%s", p.s.name, p.s.way, p.v.name, a.name, p.asked[i], p.want[i], is)
			break
		}
	}
	if needed < 0 && (of < 0 || !exceptions[of].told) {
		p.told(t, a, after, cluster, text)
	}
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); line[0] != ' ' {
			p.w.Apply(t, "delete "+f[0]+" "+f[1])
		}
	}
	return needed
}

// told checks that who tried is told why what it wants is not served: all of its objects where it may publish nothing, one of
// them where it wants another's name.
func (p *play) told(t *testing.T, a *attempt, after *records.Snapshot, cluster, text string) {
	t.Helper()
	said, asked := 0, 0
	var silent []string
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if line[0] == ' ' || f[0] == "gateway" {
			continue
		}
		asked++
		kind := map[string]api.Kind{
			"policy": api.KindDNSPolicy, "zone": api.KindZone, "record": api.KindRecord, "dnsrecord": api.KindDNSRecord,
			"dnsendpoint": api.KindDNSEndpoint,
		}[f[0]]
		v := after.Verdict(cluster, api.Ref{Kind: kind, Name: f[1]})
		if v == nil || len(v.Conditions) == 0 {
			t.Errorf("%s, %s: %s by %s: %s has no verdict", p.s.name, p.s.way, p.v.name, a.name, line)
		} else if reason, why := v.Problem(); reason != "" && why != "" {
			said++
		} else {
			silent = append(silent, fmt.Sprintf("%s: %+v", line, v.Conditions))
		}
	}
	foreign := p.s.way == apart || strings.Contains(text, " evil/")
	if p.s.refuses && foreign && said < asked {
		t.Errorf("%s, %s: %s by %s: it may publish nothing, and is not told so: %q", p.s.name, p.s.way, p.v.name, a.name, silent)
	} else if (a.host || a.klb && p.v.steers) && said == 0 {
		t.Errorf("%s, %s: %s by %s: it wants what is another's, and is not told why not: %q", p.s.name, p.s.way, p.v.name, a.name, silent)
	}
}

// asking is a question whose answer is not to change.
type asking struct {
	name   string
	qtype  uint16
	client string
}

func (q asking) String() string {
	return q.name + " " + dns.TypeToString[q.qtype] + " from " + q.client
}

// questionsAbout are about a host, the names of its own below it, and what all of the zone depends on. whole is true where the zone
// above the host is the victim's too.
func questionsAbout(host string, klb []string, whole, server bool) (all []asking) {
	const anybody = "192.0.2.200"
	asked := host
	if host != rdata.Base(host) {
		asked = "q." + rdata.Base(host)
	}
	for _, client := range []string{"10.1.0.1", "10.2.0.1", anybody} {
		for _, name := range append([]string{asked}, klb...) {
			all = append(all, asking{name, dns.TypeA, client})
		}
	}
	for _, name := range append([]string{asked}, klb...) {
		all = append(all, asking{name, dns.TypeAAAA, anybody}, asking{name, dns.TypeCNAME, anybody})
	}
	if up, _ := rdata.Parent(rdata.Base(host)); whole {
		all = append(all, asking{up, dns.TypeSOA, anybody}, asking{up, dns.TypeNS, anybody}, asking{up, dns.TypeDS, anybody})
	}
	if server {
		all = append(all, asking{serverName, dns.TypeA, anybody}, asking{serverName, dns.TypeAAAA, anybody})
	}
	return append(all, asking{asked, dns.TypeSOA, anybody}, asking{asked, dns.TypeHTTPS, anybody}, asking{apexHost, dns.TypeNS, anybody},
		asking{apexHost, dns.TypeSOA, anybody})
}

// answersTo asks all questions, with two draws. A serial is left out: others may publish in the zone.
func answersTo(s *records.Snapshot, questions []asking) (all []string) {
	for _, q := range questions {
		text := ""
		for _, random := range [...]uint64{1, 1 << 63} {
			r := recordstest.Reply(s, nil, new(dns.Msg).SetQuestion(q.name, q.qtype), q.client, recordstest.Network, random)
			if r == nil {
				text += "not served\n"
				continue
			}
			r.Extra = nil
			text += strings.Join(make(recordstest.Serials).Format(r), "\n") + "\n"
		}
		all = append(all, text)
	}
	return all
}
