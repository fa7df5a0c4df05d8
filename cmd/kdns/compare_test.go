package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/console"
	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
)

// otherZone is the other server's version of the examples' zone: one host is the same, one has the same answer for
// all clients, one is not served here, and two are missing.
const otherZone = `k.example.com. 300 SOA ns1.k.example.com. hostmaster.k.example.com. 7 7200 1800 86400 60
k.example.com. 300 NS ns1.k.example.com.
ns1.k.example.com. 300 A 127.0.0.1
status.k.example.com. 3600 A 192.0.2.10
status.k.example.com. 3600 A 192.0.2.11
shop.k.example.com. 300 CNAME lb.k.example.com.
lb.k.example.com. 300 A 192.0.2.10
lb.k.example.com. 300 A 192.0.2.11
`

// TestCompareKnot compares the examples with a server that ignores the client.
func TestCompareKnot(t *testing.T) {
	inRoot(t)
	addr := startKnot(t, "", map[string]string{"k.example.com.": otherZone})
	fast := []string{"--rate", "10000", example}
	compare := func(code int, args ...string) (string, *inspect.Comparison) {
		t.Helper()
		args = append(append([]string{"compare", addr}, args...), fast...)
		text := kdns(t, "", args...)
		got := kdns(t, "", append(args, "-o", "json")...)
		found := new(inspect.Comparison)
		if err := json.Unmarshal([]byte(got.out), found); err != nil || got.code != code || text.code != code {
			t.Fatalf("%q: code %d and %d, %v\n%s%s", args, text.code, got.code, err, text.out, text.errs)
		}
		return text.out, found
	}
	text, found := compare(1, "--in", "k.example.com")
	for _, want := range []string{
		"shop.k.example.com A: other addresses, for 10.89.200.0/24 (US, GEO-NA)\n  here   198.51.100.10 (TTL 60)\n  there  " +
			"192.0.2.10, 192.0.2.11 (TTL 300)\n",
		"the other server returns no client subnet",
		"192.0.2.10, 192.0.2.11 there: of v5128t-1prjov.klb.shop.k.example.com (GEO-EU, DNSPolicy shop/shop in cluster eu), which is " +
			"not taken here: another member is closer: same continent",
		"checked.k.example.com A: does not exist there",
		addr + " returns no client subnet",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	// shop and checked are chosen by client, and there are three clients; status and ns1 are not.
	if found.Asked != 8 || found.Same != 4 || !found.Blind {
		t.Errorf("found %+v", found)
	}
	if _, found := compare(0, "status.k.example.com", "shop.k.example.com", "--from", "10.89.100.7"); found.Asked != 2 || found.Same != 2 {
		t.Errorf("for one client: %+v", found)
	}
	names := writeFile(t, t.TempDir()+"/names",
		"; from a transfer\nlb.k.example.com. 300 IN A 192.0.2.10\nlb.k.example.com. 300 IN A 192.0.2.11\n\nlb.k.example.com.  300 IN "+
			"AAAA ::1\nwww.example.net. 300 IN A 192.0.2.1\n")
	if text, found := compare(1, "--names", names, "--from", "10.89.100.0/24", "--from", "10.89.200.7", "--types", "a", "--in",
		"k.example.com"); found.Asked != 2 || len(found.Differences) != 1 ||
		!strings.Contains(text, "lb.k.example.com A: does not exist here, for 10.89.100.0/24 (IE, GEO-EU), 10.89.200.7/32 (US, GEO-NA)") {
		t.Errorf("names of a file: %s", text)
	}
	// Both servers refuse names outside their zones.
	for _, c := range []struct {
		names  []string
		warned string
	}{
		{[]string{"status.k.example.com"}, ""},
		{[]string{"shpo.k.example.com"}, "warning: shpo.k.example.com exists neither here nor there; near it: shop.k.example.com\n"},
		{[]string{"www.example.net"}, "warning: www.example.net. is in no zone served here; the answer is REFUSED\n"},
		{
			[]string{"www.example.net", "status.k.example.com", "ftp.example.net"},
			"warning: 2 names, such as www.example.net., are in no zone served here; the answers are REFUSED\n",
		},
	} {
		args := append(append([]string{"compare", addr, "--from", "10.89.100.7", "--types", "A"}, c.names...), fast...)
		got := kdns(t, "", args...)
		if got.expect(t, c.names, 0, fmt.Sprintf("of %s compared: %d the same", addr, len(c.names))); got.errs != c.warned {
			t.Errorf("%q: warned %q", c.names, got.errs)
		}
	}
}

// TestCompareNothing: a comparison without questions is an error.
func TestCompareNothing(t *testing.T) {
	inRoot(t)
	addr := startKnot(t, "", map[string]string{"k.example.com.": otherZone})
	empty := []string{
		"--zone", "k.example.com", "-f",
		writeFile(t, t.TempDir()+"/x.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: b}\n"),
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{
			append([]string{"k.example.com"}, example), 3,
			"nothing to compare: k.example.com. has only NS and SOA records of its own here; name other types with --types",
		},
		{empty, 3, "nothing to compare: k.example.com. has only"},
		{
			[]string{"k.example.com", "status.k.example.com", "--from", "10.89.100.7", example},
			0,
			"warning: skipping k.example.com.: it has only NS and SOA records of its own here (--types asks for more)\n",
		},
		{[]string{"k.example.com", "--types", "TXT", "--from", "10.89.100.7", example}, 0, ""},
	} {
		got := kdns(t, "", append([]string{"compare", addr, "--rate", "10000"}, c.args...)...)
		if got.code != c.code || !strings.Contains(got.errs, c.want) || (got.out == "") != (c.code == 3) {
			t.Errorf("%q: code %d\n%s%s", c.args, got.code, got.out, got.errs)
		}
	}
}

// TestCompareServer: a console gives the same comparison as the manifests; a busy console is asked again.
func TestCompareServer(t *testing.T) {
	inRoot(t)
	w := exampleWorld(t)
	server := httptest.NewServer(console.New(console.Options{Source: &shown{t: t, view: inspect.View{Snapshot: w.snap, Locator: w.db}}}))
	defer server.Close()
	addr := startKnot(t, "", map[string]string{"k.example.com.": otherZone})
	args := []string{"compare", addr, "--in", "k.example.com", "--rate", "10000", "--from", "10.89.100.0/24", "--from", "US"}
	for i := range 40 { // more than the console explains in a second
		args = append(args, "--from", fmt.Sprintf("203.0.113.%d", i))
	}
	here := kdns(t, "", append(slices.Clone(args), example)...)
	there := kdns(t, "", append(slices.Clone(args), "--server", server.URL)...)
	if last := strings.LastIndex(here.out[:len(here.out)-1], "\n"); here.code != 1 || there.code != 1 ||
		!strings.HasSuffix(there.out, here.out[last:]) {
		t.Errorf("codes %d and %d: of a server\n%s%s\nof manifests\n%s", here.code, there.code, there.out, there.errs, here.out)
	}
}

// TestCompareOdd: silent and misbehaving servers, and wrong command lines.
func TestCompareOdd(t *testing.T) {
	inRoot(t)
	// The server answers only without EDNS and truncates over UDP; nothing listens on TCP.
	addr := answering(t, func(q, m *dns.Msg) {
		if m.Truncated = q.IsEdns0() == nil; !m.Truncated {
			m.Rcode = dns.RcodeFormatError
		}
	})
	kdns(t, "", "compare", addr, "status.k.example.com", "--rate", "10000", example).expect(t, "cut short", 3,
		"!over TCP")
	for args, want := range map[string]string{
		"":                          "2 name the server",
		"127.0.0.1:x":               "2 is not a port",
		"a/b":                       "2 is not a server",
		addr + " --rate 0":          "2 --rate 0 must be greater than 0",
		addr + " --types ZZ":        "2 is not a type",
		addr + " --from here":       "2 neither an address nor a network",
		addr + " --names /nowhere":  "3 --names: open /nowhere",
		addr + " --names /dev/null": "3 --names /dev/null: no names in it",
		addr + " http://x.example":  "2 is not a domain name",
		addr + " --in example.net":  "2 no zone example.net here",
		addr + " --rate NaN":        "2 --rate NaN must be greater than 0",
		addr + " a.example.net --in k.example.com": "3 no names to compare",
		"127.0.0.1:1 --rate 10000":                 "3 5 questions in a row",
		addr + " --server http://[::1]":            "2 remove --server, or remove -f",
		addr + " -f eu=- --names -":                "2 -f - and --names - both read standard input",
	} {
		kdns(t, "", append([]string{"compare", example}, strings.Fields(args)...)...).expect(t, args, int(want[0]-'0'), "!"+want[2:])
	}
}

// TestCompareOddNames: names with a slash or a space are compared; lines of a file that are not names are skipped.
func TestCompareOddNames(t *testing.T) {
	dir := t.TempDir()
	zone := writeFile(t, dir+"/zone.yaml", manifests(t, "zone dns/z k.example.com. delegate=*/*\nrecord dns/r0 0/25 in=z A 192.0.2.9\n"+
		`record dns/r1 spec.domainName='a\ b' in=z spec.type=A spec.rdata=192.0.2.9`))
	addr := startKnot(t, "", map[string]string{"k.example.com.": otherZone +
		"0/25.k.example.com. 300 A 192.0.2.9\na\\032b.k.example.com. 300 A 192.0.2.9\n"})
	got := kdns(t, "", "compare", addr, "-f", zone, "--zone", "k.example.com", "--types", "A")
	if got.expect(t, "odd names", 0, "0 different"); strings.Contains(got.out, "compared: 0 the same") {
		t.Error(got.out)
	}
	names := writeFile(t, dir+"/names", "0/25.k.example.com. 300 IN A 192.0.2.9\n@ 300 IN A 192.0.2.9\nhttp://x 1\n")
	kdns(t, "", "compare", addr, "-f", zone, "--zone", "k.example.com", "--types", "A", "--names", names, "--in", "k.example.com").expect(t,
		"of a file", 0, `!skipping a name: name: "http://x" is not a domain name`, "1 answer of "+addr+" compared: 1 the same")
}

// TestCompareNoAnswers: a reply that does not match its question counts as no answer, and the error describes it.
func TestCompareNoAnswers(t *testing.T) {
	inRoot(t)
	for name, change := range map[string]func(m *dns.Msg){
		"the question":    func(m *dns.Msg) { m.Response = false },
		"another type":    func(m *dns.Msg) { m.Question[0].Qtype = dns.TypeTXT },
		"another name":    func(m *dns.Msg) { m.Question[0].Name = "x." },
		"no question":     func(m *dns.Msg) { m.Question = nil },
		"another opcode":  func(m *dns.Msg) { m.Opcode = dns.OpcodeNotify },
		"two questions":   func(m *dns.Msg) { m.Question = append(m.Question, m.Question[0]) },
		"another class":   func(m *dns.Msg) { m.Question[0].Qclass = dns.ClassCHAOS },
		"another message": func(m *dns.Msg) { m.Id++ },
	} {
		addr, why := answering(t, func(_, m *dns.Msg) { change(m) }), "!the reply does not answer the question"
		if name == "another message" {
			why = "" // reported as a timeout
		}
		kdns(t, "", "compare", addr, "status.k.example.com", "--rate", "10000", example).expect(t, name, 3,
			"!no answer from "+addr, why)
	}
}

// answering starts a UDP server whose replies change edits.
func answering(t *testing.T, change func(q, m *dns.Msg)) (addr string) {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		change(q, m)
		_ = w.WriteMsg(m)
	})}
	ended := make(chan error)
	go func() { ended <- server.ActivateAndServe() }()
	t.Cleanup(func() {
		_ = conn.Close()
		<-ended
	})
	return conn.LocalAddr().String()
}

