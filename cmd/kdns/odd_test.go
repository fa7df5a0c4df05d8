package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/time/rate"

	"github.com/coredns-kuadrant/kuadrant/internal/console"
	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// TestCompareDelegation: compare follows a delegation to its servers, accepts the root as a name, and treats all
// spellings of an IPv4 network alike.
func TestCompareDelegation(t *testing.T) {
	zone := writeFile(t, t.TempDir()+"/zone.yaml", manifests(t, "zone dns/z k.example.com. delegate=*/*\nrecord dns/r sub in=z NS ns.example.net."))
	for server, want := range map[string]string{
		"ns.example.net.": "",
		"ns.example.org.": "sub.k.example.com NS: other data, for 192.0.2.0/24\n  here   ns.example.net. (TTL 360)\n  there  " +
			"ns.example.org. (TTL 300)\n",
	} {
		addr := startKnot(t, "", map[string]string{"k.example.com.": otherZone + "sub.k.example.com. 300 NS " + server + "\n"})
		got := kdns(t, "", "compare", addr, "sub.k.example.com", "-f", zone, "--zone", "k.example.com", "--from",
			"::ffff:192.0.2.0/120", "--rate", "10000")
		code := 0
		if want != "" {
			code = 1
		}
		got.expect(t, server, code, want)
		kdns(t, "", "compare", addr, ".", "-f", zone, "--zone", "k.example.com", "--rate", "10000").expect(t, "the root", 0, "2 the same")
	}
}

// TestCompareLongLine: a line of a transfer may be as long as the longest record.
func TestCompareLongLine(t *testing.T) {
	names := writeFile(t, t.TempDir()+"/names", "a.example. 60 IN TXT "+strings.Repeat(`"\200" `, 40_000)+"\nb.example. 60 IN A 192.0.2.1\n")
	if words, err := firstWords(names, nil); err != nil || len(words) != 2 {
		t.Errorf("%q, %v", words, err)
	}
}

// TestCompareRcode: an rcode without a name is shown as a number.
func TestCompareRcode(t *testing.T) {
	inRoot(t)
	addr := answering(t, func(_, m *dns.Msg) {
		m.SetEdns0(1232, false)
		m.Rcode = 3841
	})
	kdns(t, "", "compare", addr, "status.k.example.com", "--rate", "10000", example).expect(t, addr, 1, "answers RCODE3841")
}

// TestWarningsArePrintable: warnings escape control characters from files.
func TestWarningsArePrintable(t *testing.T) {
	var out strings.Builder
	w := &world{said: []string{"a\x1b[31mb\tc\u009be"}, unread: []error{fmt.Errorf("c\x1b[2Jd")}}
	p := newProgress(&out)
	w.tell(p)
	if p.end(); strings.Contains(out.String(), "\x1b") || !strings.Contains(out.String(), "\ufffd[31mb\tc\ufffde\n") {
		t.Errorf("%q", out.String())
	}
}

// TestMixedClusters: a directory beside a file is another cluster, and a warning says so.
func TestMixedClusters(t *testing.T) {
	dir := t.TempDir()
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" // not of a kind that is read, which is reported
	file := writeFile(t, dir+"/live.yaml", object)
	writeFile(t, dir+"/new/a.yaml", object)
	writeFile(t, dir+"/b.yaml", object)
	added := dir + "/new"
	for _, c := range []struct {
		paths []string
		said  bool
	}{
		{[]string{file}, false},
		{[]string{added}, false},
		{[]string{file, added}, true},
		{[]string{"-", added}, true},
		{[]string{file, "local=" + added}, false},
		{[]string{"local=" + file, added}, false},
		{[]string{added, dir}, false},
	} {
		args := []string{"list", "zones", "--zone", "k.example.com"}
		for _, path := range c.paths {
			args = append(args, "-f", path)
		}
		want := `/new is read as cluster "new", and ` + c.paths[0] + ` as "local"; if they are one cluster, write -f local=` + added
		for _, args := range [][]string{args, append([]string{"check"}, args[2:]...)} {
			if got := kdns(t, object, args...); strings.Contains(got.errs, want) != c.said {
				t.Errorf("%q: %s", args, got.errs)
			}
		}
	}
	kdns(t, "", "preview", "-f", "eu="+added, "--against", "http://127.0.0.1:1").expect(t, added, 2, "!write -f "+added+" --cluster eu")
}

