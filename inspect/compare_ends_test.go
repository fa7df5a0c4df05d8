package inspect

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
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
	t.Parallel()
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
		for _, swap := range []bool{false, true} {
			here, there := c.here, c.there
			if swap {
				here, there = there, here
			}
			x := explanation("x.example.com", c.rtype, "NOERROR", rrs(t, "x.example.com. 60 "+c.rtype+" "+here)[0].String())
			got := CompareReply(x, nowhere, &Reply{Rcode: "NOERROR", Answer: rrs(t, "X.example.com. 300 "+c.rtype+" "+there)}, false)
			if string(got.Kind) != c.kind {
				t.Errorf("%s %s and %s: %q, want %q", c.rtype, here, there, got.Kind, c.kind)
			}
		}
	}
}

// TestCompareReferrals: a delegation is more than no data: other servers are a difference, and so is a zone that somebody
// answers for.
func TestCompareReferrals(t *testing.T) {
	t.Parallel()
	const ns = "sub.example.com. 60 NS ns.example.net."
	referral := func(name, rtype string) *records.Explanation {
		x := explanation(name, rtype, "NOERROR")
		x.Referral, x.Authority = true, []string{ns}
		x.Steps[0].Found, x.Steps[0].At = records.FoundDelegation, "sub.example.com"
		return x
	}
	none := func(name, rtype string) *records.Explanation { return explanation(name, rtype, "NOERROR") }
	soa := "example.com. 60 SOA a.example.com. b.example.com. 1 1 1 1 1"
	for _, c := range []struct {
		what, name, rtype string
		ours              func(name, rtype string) *records.Explanation
		answer, authority []string
		want              string
	}{
		{"the same", "sub.example.com", "NS", referral, nil, []string{"SUB.example.com. 300 NS NS.example.net."}, ""},
		{"the same, below", "a.sub.example.com", "A", referral, nil, []string{ns}, ""},
		{
			"other servers", "sub.example.com", "NS", referral, nil,
			[]string{"sub.example.com. 60 NS ns.example.org."},
			"data|leaves sub.example.com to other servers",
		},
		{"other servers, below", "a.sub.example.com", "A", referral, nil, []string{"sub.example.com. 60 NS ns.example.org."}, "data"},
		{"one more", "a.sub.example.com", "A", referral, nil, []string{ns, "sub.example.com. 60 NS ns.example.org."}, "data"},
		{"its own answer", "sub.example.com", "NS", referral, []string{ns}, nil, ""},
		{
			"its own address", "a.sub.example.com", "A", referral,
			[]string{"a.sub.example.com. 60 A 192.0.2.1"},
			nil,
			"data|here sub.example.com is left to other servers",
		},
		{"nothing there", "a.sub.example.com", "A", referral, nil, []string{soa}, "no-data|the other server has nothing of this type"},
		{"only there", "a.sub.example.com", "A", none, nil, []string{ns}, "no-data"},
		{"none", "a.sub.example.com", "A", none, nil, []string{soa}, ""},
		{"NS records beside an SOA record", "a.example.com", "A", none, nil, []string{"example.com. 60 NS a.example.com.", soa}, ""},
		{
			"the parent", "a.sub.example.com", "A", none, nil,
			[]string{"example.com. 60 NS a.example.com."},
			"unserved|leaves example.com to other servers",
		},
		{"upward", "a.sub.example.com", "A", none, nil, []string{". 60 NS a.root-servers.net."}, "unserved|leaves . to other servers"},
		{"beside", "a.sub.example.com", "A", none, nil, []string{"other.example.com. 60 NS a.example.com."}, ""},
	} {
		got := CompareReply(c.ours(c.name, c.rtype), nowhere, &Reply{
			Rcode: "NOERROR", Answer: rrs(t, c.answer...),
			Authority: rrs(t, c.authority...),
		}, false)
		kind, why, _ := strings.Cut(c.want, "|")
		if text := strings.Join(got.Why, "\n"); string(got.Kind) != kind || !strings.Contains(text, why) {
			t.Errorf("%s: %q: %s, want %q", c.what, got.Kind, text, c.want)
		}
	}
}

