package inspect

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/health"
)

// expectFindings compares findings with lines: each begins with the severity, reason, object and name of one, and ends with a
// part of its text after " ... ". They are all, in order. "of x" stands for DNSPolicy n/x in cluster a.
func expectFindings(t *testing.T, what string, found []Finding, want ...string) {
	t.Helper()
	var got strings.Builder
	ok := len(found) == len(want)
	for i, f := range found {
		line := strings.Join([]string{string(f.Severity), f.Reason, objectOf(&f), f.Name}, " ")
		fmt.Fprintln(&got, line, "...", f.Text)
		if i < len(want) {
			head, part, _ := strings.Cut(want[i], " ... ")
			if first, rest, of := strings.Cut(head, " of "); of && strings.Count(first, " ") == 1 {
				name, rest, _ := strings.Cut(rest, " ")
				head = first + " DNSPolicy n/" + name + " in cluster a " + rest
			}
			ok = ok && head == line && strings.Contains(f.Text, part)
		}
	}
	if !ok {
		t.Errorf("%s: found\n%swant\n%s", what, &got, strings.Join(want, "\n"))
	}
}

// inIreland is an address space that is all in Ireland.
var inIreland = &geo.Space{V4: 1, Places: []geo.Place{{Codes: geo.Codes{"", "", "IE", "GEO-EU"}, V4: 1}}}

// TestCheckObjects: an object of which nothing is served is an error, with one finding; what is another's to serve is none.
func TestCheckObjects(t *testing.T) {
	for bad, want := range map[string]string{
		"bad bad.example.com 192.0.2.1":                      "",
		"bad bad.example.org 192.0.2.1":                      "error Unknown of bad  ... outside the zones",
		"zbad good.example.com 192.0.2.1":                    "error Unknown of zbad  ... belongs to DNSPolicy n/good",
		"bad  192.0.2.1":                                     "error NothingServed of bad  ... no listener with a hostname",
		"bad bad.example.com 192.0.2.1 | routes=0":           "error NothingServed of bad  ... no routes",
		"bad bad.example.com -":                              "error NoAddresses of bad bad.example.com ... its Gateway has none in status.addresses",
		"bad bad.example.com 192.0.2.1 exclude=192.0.2.0/24": "error NoAddresses of bad bad.example.com ... spec.excludeAddresses takes away all",
		"bad bad.example.com 0.0.0.0":                        `error NothingServed of bad  ... no valid status addresses to use on gateway; address "0.0.0.0" is`,
		"bad bad.example.com 192.0.2.1 strategy=simple spec.providerRef={kind: ExternalDNS, name: x}": "",
		"bad bad.example.com 192.0.2.1 geo=UK weight=1":                                               "warning UnknownGeoCode of bad  ... GB",
	} {
		v := world(t, hosts("good good.example.com 192.0.2.1 geo=GEO-EU weight=1 default", bad))
		expectFindings(t, bad, v.Check(Setup{Space: inIreland}), lines(want)...)
	}
}

// TestCheckUnited: a host that has the addresses of several objects is a note; of one object in several clusters, or of members, it is none.
func TestCheckUnited(t *testing.T) {
	v := world(t, "gateway n/a host=app.example.com,mine.example.com addr=192.0.2.1\npolicy n/a\n"+
		"gateway n/b host=app.example.com addr=192.0.2.2,192.0.2.1\npolicy n/b", hosts("c pool.example.com 192.0.2.3 weight=1", "d pool.example.com 192.0.2.4 weight=1"),
		"cluster b\ngateway n/a host=app.example.com,mine.example.com addr=192.0.2.5\npolicy n/a")
	expectFindings(t, "", v.Check(Setup{}), "note United of a app.example.com ... the addresses of 2 objects of one namespace: DNSPolicy n/a, DNSPolicy n/b")
}

// TestCheckUnlabelled: DNSRecords of a zone served here that lack the label with it are one finding; others are for other servers.
func TestCheckUnlabelled(t *testing.T) {
	v := world(t, "dnsrecord n/a root=a.example.com\n    a.example.com A 192.0.2.1", "dnsrecord n/b root=b.example.com provider=aws",
		"dnsrecord n/c root=c.example.com served=example.com\n    c.example.com A 192.0.2.1", "dnsrecord n/d root=d.example.org")
	expectFindings(t, "", v.Check(Setup{}), "warning NotServed DNSRecord n/a in cluster a  ... not served here: write the label "+
		"kuadrant.io/coredns-zone-name: example.com; without it too: 1 other DNSRecord of the zone")
}