// TestLiveParents: a parent that answers like a resolver is told from one that refers, and the questions that a
// parent can cause are limited.
func TestLiveParents(t *testing.T) {
	c := &liveCheck{living: &living{port: 1}, limiter: rate.NewLimiter(rate.Inf, 1)}
	record := func(text string) dns.RR {
		rr, err := dns.NewRR(text)
		if err != nil {
			t.Fatal(err)
		}
		return rr
	}
	resolver := answering(t, func(_, m *dns.Msg) { m.Answer = []dns.RR{record("k.example.com. 60 NS ns1.k.example.com.")} })
	if p := c.askParent(t.Context(), "k.example.com.", namedServer{"it", []string{resolver}}); !p.Resolves || p.Serves {
		t.Errorf("a resolver: %+v", p)
	}
	refers := answering(t, func(_, m *dns.Msg) { m.Ns = []dns.RR{record("k.example.com. 60 NS ns1.k.example.com.")} })
	if p := c.askParent(t.Context(), "k.example.com.", namedServer{"it", []string{refers}}); p.Resolves || p.Serves || len(p.NS) != 1 {
		t.Errorf("a parent: %+v", p)
	}
	d := &inspect.Delegation{Zone: "k.example.com.", NS: []string{"ns1.k.example.com."}}
	many := inspect.ParentReply{NS: d.NS, Glue: make(map[string][]netip.Addr)}
	for i := range 4000 {
		many.Glue[d.NS[0]] = append(many.Glue[d.NS[0]], netip.AddrFrom4([4]byte{127, 1, byte(i >> 8), byte(i)}))
	}
	d.Parents = []inspect.ParentReply{many}
	ended, cancel := context.WithCancel(t.Context())
	cancel() // nothing is sent
	if err := c.askServers(ended, d); err == nil || len(d.Servers) != mostServers || d.Unasked != 4000-mostServers {
		t.Errorf("%d servers are asked, %d are not: %v", len(d.Servers), d.Unasked, err)
	}
}

// TestLiveParentOfManyAddresses: at most mostTried addresses of a parent server are tried.
func TestLiveParentOfManyAddresses(t *testing.T) {
	resolver := answering(t, func(_, m *dns.Msg) {
		q := m.Question[0]
		head := dns.RR_Header{Name: q.Name, Rrtype: q.Qtype, Class: dns.ClassINET}
		switch q.Qtype {
		case dns.TypeNS:
			m.Answer = []dns.RR{&dns.NS{Hdr: head, Ns: "ns.example.net."}}
		case dns.TypeA:
			for i := range 40 {
				m.Answer = append(m.Answer, &dns.A{Hdr: head, A: net.IPv4(192, 0, 2, byte(i))})
			}
		}
	})
	limiter := rate.NewLimiter(rate.Inf, 1)
	c := &liveCheck{living: &living{port: 1}, limiter: limiter, resolvers: []*dnsServer{{addr: resolver, limiter: limiter}}}
	if all, err := c.parentOf(t.Context(), "k.example.com."); err != nil || len(all) != 1 || len(all[0].addrs) != mostTried {
		t.Errorf("%v, %v", all, err)
	}
}

// TestCompareInterrupted: an interrupted compare prints what it found at once. It does not wait for a silent server,
// whose timeout exceeds main's patience.
func TestCompareInterrupted(t *testing.T) {
	inRoot(t)
	before := dnsTimeout
	dnsTimeout = time.Hour
	defer func() { dnsTimeout = before }()
	ctx, interrupt := context.WithCancel(t.Context())
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	asked := make(chan error)
	go func() {
		_, _, err := conn.ReadFrom(make([]byte, dnsBuffer))
		interrupt()
		asked <- err
	}()
	var out, errs bytes.Buffer
	code := run(ctx, []string{"kdns", "compare", conn.LocalAddr().String(), "status.k.example.com", example},
		strings.NewReader(""), &out, &errs)
	if err := <-asked; err != nil {
		t.Fatal(err)
	}
	if code != 3 || errs.String() != "kdns: interrupted\n" {
		t.Errorf("code %d\n%s%s", code, &out, &errs)
	}
}

// TestCompareEndsWhenFull: compare stops when the answers take too much memory, and prints what it found.
func TestCompareEndsWhenFull(t *testing.T) {
	inRoot(t)
	p := newProgress(new(strings.Builder))
	defer p.end()
	w, err := (&options{corefile: "Corefile.example"}).load(nil, p)
	if err != nil {
		t.Fatal(err)
	}
	view := inspect.View{Snapshot: w.snap}
	x, err := view.Explain(inspect.Question{Name: "status.k.example.com", Type: "TXT"})
	if err != nil {
		t.Fatal(err)
	}
	here := &inspect.Here{Tree: func(string) *records.Tree { return nil }, Explain: func(string) *records.Explanation { return nil }}
	run := &compareRun{
		reader: &local{view}, clients: []*inspect.Place{nil}, found: inspect.NewComparison("it"),
		names: []compareName{{name: "status.k.example.com", types: []string{"A"}}},
	}
	for i := 0; run.found.Full() == nil; i++ {
		txt := &dns.TXT{
			Hdr: dns.RR_Header{Name: "status.k.example.com.", Rrtype: dns.TypeTXT, Class: dns.ClassINET},
			Txt: []string{fmt.Sprint(i), strings.Repeat("x", 1<<20)},
		}
		run.found.Add(nil, inspect.CompareReply(x, here, &inspect.Reply{Rcode: "NOERROR", Answer: []dns.RR{txt}}, false))
	}
	run.other = newDNSServer(answering(t, func(_, _ *dns.Msg) {}), 10_000)
	found, err := run.do(t.Context(), p)
	if err == nil || !strings.Contains(found.Ended, "the differences have more than 128 MiB") || len(found.Differences) < 2 {
		t.Errorf("%d differences, %v", len(found.Differences), err)
	}
}

