package records

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// victim is one who has a name.
type victim struct {
	name    string
	host    string
	objects []manifest
	steers  bool // it has names below klb.H' too
	pools   bool // its targets are members to choose from (rule 5.6)
}

const victimHost = "app.shop.example.com."

func victims() []victim {
	weighted := func(host string) []manifest {
		return slices.Concat(gatewayWith("victim/app", victimDay, host, "192.0.2.1", "IE"), gatewayWith("victim/app-us", victimDay, host, "192.0.2.2", "US"))
	}
	const wild, apex = "*.wild.shop.example.com", "example.com"
	host := trimDot(victimHost)
	return []victim{
		{"DNSPolicy simple", victimHost, gatewayWith("victim/app", victimDay, host, "192.0.2.1", ""), false, false},
		{"DNSPolicy hostname", victimHost, gatewayWith("victim/app", victimDay, host, "lb.example.org", ""), false, false},
		{"DNSPolicy weighted", victimHost, weighted(host), true, true},
		{"Record", victimHost, []manifest{recordOf("victim/app", victimDay, at(victimHost), "A", "192.0.2.1")}, false, false},
		{"DNSRecord", victimHost, []manifest{dnsRecordOf("victim/app", victimDay, host, row(host, "A", "192.0.2.1", ""))}, false, false},
		{"DNSRecord chain", victimHost, []manifest{dnsRecordOf("victim/app", victimDay, host, chainRows(host, "192.0.2")...)}, true, true},
		{"DNSEndpoint", victimHost, []manifest{endpointOf("victim/app", victimDay, row(host, "A", "192.0.2.1", ""))}, false, false},
		{"DNSEndpoint hostname", victimHost, []manifest{endpointOf("victim/app", victimDay, row(host, "CNAME", "lb.example.org", ""))}, false, false},
		{"DNSEndpoint sets", victimHost, []manifest{endpointOf("victim/app", victimDay,
			row(host, "A", "192.0.2.1", "setIdentifier: ie, "+geoCode("IE")), row(host, "A", "192.0.2.2", "setIdentifier: us, "+geoCode("US")))}, false, true},
		{"Zone", victimHost, []manifest{
			zoneOf("victim/shop", victimDay, at("shop.example.com."), "victim"),
			recordOf("victim/ns", victimDay, in("@", "victim/shop"), "NS", "ns.shop.example.com."),
			recordOf("victim/ns-a", victimDay, in("ns", "victim/shop"), "A", "192.0.2.53"),
			recordOf("victim/app", victimDay, in("app", "victim/shop"), "A", "192.0.2.1"),
		}, false, false},
		{"Zone at the host", victimHost, []manifest{ // two labels below the Zone above
			zoneOf("victim/app", victimDay, at(victimHost), "victim"),
			recordOf("victim/ns", victimDay, in("@", "victim/app"), "NS", "ns.example.net."),
			recordOf("victim/app", victimDay, in("@", "victim/app"), "A", "192.0.2.1"),
		}, false, false},
		{"DNSPolicy simple wildcard", wild + ".", gatewayWith("victim/app", victimDay, wild, "192.0.2.1", ""), false, false},
		{"DNSPolicy weighted wildcard", wild + ".", weighted(wild), true, true},
		{"DNSPolicy simple apex", apex + ".", gatewayWith("victim/app", victimDay, apex, "192.0.2.1", ""), false, false},
		{"DNSPolicy weighted apex", apex + ".", weighted(apex), true, true},
	}
}

// situation is what is said about who may publish.
type situation struct {
	name    string
	opt     Options
	objects []manifest
	// refuses is true where the attacker may publish nothing, and may have no Zone either.
	refuses bool
	// apart is true where the attacker is in another cluster, in a namespace of the victim's
	// name that the operator has not listed there.
	apart bool
}

