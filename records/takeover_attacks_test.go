package records

import (
	"fmt"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// attack is what a namespace of younger objects tries on another's names.
type attack struct {
	name    string
	objects []manifest
	// host is true where it wants the victim's host, or what all of the zone depends on;
	// klb where it wants names that only a steered host has. Somebody has to be told no
	// then, wherever the attacker may publish at all.
	host, klb bool
	// beside is true for what rule 5.3 has stand beside what is at the host, where Records
	// say it: data of other types, and other Records.
	beside bool
	// pools is true where its targets are members to choose from (rule 5.6).
	pools bool
}

// The namespaces, and the days on which they write.
const (
	zoneDay, victimDay, attackDay = 1, 5, 9
	attacker                      = "evil/x"
	attackAddress                 = "198.51.100.66"
	mainZone                      = "infra/example-com"
	serverName                    = "ns1.dns.example.com."
)

// maker writes objects that want data at a name.
type maker struct {
	name string
	make func(name string) []manifest
}

// steeredMakers are all ways to want steered data at a name.
func steeredMakers() []maker {
	one := func(m manifest) []manifest { return []manifest{m} }
	record := func(rtype, data string) func(string) []manifest {
		return func(name string) []manifest { return one(recordOf(attacker, attackDay, at(name), rtype, data)) }
	}
	return []maker{
		{"DNSPolicy simple", func(n string) []manifest { return gatewayWith(attacker, attackDay, trimDot(n), attackAddress, "") }},
		{"DNSPolicy hostname", func(n string) []manifest { return gatewayWith(attacker, attackDay, trimDot(n), "lb.example.net", "") }},
		{"DNSPolicy weighted", func(n string) []manifest { return gatewayWith(attacker, attackDay, trimDot(n), attackAddress, "IE") }},
		{"Record A", record("A", attackAddress)},
		{"Record AAAA", record("AAAA", "2001:db8::66")},
		{"Record CNAME", record("CNAME", "lb.example.net.")},
		{"DNSRecord A", func(n string) []manifest {
			return one(dnsRecordOf(attacker, attackDay, n, row(n, "A", attackAddress, "")))
		}},
		{"DNSRecord AAAA", func(n string) []manifest {
			return one(dnsRecordOf(attacker, attackDay, n, row(n, "AAAA", "2001:db8::66", "")))
		}},
		{"DNSRecord CNAME", func(n string) []manifest {
			return one(dnsRecordOf(attacker, attackDay, n, row(n, "CNAME", "lb.example.net", "")))
		}},
		{"DNSRecord set", func(n string) []manifest {
			return one(dnsRecordOf(attacker, attackDay, n, row(n, "A", attackAddress, "setIdentifier: x, "+geoCode("*"))))
		}},
		{"DNSRecord chain", func(n string) []manifest {
			return one(dnsRecordOf(attacker, attackDay, n, chainRows(n, "198.51.100")...))
		}},
		{"DNSRecord of the zone", func(n string) []manifest {
			return one(dnsRecordOf(attacker, attackDay, "example.com", row("evil.example.com", "A", attackAddress, ""), row(n, "A", attackAddress, "")))
		}},
		{"DNSEndpoint A", func(n string) []manifest { return one(endpointOf(attacker, attackDay, row(n, "A", attackAddress, ""))) }},
		{"DNSEndpoint CNAME", func(n string) []manifest {
			return one(endpointOf(attacker, attackDay, row(n, "CNAME", "lb.example.net", "")))
		}},
		{"DNSEndpoint set", func(n string) []manifest {
			return one(endpointOf(attacker, attackDay, row(n, "A", attackAddress, "setIdentifier: x, "+geoCode("IE"))))
		}},
		{"DNSEndpoint chain", func(n string) []manifest { return one(endpointOf(attacker, attackDay, chainRows(n, "198.51.100")...)) }},
		{"DNSEndpoint among others", func(n string) []manifest {
			return one(endpointOf(attacker, attackDay, row("evil.example.com", "A", attackAddress, ""), row(n, "A", attackAddress, "")))
		}},
	}
}

// otherMakers are all ways to want data of a type that is not steered.
func otherMakers() (all []maker) {
	for _, data := range [][2]string{
		{"TXT", "\"evil\""},
		{"MX", "10 mx.example.net."},
		{"HTTPS", "1 lb.example.net."},
		{"CAA", `0 issue "evil.example.net"`},
		{"NS", "ns.example.net."},
		{"DNAME", "example.net."},
		{"DS", "1 8 2 00000000000000000000000000000000000000000000000000000000000000ff"},
	} {
		all = append(all,
			maker{"Record " + data[0], func(n string) []manifest {
				return []manifest{recordOf(attacker, attackDay, at(n), data[0], data[1])}
			}},
			maker{"DNSRecord " + data[0], func(n string) []manifest {
				return []manifest{dnsRecordOf(attacker, attackDay, n, row(n, data[0], data[1], ""))}
			}},
			maker{"DNSEndpoint " + data[0], func(n string) []manifest {
				return []manifest{endpointOf(attacker, attackDay, row(n, data[0], data[1], ""))}
			}})
	}
	return all
}

// fewMakers are those of otherMakers that differ in what they do to a name.
func fewMakers() []maker {
	return slices.DeleteFunc(otherMakers(), func(m maker) bool {
		return !strings.HasSuffix(m.name, " TXT") && !strings.HasSuffix(m.name, " NS") && !strings.HasSuffix(m.name, " DNAME")
	})
}

// attacksOn returns everything that is tried on a host; klb are the names of the victim
// below it, and server is true where the Corefile's name server has an address.
func attacksOn(host string, klb []string, server bool) (all []attack) {
	b := rdata.Base(host)
	above, _ := rdata.Parent(b)
	add := func(of []maker, where, name string, wantsHost, wantsKlb bool) {
		for _, m := range of {
			all = append(all, attack{name: m.name + " at " + where, objects: m.make(name), host: wantsHost, klb: wantsKlb})
		}
	}
	every, few := slices.Concat(steeredMakers(), otherMakers()), slices.Concat(steeredMakers(), fewMakers())
	add(steeredMakers(), "the host", host, true, false)
	add(otherMakers(), "the host", host, false, false)
	for i := range all {
		all[i].beside = slices.Contains([]string{"A", "AAAA", "TXT", "MX", "HTTPS", "CAA", "DS"}, strings.TrimSuffix(strings.TrimPrefix(all[i].name, "Record "), " at the host"))
	}
	if host == b {
		add(few, "the wildcard", "*."+b, false, false)
	} else {
		add(few, "the wildcard's base", b, false, false)
	}
	add(few, "a name below", "x."+b, false, false)
	add(every, "_acme-challenge", "_acme-challenge."+b, false, false)
	if above != "com." {
		add(every, "a name above", above, false, false)
	}
	if b != "example.com." {
		add(every, "the apex", "example.com.", false, false)
	}
	klb = append(slices.Clone(klb), "klb."+b, "x.klb."+b, "ie.klb."+b, "*.klb."+b, "klb.klb."+b)
	slices.Sort(klb)
	for _, name := range slices.Compact(klb) {
		add(steeredMakers(), strings.Replace(trimDot(name), trimDot(b), "H", 1), name, false, true)
		add(fewMakers(), strings.Replace(trimDot(name), trimDot(b), "H", 1), name, false, false)
	}
	add(steeredMakers(), "a name server", serverName, server, false)
	add(otherMakers(), "a name server", serverName, false, false)
	add(every, "a name above a name server", "dns.example.com.", false, false)
	return slices.Concat(all, zoneAttacks(host), spellingAttacks(host), forgedAttacks(host), clusterAttacks(host))
}

// zoneAttacks are those with Zones: at the names and above and below them, alone and
// with what makes them useful.
func zoneAttacks(host string) (all []attack) {
	b := rdata.Base(host)
	above, _ := rdata.Parent(b)
	rel := relativeIn("example.com.", b)
	add := func(name string, wants bool, objects ...manifest) {
		klb := strings.Contains(name, "klb.H")
		all = append(all, attack{name: name, objects: objects, host: wants && !klb, klb: klb})
	}
	for _, z := range []struct{ where, name string }{
		{"the host", b},
		{"a name above", above},
		{"the apex", "example.com."},
		{"a name below", "x." + b},
		{"klb.H", "klb." + b},
		{"ie.klb.H", "ie.klb." + b},
		{"a name server", serverName},
		{"a name above a name server", "dns.example.com."},
		{"the top", "com."},
		{"the root", "."},
	} {
		own := zoneOf("evil/z", attackDay, at(z.name), "evil")
		wants := z.where != "a name below"
		add("Zone at "+z.where, wants, own)
		add("Zone with Records at "+z.where, wants, own,
			recordOf("evil/ns", attackDay, in("@", "evil/z"), "NS", "ns.example.net."),
			recordOf("evil/a", attackDay, in("@", "evil/z"), "A", attackAddress),
			recordOf(attacker, attackDay, in(relativeIn(z.name, b), "evil/z"), "A", attackAddress))
	}
	add("Zone with a zoneRef into another's", true, zoneOf("evil/z", attackDay, in(rel, mainZone), "evil"), recordOf(attacker, attackDay, in("@", "evil/z"), "A", attackAddress))
	add("Zone of another's name", true, zoneOf("evil/example-com", attackDay, at("example.com."), "evil"), recordOf(attacker, attackDay, in(rel, "evil/example-com"), "A", attackAddress))
	add("Zone with a zoneRef to itself", true, zoneOf("evil/z", attackDay, in(rel, "evil/z"), "evil"), recordOf(attacker, attackDay, in("@", "evil/z"), "A", attackAddress))
	add("Zones with zoneRefs in a cycle", true, zoneOf("evil/outer", attackDay, in("shop", "evil/z"), "evil"), zoneOf("evil/z", attackDay, in("app", "evil/outer"), "evil"),
		recordOf(attacker, attackDay, in("@", "evil/z"), "A", attackAddress))
	add("Record with a zoneRef to no Zone", true, recordOf(attacker, attackDay, in(rel, "evil/none"), "A", attackAddress))
	if rel != "@" {
		add("Zones at each name down to the host", true, zoneOf("evil/outer", attackDay, at(above), "evil"), zoneOf("evil/z", attackDay, at(b), "evil"),
			recordOf(attacker, attackDay, in("@", "evil/z"), "A", attackAddress))
		add("Zone between that delegates the rest", true, zoneOf("evil/outer", attackDay, at(above), "evil", "victim"), zoneOf("evil/z", attackDay, at("x."+b), "evil"),
			recordOf(attacker, attackDay, in("@", "evil/z"), "A", attackAddress))
		add("Zones step by step", true, zoneOf("evil/outer", attackDay, in("shop", mainZone), "evil"), zoneOf("evil/z", attackDay, in("app", "evil/outer"), "evil"),
			recordOf(attacker, attackDay, in("@", "evil/z"), "A", attackAddress))
	}
	return all
}

// relativeIn returns a name as a Record in a Zone has it: "x" for one that does not lie in
// it, "@" for the apex.
func relativeIn(origin, name string) string {
	switch {
	case !rdata.IsSubdomain(origin, name):
		return "x"
	case origin == name:
		return "@"
	}
	return rdata.Relative(origin, name)
}

// spellingAttacks want the host in other words.
func spellingAttacks(host string) (all []attack) {
	bare, first := trimDot(host), host[:1]
	for _, spelling := range []string{
		strings.ToUpper(host),
		bare,
		strings.ToUpper(bare),
		strings.Replace(host, first, fmt.Sprintf(`\%03d`, first[0]), 1),
		strings.Replace(host, first, fmt.Sprintf(`\%03d`, strings.ToUpper(first)[0]), 1),
		strings.Replace(host, ".com.", `.\099\079m.`, 1),
		strings.Replace(bare, ".com", `.\099om`, 1),
		strings.Replace(host, ".example", `.\e\x\ample`, 1),
	} {
		name := func(kind string) string { return kind + " at " + spelling }
		all = append(all,
			attack{name: name("Record"), objects: []manifest{recordOf(attacker, attackDay, at(spelling), "A", attackAddress)}, host: true, beside: true},
			attack{name: name("Record of type CNAME"), objects: []manifest{recordOf(attacker, attackDay, at(spelling), "CNAME", "lb.example.net.")}, host: true},
			attack{name: name("Zone"), objects: []manifest{zoneOf("evil/z", attackDay, at(spelling), "evil")}, host: true},
			attack{name: name("DNSEndpoint"), objects: []manifest{endpointOf(attacker, attackDay, row(spelling, "A", attackAddress, ""))}, host: true},
			attack{name: name("DNSRecord"), objects: []manifest{dnsRecordOf(attacker, attackDay, spelling, row(spelling, "A", attackAddress, ""))}, host: true},
			attack{name: name("DNSPolicy"), objects: gatewayWith(attacker, attackDay, spelling, attackAddress, ""), host: true})
	}
	return all
}

// forgedAttacks say of themselves what only the server says, or what is another's.
func forgedAttacks(host string) []attack {
	label := func(m manifest, labels string) []manifest {
		m.meta = "labels: {" + labels + "}"
		return []manifest{m}
	}
	const parentZone, zoneName = "kubi.zone/parent-zone: example-com.infra", "kuadrant.io/coredns-zone-name: "
	rel := relativeIn("example.com.", host)
	rows := row(host, "A", attackAddress, "")
	byZoneID := manifest{kind: api.KindDNSRecord, name: attacker, day: attackDay, body: fmt.Sprintf(
		"spec: {rootHost: '%s', zoneID: example.com, providerRef: {name: s}, endpoints: [%s]}", host, rows)}
	foreign := gatewayWith("evil/app", attackDay, trimDot(host), attackAddress, "")[1:]
	return []attack{
		{name: "Record with a forged parent", beside: true, objects: label(recordOf(attacker, attackDay, at(host), "A", attackAddress), parentZone), host: true},
		{name: "Record in another's Zone with a forged parent", beside: true, objects: label(recordOf(attacker, attackDay, in(rel, mainZone), "A", attackAddress), parentZone), host: true},
		{name: "Record of type CNAME in another's Zone", objects: []manifest{recordOf(attacker, attackDay, in(rel, mainZone), "CNAME", "lb.example.net.")}, host: true},
		{name: "Zone with a forged parent", objects: label(zoneOf("evil/z", attackDay, at(rdata.Base(host)), "evil"), parentZone), host: true},
		{name: "DNSRecord by zoneID", objects: []manifest{byZoneID}, host: true},
		{name: "DNSRecord labelled in upper case", objects: label(dnsRecordOf(attacker, attackDay, host, rows), zoneName+"EXAMPLE.COM."), host: true},
		{name: "DNSRecord as if it was ours", objects: label(dnsRecordOf(attacker, attackDay, host, rows), zoneName+"example.com, app.kubernetes.io/managed-by: kuadrant-coredns"), host: true},
		{name: "DNSRecord outside its rootHost", objects: []manifest{dnsRecordOf(attacker, attackDay, "evil.example.com", rows)}, host: true},
		{name: "DNSPolicy on another's Gateway", objects: foreign, host: true},
	}
}

// clusterAttacks come from another cluster: of the same namespace and name (rule 5.6),
// of the same namespace, and of the attacker's.
func clusterAttacks(host string) (all []attack) {
	for _, name := range []string{"victim/app", "victim/other", attacker} {
		for _, m := range []maker{
			{"DNSPolicy simple", func(n string) []manifest { return gatewayWith(name, attackDay, trimDot(n), attackAddress, "") }},
			{"DNSPolicy weighted", func(n string) []manifest { return gatewayWith(name, attackDay, trimDot(n), attackAddress, "IE") }},
			{"Record A", func(n string) []manifest {
				return []manifest{recordOf(name, attackDay, at(n), "A", attackAddress)}
			}},
			{"DNSRecord A", func(n string) []manifest {
				return []manifest{dnsRecordOf(name, attackDay, n, row(n, "A", attackAddress, ""))}
			}},
			{"DNSRecord chain", func(n string) []manifest {
				return []manifest{dnsRecordOf(name, attackDay, n, chainRows(n, "198.51.100")...)}
			}},
			{"DNSEndpoint A", func(n string) []manifest {
				return []manifest{endpointOf(name, attackDay, row(n, "A", attackAddress, ""))}
			}},
			{"DNSEndpoint set", func(n string) []manifest {
				return []manifest{endpointOf(name, attackDay, row(n, "A", attackAddress, "setIdentifier: x"))}
			}},
		} {
			a := attack{name: m.name + " " + name + " of another cluster", objects: m.make(host), host: true}
			a.beside = m.name == "Record A"
			a.pools = strings.HasSuffix(m.name, "weighted") || strings.HasSuffix(m.name, "chain") || strings.HasSuffix(m.name, "set")
			for i := range a.objects {
				a.objects[i].cluster = 1
			}
			all = append(all, a)
		}
	}
	return all
}

// questionsAbout are those whose answers are not to change: about a host, the names of
// its own below it, and what all of the zone depends on. whole is true where the zone above
// the host is the victim's too, server where the Corefile's name server has an address.
func questionsAbout(host string, klb []string, whole, server bool) (all []question) {
	const anybody = "10.3.0.1"
	asked := host
	if host != rdata.Base(host) {
		asked = "q." + rdata.Base(host)
	}
	for _, client := range []string{"10.1.0.1", "10.2.0.1", "10.3.0.1"} {
		for _, name := range append([]string{asked}, klb...) {
			all = append(all, question{name, dns.TypeA, client})
		}
	}
	for _, name := range append([]string{asked}, klb...) {
		all = append(all, question{name, dns.TypeAAAA, anybody}, question{name, dns.TypeCNAME, anybody})
	}
	if up, _ := rdata.Parent(rdata.Base(host)); whole {
		all = append(all, question{up, dns.TypeSOA, anybody}, question{up, dns.TypeNS, anybody}, question{up, dns.TypeDS, anybody})
	}
	if server {
		all = append(all, question{serverName, dns.TypeA, anybody}, question{serverName, dns.TypeAAAA, anybody})
	}
	return append(all,
		question{asked, dns.TypeSOA, anybody}, question{asked, dns.TypeHTTPS, anybody},
		question{"example.com.", dns.TypeNS, anybody}, question{"example.com.", dns.TypeSOA, anybody})
}

type question struct {
	name   string
	qtype  uint16
	client string
}

func (q question) String() string {
	return q.name + " " + dns.TypeToString[q.qtype] + " from " + q.client
}