// TestJSONIsPrintable: JSON output escapes control characters and keeps its meaning.
func TestJSONIsPrintable(t *testing.T) {
	const text = "a\x1b[31m\u009b31m\x7fb\nä\u00a0\\u009b\"\xff"
	var out strings.Builder
	if err := (&options{output: outputJSON}).write(&out, map[string]string{"x": text}, nil); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil || got["x"] != strings.ToValidUTF8(text, "\ufffd") {
		t.Errorf("%q, %v", got, err)
	}
	if strings.ContainsAny(out.String(), "\x1b\u009b\x7f") || !strings.Contains(out.String(), "ä") {
		t.Errorf("%q", out.String())
	}
}

// serving starts a server at addr over UDP and TCP. It answers with the records of the name and type, or refers with
// the NS records of the name.
func serving(t *testing.T, addr string, zone ...string) {
	t.Helper()
	var all []dns.RR
	for _, line := range zone {
		rr, err := dns.NewRR(line)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rr)
	}
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		authority := dns.IsSubDomain(all[0].Header().Name, m.Question[0].Name)
		m.Authoritative = authority
		for _, rr := range all {
			switch h := rr.Header(); {
			case h.Name == m.Question[0].Name && h.Rrtype == m.Question[0].Qtype && authority:
				m.Answer = append(m.Answer, rr)
			case h.Rrtype == dns.TypeNS && !authority && m.Question[0].Qtype == dns.TypeNS:
				m.Ns = append(m.Ns, rr)
			case h.Rrtype == dns.TypeA && !authority && m.Question[0].Qtype == dns.TypeNS:
				m.Extra = append(m.Extra, rr)
			}
		}
		_ = w.WriteMsg(m)
	})
	udp, err := net.ListenPacket("udp", addr)
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*dns.Server{{PacketConn: udp, Handler: handler}, {Listener: tcp, Handler: handler}} {
		ready, ended := make(chan struct{}), make(chan error)
		s.NotifyStartedFunc = func() { close(ready) }
		go func() { ended <- s.ActivateAndServe() }()
		<-ready
		t.Cleanup(func() {
			_ = s.Shutdown()
			<-ended
		})
	}
}

// TestLiveNothingIsWrong: a correct delegation is reported as such, in each output format, with manifests and with a
// server.
func TestLiveNothingIsWrong(t *testing.T) {
	child := []string{
		"k.example.com. 300 SOA ns1.k.example.com. hostmaster.k.example.com. 7 7200 1800 86400 60",
		"k.example.com. 300 NS ns1.k.example.com.", "k.example.com. 300 NS ns2.k.example.com.", "ns1.k.example.com. 300 A 127.0.0.1",
		"ns2.k.example.com. 300 A 127.0.0.2",
	}
	port, parent := peertest.FreePort(t), net.JoinHostPort("127.0.0.1", strconv.Itoa(peertest.FreePort(t)))
	for _, ip := range []string{"127.0.0.1", "127.0.0.2"} {
		serving(t, net.JoinHostPort(ip, strconv.Itoa(port)), child...)
	}
	serving(t, parent, append([]string{"elsewhere. 60 TXT x"}, child[1:]...)...)
	corefile := writeFile(t, t.TempDir()+"/Corefile",
		"k.example.com {\n  kuadrant {\n    manifests "+t.TempDir()+"\n    nameserver ns1.k.example.com 127.0.0.1\n    nameserver "+
			"ns2.k.example.com 127.0.0.2\n  }\n}\n")
	p := newProgress(new(strings.Builder))
	w, err := (&options{corefile: corefile}).load(nil, p)
	if p.end(); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(console.New(console.Options{Source: &shown{t: t, view: inspect.View{Snapshot: w.snap}}}))
	defer server.Close()
	for _, of := range []string{"--corefile=" + corefile, "--server=" + server.URL} {
		for form, want := range map[string]string{outputTable: "nothing is wrong\n", outputJSON: "[]\n", outputYAML: "[]\n"} {
			got := kdns(t, "", "check", "--live", "k.example.com", of, "-o", form, "--parent", parent, "--resolver", parent,
				"--port", strconv.Itoa(port))
			if got.code != 0 || got.out != want {
				t.Errorf("%s, %s: code %d: %q %s", of, form, got.code, got.out, got.errs)
			}
		}
	}
}