// TestCompareDirectives: what a console answers with is read as records alone, and no file of this machine.
func TestCompareDirectives(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "zone")
	if err := os.WriteFile(file, []byte("x.example.com. 60 A 192.0.2.1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := AnswerOf(explanation("$x.example.com", "A", "NOERROR", "$x.example.com. 60 IN A 192.0.2.1")); len(got) != 1 {
		t.Errorf("a name with a dollar is read as %v", got)
	}
	for _, text := range []string{"$INCLUDE " + file, "$include " + file, " \n$INCLUDE " + file, "$TTL 1", "", "x"} {
		if got := AnswerOf(explanation("x.example.com", "A", "NOERROR", text)); len(got) > 0 {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

// TestCompareDeadDraws: a draw that ends in nothing, or in a circle, does not say of what kind a difference is.
func TestCompareDeadDraws(t *testing.T) {
	t.Parallel()
	v := View{Snapshot: compiled(
		someMember{cluster: "a", name: "n/good", host: "h.example.com", geo: "GEO-EU", weight: 1, addresses: []string{"192.0.2.1"}},
		someMember{cluster: "a", name: "n/dead", host: "h.example.com", geo: "GEO-EU", weight: 1, addresses: []string{"gone.example.com"}},
		someMember{cluster: "a", name: "n/circle", host: "h.example.com", geo: "GEO-EU", weight: 1, addresses: []string{"h.example.com"}},
		someMember{cluster: "a", name: "n/all-dead", host: "dead.example.com", geo: "GEO-EU", weight: 1, addresses: []string{"gone.example.com"}},
	)}
	for _, c := range []struct {
		name, rcode string
		answer      []string
		kind        string
	}{
		{"h", "NOERROR", []string{"h.example.com. 60 A 192.0.2.1"}, ""},
		{"h", "NXDOMAIN", []string{"h.example.com. 60 CNAME gone.example.com."}, ""},
		{"h", "NOERROR", []string{"h.example.com. 60 CNAME gone.example.com."}, ""},
		{"h", "NOERROR", []string{"h.example.com. 60 A 192.0.2.2"}, "addresses"},
		{"h", "NOERROR", nil, "no-data"},
		{"h", "REFUSED", nil, "unserved"},
		{"dead", "NXDOMAIN", nil, ""},
		{"dead", "NXDOMAIN", []string{"dead.example.com. 60 CNAME gone.example.com."}, ""},
		{"dead", "NOERROR", []string{"dead.example.com. 60 A 192.0.2.1"}, "not-here"},
	} {
		seen := ""
		for draw := range uint64(16) {
			v.Random = func() uint64 { return draw << 60 }
			found := NewComparison("192.0.2.53:53")
			addTo(t, found, &v, Question{Name: c.name + ".example.com"}, nil, &Reply{Rcode: c.rcode, Answer: rrs(t, c.answer...)})
			found.Finish()
			text := found.Text()
			if kind := kindOf(found); kind != c.kind {
				t.Errorf("%s %s %v, draw %d: %q, want %q\n%s", c.name, c.rcode, c.answer, draw, kind, c.kind, text)
			}
			if draw > 0 && text != seen {
				t.Errorf("%s %s %v, draw %d says\n%s\nand the first\n%s", c.name, c.rcode, c.answer, draw, text, seen)
			}
			seen = text
			if c.kind == "not-here" && !strings.Contains(seen, "here it leads to gone.example.com, which does not exist") {
				t.Errorf("%s: %s", c.name, seen)
			}
		}
	}
}

func kindOf(c *Comparison) string {
	if len(c.Differences) == 0 {
		return ""
	}
	return string(c.Differences[0].Kind)
}

// TestCompareCircles: draws that lead to draws, and back, are looked at once for each member.
func TestCompareCircles(t *testing.T) {
	t.Parallel()
	var members []someMember
	const hosts, each = 4, 4
	for i := range hosts {
		for j := range each {
			members = append(members, someMember{
				cluster: "a", name: fmt.Sprintf("n/p%d-%d", i, j), host: fmt.Sprintf("h%d.example.com", i), geo: "GEO-EU", weight: 1,
				addresses: []string{fmt.Sprintf("h%d.example.com", (i+1+j%(hosts-1))%hosts)},
			})
		}
	}
	v := View{Snapshot: compiled(members...)}
	x, err := v.Explain(Question{Name: "h0.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	h := hereOf(&v, Question{})
	explain := h.Explain
	h.Explain = func(name string) *records.Explanation {
		if asked++; asked > 1000 {
			panic("no end of it")
		}
		return explain(name)
	}
	CompareReply(x, h, &Reply{Rcode: "NOERROR", Answer: rrs(t, "h0.example.com. 60 A 192.0.2.1")}, false)
	if asked > hosts*each {
		t.Errorf("%d names were explained for %d members", asked, hosts*each)
	}
}

// TestCompareManyDraws: of a name with more members than are told, each one's answer is the same.
func TestCompareManyDraws(t *testing.T) {
	t.Parallel()
	var members []someMember
	for i := range mostAnswers + 44 {
		members = append(members, someMember{
			cluster: "a", name: fmt.Sprintf("n/p%d", i), host: "h.example.com", geo: "GEO-EU",
			weight: 1, addresses: []string{netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i)}).String()},
		})
	}
	v := View{Snapshot: compiled(members...)}
	for _, m := range members {
		found := NewComparison("192.0.2.53:53")
		if addTo(t, found, &v, Question{Name: "h.example.com"}, nil,
			&Reply{Rcode: "NOERROR", Answer: rrs(t, "h.example.com. 60 A "+m.addresses[0])}); found.Same != 1 {
			t.Fatalf("%s differs", m.addresses[0])
		}
	}
}

// TestCompareTTLOfDraws: the TTL of an answer that another draw gives is compared where it is known, and not with that of
// another answer.
func TestCompareTTLOfDraws(t *testing.T) {
	t.Parallel()
	v := View{Snapshot: compiled(
		someMember{cluster: "a", name: "n/one", host: "h.example.com", geo: "GEO-EU", weight: 1, addresses: []string{"192.0.2.1"}},
		someMember{cluster: "a", name: "n/two", host: "h.example.com", geo: "GEO-EU", weight: 1, addresses: []string{"192.0.2.2"}},
		someMember{cluster: "a", name: "n/simple", host: "s.example.com", simple: true, addresses: []string{"192.0.2.3"}},
		someMember{cluster: "a", name: "n/on", host: "g.example.com", geo: "GEO-EU", weight: 1, addresses: []string{"lb.example.net"}},
		someMember{cluster: "a", name: "n/on2", host: "g.example.com", geo: "GEO-EU", weight: 1, addresses: []string{"192.0.2.4"}},
	)}
	for draw := range uint64(16) {
		v.Random = func() uint64 { return draw << 60 }
		found := NewComparison("192.0.2.53:53")
		for _, a := range []string{"192.0.2.1", "192.0.2.2"} {
			addTo(t, found, &v, Question{Name: "h.example.com"}, nil, &Reply{
				Rcode: "NOERROR", Answer: rrs(t, "h.example.com. 600 A "+a),
				Authoritative: true,
			})
		}
		if found.Finish(); found.Same != 2 || len(found.TTLs) != 2 || found.TTLs[0].Here.TTL != 60 || found.TTLs[1].Here.TTL != 60 {
			t.Errorf("draw %d: %+v", draw, found)
		}
		// A member that leads on to what is kept for less time.
		x, err := v.Explain(Question{Name: "g.example.com"})
		if err != nil {
			t.Fatal(err)
		}
		h := hereOf(&v, Question{})
		h.Explain = func(name string) *records.Explanation {
			return explanation(name, "A", "NOERROR", name+". 5 IN A 192.0.2.9")
		}
		if c := CompareReply(x, h, &Reply{Rcode: "NOERROR", Answer: rrs(t, "g.example.com. 5 A 192.0.2.9"), Authoritative: true},
			false); isAddress(ours(x).Answers[0][0]) && (c.Kind != "" || c.ttl) {
			t.Errorf("draw %d: %+v", draw, c)
		}
		own := NewComparison("192.0.2.53:53")
		for range 4 {
			other, err := v.Explain(Question{Name: "g.example.com"})
			if err != nil {
				t.Fatal(err)
			}
			v.Random = func() uint64 { return (draw ^ 15) << 60 }
			addTo(t, own, &v, Question{Name: "g.example.com"}, nil, &Reply{Rcode: "NOERROR", Answer: AnswerOf(other), Authoritative: true})
		}
		if own.Finish(); own.Same != 4 || len(own.TTLs) > 0 {
			t.Errorf("draw %d: %+v", draw, own)
		}
	}
}

// TestCompareMissingOnce: a name that one of the two has not is told once, whatever the number of types, with the data of
// the other; a name that both have, for each type.
func TestCompareMissingOnce(t *testing.T) {
	t.Parallel()
	v := View{Snapshot: compiled(someMember{
		cluster: "a", name: "n/one", host: "one.example.com", simple: true,
		addresses: []string{"192.0.2.10", "2001:db8::1"},
	})}
	found := NewComparison("192.0.2.53:53")
	for _, rtype := range []string{"AAAA", "A", "TXT", "MX"} {
		there := &Reply{Rcode: "NOERROR"}
		switch rtype {
		case "A":
			there.Answer = rrs(t, "old.example.com. 300 A 192.0.2.1", "none.example.com. 300 A 192.0.2.1")
		case "TXT":
			there.Answer = rrs(t, `old.example.com. 60 TXT "x"`)
		}
		for _, name := range []string{"old", "empty"} {
			addTo(t, found, &v, Question{Name: name + ".example.com", Type: rtype}, nil, there)
		}
		addTo(t, found, &v, Question{Name: "one.example.com", Type: rtype}, nil, &Reply{Rcode: "NXDOMAIN"})
	}
	found.Finish()
	text := found.Text()
	for _, want := range []string{
		"empty.example.com A: does not exist here\n  here   NXDOMAIN\n  there  no data\n",
		"old.example.com A, TXT: does not exist here\n  here   NXDOMAIN\n  there  A 192.0.2.1 (TTL 300)\n         TXT \"x\" (TTL 60)\n",
		"one.example.com A, AAAA: does not exist there\n  here   A 192.0.2.10 (TTL 60)\n         AAAA 2001:db8::1 (TTL 60)\n  there  NXDOMAIN\n",
		"12 answers of 192.0.2.53:53 compared: 0 the same, 12 different in 3 ways\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks\n%s\nin\n%s", want, text)
		}
	}
}