// lines returns the lines of a text; none for "".
func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// TestCheckLeads: aliases are followed, and those that end without an address in a zone served here are found.
func TestCheckLeads(t *testing.T) {
	const zone = `zone dns/z example.com. delegate=*/*,@
record dns/r0 @ in=z NS ns.example.net.
record dns/r1 text in=z TXT x
record dns/r2 a.b in=z A 192.0.2.1
record dns/r3 sub in=z NS ns.example.net.
`
	const eu = " geo=GEO-EU weight=1 default"
	for what, c := range map[string]struct{ objects, want string }{
		"an address":   {hosts("x x.example.com a.b.example.com"), ""},
		"elsewhere":    {hosts("x x.example.com lb.example.net"), ""},
		"a delegation": {hosts("x x.example.com lb.sub.example.com"), ""},
		"below a cut": {
			hosts("x x.sub.example.com 192.0.2.1 geo=GEO-EU weight=1", "y x.sub.example.com 192.0.2.2 geo=GEO-NA weight=1"),
			"error Unknown of x  ... sub.example.com is delegated by the NS records\nerror Unknown of y  ... sub.example.com is delegated by the NS records",
		},
		"no name":     {hosts("x x.example.com gone.example.com"), "error LeadsNowhere of x x.example.com ... gone.example.com does not exist"},
		"no data":     {hosts("x x.example.com b.example.com"), "error LeadsNowhere of x x.example.com ... b.example.com has no address"},
		"text alone":  {hosts("x x.example.com text.example.com"), "error LeadsNowhere of x x.example.com ... text.example.com has no address"},
		"at the apex": {hosts("x example.com gone.example.com"), "error LeadsNowhere of x example.com ... gone.example.com does not exist"},
		"of a Record": {
			"record dns/r4 x in=z CNAME gone",
			"error LeadsNowhere Record dns/r4 in cluster a x.example.com ... gone.example.com does not exist",
		},
		"of two Records": {
			"record dns/r4 x in=z CNAME y\nrecord dns/r5 y in=z CNAME b",
			"error LeadsNowhere Record dns/r4 in cluster a x.example.com ... b.example.com has no\n" +
				"error LeadsNowhere Record dns/r5 in cluster a y.example.com ... b.example.com has no",
		},
		"to text":  {"record dns/r4 x in=z CNAME text", ""},
		"for text": {"record dns/r4 _acme-challenge.x in=z CNAME x.acme\nrecord dns/r5 key._domainkey in=z CNAME x.acme", ""},
		"a circle": {
			hosts("x x.example.com y.example.com", "y y.example.com x.example.com"),
			"error LeadsNowhere of x x.example.com ... form a loop\nerror LeadsNowhere of y y.example.com ... form a loop",
		},
		"a member": {
			hosts("x x.example.com 192.0.2.1"+eu, "y x.example.com gone.example.com"+eu),
			"warning LeadsNowhere of x x.example.com ... gone.example.com does not exist",
		},
		"all members": {
			hosts("x x.example.com b.example.com"+eu, "y x.example.com gone.example.com"+eu),
			"error LeadsNowhere of x x.example.com ... b.example.com has no address, gone.example.com does not",
		},
		"to some members": {
			hosts("x x.example.com 192.0.2.1"+eu, "y x.example.com gone.example.com"+eu, "z z.example.com x.example.com"),
			"warning LeadsNowhere of x x.example.com ... gone",
		},
		"back to its own host, of members": {
			hosts("x x.example.com y.example.com"+eu, "y y.example.com x.example.com"),
			"error LeadsNowhere of x x.example.com ... form a loop\nerror LeadsNowhere of y y.example.com ... form a loop",
		},
	} {
		expectFindings(t, what, world(t, zone, c.objects).Check(Setup{}), lines(c.want)...)
	}
}

