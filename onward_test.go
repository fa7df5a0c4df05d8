package kuadrant

import (
	"fmt"
	stdlog "log"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	_ "github.com/coredns/coredns/plugin/file"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/log"
	"github.com/miekg/dns"
)

// TestOnward: a stub resolver gets the addresses behind a hostname from the server's other plugins; resolvers, those
// who ask for signatures, and names that nobody here has, get the CNAME alone.
func TestOnward(t *testing.T) {
	dir := t.TempDir()
	for name, address := range map[string]string{
		"lb": "{type: Hostname, value: lb.elb.test}", "none": "{type: Hostname, value: none.elb.test}", "text": "{type: Hostname, value: text.elb.test}",
		"far": "{type: Hostname, value: www.far.test}", "big": "{type: Hostname, value: big.far.test}", "nobody": "{type: Hostname, value: www.nobody.invalid}", "loop": "{type: Hostname, value: loop.elb.test}",
		"here": "{type: Hostname, value: ip.example.com}", "gone": "{type: Hostname, value: absent.example.com}", "ip": "{value: 192.0.2.1}",
	} {
		text := strings.Replace(gatewayFile(name, "HERE"), "{value: HERE}", address, 1)
		writeFile(t, filepath.Join(dir, name+".yaml"), text)
	}
	zone := filepath.Join(t.TempDir(), "elb.test")
	writeFile(t, zone, `$ORIGIN elb.test.
@ 300 IN SOA ns.elb.test. hostmaster.elb.test. 1 3600 600 86400 60
@ 300 IN NS ns.elb.test.
lb 30 IN A 192.0.2.50
lb 30 IN A 192.0.2.51
text 30 IN TXT a
loop 30 IN CNAME loop.example.com.
`)
	// Somebody who recurses, and tells answers apart by the client's subnet.
	far := farServer(t)
	port := freePort(t)
	corefile := fmt.Sprintf("example.com:%[1]d {\nbind 127.0.0.1\nkuadrant {\nmanifests %[2]s\n}\n}\nelb.test:%[1]d {\nbind 127.0.0.1\nfile %[3]s\n}\nfar.test:%[1]d {\nbind 127.0.0.1\nforward . %[4]s\n}\n", port, dir, zone, far)
	inst, _ := boot(t, corefile)
	defer func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}()
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	waitFor(t, "an answer", func() bool { return firstA(exchange(t, addr, "ip.example.com.", dns.TypeA)) == "192.0.2.1" })
	recursive := func(name string, qtype uint16) *dns.Msg {
		m := question(name, qtype)
		m.RecursionDesired = true
		return m
	}
	iterative := recursive("lb.example.com.", dns.TypeA)
	iterative.RecursionDesired = false
	signed := recursive("lb.example.com.", dns.TypeA)
	signed.SetEdns0(1232, true)
	for _, c := range []struct {
		name   string
		query  *dns.Msg
		rcode  int
		answer string // types and data
		scope  int    // -1 for no option
		ra     bool
	}{
		{"a stub", recursive("lb.example.com.", dns.TypeA), dns.RcodeSuccess, "CNAME lb.elb.test. A 192.0.2.50 A 192.0.2.51", -1, false},
		{"a resolver", iterative, dns.RcodeSuccess, "CNAME lb.elb.test.", -1, false},
		{"signatures", signed, dns.RcodeSuccess, "CNAME lb.elb.test.", -1, false},
		{"the CNAME", recursive("lb.example.com.", dns.TypeCNAME), dns.RcodeSuccess, "CNAME lb.elb.test.", -1, false},
		{"no such type", recursive("text.example.com.", dns.TypeA), dns.RcodeSuccess, "CNAME text.elb.test.", -1, false},
		{"no such name", recursive("none.example.com.", dns.TypeA), dns.RcodeNameError, "CNAME none.elb.test.", -1, false},
		{"a zone of nobody", recursive("nobody.example.com.", dns.TypeA), dns.RcodeSuccess, "CNAME www.nobody.invalid.", -1, false},
		{"a name of ours", recursive("here.example.com.", dns.TypeA), dns.RcodeSuccess, "CNAME ip.example.com. A 192.0.2.1", -1, false},
		{"no name of ours", recursive("gone.example.com.", dns.TypeA), dns.RcodeNameError, "CNAME absent.example.com.", -1, false},
		{"a loop", recursive("loop.example.com.", dns.TypeA), dns.RcodeServerFailure, "", -1, false},
		{"recursion", recursive("far.example.com.", dns.TypeA), dns.RcodeSuccess, "CNAME www.far.test. A 192.0.2.99", -1, true},
		{"what is too large", recursive("big.example.com.", dns.TypeA), dns.RcodeSuccess, "CNAME big.far.test.", -1, true},
		{"a subnet", withSubnet(recursive("far.example.com.", dns.TypeA), 1, "198.51.100.0", 24, 0), dns.RcodeSuccess, "CNAME www.far.test. A 192.0.2.99", 20, true},
	} {
		m, _, err := new(dns.Client).Exchange(c.query, addr)
		if err != nil {
			t.Fatal(c.name, err)
		}
		var answer []string
		for _, rr := range m.Answer {
			answer = append(answer, dns.Type(rr.Header().Rrtype).String(), strings.TrimPrefix(rr.String(), rr.Header().String()))
		}
		scope := -1
		if s, _, _ := clientSubnet(m); s != nil {
			scope = int(s.SourceScope)
		}
		if got := strings.Join(answer, " "); m.Rcode != c.rcode || got != c.answer || scope != c.scope || m.RecursionAvailable != c.ra || m.Authoritative != (c.rcode != dns.RcodeServerFailure) {
			t.Errorf("%s: %s %q, scope %d, RA %v, AA %v; want %s %q, scope %d, RA %v", c.name, dns.RcodeToString[m.Rcode], got, scope, m.RecursionAvailable, m.Authoritative, dns.RcodeToString[c.rcode], c.answer, c.scope, c.ra)
		}
		if cut := c.name == "what is too large"; m.Truncated != cut {
			t.Errorf("%s: TC is %v: the client has to ask over TCP where not all came", c.name, m.Truncated)
		}
		if soa := len(m.Ns) > 0 && m.Ns[0].Header().Rrtype == dns.TypeSOA; soa != strings.HasPrefix(c.name, "no ") || len(m.Ns) > 0 && !soa {
			t.Errorf("%s: authority %v", c.name, m.Ns)
		}
	}
}