// TestCompareHostile: replies that make no sense are compared all the same.
func TestCompareHostile(t *testing.T) {
	t.Parallel()
	v := View{Snapshot: compiled(someMember{
		cluster: "a", name: "n/one", host: "one.example.com", simple: true,
		addresses: []string{"192.0.2.10"},
	})}
	head := dns.RR_Header{Name: "one.example.com.", Class: dns.ClassINET}
	of := func(rtype uint16) dns.RR_Header { h := head; h.Rrtype = rtype; return h }
	for _, rr := range []dns.RR{
		&dns.A{Hdr: of(dns.TypeA)}, &dns.CNAME{Hdr: of(dns.TypeCNAME)}, &dns.RFC3597{Hdr: of(dns.TypeA)}, &dns.NS{Hdr: of(dns.TypeNS)},
		&dns.TXT{Hdr: of(dns.TypeTXT)}, &dns.HTTPS{SVCB: dns.SVCB{Hdr: of(dns.TypeHTTPS)}}, &dns.NAPTR{Hdr: of(dns.TypeNAPTR)},
	} {
		for _, rtype := range []string{"A", "CNAME", "TXT", "HTTPS", "NS", "NAPTR"} {
			found := NewComparison("192.0.2.53:53")
			addTo(t, found, &v, Question{Name: "one.example.com", Type: rtype}, nil,
				&Reply{Rcode: "NOERROR", Answer: []dns.RR{rr}, Authority: []dns.RR{rr}})
			found.Finish()
			_ = found.Text()
		}
	}
}