// TestCheckPools: what the policies of a host say in vain is found, and what no client depends on is not.
func TestCheckPools(t *testing.T) {
	const one, two, deflt = "x x.example.com 192.0.2.1 weight=1 geo=GEO-EU", "y x.example.com 192.0.2.2 weight=1 geo=", " default"
	for what, c := range map[string]struct{ objects, want string }{
		"one member, and no databases": {hosts(one), ""},
		"one group, and no databases":  {hosts(one, two+"GEO-EU"), ""},
		"no default":                   {hosts(one, two+"IE"), "warning NoDefaultGeo of x x.example.com ... none of GEO-EU, IE get any"},
		"a default":                    {hosts(one+deflt, two+"IE"), ""},
		"an empty place":               {hosts(one+deflt, two+"US-CA"), "warning UnreachableGeo of x x.example.com ... is in US-CA; clients get there only"},
		"the default is empty":         {hosts("x x.example.com 192.0.2.1 weight=1 geo=US"+deflt, two+"IE"), ""},
		"the only one is empty":        {hosts("x x.example.com 192.0.2.1 weight=1 geo=US"), ""},
		"empty, and no default": {hosts(one, two+"US"), "warning NoDefaultGeo of x x.example.com ... \n" +
			"warning UnreachableGeo of x x.example.com ... US; only clients that match no other geo get there"},
		"two defaults": {hosts(one+deflt, two+"IE"+deflt), `warning Conflicted of y  ... the set identifier "default" belongs to DNSPolicy n/x` +
			"\nwarning SecondDefault of y x.example.com ... IE, has no effect: DNSPolicy n/x in cluster a, which comes first, has the default GEO-EU"},
		"of two clusters": {
			hosts(one+deflt) + "cluster b\n" + hosts("x x.example.com 192.0.2.2 weight=1 geo=IE default"),
			`warning Conflicted DNSPolicy n/x in cluster b  ... the set identifier "default" belongs to DNSPolicy n/x in cluster a` +
				"\nwarning SecondDefault DNSPolicy n/x in cluster b x.example.com ... IE, has no effect",
		},
		"one default of two": {hosts(one+deflt, two+"GEO-EU"+deflt), ""},
		"another fallback": {hosts(one+deflt, two+"IE fallback=none"), "warning InvalidAnnotation of y  ... geo-fallback none has no effect: DNSPolicy n/x, " +
			"which owns the host, has any"},
		"the owner's fallback": {hosts(one+deflt+" fallback=none", two+"IE"), ""},
		"one fallback":         {hosts(one+deflt+" fallback=none", two+"IE fallback=none"), ""},
		"two names, and no databases": {
			hosts(one+deflt, two+"IE", "z z.example.com 192.0.2.3 weight=1 geo=IE"),
			"warning NoGeoDatabase   ... geo codes: x.example.com. Write `geoip FILE`",
		},
		"a wildcard beside": {
			hosts(one+deflt, "y *.x.example.com 192.0.2.2 weight=1 geo=IE"), "warning ChainTaken of y  ... which has other members",
		},
		"a policy without a code": {
			hosts(one+deflt, "y x.example.com 192.0.2.2 strategy=weightedGeo weight=1"),
			"warning SecondDefault of y x.example.com ... *, has no effect",
		},
	} {
		with := Setup{Unlocated: strings.HasSuffix(what, "no databases")}
		if !with.Unlocated {
			with.Space = inIreland
		}
		expectFindings(t, what, world(t, c.objects).Check(with), lines(c.want)...)
	}
}

