package kuadrant

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin"
	_ "github.com/coredns/coredns/plugin/acl"
	_ "github.com/coredns/coredns/plugin/hosts"
	_ "github.com/coredns/coredns/plugin/template"
	"github.com/coredns/coredns/plugin/test"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records"
)

// TestOnwardErrors: where what a hostname leads to cannot be told, neither can the answer: an error is SERVFAIL, without a
// part of an answer and without an SOA record, which would have it kept as if there were none.
func TestOnwardErrors(t *testing.T) {
	dir := hostGateways(t, map[string]string{
		"broken": "servfail.far.test", "formerr": "formerr.far.test", "notimp": "notimp.far.test", "refused": "refused.far.test",
		"alias": "servfail.example.com",
	})
	far := farServer(t)
	for _, block := range []string{
		".:%[1]d {\nbind 127.0.0.1\nkuadrant example.com {\nmanifests %[2]s\nfallthrough\n}\nforward . %[3]s\n}\n",
		"example.com:%[1]d {\nbind 127.0.0.1\nkuadrant {\nmanifests %[2]s\nfallthrough\n}\nforward . %[3]s\n}\nfar.test:%[1]d {\nbind 127.0.0.1\nforward . %[3]s\n}\n",
	} {
		port := freePort(t)
		addr := bootOnward(t, port, fmt.Sprintf(block, port, dir, far), "alias.example.com.")
		for _, name := range []string{"broken", "formerr", "notimp", "refused", "alias"} {
			if m := send(t, addr, recursive(name+".example.com.", dns.TypeA)); m.Rcode != dns.RcodeServerFailure || len(m.Answer)+len(m.Ns) > 0 || m.Authoritative {
				t.Errorf("%s, of %s: %v", name, block, m)
			}
		}
	}
}

// TestOnwardNobody: where no plugin is there for a name, or none that answers this client, the CNAME is the answer, whatever else the block has.
func TestOnwardNobody(t *testing.T) {
	dir, far, zone := hostGateways(t, map[string]string{"far": "www.far.test"}), farServer(t), elbZone(t, "")
	for name, block := range map[string]string{
		"a block of one zone":            "example.com:%d {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\n}\nforward . %s\n}\n",
		"not for this client":            "example.com:%[1]d {\nbind 127.0.0.1\nkuadrant {\nmanifests %[2]s\n}\n}\nfar.test:%[1]d {\nbind 127.0.0.1\nacl {\nblock net 127.0.0.0/8\n}\nforward . %[3]s\n}\n",
		"its own acl":                    ".:%d {\nbind 127.0.0.1\nacl far.test {\nblock\n}\nkuadrant example.com {\nmanifests %s\n}\nforward . %s\n}\n",
		"a plugin for other names":       ".:%d {\nbind 127.0.0.1\nkuadrant example.com {\nmanifests %s\n}\nhosts {\n192.0.2.1 lb.elb.test\nfallthrough\n}\n}\n# %s\n",
		"another plugin for other names": ".:%d {\nbind 127.0.0.1\nkuadrant example.com {\nmanifests %s\n}\nfile " + zone + " elb.test\n}\n# %s\n",
		"no other plugin":                ".:%d {\nbind 127.0.0.1\nkuadrant example.com {\nmanifests %s\n}\n}\n# %s\n",
	} {
		port := freePort(t)
		addr := bootOnward(t, port, fmt.Sprintf(block, port, dir, far), "far.example.com.")
		if m := send(t, addr, recursive("far.example.com.", dns.TypeA)); m.Rcode != dns.RcodeSuccess || answerText(m) != "CNAME www.far.test." {
			t.Errorf("%s: %v", name, m)
		}
	}
}

