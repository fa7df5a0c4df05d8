package kuadrant

import (
	"fmt"
	stdlog "log"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/coredns/coredns/plugin/file"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/log"
	"github.com/miekg/dns"
)

// TestOnward: a stub resolver gets the addresses behind a hostname from the server's other plugins; resolvers, those
// who ask for signatures, and names that nobody here has, get the CNAME alone.
func TestOnward(t *testing.T) {
	dir := hostGateways(t, map[string]string{
		"lb": "lb.elb.test", "none": "none.elb.test", "text": "text.elb.test", "referred": "www.sub.elb.test", "chained": "chain.elb.test",
		"far": "www.far.test", "big": "big.far.test", "nobody": "www.nobody.invalid", "loop": "loop.elb.test",
		"long": "yxdomain.far.test", "below": "www.corp.example.com",
		"here": "ip.example.com", "gone": "absent.example.com", "other": "absent.other.test",
	})
	writeFile(t, filepath.Join(dir, "ip.yaml"), gatewayFile("ip", "192.0.2.1"))
	zone := elbZone(t, `lb 30 IN A 192.0.2.50
lb 30 IN A 192.0.2.51
text 30 IN TXT a
loop 30 IN CNAME loop.example.com.
sub 300 IN NS ns.sub.elb.test.
ns.sub 300 IN A 192.0.2.9
chain 30 IN CNAME www.sub.elb.test.
`)
	// A zone below ours, which ours does not delegate.
	below := filepath.Join(t.TempDir(), "corp.example.com")
	writeFile(t, below, "@ 300 IN SOA ns.example.com. hostmaster.example.com. 1 3600 600 86400 60\n@ 300 IN NS ns.example.com.\nwww 30 IN A 192.0.2.7\n")
	// Somebody who recurses, and tells answers apart by the client's subnet.
	far := farServer(t)
	port := freePort(t)
	addr := bootOnward(t, port, fmt.Sprintf("example.com:%[1]d {\nbind 127.0.0.1\nkuadrant {\nmanifests %[2]s\n}\n}\nelb.test:%[1]d {\nbind 127.0.0.1\nfile %[3]s\n}\nfar.test:%[1]d {\nbind 127.0.0.1\nforward . %[4]s\n}\n"+
		"other.test:%[1]d {\nbind 127.0.0.1\nkuadrant {\nfallthrough\n}\nforward . %[4]s\n}\ncorp.example.com:%[1]d {\nbind 127.0.0.1\nfile %[5]s\n}\n", port, dir, zone, far, below), "lb.example.com.")
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
		{"a name of a zone below", recursive("below.example.com.", dns.TypeA), dns.RcodeSuccess, "CNAME www.corp.example.com. A 192.0.2.7", -1, false},
		{"a name that becomes too long", recursive("long.example.com.", dns.TypeA), dns.RcodeYXDomain, "CNAME yxdomain.far.test.", -1, true},
		{"any", recursive("lb.example.com.", dns.TypeANY), dns.RcodeSuccess, "CNAME lb.elb.test.", -1, false},
		{"a loop", recursive("loop.example.com.", dns.TypeA), dns.RcodeServerFailure, "", -1, false},
		{"a referral", recursive("referred.example.com.", dns.TypeA), dns.RcodeSuccess, "CNAME www.sub.elb.test.", -1, false},
		{"a chain to a referral", recursive("chained.example.com.", dns.TypeA), dns.RcodeSuccess, "CNAME chain.elb.test. CNAME www.sub.elb.test.", -1, false},
		{"fallthrough of another block", recursive("other.example.com.", dns.TypeA), dns.RcodeSuccess, "CNAME absent.other.test. A 192.0.2.99", -1, true},
		{"recursion", recursive("far.example.com.", dns.TypeA), dns.RcodeSuccess, "CNAME www.far.test. A 192.0.2.99", -1, true},
		{"what is too large", recursive("big.example.com.", dns.TypeA), dns.RcodeSuccess, "CNAME big.far.test.", -1, true},
		{"a subnet", withSubnet(recursive("far.example.com.", dns.TypeA), 1, "198.51.100.0", 24, 0), dns.RcodeSuccess, "CNAME www.far.test. A 192.0.2.99", 20, true},
	} {
		m := send(t, addr, c.query)
		scope := -1
		if s, _, _ := clientSubnet(m); s != nil {
			scope = int(s.SourceScope)
		}
		if got := answerText(m); m.Rcode != c.rcode || got != c.answer || scope != c.scope || m.RecursionAvailable != c.ra || m.Authoritative != (c.rcode != dns.RcodeServerFailure) {
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

// TestOnwardInBlock: with fallthrough, a chain that ends at a name that is missing here goes on to the next plugins, but for
// those who ask for signatures; and what is told of a query stays what it was before.
func TestOnwardInBlock(t *testing.T) {
	dir := hostGateways(t, map[string]string{"alias": "legacy.example.com", "far": "www.far.test"})
	logged := new(lockedBuffer)
	stdlog.SetOutput(logged)
	defer stdlog.SetOutput(os.Stderr)
	port := freePort(t)
	addr := bootOnward(t, port, fmt.Sprintf(".:%d {\nbind 127.0.0.1\nmetadata\nlog . \"{name} {type} of {/kuadrant/owner}\"\nkuadrant example.com {\nmanifests %s\nfallthrough\n}\nforward . %s\n}\n", port, dir, farServer(t)), "alias.example.com.")
	for _, name := range []string{"alias.example.com.", "far.example.com."} {
		m := send(t, addr, recursive(name, dns.TypeA))
		if m.Rcode != dns.RcodeSuccess || len(m.Ns) > 0 || firstA(m) != "192.0.2.99" {
			t.Errorf("%s: %v", name, m)
		}
		line := name + " A of "
		waitFor(t, "a line of the log", func() bool { return strings.Contains(logged.String(), line) })
		if want := line + "ns/" + strings.TrimSuffix(name, ".example.com."); !strings.Contains(logged.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, logged)
		}
	}
	signed := recursive("alias.example.com.", dns.TypeA)
	signed.SetEdns0(1232, true)
	if m := send(t, addr, signed); m.Rcode != dns.RcodeNameError || answerText(m) != "CNAME legacy.example.com." || len(m.Ns) != 1 {
		t.Errorf("with DO: %v", m)
	}
}

// farServer answers every A query with 192.0.2.99, recursion available, and where the query has a client subnet with the
// scope 20. Names that begin with big are truncated, and those that begin with an error's name get that error. It
// returns its address.
func farServer(t *testing.T) string {
	return serveUDP(t, func(w dns.ResponseWriter, r *dns.Msg) {
		name := r.Question[0].Name
		first, _, _ := strings.Cut(name, ".")
		m := new(dns.Msg).SetReply(r)
		m.RecursionAvailable = true
		rr, _ := dns.NewRR(name + " 20 IN A 192.0.2.99")
		m.Truncated = first == "big"
		if m.Rcode = dns.StringToRcode[strings.ToUpper(first)]; m.Rcode == dns.RcodeSuccess && !m.Truncated {
			m.Answer = []dns.RR{rr}
		}
		if sub, _, _ := clientSubnet(r); sub != nil {
			m.SetEdns0(1232, false)
			m.IsEdns0().Option = []dns.EDNS0{subnetReply(sub, 20)}
		}
		_ = w.WriteMsg(m)
	})
}

// serveUDP runs a DNS server on loopback until the test ends, and returns its address.
func serveUDP(t *testing.T, handle dns.HandlerFunc) string {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan struct{})
	s := &dns.Server{PacketConn: c, NotifyStartedFunc: func() { close(started) }, Handler: handle}
	ended := make(chan error, 1)
	go func() { ended <- s.ActivateAndServe() }()
	select {
	case <-started:
	case err := <-ended:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Shutdown()
		<-ended
	})
	return c.LocalAddr().String()
}