// TestCompareCachedTTL: an answer that a cache keeps is one difference, whatever is left of its TTL, and the longest is told;
// of a server with authority each TTL is one.
func TestCompareCachedTTL(t *testing.T) {
	t.Parallel()
	v := View{Snapshot: compiled(someMember{
		cluster: "a", name: "n/one", host: "one.example.com", simple: true,
		addresses: []string{"192.0.2.10"},
	})}
	for _, authoritative := range []bool{false, true} {
		found := NewComparison("192.0.2.53:53")
		for i, ttl := range []int{58, 60, 59} {
			of := &Place{Network: netip.PrefixFrom(netip.AddrFrom4([4]byte{203, 0, byte(i), 0}), 24)}
			addTo(t, found, &v, Question{Name: "one.example.com"}, of,
				&Reply{Rcode: "NOERROR", Answer: rrs(t, fmt.Sprintf("one.example.com. %d A 192.0.2.9", ttl)), Authoritative: authoritative})
		}
		found.Finish()
		if authoritative && len(found.Differences) != 3 || !authoritative &&
			(len(found.Differences) != 1 || len(found.Differences[0].Clients) != 3 || found.Differences[0].There.TTL != 60) {
			t.Errorf("with authority: %v: %+v", authoritative, found.Differences)
		}
	}
}

// TestCompareFull: what is kept of differences has a bound, whatever the other server answers with; the same one for many
// clients counts once.
func TestCompareFull(t *testing.T) {
	t.Parallel()
	found := NewComparison("192.0.2.53:53")
	long := strings.Repeat("x", 1<<20)
	for i := range mostKept>>20 - 1 {
		for range 2 {
			found.Add(nil, &Compared{Difference: Difference{
				Kind: DiffersData, Name: "one.example.com", Type: "TXT", There: Outcome{Answers: [][]string{{fmt.Sprint(i), long}}},
			}})
		}
	}
	if err := found.Full(); err != nil {
		t.Error(err)
	}
	found.Add(nil, &Compared{Difference: Difference{Kind: DiffersData, Name: "two.example.com", There: Outcome{Answers: [][]string{{long}}}}})
	if err := found.Full(); err == nil || !strings.Contains(err.Error(), "what differs has more than 128 MiB: compare fewer names") {
		t.Error(err)
	}
}
