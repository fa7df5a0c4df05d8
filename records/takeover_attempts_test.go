package records_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// attempt is what a namespace of objects that come later tries on another's names.
type attempt struct {
	name, objects string // in the short form; a part after "c2:" is in that cluster
	// host is true where it wants the victim's host, or what all of the zone depends on; klb where it wants names that only a
	// steered host has. Somebody has to be told no then, wherever the namespace may publish at all.
	host, klb bool
	pools     bool // its targets are members to choose from (rule 5.6)
}

const serverName = "ns1.dns.example.com."

// maker writes an object that wants data at a name: %n, or %h without its final dot; %b is that without "*.", and %a begins addresses.
type maker struct{ name, text string }

// chainRows are those of Kuadrant's operators for a host with two members (rule 2.3).
const chainRows = `
    %n CNAME klb.%b ttl=300
    klb.%b CNAME ie.klb.%b ttl=300 set=IE geo=IE
    klb.%b CNAME ie.klb.%b ttl=300 set=default geo=*
    klb.%b CNAME us.klb.%b ttl=300 set=US geo=US
    ie.klb.%b CNAME one.klb.%b ttl=60 set=one weight=100
    us.klb.%b CNAME two.klb.%b ttl=60 set=two weight=100
    one.klb.%b A %a.1 ttl=60
    two.klb.%b A %a.2 ttl=60`

// steeredMakers are all ways to want steered data at a name.
var steeredMakers = []maker{
	{"DNSPolicy simple", "gateway evil/x host=%h addr=%a.66\npolicy evil/x"},
	{"DNSPolicy hostname", "gateway evil/x host=%h addr=lb.example.net\npolicy evil/x"},
	{"DNSPolicy weighted", "gateway evil/x host=%h addr=%a.66\npolicy evil/x weight=100 geo=IE default"},
	{"Record A", "record evil/x %n A %a.66"},
	{"Record AAAA", "record evil/x %n AAAA 2001:db8::66"},
	{"Record CNAME", "record evil/x %n CNAME lb.example.net."},
	{"DNSRecord A", "dnsrecord evil/x root=%n served=example.com %n A %a.66"},
	{"DNSRecord AAAA", "dnsrecord evil/x root=%n served=example.com %n AAAA 2001:db8::66"},
	{"DNSRecord CNAME", "dnsrecord evil/x root=%n served=example.com %n CNAME lb.example.net"},
	{"DNSRecord set", "dnsrecord evil/x root=%n served=example.com %n A %a.66 set=x geo=*"},
	{"DNSRecord chain", "dnsrecord evil/x root=%n served=example.com" + chainRows},
	{"DNSRecord of the zone", "dnsrecord evil/x root=example.com served=example.com\n    evil.example.com A %a.66\n    %n A %a.66"},
	{"DNSEndpoint A", "dnsendpoint evil/x %n A %a.66"},
	{"DNSEndpoint CNAME", "dnsendpoint evil/x %n CNAME lb.example.net"},
	{"DNSEndpoint set", "dnsendpoint evil/x %n A %a.66 set=x geo=IE"},
	{"DNSEndpoint chain", "dnsendpoint evil/x" + chainRows},
	{"DNSEndpoint among others", "dnsendpoint evil/x\n    evil.example.com A %a.66\n    %n A %a.66"},
}

// otherMakers are all ways to want data of a type that is not steered.
func otherMakers() (all []maker) {
	for _, data := range [][2]string{
		{"TXT", `"evil"`},
		{"MX", "10 mx.example.net."},
		{"HTTPS", "1 lb.example.net."},
		{"CAA", `0 issue "evil.example.net"`},
		{"NS", "ns.example.net."},
		{"DNAME", "example.net."},
		{"DS", "1 8 2 00000000000000000000000000000000000000000000000000000000000000ff"},
	} {
		all = append(all, maker{"Record " + data[0], "record evil/x %n " + data[0] + " " + data[1]})
		target := "'" + strings.ReplaceAll(data[1], " ", "\u0020") + "'"
		all = append(all, maker{"DNSRecord " + data[0], "dnsrecord evil/x root=%n served=example.com\n    %n " + data[0] + " " + target},
			maker{"DNSEndpoint " + data[0], "dnsendpoint evil/x\n    %n " + data[0] + " " + target})
	}
	return all
}

