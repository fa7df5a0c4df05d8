package inspect

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records"
)

// explanation is one of an answer, as a console or a snapshot gives it.
func explanation(name, rtype, rcode string, answer ...string) *records.Explanation {
	return &records.Explanation{
		Name: name, Type: rtype, Zone: "example.com", Rcode: rcode, Answer: answer,
		Steps: []records.Step{{Name: name, Found: records.FoundName}},
	}
}

// nowhere is a side that has nothing else.
var nowhere = &Here{
	Tree:    func(string) *records.Tree { return nil },
	Explain: func(string) *records.Explanation { return nil },
}

// TestCompareSpelling: the same data are the same, however they are spelt; other data are not.
func TestCompareSpelling(t *testing.T) {
	for _, c := range []struct{ rtype, here, there, kind string }{
		{"HTTPS", "1 lb.example.net. alpn=h2,h3", "1 LB.Example.net. alpn=h2,h3", ""},
		{"SVCB", "1 lb.example.net. port=53", "1 LB.example.net. port=53", ""},
		{"HTTPS", "1 lb.example.net. alpn=h2,h3", "1 lb.example.net. alpn=h3,h2", "data"},
		{"TYPE65280", `\# 4 abcdef01`, `\# 4 ABCDEF01`, ""},
		{"TYPE65280", `\# 4 abcdef01`, `\# 4 ABCDEF02`, "data"},
		{"TLSA", "3 1 1 ABCD", "3 1 1 abcd", ""},
		{"CAA", `0 issue "a.example"`, `0 ISSUE "a.example"`, ""},
		{"CAA", `0 issue "a.example"`, `0 issue "A.example"`, "data"},
		{"NAPTR", `10 10 "S" "SIP" "" sip.example.com.`, `10 10 "S" "SIP" "" SIP.example.com.`, ""},
		{"NAPTR", `10 10 "U" "SIP" "!a!b!" .`, `10 10 "U" "SIP" "!A!b!" .`, "data"},
		{"RP", "a.example.com. b.example.com.", "A.example.com. b.example.com.", ""},
		{"AFSDB", "1 a.example.com.", "1 A.example.com.", ""},
		{"TXT", `"a" "b"`, `"a" "b"`, ""},
		{"TXT", `"a" "b"`, `"b" "a"`, "data"},
		{"TXT", `"\065"`, `"A"`, ""},
		{"TXT", `"A"`, `"a"`, "data"},
	} {
		for _, side := range [][2]string{{c.here, c.there}, {c.there, c.here}} {
			x := explanation("x.example.com", c.rtype, "NOERROR", rrs(t, "x "+c.rtype+" "+side[0])[0].String())
			if got := CompareReply(x, nowhere, reply(t, "X 300 "+c.rtype+" "+side[1]), false); string(got.Kind) != c.kind {
				t.Errorf("%s %s: %q, want %q", c.rtype, side, got.Kind, c.kind)
			}
		}
	}
}