// TestCheckHealth: what is drained, or down, and answered all the same is found, and checks that never begin.
func TestCheckHealth(t *testing.T) {
	const simple, pool, other = "x x.example.com 192.0.2.1", "x x.example.com 192.0.2.1 geo=GEO-EU default weight=", "y x.example.com 192.0.2.2 geo=GEO-EU weight="
	const wild, denied = "x *.x.example.com 192.0.2.1", "x x.example.com 127.0.0.9,192.0.2.1" + checked
	const drained, failing = "warning AllDrained of x x.example.com ... all members are drained",
		"warning FailsOpen of x x.example.com ... all clients get targets that are down, as no others are left for them: 192.0.2.1 ("
	const unchecked, never = "warning NotChecked of x x.example.com ... ", "warning NotChecked of x ... *.x.example.com: not checked"
	prefix := func(text string) []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix(text)} }
	for what, c := range map[string]struct {
		objects, want string
		guard         *health.Guard
	}{
		"weight 0":                             {hosts(pool + "0"), drained, nil},
		"drained by a word":                    {hosts(pool + "1 override=drain"), drained, nil},
		"drained one and the other":            {hosts(pool+"1 override=drain", other+"0"), drained, nil},
		"one is drained":                       {hosts(pool+"1 override=drain", other+"1"), "", nil},
		"drained, without members":             {hosts(simple + " override=drain"), drained, nil},
		"forced down":                          {hosts(pool + "1 override=down"), failing + "overridden)", nil},
		"not programmed":                       {hosts(simple + " | programmed=False"), failing + "its Gateway is not programmed)", nil},
		"one is not programmed":                {hosts(pool+"1 | programmed=False", other+"1"), "", nil},
		"a wildcard":                           {hosts(wild + checked), never, nil},
		"a wildcard of members":                {hosts(wild + " geo=GEO-EU weight=1 default" + checked), never, nil},
		"a wildcard, and what to ask":          {hosts(wild + checked + ",host=y.x.example.com"), "", nil},
		"a wildcard that shares what is found": {hosts("x x.example.com,*.x.example.com 192.0.2.1 geo=GEO-EU weight=1 default" + checked), "", nil},
		"denied":                               {hosts(denied), unchecked + "so counted as up: 127.0.0.9;", &health.Guard{}},
		"denied by a line":                     {hosts(simple + checked), unchecked + "so counted as up: 192.0.2.1;", &health.Guard{Deny: prefix("192.0.2.0/24")}},
		"allowed":                              {hosts(denied), "", &health.Guard{Allow: prefix("127.0.0.0/8")}},
		"nobody knows":                         {hosts(denied), "", nil},
		"denied, unchecked":                    {hosts("x x.example.com 127.0.0.9"), "", &health.Guard{}},
	} {
		expectFindings(t, what, world(t, c.objects).Check(Setup{Space: inIreland, Guard: c.guard}), lines(c.want)...)
	}
}

// TestParseName: a name is read however it is spelled, and what is none is refused.
func TestParseName(t *testing.T) {
	for text, want := range map[string]string{
		"App.Example.com": "app.example.com.", "app.example.com.": "app.example.com.", " a.example ": "a.example.", ".": ".",
		"0/25.2.0.192.in-addr.arpa": "0/25.2.0.192.in-addr.arpa.", `a\ b.example`: `a\ b.example.`, `a\032b.example`: `a\ b.example.`,
		`\097.example`: "a.example.", `dot\.ted.example`: `dot\.ted.example.`, "*.example": "*.example.", "_sip._tcp.example": "_sip._tcp.example.",
		"": "", "a..b": "", "https://a.example": "", "a b.example": "", "münchen.example": "", strings.Repeat("a", 64) + ".example": "",
		strings.Repeat("a.", 128): "", `a\`: "",
	} {
		got, err := ParseName(text)
		if _, is := IsRequest(err); got != want || (want == "") != is {
			t.Errorf("%q is %q, %v, want %q", text, got, err, want)
		}
	}
}

// TestCheckPriorities: a standby that never serves, and a priority that was forgotten in one cluster, are found; one that fails over is
// not, and neither is a priority that is written in both (rule 9.1).
func TestCheckPriorities(t *testing.T) {
	standby := hosts("x x.example.com 192.0.2.2 weight=1 priority=1", "y y.example.com 192.0.2.4 weight=1 priority=1")
	for active, want := range map[string]string{
		"weight=1 check=HTTP:8080/ priority=0": "",
		"weight=1 check=HTTP:8080/":            "warning Priority of x  ... in cluster b it is 1|warning Priority of y  ... write the annotation here",
		"weight=1 priority=0": "warning Standby DNSPolicy n/x in cluster b x.example.com ... DNSPolicy n/x in cluster a, of priority 0|" +
			"warning Standby DNSPolicy n/y in cluster b y.example.com ... give that a healthCheck",
	} {
		v := world(t, hosts("x x.example.com 192.0.2.1 "+active, "y y.example.com 192.0.2.3 "+active), "cluster b", standby)
		expectFindings(t, active, v.Check(Setup{Space: inIreland}), lines(strings.ReplaceAll(want, "|", "\n"))...)
	}
}

// TestCheckStandbyBounded: with order: priority, a member that geo-fallback keeps for its geography is no standby of others.
func TestCheckStandbyBounded(t *testing.T) {
	v := world(t, hosts("x x.example.com 192.0.2.1 weight=1 geo=GEO-EU default priority=1 order=priority fallback=default",
		"y x.example.com 192.0.2.2 weight=1 geo=GEO-NA"))
	expectFindings(t, "bounded", v.Check(Setup{}))
}