// attemptsOn returns everything that is tried on a host; klb are the names of the victim below it, and server is true where the
// Corefile's name server has an address.
func attemptsOn(host string, klb []string, server bool) (all []attempt) {
	b := rdata.Base(host)
	above, _ := rdata.Parent(b)
	add := func(of []maker, where, name string, wantsHost, wantsKlb bool) {
		for _, m := range of {
			all = append(all, attempt{name: m.name + " at " + where, objects: at(m.text, name), host: wantsHost, klb: wantsKlb})
		}
	}
	others := otherMakers()
	few := slices.DeleteFunc(otherMakers(), func(m maker) bool {
		return !strings.HasSuffix(m.name, " TXT") && !strings.HasSuffix(m.name, " NS") && !strings.HasSuffix(m.name, " DNAME")
	})
	add(steeredMakers, "the host", host, true, false)
	add(others, "the host", host, false, false)
	where := "the wildcard's base"
	if beside := b; host == b {
		beside, where = "*."+b, "the wildcard"
		add(slices.Concat(steeredMakers, few), where, beside, false, false)
	} else {
		add(slices.Concat(steeredMakers, few), where, beside, false, false)
	}
	add(slices.Concat(steeredMakers, few), "a name below", "x."+b, false, false)
	add(slices.Concat(steeredMakers, others), "_acme-challenge", "_acme-challenge."+b, false, false)
	if above != "com." {
		add(slices.Concat(steeredMakers, others), "a name above", above, false, false)
	}
	if b != "example.com." {
		add(slices.Concat(steeredMakers, others), "the apex", "example.com.", false, false)
	}
	klb = append(slices.Clone(klb), "klb."+b, "x.klb."+b, "ie.klb."+b, "*.klb."+b, "klb.klb."+b)
	slices.Sort(klb)
	for _, name := range slices.Compact(klb) {
		where := strings.Replace(name, b, "H", 1)
		add(steeredMakers, where, name, false, true)
		add(few, where, name, false, false)
	}
	add(steeredMakers, "a name server", serverName, server, false)
	add(others, "a name server", serverName, false, false)
	add(slices.Concat(steeredMakers, others), "a name above a name server", "dns.example.com.", false, false)
	return slices.Concat(all, zoneAttempts(host), spellings(host), forged(host), fromClusters(host))
}

// at writes what wants data at a name.
func at(text, name string) string {
	host := name
	if name != "." {
		host = strings.TrimSuffix(name, ".")
	}
	return strings.NewReplacer("%n", name, "%h", host, "%b", rdata.Base(name), "%a", "198.51.100").Replace(text)
}

// zoneAttempts are those with Zones: at the names and above and below them, alone and with what makes them useful.
func zoneAttempts(host string) (all []attempt) {
	b := rdata.Base(host)
	above, _ := rdata.Parent(b)
	rel := relativeIn("example.com.", b)
	add := func(name string, wants bool, objects string) {
		klb := strings.Contains(name, "klb.H")
		all = append(all, attempt{name: name, objects: objects, host: wants && !klb, klb: klb})
	}
	for _, z := range [][2]string{
		{"the host", b},
		{"a name above", above},
		{"the apex", "example.com."},
		{"a name below", "x." + b},
		{"klb.H", "klb." + b},
		{
			"ie.klb.H",
			"ie.klb." + b,
		},
		{"a name server", serverName},
		{"a name above a name server", "dns.example.com."},
		{"the top", "com."},
		{"the root", "."},
	} {
		own := "zone evil/z " + z[1] + " delegate=evil"
		wants := z[0] != "a name below"
		add("Zone at "+z[0], wants, own)
		add("Zone with Records at "+z[0], wants, own+"\nrecord evil/ns @ in=z NS ns.example.net.\nrecord evil/a @ in=z A 198.51.100.66\n"+
			"record evil/x "+relativeIn(z[1], b)+" in=z A 198.51.100.66")
	}
	const record = "\nrecord evil/x @ in=z A 198.51.100.66"
	add("Zone with a zoneRef into another's", true, "zone evil/z "+rel+" in=infra/example-com delegate=evil"+record)
	add("Zone of another's name", true,
		"zone evil/example-com example.com. delegate=evil\nrecord evil/x "+rel+" in=example-com A 198.51.100.66")
	add("Zone with a zoneRef to itself", true, "zone evil/z "+rel+" in=z delegate=evil"+record)
	add("Zones with zoneRefs in a cycle", true, "zone evil/outer shop in=z delegate=evil\nzone evil/z app in=outer delegate=evil"+record)
	add("Record with a zoneRef to no Zone", true, "record evil/x "+rel+" in=none A 198.51.100.66")
	if rel != "@" {
		add("Zones at each name down to the host", true, "zone evil/outer "+above+" delegate=evil\nzone evil/z "+b+" delegate=evil"+record)
		add("Zone between that delegates the rest", true,
			"zone evil/outer "+above+" delegate=evil,victim\nzone evil/z x."+b+" delegate=evil"+record)
		add("Zones step by step", true, "zone evil/outer shop in=infra/example-com delegate=evil\nzone evil/z app in=outer delegate=evil"+record)
	}
	return all
}