// situations are those of rules 5.1 and 5.2. Where namespaces may have Zones of their
// own, the victim may.
func situations() []situation {
	zones := []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300, Nameservers: []Nameserver{{Name: serverName, Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.250")}}}}}
	elsewhere := []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300, Nameservers: []Nameserver{{Name: "ns.example.net."}}}}
	some := []string{"infra", "victim"}
	zone := func(delegations string) []manifest {
		return []manifest{{kind: api.KindZone, name: mainZone, day: zoneDay, body: "spec: {domainName: example.com., delegations: [" + delegations + "]}"}}
	}
	const all = "{namespaces: [infra, victim], zones: ['*'], records: [{pattern: '*'}, {pattern: '@'}]}"
	return []situation{
		{"a Zone for both", Options{Zones: zones, ZoneNamespaces: some}, []manifest{zoneOf(mainZone, zoneDay, at("example.com."), "infra", "victim", "evil")}, false, false},
		{"a Zone for both but for its apex and Zones", Options{Zones: zones, ZoneNamespaces: some}, zone(all + ", {namespaces: [evil], records: [{pattern: '*'}]}"), false, false},
		{"a Zone for both but for other types", Options{Zones: zones, ZoneNamespaces: some}, zone(all + ", {namespaces: [evil], records: [{pattern: '*', types: [A, AAAA, CNAME]}]}"), false, false},
		{"a Zone for the victim", Options{Zones: zones, ZoneNamespaces: some}, zone(all), true, false},
		{"no Zone", Options{Zones: zones, ZoneNamespaces: some}, nil, false, false},
		{"no Zone, and servers elsewhere", Options{Zones: elsewhere, ZoneNamespaces: some}, nil, false, false},
		{"no Zone, and Zones of all", Options{Zones: zones}, nil, false, false},
		{"publish", Options{Zones: zones, ZoneNamespaces: some, Publish: []Publish{{Domain: "example.com.", Namespaces: []string{"victim"}}}}, nil, true, false},
		{"publish, and Zones of all", Options{Zones: zones, Publish: []Publish{{Domain: "example.com.", Namespaces: []string{"victim"}}}}, nil, false, false},
	}
}

// TestTakeover: whatever a namespace whose objects are younger publishes, the names of
// another are answered as before (rules 5.1 to 5.7), and who wanted them is told why not.
func TestTakeover(t *testing.T) {
	oneGoroutine(t)
	known, read := exceptions(), make(manifests)
	for _, s := range situations() {
		t.Run(s.name, func(t *testing.T) {
			for _, v := range victims() {
				t.Run(v.name, func(t *testing.T) { s.play(t, read, &v, known, attackDay) })
			}
		})
	}
	for _, e := range known {
		if e.used == 0 {
			t.Errorf("nothing needs the exception any more: %s", e.rule)
		}
	}
}

// TestKeptTakeover: the same holds of objects that are older, where it is on record that
// the victim has acquired its host (rule 5.4).
func TestKeptTakeover(t *testing.T) {
	oneGoroutine(t)
	known, read := append(exceptions(), recordsBelow), make(manifests)
	for _, s := range situations() {
		if !slices.Contains([]string{"a Zone for both", "a Zone for both but for its apex and Zones", "no Zone", "no Zone, and Zones of all"}, s.name) {
			continue // the others tell nothing more of it
		}
		t.Run(s.name, func(t *testing.T) {
			for _, v := range victims() {
				t.Run(v.name, func(t *testing.T) { s.play(t, read, &v, known, victimDay-1) })
			}
		})
	}
}

// TestTakeoverFromCluster: the same holds of objects in another cluster, in a namespace of
// the victim's name that is not listed: they are another namespace's (rule 5.6). Where the
// Corefile or the delegations name the victim's namespace, they do not name that one.
func TestTakeoverFromCluster(t *testing.T) {
	oneGoroutine(t)
	read := make(manifests)
	known := slices.DeleteFunc(exceptions(), func(e *exception) bool {
		return strings.HasPrefix(e.rule, "5.6") || strings.HasSuffix(e.rule, "whichever cluster they are in")
	})
	for _, s := range situations() {
		s.apart = true
		if s.name == "a Zone for both" || strings.HasPrefix(s.name, "a Zone for both but") {
			s.refuses = true // nobody can name the attacker
		}
		t.Run(s.name, func(t *testing.T) {
			for _, v := range victims() {
				t.Run(v.name, func(t *testing.T) { s.play(t, read, &v, known, attackDay) })
			}
		})
	}
}

// move puts an attack where s has the attacker.
func (s *situation) move(a *attack) {
	if !s.apart {
		return
	}
	for i := range a.objects {
		m := &a.objects[i]
		m.cluster, m.name, m.body = 1, strings.Replace(m.name, "evil/", "victim/", 1), strings.ReplaceAll(m.body, "namespace: evil", "namespace: victim")
	}
}

// worldOf returns two clusters, of which one pools in no namespace where s wants that.
func (s *situation) worldOf() *world {
	w := newWorld("c1", "c2")
	if s.apart {
		w.setPools(1, api.PoolsIn())
	}
	return w
}