// hostGateway is a Gateway with a DNSPolicy for name.example.com, whose address is a hostname.
func hostGateway(name, host string) string {
	return strings.Replace(gatewayFile(name, "HERE"), "{value: HERE}", "{type: Hostname, value: "+host+"}", 1)
}

// hostGateways writes a hostGateway for each name into a new directory, and returns that.
func hostGateways(t *testing.T, hosts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, host := range hosts {
		writeFile(t, filepath.Join(dir, name+".yaml"), hostGateway(name, host))
	}
	return dir
}

// elbZone writes a zone file of elb.test with more records, and returns its path.
func elbZone(t *testing.T, more string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "elb.test")
	writeFile(t, path, `$ORIGIN elb.test.
@ 300 IN SOA ns.elb.test. hostmaster.elb.test. 1 3600 600 86400 60
@ 300 IN NS ns.elb.test.
`+more)
	return path
}

// bootOnward starts CoreDNS until the test ends, and waits until it has an answer for name.
func bootOnward(t *testing.T, port int, corefile, name string) (addr string) {
	t.Helper()
	inst, _ := boot(t, corefile)
	t.Cleanup(func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	})
	addr = fmt.Sprintf("127.0.0.1:%d", port)
	waitFor(t, "an answer", func() bool { return exchange(t, addr, name, dns.TypeCNAME).Rcode == dns.RcodeSuccess })
	return addr
}

// recursive is a question as stubs ask it.
func recursive(name string, qtype uint16) *dns.Msg {
	m := question(name, qtype)
	m.RecursionDesired = true
	return m
}

// send sends a query and returns the reply. Some servers that are asked on the way take seconds to give up.
func send(t *testing.T, addr string, query *dns.Msg) *dns.Msg {
	t.Helper()
	m, _, err := (&dns.Client{Timeout: time.Minute}).Exchange(query, addr)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// answerText is the types and the data of a reply's answer.
func answerText(m *dns.Msg) string {
	var all []string
	for _, rr := range m.Answer {
		all = append(all, dns.Type(rr.Header().Rrtype).String(), strings.TrimPrefix(rr.String(), rr.Header().String()))
	}
	return strings.Join(all, " ")
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