// relativeIn returns a name as a Record in a Zone has it: "x" for one that does not lie in it, "@" for the apex.
func relativeIn(origin, name string) string {
	switch {
	case !rdata.IsSubdomain(origin, name):
		return "x"
	case origin == name:
		return "@"
	}
	return rdata.Relative(origin, name)
}

// spellings want the host in other words.
func spellings(host string) (all []attempt) {
	bare, first := strings.TrimSuffix(host, "."), host[:1]
	for _, spelling := range []string{
		strings.ToUpper(host), bare, strings.ToUpper(bare), strings.Replace(host, first, fmt.Sprintf(`\%03d`, first[0]), 1),
		strings.Replace(host, first, fmt.Sprintf(`\%03d`, strings.ToUpper(first)[0]), 1), strings.Replace(host, ".com.", `.\099\079m.`, 1),
		strings.Replace(bare, ".com", `.\099om`, 1), strings.Replace(host, ".example", `.\e\x\ample`, 1),
	} {
		for _, m := range []maker{
			{"Record", "record evil/x %n A %a.66"},
			{"Record of type CNAME", "record evil/x %n CNAME lb.example.net."},
			{
				"Zone",
				"zone evil/z %n delegate=evil",
			},
			{"DNSEndpoint", "dnsendpoint evil/x %n A %a.66"},
			{"DNSRecord", "dnsrecord evil/x root=%n served=example.com %n A %a.66"},
			{"DNSPolicy", "gateway evil/x host=%n addr=%a.66\npolicy evil/x"},
		} {
			all = append(all, attempt{name: m.name + " at " + spelling, objects: strings.NewReplacer("%n", spelling, "%a",
				"198.51.100").Replace(m.text), host: true})
		}
	}
	return all
}

// forged say of themselves what only the server says, or what is another's.
func forged(host string) (all []attempt) {
	rel := relativeIn("example.com.", host)
	const parent = " labels=kubi.zone/parent-zone:example-com.infra "
	for _, m := range []maker{
		{"Record with a forged parent", "record evil/x %n" + parent + "A %a.66"},
		{"Record in another's Zone with a forged parent", "record evil/x " + rel + " in=infra/example-com" + parent + "A %a.66"},
		{"Record of type CNAME in another's Zone", "record evil/x " + rel + " in=infra/example-com CNAME lb.example.net."},
		{"Zone with a forged parent", "zone evil/z %b" + parent + "delegate=evil"},
		{"DNSRecord by zoneID", "dnsrecord evil/x root=%n zone=example.com provider=s %n A %a.66"},
		{"DNSRecord labelled in upper case", "dnsrecord evil/x root=%n served=EXAMPLE.COM. %n A %a.66"},
		{"DNSRecord as if it was ours", "dnsrecord evil/x root=%n served=example.com managed %n A %a.66"},
		{"DNSRecord outside its rootHost", "dnsrecord evil/x root=evil.example.com served=example.com %n A %a.66"},
		{"DNSPolicy on another's Gateway", "policy evil/app"},
	} {
		all = append(all, attempt{name: m.name, objects: at(m.text, host), host: true})
	}
	return all
}

// fromClusters come from another cluster: of the same namespace and name (rule 5.6), of the same namespace, and of another one.
func fromClusters(host string) (all []attempt) {
	for _, name := range []string{"victim/app", "victim/other", "evil/x"} {
		for _, m := range steeredMakers {
			if !slices.Contains([]string{
				"DNSPolicy simple", "DNSPolicy weighted", "Record A", "DNSRecord A", "DNSRecord chain", "DNSEndpoint A",
				"DNSEndpoint set",
			}, m.name) {
				continue
			}
			text := "c2:" + strings.ReplaceAll(at(m.text, host), "evil/x", name)
			pools := strings.HasSuffix(m.name, "weighted") || strings.HasSuffix(m.name, "chain") || strings.HasSuffix(m.name, "set")
			all = append(all, attempt{name: m.name + " " + name + " of another cluster", objects: text, host: true, pools: pools})
		}
	}
	return all
}