// TestCompareReferrals: a delegation is more than no data: other servers are a difference, and so is a zone that somebody
// answers for.
func TestCompareReferrals(t *testing.T) {
	const sub, a, ns, soa = "sub.example.com", "a.sub.example.com", "sub.example.com. 60 NS ns.example.net.", "@ SOA a b 1 1 1 1 1"
	for _, c := range []struct {
		what, name, rtype string
		refers            bool
		answer, authority string
		want              string
	}{
		{"the same", sub, "NS", true, "", "SUB 300 NS NS.example.net.", ""},
		{"the same, below", a, "A", true, "", ns, ""},
		{"other servers", sub, "NS", true, "", "sub NS ns.example.org.", "data|leaves sub.example.com to other servers"},
		{"other servers, below", a, "A", true, "", "sub NS ns.example.org.", "data"},
		{"one more", a, "A", true, "", ns + "; sub NS ns.example.org.", "data"},
		{"its own answer", sub, "NS", true, ns, "", ""},
		{"its own address", a, "A", true, "a.sub A 192.0.2.1", "", "data|here sub.example.com is delegated to other servers"},
		{"nothing there", a, "A", true, "", soa, "no-data|the other server has no data of this type"},
		{"only there", a, "A", false, "", ns, "no-data"},
		{"none", a, "A", false, "", soa, ""},
		{"NS records beside an SOA record", "a.example.com", "A", false, "", "@ NS a; " + soa, ""},
		{"the parent", a, "A", false, "", "@ NS a", "unserved|leaves example.com to other servers"},
		{"upward", a, "A", false, "", ". NS a.root-servers.net.", "unserved|leaves . to other servers"},
		{"beside", a, "A", false, "", "other NS a", ""},
	} {
		x := explanation(c.name, c.rtype, "NOERROR")
		if c.refers {
			x.Referral, x.Authority = true, []string{ns}
			x.Steps[0].Found, x.Steps[0].At = records.FoundDelegation, "sub.example.com"
		}
		found, r := NewComparison("it"), reply(t, c.answer)
		r.Authority = rrs(t, c.authority)
		found.Add(nil, CompareReply(x, nowhere, r, false))
		expectDifference(t, c.what, found, c.want)
	}
}