// TestOnwardBusy: that forward has too much to do says nothing of the name: it is SERVFAIL, and not the CNAME alone.
func TestOnwardBusy(t *testing.T) {
	asked, release := make(chan struct{}, 1), make(chan struct{})
	silent := serveUDP(t, func(w dns.ResponseWriter, r *dns.Msg) {
		if r.Question[0].Name == "first.test." {
			select {
			case asked <- struct{}{}:
			default: // forward asks once more
			}
			<-release
		}
		_ = w.WriteMsg(new(dns.Msg).SetReply(r))
	})
	dir := hostGateways(t, map[string]string{"far": "www.far.test"})
	port := freePort(t)
	addr := bootOnward(t, port, fmt.Sprintf(".:%d {\nbind 127.0.0.1\nkuadrant example.com {\nmanifests %s\n}\nforward . %s {\nmax_concurrent 1\n}\n}\n", port, dir, silent), "far.example.com.")
	first := make(chan error, 1)
	go func() {
		_, _, err := (&dns.Client{Timeout: time.Minute}).Exchange(recursive("first.test.", dns.TypeA), addr)
		first <- err
	}()
	<-asked
	m := send(t, addr, recursive("far.example.com.", dns.TypeA))
	close(release)
	if m.Rcode != dns.RcodeServerFailure || len(m.Answer) > 0 {
		t.Error(m)
	}
	if err := <-first; err != nil {
		t.Error(err)
	}
}

// TestOnwardLoopsHere: two plugins of one server that lead to each other, of which the other counts nothing, come to an end.
func TestOnwardLoopsHere(t *testing.T) {
	dir := hostGateways(t, map[string]string{"loop": "loop.elb.test"})
	port := freePort(t)
	addr := bootOnward(t, port, fmt.Sprintf("example.com:%[1]d {\nbind 127.0.0.1\nkuadrant {\nmanifests %[2]s\n}\n}\n"+
		"elb.test:%[1]d {\nbind 127.0.0.1\ntemplate IN A {\nanswer \"{{ .Name }} 30 IN CNAME loop.example.com.\"\n}\n}\n", port, dir), "loop.example.com.")
	m, _, err := (&dns.Client{Net: "tcp", Timeout: time.Minute}).Exchange(recursive("loop.example.com.", dns.TypeA), addr)
	if err != nil {
		t.Fatal(err)
	}
	// template keeps its CNAME where what it leads to is SERVFAIL.
	if n := strings.Count(answerText(m), "CNAME loop.elb.test."); n != 8 {
		t.Errorf("it went on %d times, and not 8: %v", n, m)
	}
}

// TestOnwardLoopElsewhere: a loop through another server comes to an end. Each query was a new one there and here, and two
// servers sent each other thousands of them a second for as long as they ran.
func TestOnwardLoopElsewhere(t *testing.T) {
	port, otherPort := freePort(t), freePort(t)
	other := fmt.Sprintf("127.0.0.1:%d", otherPort)
	var relayed, underway atomic.Int64
	relay := serveUDP(t, func(w dns.ResponseWriter, r *dns.Msg) {
		relayed.Add(1)
		underway.Add(1)
		defer underway.Add(-1)
		if m, _, err := (&dns.Client{Timeout: time.Minute}).Exchange(r, other); err == nil {
			_ = w.WriteMsg(m)
		}
	})
	far := filepath.Join(t.TempDir(), "far.test")
	writeFile(t, far, `$ORIGIN far.test.
@ 300 IN SOA ns.far.test. hostmaster.far.test. 1 3600 600 86400 60
x 30 IN CNAME start.elb.test.
`)
	// One loop comes back to kuadrant at once, the other through file, which has counted it as one that goes on.
	dir := hostGateways(t, map[string]string{"loop": "loop.elsewhere.test", "mixed": "x.far.test"})
	elsewhere := filepath.Join(t.TempDir(), "elsewhere.test")
	writeFile(t, elsewhere, `$ORIGIN elsewhere.test.
@ 300 IN SOA ns.elsewhere.test. hostmaster.elsewhere.test. 1 3600 600 86400 60
loop 30 IN CNAME loop.example.com.
`)
	addr := bootOnward(t, port, fmt.Sprintf("example.com:%[1]d {\nbind 127.0.0.1\nkuadrant {\nmanifests %[2]s\n}\n}\nfar.test:%[1]d elsewhere.test:%[1]d {\nbind 127.0.0.1\nforward . %[3]s\n}\nelb.test:%[1]d {\nbind 127.0.0.1\nfile %[4]s\n}\n"+
		"far.test:%[5]d {\nbind 127.0.0.1\nfile %[6]s\n}\nelsewhere.test:%[5]d {\nbind 127.0.0.1\nfile %[7]s\n}\nexample.com:%[5]d elb.test:%[5]d {\nbind 127.0.0.1\nforward . 127.0.0.1:%[1]d\n}\n",
		port, dir, relay, elbZone(t, "start 30 IN CNAME mixed.example.com.\n"), otherPort, far, elsewhere), "loop.example.com.")
	for _, name := range []string{"loop.example.com.", "mixed.example.com."} {
		before := relayed.Load()
		if m := send(t, addr, recursive(name, dns.TypeA)); m.Rcode != dns.RcodeServerFailure || len(m.Answer) > 0 {
			t.Error(name, m)
		}
		waitFor(t, "end of the loop", func() bool { return underway.Load() == 0 })
		if n := relayed.Load() - before; n == 0 || n > 50 {
			t.Errorf("%s: %d queries went from one server to the other", name, n)
		}
	}
}