// TestOnwardInBlock: with fallthrough, a chain that ends at a name that is missing here goes on to the next plugins; and what is
// told of a query stays what it was before.
func TestOnwardInBlock(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a.yaml"), strings.Replace(gatewayFile("alias", "HERE"), "{value: HERE}", "{type: Hostname, value: legacy.example.com}", 1))
	writeFile(t, filepath.Join(dir, "b.yaml"), strings.Replace(gatewayFile("far", "HERE"), "{value: HERE}", "{type: Hostname, value: www.far.test}", 1))
	logged := new(lockedBuffer)
	stdlog.SetOutput(logged)
	defer stdlog.SetOutput(os.Stderr)
	port := freePort(t)
	inst, _ := boot(t, fmt.Sprintf(".:%d {\nbind 127.0.0.1\nmetadata\nlog . \"{name} of {/kuadrant/owner}\"\nkuadrant example.com {\nmanifests %s\nfallthrough\n}\nforward . %s\n}\n", port, dir, farServer(t)))
	defer func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}()
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	waitFor(t, "an answer", func() bool { return exchange(t, addr, "alias.example.com.", dns.TypeCNAME).Rcode == dns.RcodeSuccess })
	for _, name := range []string{"alias.example.com.", "far.example.com."} {
		q := question(name, dns.TypeA)
		q.RecursionDesired = true
		m, _, err := new(dns.Client).Exchange(q, addr)
		if err != nil {
			t.Fatal(err)
		}
		if m.Rcode != dns.RcodeSuccess || len(m.Ns) > 0 || firstA(m) != "192.0.2.99" {
			t.Errorf("%s: %v", name, m)
		}
		want := name + " of ns/" + strings.TrimSuffix(name, ".example.com.")
		waitFor(t, "a line of the log", func() bool { return strings.Contains(logged.String(), name+" of ") })
		if !strings.Contains(logged.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, logged)
		}
	}
}

// farServer answers every A query with 192.0.2.99, recursion available, and where the query has a client subnet with the
// scope 20. It returns its address.
func farServer(t *testing.T) string {
	t.Helper()
	addr := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(freePort(t))).String()
	started := make(chan struct{})
	s := &dns.Server{Addr: addr, Net: "udp", NotifyStartedFunc: func() { close(started) }, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, r *dns.Msg) {
		m := new(dns.Msg).SetReply(r)
		m.RecursionAvailable = true
		rr, _ := dns.NewRR(r.Question[0].Name + " 20 IN A 192.0.2.99")
		if m.Truncated = strings.HasPrefix(r.Question[0].Name, "big."); !m.Truncated {
			m.Answer = []dns.RR{rr}
		}
		if sub, _, _ := clientSubnet(r); sub != nil {
			m.SetEdns0(1232, false)
			m.IsEdns0().Option = []dns.EDNS0{subnetReply(sub, 20)}
		}
		_ = w.WriteMsg(m)
	})}
	ended := make(chan error, 1)
	go func() { ended <- s.ListenAndServe() }()
	select {
	case <-started:
	case err := <-ended:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Shutdown()
		<-ended
	})
	return addr
}

// lockedBuffer keeps what several goroutines write.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