// TestCompareAlias: a host whose address is a hostname is asked for both A and AAAA.
func TestCompareAlias(t *testing.T) {
	file := writeFile(t, t.TempDir()+"/alias.yaml", manifests(t, "gateway dns/g host=a.k.example.com addr=lb.example.net\npolicy dns/g"))
	addr := startKnot(t, "", map[string]string{"k.example.com.": otherZone + "a.k.example.com. 60 AAAA 2001:db8::1\n"})
	kdns(t, "", "compare", addr, "a.k.example.com", "-f", file, "--zone", "k.example.com", "--rate", "10000").expect(t, "an alias", 1,
		"a.k.example.com A: no data there", "a.k.example.com AAAA: other data", "lb.example.net", "2 answers of "+addr)
}

// TestBugB3Compare: compare asks for all names that objects want, including those that they did not get, but not for
// ownership TXT records, with manifests, with a server and with another server's zone transfer.
func TestBugB3Compare(t *testing.T) {
	const heritage = `"heritage=external-dns,external-dns/owner=one"`
	file := writeFile(t, t.TempDir()+"/records.yaml", manifests(t, `dnsrecord shop/r root=simple.k.example.com served=k.example.com
    simple.k.example.com A 192.0.2.1
    kuadrant-a-simple.k.example.com TXT '`+heritage+`'
    beside.k.example.com A 192.0.2.2`))
	names := writeFile(t, t.TempDir()+"/names", "listed.k.example.com. 60 IN A 192.0.2.3\nkuadrant-a-listed.k.example.com. 0 IN TXT "+heritage+"\n")
	w := loaded(t, &options{filenames: []string{file}, zones: []string{"k.example.com"}})
	server := httptest.NewServer(console.New(console.Options{Source: &shown{t: t, view: inspect.View{Snapshot: w.snap}}}))
	defer server.Close()
	asked := make(chan string, 100)
	addr := answering(t, func(q, m *dns.Msg) {
		asked <- q.Question[0].Name
		m.Rcode = dns.RcodeNameError
	})
	here := "-f " + file + " --zone k.example.com"
	for _, c := range []struct{ flags, want string }{
		{here, "beside.k.example.com. simple.k.example.com."},
		{here + " --names " + names, "listed.k.example.com."},
		{"--server " + server.URL, "beside.k.example.com. simple.k.example.com."},
	} {
		kdns(t, "", strings.Fields("compare "+addr+" --rate 10000 "+c.flags)...)
		var all []string
		for len(asked) > 0 {
			all = append(all, <-asked)
		}
		slices.Sort(all)
		if got := strings.Join(slices.Compact(all), " "); got != c.want {
			t.Errorf("%s: asked for %s, want %s", c.flags, got, c.want)
		}
	}
}