// TestCompareDirectives: what a console answers with is read as records alone, and no file of this machine.
func TestCompareDirectives(t *testing.T) {
	file := filepath.Join(t.TempDir(), "zone")
	if err := os.WriteFile(file, []byte("x.example.com. 60 A 192.0.2.1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{
		"$x.example.com. 60 IN A 192.0.2.1": 1, "$INCLUDE " + file: 0, "$include " + file: 0, " \n$INCLUDE " + file: 0, "$TTL 1": 0, "": 0, "x": 0,
	} {
		if got := AnswerOf(explanation("x.example.com", "A", "NOERROR", text)); len(got) != want {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

// TestCompareDeadDraws: a draw that ends in nothing, or in a circle, does not say of what kind a difference is.
func TestCompareDeadDraws(t *testing.T) {
	v := world(t, hosts("good h.example.com 192.0.2.1 geo=GEO-EU weight=1 default", "dead h.example.com gone.example.com geo=GEO-EU weight=1",
		"circle h.example.com h.example.com geo=GEO-EU weight=1", "all-dead dead.example.com gone.example.com geo=GEO-EU weight=1"))
	for _, c := range []struct{ name, rcode, answer, want string }{
		{"h", "NOERROR", "h A 192.0.2.1", ""},
		{"h", "NXDOMAIN", "h CNAME gone", ""},
		{"h", "NOERROR", "h CNAME gone", ""},
		{"h", "NOERROR", "h A 192.0.2.2", "addresses"},
		{"h", "NOERROR", "", "no-data"},
		{"h", "REFUSED", "", "unserved"},
		{"dead", "NXDOMAIN", "", ""},
		{"dead", "NXDOMAIN", "dead CNAME gone", ""},
		{"dead", "NOERROR", "dead A 192.0.2.1", "not-here|here it leads to gone.example.com, which does not exist"},
	} {
		r := reply(t, c.answer)
		r.Rcode = c.rcode
		expectDifference(t, c.name+" "+c.rcode+" "+c.answer, compared(t, v, Question{Name: c.name + ".example.com"}, nil, r), c.want)
	}
}

// TestCompareCircles: draws that lead to draws, and back, are looked at once for each member.
func TestCompareCircles(t *testing.T) {
	var members []string
	const many, each = 4, 4
	for i := range many {
		for j := range each {
			members = append(members, hosts(fmt.Sprintf("p%d-%d h%d.example.com h%d.example.com geo=GEO-EU weight=1", i, j, i, (i+1+j%(many-1))%many)))
		}
	}
	v := world(t, members...)
	x, err := v.Explain(Question{Name: "h0.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	asked, h := 0, hereOf(v, Question{})
	explain := h.Explain
	h.Explain = func(name string) *records.Explanation {
		if asked++; asked > 1000 {
			panic("no end of it")
		}
		return explain(name)
	}
	if CompareReply(x, h, reply(t, "h0 A 192.0.2.1"), false); asked > many*each {
		t.Errorf("%d names were explained for %d members", asked, many*each)
	}
}

// TestCompareManyDraws: of a name with more members than are told, each one's answer is the same.
func TestCompareManyDraws(t *testing.T) {
	var members, addresses []string
	for i := range mostAnswers + 44 {
		addresses = append(addresses, netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i)}).String())
		members = append(members, hosts(fmt.Sprintf("p%d h.example.com %s geo=GEO-EU weight=1", i, addresses[i])))
	}
	v := world(t, members...)
	for _, a := range addresses {
		found := NewComparison("192.0.2.53:53")
		if addTo(t, found, v, Question{Name: "h.example.com"}, nil, reply(t, "h A "+a)); found.Same != 1 {
			t.Fatalf("%s differs", a)
		}
	}
}

// TestCompareHostile: replies that make no sense are compared all the same.
func TestCompareHostile(t *testing.T) {
	v := world(t, hosts("one one.example.com 192.0.2.10"))
	of := func(rtype uint16) dns.RR_Header {
		return dns.RR_Header{Name: "one.example.com.", Class: dns.ClassINET, Rrtype: rtype}
	}
	for _, rr := range []dns.RR{
		&dns.A{Hdr: of(dns.TypeA)}, &dns.CNAME{Hdr: of(dns.TypeCNAME)}, &dns.RFC3597{Hdr: of(dns.TypeA)}, &dns.NS{Hdr: of(dns.TypeNS)},
		&dns.TXT{Hdr: of(dns.TypeTXT)}, &dns.HTTPS{SVCB: dns.SVCB{Hdr: of(dns.TypeHTTPS)}}, &dns.NAPTR{Hdr: of(dns.TypeNAPTR)},
	} {
		for _, rtype := range []string{"A", "CNAME", "TXT", "HTTPS", "NS", "NAPTR"} {
			r := &Reply{Rcode: "NOERROR", Answer: []dns.RR{rr}, Authority: []dns.RR{rr}}
			_ = compared(t, v, Question{Name: "one.example.com", Type: rtype}, nil, r)
		}
	}
}

// TestCompareTTL: TTLs make no difference, and the longest is told of one.
func TestCompareTTL(t *testing.T) {
	v := world(t, hosts("one one.example.com 192.0.2.10"))
	found := NewComparison("192.0.2.53:53")
	for i, ttl := range []int{58, 60, 59} {
		addTo(t, found, v, Question{Name: "one.example.com"}, client(i), reply(t, fmt.Sprintf("one %d A 192.0.2.9", ttl)))
	}
	addTo(t, found, v, Question{Name: "one.example.com"}, client(3), reply(t, "one 3600 A 192.0.2.10"))
	found.Finish()
	if len(found.Differences) != 1 || len(found.Differences[0].Clients) != 3 || found.Differences[0].There.TTL != 60 || found.Same != 1 {
		t.Errorf("%+v", found)
	}
}

// TestCompareFull: what is kept of differences has a bound, whatever the other server answers with; the same one for many
// clients counts once.
func TestCompareFull(t *testing.T) {
	found, long := NewComparison("192.0.2.53:53"), strings.Repeat("x", 1<<20)
	for i := range 2 * mostKept >> 20 {
		d := Difference{Kind: DiffersData, Name: "one.example.com", There: Outcome{Answers: [][]string{{fmt.Sprint(i / 2), long}}}}
		found.Add(nil, &Compared{Difference: d})
		if err := found.Full(); (err != nil) != (i >= 2*(mostKept>>20)-2) {
			t.Errorf("after %d: %v", i, err)
		}
	}
	if err := found.Full(); err == nil || !strings.Contains(err.Error(), "the differences have more than 128 MiB; compare fewer names") {
		t.Error(err)
	}
}

// TestCompareAtOnce: where the other server answers at once with what is drawn from here, that is said.
func TestCompareAtOnce(t *testing.T) {
	v := world(t, hosts("one h.example.com 192.0.2.1 geo=GEO-EU weight=1", "two h.example.com 192.0.2.2 geo=GEO-EU weight=1",
		"three h.example.com 192.0.2.3,192.0.2.4 geo=GEO-EU weight=2"))
	for there, want := range map[string]string{
		"1 2 3 4":   "addresses 1|the addresses are the same: all at once there, those of one member per draw here",
		"1 3":       "addresses 3|there, the addresses of several members come at once; here, those of one member per draw|192.0.2.2 here: of |192.0.2.4 here: of ",
		"3":         "addresses 3|192.0.2.1 here: of |192.0.2.2 here: of |192.0.2.4 here: of ",
		"1 2 3 4 5": "addresses 1|192.0.2.5 there: no object here has it",
	} {
		expectDifference(t, there, compared(t, v, Question{Name: "h.example.com"}, nil, reply(t, lasts(there))), want)
	}
}

// TestCompareOtherMembers: an address there that is another member's is said to be that, and why it is not taken here.
func TestCompareOtherMembers(t *testing.T) {
	v := world(t, hosts("on h.example.com lb.example.net geo=GEO-EU weight=1 default", "far h.example.com 192.0.2.1 geo=GEO-NA weight=1",
		"drained h.example.com 192.0.2.2 geo=GEO-EU weight=0"))
	v.Locator = europe{}
	const alias = "here it is an alias of lb.example.net, which the client's resolver looks up"
	const own = alias + "; the other server answers with addresses that it looked up itself"
	for there, want := range map[string]string{
		"1":   "data 2|" + alias + "|(GEO-NA, DNSPolicy n/far in cluster a), which is not taken here: ",
		"2":   "data 2|" + alias + "|(GEO-EU, DNSPolicy n/drained in cluster a), which is not taken here: it is drained",
		"9":   "data 1|" + own,
		"1 9": "data 2|" + own + "|DNSPolicy n/far",
	} {
		found := compared(t, v, Question{Name: "h.example.com"}, nil, reply(t, lasts(there)))
		expectDifference(t, there, found, want)
		if there == "1" && strings.Contains(found.Text(), "that it looked up itself") {
			t.Errorf("an address of a member is said to be of its own finding:\n%s", found.Text())
		}
	}
}

// TestCompareWhoseData: of data that differ it is said which objects they are of here.
func TestCompareWhoseData(t *testing.T) {
	a, b := records.Object{Kind: "Record", Name: "n/a", Cluster: "c"}, records.Object{Kind: "DNSEndpoint", Name: "n/b", Cluster: "c"}
	for _, c := range []struct {
		owner   *records.Object
		sources []records.Object
		want    []string
	}{
		{nil, []records.Object{a}, []string{"here it belongs to Record n/a in cluster c"}},
		{nil, []records.Object{a, b}, []string{"here it belongs to Record n/a in cluster c and DNSEndpoint n/b in cluster c"}},
		{&b, nil, []string{"here it belongs to DNSEndpoint n/b in cluster c"}},
		{&b, []records.Object{a}, []string{"here it belongs to Record n/a in cluster c"}}, // beside addresses of b
		{nil, nil, []string{}},
	} {
		x := explanation("x.example.com", "TXT", "NOERROR", `x.example.com. 60 TXT "a"`)
		x.Steps[0].Owner, x.Steps[0].Sources = c.owner, c.sources
		if got := CompareReply(x, nowhere, reply(t, `x TXT "b"`), false); got.Kind != DiffersData || !slices.Equal(got.Why, c.want) {
			t.Errorf("%s: %q, want %q", got.Kind, got.Why, c.want)
		}
	}
}