// play tries every attack on a victim, with objects of the given day. Where that is before
// the victim's, the victim's acquisition is on record.
func (s *situation) play(t *testing.T, read manifests, v *victim, known []*exception, day int) {
	w := s.worldOf()
	read.apply(t, w, s.objects...)
	read.apply(t, w, v.objects...)
	before := Compile(nil, w.objects(), &s.opt, testTime)
	var klb []string
	for _, z := range before.zones {
		for name, n := range z.names.All() {
			if strings.Contains(name, "klb."+rdata.Base(v.host)) && n.steered.owner != nil {
				klb = append(klb, name)
			}
		}
	}
	if v.steers != (len(klb) > 0) && v.host != "example.com." {
		t.Fatalf("names below the host: %q", klb)
	}
	server := s.opt.Zones[0].Nameservers[0].Addresses != nil
	questions := questionsAbout(v.host, klb, v.name == "Zone", server)
	want := answersTo(before, questions)
	if !strings.Contains(want[0], "192.0.2.1") && !strings.Contains(want[0], "lb.example.org") {
		t.Fatalf("%s: the victim has no name:\n%s", questions[0], want[0])
	}
	for _, a := range attacksOn(v.host, klb, server) {
		t.Run(a.name, func(t *testing.T) {
			s.move(&a)
			w := s.worldOf()
			read.apply(t, w, s.objects...)
			read.apply(t, w, v.objects...)
			first := Compile(nil, w.objects(), &s.opt, testTime)
			if day < victimDay {
				w.acquireAll(first, v.host)
			}
			for i := range a.objects {
				a.objects[i].day = day
			}
			read.apply(t, w, a.objects...)
			after := Compile(first, w.objects(), &s.opt, testTime)
			e := exceptionOf(known, v, s, &a)
			excepted := judge(t, v.host, questions, want, answersTo(after, questions), e)
			if !excepted && (e == nil || !e.granted) {
				s.checkTold(t, v, &a, after)
			}
		})
	}
}

// acquireAll puts it on record who has a host, and which Zones are served.
func (w *world) acquireAll(s *Snapshot, host string) {
	e, keys := w.acquired.Edit(), []string{host}
	for _, z := range s.zones {
		keys = append(keys, api.ZoneKey(z.origin))
	}
	for _, key := range keys {
		if owner, ok := s.Owner(key); ok {
			e.Set(key, owner)
			w.acquiredChanged = append(w.acquiredChanged, key)
		}
	}
	w.acquired = e.Map()
}

// answersTo asks all questions, with two draws.
func answersTo(s *Snapshot, questions []question) []string {
	all := make([]string, len(questions))
	for i, q := range questions {
		all[i] = told(s, q.name, q.qtype, q.client, 1) + "\n" + told(s, q.name, q.qtype, q.client, 1<<63)
	}
	return all
}

func exceptionOf(known []*exception, v *victim, s *situation, a *attack) *exception {
	for _, e := range known {
		if e.of(v, s, a) {
			return e
		}
	}
	return nil
}

// judge compares the answers; what is excepted may differ. It tells whether something of
// that does.
func judge(t *testing.T, host string, questions []question, want, got []string, e *exception) (excepted bool) {
	t.Helper()
	for i, q := range questions {
		switch {
		case got[i] == want[i]:
		case e != nil && (!e.flat || q.flat(host, want[i], got[i])):
			e.used++
			excepted = true
		default:
			t.Errorf("%s was\n%s\nand is now\n%s", q, want[i], got[i])
			return true
		}
	}
	return excepted
}

// flat tells whether an answer differs from what it was in form alone, as rule 2.4 has it
// where other data stand at the host.
func (q question) flat(host, want, got string) bool {
	if rdata.Base(q.name) != rdata.Base(host) && q.name != "q."+rdata.Base(host) {
		return false
	}
	switch q.qtype {
	case dns.TypeA, dns.TypeAAAA:
		was := addressesIn(want)
		denied := strings.Contains(want, "auth ") // at the end of a chain
		return was == addressesIn(got) && (was != "" || denied || !strings.Contains(want, "CNAME"))
	}
	return true
}

// checkTold fails unless the attacker is told why what it wants is not served: all of
// its objects where it may publish nothing, one of them where it wants another's name.
func (s *situation) checkTold(t *testing.T, v *victim, a *attack, after *Snapshot) {
	t.Helper()
	said, asked := 0, 0
	var silent []string
	for _, m := range a.objects {
		if m.kind == api.KindGateway {
			continue
		}
		asked++
		verdict := after.Verdict(after.clusters[m.cluster].name, api.Ref{Kind: m.kind, Name: m.name})
		if verdict == nil || len(verdict.Conditions) == 0 {
			t.Errorf("%s %s has no verdict", m.kind, m.name)
			continue
		}
		if reason, line := verdict.Problem(); reason != "" && line != "" {
			said++
		} else {
			silent = append(silent, fmt.Sprintf("%s %s: %+v", m.kind, m.name, verdict.Conditions))
		}
	}
	wants := a.host || a.klb && v.steers
	foreign := s.apart || strings.Contains(a.objects[0].name, "evil/")
	switch {
	case s.refuses && foreign && said < asked:
		t.Errorf("it may publish nothing, and is not told so: %s", strings.Join(silent, "; "))
	case wants && said == 0:
		t.Errorf("it wants what is another's, and is not told why not: %s", strings.Join(silent, "; "))
	}
}