// TestOnwardTwoServers: one block on two addresses is in two servers, and what one of them knows is not told to clients of the other.
func TestOnwardTwoServers(t *testing.T) {
	var asked atomic.Int64
	both := make(chan struct{}) // closed once both ask: none is answered before
	server := func(address string) string {
		var first sync.Once
		return serveUDP(t, func(w dns.ResponseWriter, r *dns.Msg) {
			m := new(dns.Msg).SetReply(r)
			if r.Question[0].Qtype == dns.TypeA {
				first.Do(func() {
					if asked.Add(1) == 2 {
						close(both)
					}
				})
				select {
				case <-both:
				case <-t.Context().Done():
				}
				rr, _ := dns.NewRR(r.Question[0].Name + " 20 IN A " + address)
				m.Answer = []dns.RR{rr}
			}
			_ = w.WriteMsg(m)
		})
	}
	dir, port := hostGateways(t, map[string]string{"far": "www.far.test"}), freePort(t)
	bootOnward(t, port, fmt.Sprintf("example.com:%[1]d {\nbind 127.0.0.1 127.0.0.2\nkuadrant {\nmanifests %[2]s\n}\n}\nfar.test:%[1]d {\nbind 127.0.0.1\nforward . %[3]s\n}\nfar.test:%[1]d {\nbind 127.0.0.2\nforward . %[4]s\n}\n",
		port, dir, server("192.0.2.1"), server("192.0.2.2")), "far.example.com.")
	var clients sync.WaitGroup
	for ip, want := range map[string]string{"127.0.0.1": "192.0.2.1", "127.0.0.2": "192.0.2.2"} {
		clients.Go(func() {
			c := &dns.Client{Timeout: time.Minute, Dialer: &net.Dialer{LocalAddr: &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}}}
			m, _, err := c.Exchange(recursive("far.example.com.", dns.TypeA), fmt.Sprintf("%s:%d", ip, port))
			if err != nil || firstA(m) != want {
				t.Errorf("%s: %v %v, want %s", ip, m, err, want)
			}
		})
	}
	clients.Wait()
}

// TestOnwardClientLeaves: what is asked of the server is asked to the end where the client, of DNS over HTTPS say, has gone: others
// wait for whether it fails, and forward makes a failure of it.
func TestOnwardClientLeaves(t *testing.T) {
	answers := test.HandlerFunc(func(ctx context.Context, w dns.ResponseWriter, r *dns.Msg) (int, error) {
		m := new(dns.Msg).SetReply(r)
		if ctx.Err() != nil {
			m.Rcode = dns.RcodeServerFailure
		}
		return m.Rcode, w.WriteMsg(m)
	})
	server, err := dnsserver.NewServer("dns://127.0.0.1:0", []*dnsserver.Config{{Zone: "far.test.", Plugin: []plugin.Plugin{func(plugin.Handler) plugin.Handler { return answers }}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(context.WithValue(t.Context(), dnsserver.Key{}, server))
	leave()
	m := askItself(ctx, &test.ResponseWriter{}, recursive("far.example.com.", dns.TypeA), onwardKey{target: "www.far.test.", qtype: dns.TypeA})
	if m == nil || m.Rcode != dns.RcodeSuccess || m.Question[0].Name != "www.far.test." {
		t.Error(m)
	}
}

// TestOnwards: lookups of one kind share their failures, and nothing else, and those that took long and failed are not made
// again for a while.
func TestOnwards(t *testing.T) {
	answer, failure := new(dns.Msg), &dns.Msg{MsgHdr: dns.MsgHdr{Rcode: dns.RcodeServerFailure}}
	synctest.Test(t, func(t *testing.T) {
		o := newOnwards()
		var asked atomic.Int64
		look := func(key onwardKey, took time.Duration, m *dns.Msg) *dns.Msg {
			return o.look(key, func() *dns.Msg {
				asked.Add(1)
				time.Sleep(took)
				return m
			})
		}
		expect := func(what string, want int64) {
			t.Helper()
			if n := asked.Swap(0); n != want {
				t.Errorf("%s: asked %d times, want %d", what, n, want)
			}
		}
		key := onwardKey{target: "a."}
		if look(key, time.Minute, answer) != answer || look(key, 0, nil) != nil || look(key, time.Millisecond, failure) != failure || look(key, 2*time.Second, failure) != failure {
			t.Error("what is asked for is not what comes")
		}
		expect("answers, names of nobody and what fails at once", 4)
		if m := look(key, 0, answer); m == nil || !isFailure(m) {
			t.Errorf("after a failure that took long: %v", m)
		}
		expect("after a failure that took long", 0)
		look(onwardKey{target: "b."}, 0, answer)
		expect("another name", 1)
		time.Sleep(failedStay + 1)
		look(key, 0, answer)
		expect("later", 1)
		if m := look(onwardKey{times: 8}, 0, answer); !isFailure(m) {
			t.Errorf("after eight times: %v", m)
		}
		expect("after eight times", 0)

		for _, c := range []struct {
			what  string
			of    func() *dns.Msg
			took  time.Duration
			asked int64
		}{
			{"ten answers at once, of two kinds", func() *dns.Msg { return new(dns.Msg) }, longestWait - 1, 10},
			{"ten names of nobody at once, of two kinds", func() *dns.Msg { return nil }, longestWait - 1, 10},
			{"ten slow answers at once, of two kinds", func() *dns.Msg { return new(dns.Msg) }, longestWait, 2},
			{"ten failures at once, of two kinds", func() *dns.Msg { return failure.Copy() }, slow - 1, 2},
		} {
			var all sync.WaitGroup
			for i := range 10 {
				all.Go(func() {
					m := c.of()
					if got := look(onwardKey{target: "c.", times: i % 2}, c.took, m); got != m && (c.asked == 10 || !isFailure(got)) {
						t.Errorf("%s: one is given what another has asked for: %v", c.what, got)
					}
				})
			}
			all.Wait()
			expect(c.what, c.asked)
		}
		for i := range 2 * mostFailed {
			look(onwardKey{target: strconv.Itoa(i)}, time.Second, failure)
		}
		if n := len(o.failed.Keys()); n > mostFailed {
			t.Errorf("%d failures are kept", n)
		}
	})
}

// TestOnwardKey: whatever a failure most likely depends on makes another key.
func TestOnwardKey(t *testing.T) {
	state := func(network, ip string) request.Request {
		w := &test.ResponseWriter{RemoteIP: ip, TCP: network == "tcp"}
		return request.Request{W: w, Req: new(dns.Msg)}
	}
	with := func(change func(*dns.Msg)) *dns.Msg {
		m := withSubnet(recursive("a.example.com.", dns.TypeA), 1, "198.51.100.0", 24, 0)
		change(m)
		return m
	}
	plain := with(func(*dns.Msg) {})
	seen := make(map[onwardKey]string)
	for _, c := range []struct {
		name   string
		query  *dns.Msg
		state  request.Request
		target string
	}{
		{"the first", plain, state("udp", "192.0.2.1"), "b.test."},
		{"another client", plain, state("udp", "192.0.2.2"), "b.test."},
		{"TCP", plain, state("tcp", "192.0.2.1"), "b.test."},
		{"another target", plain, state("udp", "192.0.2.1"), "c.test."},
		{"another type", with(func(m *dns.Msg) { m.Question[0].Qtype = dns.TypeAAAA }), state("udp", "192.0.2.1"), "b.test."},
		{"another subnet", withSubnet(recursive("a.example.com.", dns.TypeA), 1, "198.51.101.0", 24, 0), state("udp", "192.0.2.1"), "b.test."},
		{"a longer subnet", withSubnet(recursive("a.example.com.", dns.TypeA), 1, "198.51.100.0", 25, 0), state("udp", "192.0.2.1"), "b.test."},
		{"another size", with(func(m *dns.Msg) { m.IsEdns0().SetUDPSize(512) }), state("udp", "192.0.2.1"), "b.test."},
		{"CD", with(func(m *dns.Msg) { m.CheckingDisabled = true }), state("udp", "192.0.2.1"), "b.test."},
		{"AD", with(func(m *dns.Msg) { m.AuthenticatedData = true }), state("udp", "192.0.2.1"), "b.test."},
		{"no EDNS", recursive("a.example.com.", dns.TypeA), state("udp", "192.0.2.1"), "b.test."},
	} {
		l := lookup{question: c.query.Question[0]}
		l.subnet, _, _ = clientSubnet(c.query)
		key := keyOf(c.query, c.state, &l, c.target)
		if was, ok := seen[key]; ok {
			t.Errorf("%s: the same key as %s", c.name, was)
		}
		seen[key] = c.name
	}
}

// TestOnwardDelegated: what lies in a zone that is delegated is asked for where this server has that zone too, and else the
// client gets to know who has it.
func TestOnwardDelegated(t *testing.T) {
	dir := t.TempDir()
	text := "apiVersion: kubi.zone/v1alpha1\nkind: Zone\nmetadata: {name: zone, namespace: ns}\nspec: {domainName: test., delegations: [{records: [{pattern: \"*\"}]}]}\n"
	for i, r := range [][3]string{
		{"near", "CNAME", "lb.elb"},
		{"far", "CNAME", "lb.far"},
		{"v4", "CNAME", "only"},
		{"only", "A", "192.0.2.1"},
		{"elb", "NS", "ns.elb"},
		{"ns.elb", "A", "192.0.2.9"},
		{"far", "NS", "ns.far"},
		{"ns.far", "A", "192.0.2.9"},
	} {
		if r[1] == "CNAME" {
			r[0] = "to-" + r[0]
		}
		text += fmt.Sprintf("---\napiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {name: r%d, namespace: ns}\nspec: {domainName: %s, zoneRef: {name: zone}, type: %s, rdata: %s}\n", i, r[0], r[1], r[2])
	}
	writeFile(t, filepath.Join(dir, "zone.yaml"), text)
	port := freePort(t)
	addr := bootOnward(t, port, fmt.Sprintf("test:%[1]d {\nbind 127.0.0.1\nkuadrant {\nmanifests %[2]s\n}\n}\nelb.test:%[1]d {\nbind 127.0.0.1\nfile %[3]s\n}\n", port, dir, elbZone(t, "lb 30 IN A 192.0.2.50\n")), "to-near.test.")
	for _, c := range []struct {
		name, answer, authority string
		qtype                   uint16
		extra                   int
	}{
		{"to-near.test.", "CNAME lb.elb.test. A 192.0.2.50", "", dns.TypeA, 0},
		{"to-near.test.", "CNAME lb.elb.test.", "SOA", dns.TypeAAAA, 0},
		{"to-far.test.", "CNAME lb.far.test.", "NS", dns.TypeA, 1},
		{"to-v4.test.", "CNAME only.test.", "SOA", dns.TypeAAAA, 0},
	} {
		m := send(t, addr, recursive(c.name, c.qtype))
		authority := ""
		if len(m.Ns) > 0 {
			authority = dns.Type(m.Ns[0].Header().Rrtype).String()
		}
		if m.Rcode != dns.RcodeSuccess || !m.Authoritative || answerText(m) != c.answer || authority != c.authority || len(m.Extra) != c.extra {
			t.Errorf("%s %s: %v", c.name, dns.Type(c.qtype), m)
		}
	}
}

// TestExtend: what an answer becomes with what its end leads to.
func TestExtend(t *testing.T) {
	subnet := func(family uint16, ip string, source uint8) *dns.EDNS0_SUBNET {
		return &dns.EDNS0_SUBNET{Code: dns.EDNS0SUBNET, Family: family, SourceNetmask: source, Address: net.ParseIP(ip)}
	}
	v4, v6, mappedV4 := subnet(familyIPv4, "198.51.100.0", 24), subnet(familyIPv6, "2001:db8::", 48), subnet(familyIPv6, "::ffff:198.51.100.0", 120)
	for _, c := range []struct {
		name         string
		asked        *dns.EDNS0_SUBNET
		scope        int // of the answer so far
		said         *dns.EDNS0_SUBNET
		saidScope    int
		want         int
		wantInOption uint8
	}{
		{"none said", v4, 16, nil, 0, 16, 16},
		{"a longer one", v4, 16, v4, 20, 20, 20},
		{"a shorter one", v4, 24, v4, 20, 24, 24},
		{"none was asked for", nil, 0, v4, 20, 0, 0},
		{"another family", v4, 16, v6, 48, 16, 16},
		{"IPv6", v6, 32, v6, 48, 48, 48},
		{"an IPv4 address in IPv6", mappedV4, 16, mappedV4, 20, 20, 116},
		{"an IPv4 address in IPv6, for everybody", mappedV4, 16, mappedV4, 0, 16, 112},
	} {
		l := lookup{subnet: c.asked, answer: records.Answer{Scope: c.scope}}
		m := new(dns.Msg)
		if c.said != nil {
			m.SetEdns0(1232, false)
			m.IsEdns0().Option = []dns.EDNS0{subnetReply(c.said, c.saidScope)}
		}
		l.extend(m)
		if l.answer.Scope != c.want {
			t.Errorf("%s: scope %d, want %d", c.name, l.answer.Scope, c.want)
		}
		if c.asked != nil && subnetReply(c.asked, l.answer.Scope).SourceScope != c.wantInOption {
			t.Errorf("%s: the option says %d, want %d", c.name, subnetReply(c.asked, l.answer.Scope).SourceScope, c.wantInOption)
		}
	}

	// What was cut may look like a referral, or like nothing at all.
	ns, _ := dns.NewRR("far.test. 60 IN NS ns.far.test.")
	var of lookup
	of.extend(&dns.Msg{MsgHdr: dns.MsgHdr{Truncated: true, RecursionAvailable: true}, Ns: []dns.RR{ns}})
	if !of.cut || len(of.answer.Ns) > 0 {
		t.Errorf("a cut reply: cut %v, authority %v", of.cut, of.answer.Ns)
	}

	// Several may have the same message: nothing of it is written behind.
	soa, err := dns.NewRR("elb.test. 60 IN SOA ns.elb.test. hostmaster.elb.test. 1 3600 600 86400 60")
	if err != nil {
		t.Fatal(err)
	}
	a, _ := dns.NewRR("lb.elb.test. 30 IN A 192.0.2.50")
	m := &dns.Msg{Answer: append(make([]dns.RR, 0, 8), a), Ns: append(make([]dns.RR, 0, 8), soa)}
	var l lookup
	l.extend(m)
	_, _ = append(l.answer.Answer, soa), append(l.answer.Ns, a)
	if len(l.answer.Answer) != 1 || len(l.answer.Ns) != 1 || m.Answer[:2][1] != nil || m.Ns[:2][1] != nil {
		t.Errorf("the message is shared, and was written to: %v %v", m.Answer[:2], m.Ns[:2])
	}
}
