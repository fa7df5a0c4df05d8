package scenarios

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

	_ "github.com/coredns/coredns/plugin/acl"
	_ "github.com/coredns/coredns/plugin/file"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/template"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"

	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// onwardCorefile has each way in which a CNAME can leave the zones of a kuadrant block. Its
// arguments are a port, a directory of manifests, a file of elb.test, a file of corp.example.com
// and the address of farServer.
const onwardCorefile = `example.com:%[1]d {
    bind 127.0.0.1
    kuadrant {
        manifests %[2]s
    }
}
elb.test:%[1]d {
    bind 127.0.0.1
    file %[3]s
}
corp.example.com:%[1]d {
    bind 127.0.0.1
    file %[4]s
}
far.test:%[1]d {
    bind 127.0.0.1
    forward . %[5]s
}
closed.test:%[1]d {
    bind 127.0.0.1
    acl {
        block
    }
    forward . %[5]s
}
other.test:%[1]d {
    bind 127.0.0.1
    kuadrant {
        fallthrough
    }
    forward . %[5]s
}
loop.test:%[1]d {
    bind 127.0.0.1
    template IN A {
        answer "{{ .Name }} 30 IN CNAME loop.example.com."
    }
}
`

// onwardZone is the Zone of onwardRecords, whose CNAMEs lead to each block.
const onwardZone = `apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: zone, namespace: ns}
spec: {domainName: example.com., delegations: [{records: [{pattern: "*", types: [A, CNAME, NS]}]}]}
`

var onwardRecords = [][3]string{
	{"corp", "NS", "ns"},
	{"away", "NS", "ns.away"},
	{"ns.away", "A", "192.0.2.9"},
	{"ip", "A", "192.0.2.1"},
	{"lb", "CNAME", "lb.elb.test."},
	{"text", "CNAME", "text.elb.test."},
	{"none", "CNAME", "none.elb.test."},
	{"referred", "CNAME", "www.sub.elb.test."},
	{"far", "CNAME", "www.far.test."},
	{"big", "CNAME", "big.far.test."},
	{"long", "CNAME", "yxdomain.far.test."},
	{"broken", "CNAME", "servfail.far.test."},
	{"formerr", "CNAME", "formerr.far.test."},
	{"refused", "CNAME", "refused.far.test."},
	{"nobody", "CNAME", "www.nobody.invalid."},
	{"closed", "CNAME", "www.closed.test."},
	{"here", "CNAME", "ip"},
	{"gone", "CNAME", "absent"},
	{"below", "CNAME", "www.corp"},
	{"cut", "CNAME", "www.away"},
	{"other", "CNAME", "absent.other.test."},
	{"loop", "CNAME", "a.loop.test."},
}

// startOnward starts CoreDNS with onwardCorefile until the test ends, and returns its address once it answers.
func startOnward(t *testing.T) (addr string) {
	t.Helper()
	dir, manifests := t.TempDir(), new(strings.Builder)
	manifests.WriteString(onwardZone)
	for i, r := range onwardRecords {
		fmt.Fprintf(manifests, "---\napiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {name: r%d, namespace: ns}\n"+
			"spec: {domainName: %s, zoneRef: {name: zone}, type: %s, rdata: %s}\n", i, r[0], r[1], r[2])
	}
	boottest.WriteFile(t, filepath.Join(dir, "zone.yaml"), manifests.String())
	files := t.TempDir()
	elb, corp := filepath.Join(files, "elb.test"), filepath.Join(files, "corp.example.com")
	boottest.WriteFile(t, elb, "@ 300 IN SOA ns host 1 3600 600 86400 60\n@ 300 IN NS ns\nlb 30 IN A 192.0.2.50\ntext 30 IN TXT a\nsub 300 IN NS ns.sub\nns.sub 300 IN A 192.0.2.9\n")
	boottest.WriteFile(t, corp, "@ 300 IN SOA ns host 1 3600 600 86400 60\n@ 300 IN NS ns\nwww 30 IN A 192.0.2.7\n")
	port := peertest.FreePort(t)
	boottest.Serve(t, fmt.Sprintf(onwardCorefile, port, dir, elb, corp, farServer(t)))
	addr = fmt.Sprintf("127.0.0.1:%d", port)
	boottest.WaitFor(t, "an answer", func() bool {
		return boottest.Exchange(t, addr, "lb.example.com.", dns.TypeCNAME).Rcode == dns.RcodeSuccess
	})
	return addr
}

// TestOnward: a stub resolver gets the target of a CNAME from the server's other plugins. Resolvers
// and validators get only the CNAME, as do all clients if no plugin serves the target.
func TestOnward(t *testing.T) {
	addr := startOnward(t)
	iterative, signed := stubQuery("lb", dns.TypeA), stubQuery("lb", dns.TypeA)
	iterative.RecursionDesired = false
	signed.SetEdns0(1232, true)
	for _, c := range []struct {
		name      string
		query     *dns.Msg
		rcode     int
		answer    string // types and data
		authority string // the type of its first record
		flags     string // RA and TC
		scope     int    // -1 for no option
	}{
		{"a stub", stubQuery("lb", dns.TypeA), dns.RcodeSuccess, "CNAME lb.elb.test. A 192.0.2.50", "", "", -1},
		{"no RD", iterative, dns.RcodeSuccess, "CNAME lb.elb.test.", "", "", -1},
		{"DO", signed, dns.RcodeSuccess, "CNAME lb.elb.test.", "", "", -1},
		{"the CNAME itself", stubQuery("lb", dns.TypeCNAME), dns.RcodeSuccess, "CNAME lb.elb.test.", "", "", -1},
		{"ANY", stubQuery("lb", dns.TypeANY), dns.RcodeSuccess, "CNAME lb.elb.test.", "", "", -1},
		{"NODATA there", stubQuery("text", dns.TypeA), dns.RcodeSuccess, "CNAME text.elb.test.", "SOA", "", -1},
		{"NXDOMAIN there", stubQuery("none", dns.TypeA), dns.RcodeNameError, "CNAME none.elb.test.", "SOA", "", -1},
		{"a referral there", stubQuery("referred", dns.TypeA), dns.RcodeSuccess, "CNAME www.sub.elb.test.", "", "", -1},
		{"YXDOMAIN there", stubQuery("long", dns.TypeA), dns.RcodeYXDomain, "CNAME yxdomain.far.test.", "", "RA", -1},
		{"SERVFAIL there", stubQuery("broken", dns.TypeA), dns.RcodeServerFailure, "", "", "", -1},
		{"FORMERR there", stubQuery("formerr", dns.TypeA), dns.RcodeServerFailure, "", "", "", -1},
		{"REFUSED there", stubQuery("refused", dns.TypeA), dns.RcodeSuccess, "CNAME refused.far.test.", "", "", -1},
		{"no block", stubQuery("nobody", dns.TypeA), dns.RcodeSuccess, "CNAME www.nobody.invalid.", "", "", -1},
		{"an acl", stubQuery("closed", dns.TypeA), dns.RcodeSuccess, "CNAME www.closed.test.", "", "", -1},
		{"NODATA here", stubQuery("here", dns.TypeAAAA), dns.RcodeSuccess, "CNAME ip.example.com.", "SOA", "", -1},
		{"NXDOMAIN here", stubQuery("gone", dns.TypeA), dns.RcodeNameError, "CNAME absent.example.com.", "SOA", "", -1},
		{"a delegated zone of another block", stubQuery("below", dns.TypeA), dns.RcodeSuccess, "CNAME www.corp.example.com. A 192.0.2.7", "", "", -1},
		{"a delegated zone elsewhere", stubQuery("cut", dns.TypeA), dns.RcodeSuccess, "CNAME www.away.example.com.", "NS", "", -1},
		{"NXDOMAIN here, and fallthrough", stubQuery("other", dns.TypeA), dns.RcodeSuccess, "CNAME absent.other.test. A 192.0.2.99", "", "RA", -1},
		{"TC", stubQuery("big", dns.TypeA), dns.RcodeSuccess, "CNAME big.far.test.", "", "RA TC", -1},
		{"a scope", boottest.WithSubnet(stubQuery("far", dns.TypeA), 1, "198.51.100.0", 24, 0), dns.RcodeSuccess, "CNAME www.far.test. A 192.0.2.99", "", "RA", 20},
	} {
		m := askOnward(t, addr, c.query)
		var data, flags []string
		for _, rr := range m.Answer {
			data = append(data, dns.Type(rr.Header().Rrtype).String(), strings.TrimPrefix(rr.String(), rr.Header().String()))
		}
		authority, scope := "", -1
		if len(m.Ns) > 0 {
			authority = dns.Type(m.Ns[0].Header().Rrtype).String()
		}
		if m.RecursionAvailable {
			flags = append(flags, "RA")
		}
		if m.Truncated {
			flags = append(flags, "TC")
		}
		if s := subnetOf(m); s != nil {
			scope = int(s.SourceScope)
		}
		if m.Rcode != c.rcode || strings.Join(data, " ") != c.answer || authority != c.authority || strings.Join(flags, " ") != c.flags || scope != c.scope {
			t.Errorf("%s: %v\nwant %s, %q, authority %q, flags %q, scope %d", c.name, m, dns.RcodeToString[c.rcode], c.answer, c.authority, c.flags, c.scope)
		}
		if aa := c.rcode != dns.RcodeServerFailure; m.Authoritative != aa {
			t.Errorf("%s: AA is %v, want %v", c.name, m.Authoritative, aa)
		}
	}
}

// TestOnwardLoop: two plugins whose CNAMEs point to each other stop after eight rounds.
func TestOnwardLoop(t *testing.T) {
	m, _, err := (&dns.Client{Net: "tcp", Timeout: time.Minute}).Exchange(stubQuery("loop", dns.TypeA), startOnward(t))
	if err != nil {
		t.Fatal(err)
	}
	rounds := 0
	for _, rr := range m.Answer { // template keeps its CNAME if the target is SERVFAIL
		if rr.Header().Name == "loop.example.com." {
			rounds++
		}
	}
	if rounds != 8 {
		t.Errorf("%d rounds, want %d: %v", rounds, 8, m)
	}
}

// TestOnwardMetadata: metadata describes the client's query, not the one that follows its CNAME.
func TestOnwardMetadata(t *testing.T) {
	logged := new(lockedBuffer)
	stdlog.SetOutput(logged)
	defer stdlog.SetOutput(os.Stderr)
	dir := t.TempDir()
	boottest.WriteFile(t, filepath.Join(dir, "far.yaml"), strings.Replace(boottest.GatewayFile("far", "HERE"), "{value: HERE}", "{type: Hostname, value: www.far.test}", 1))
	port := peertest.FreePort(t)
	boottest.Serve(t, fmt.Sprintf(".:%d {\nbind 127.0.0.1\nmetadata\nlog . \"{name} {type} of {/kuadrant/owner}\"\nkuadrant example.com {\nmanifests %s\n}\nforward . %s\n}\n", port, dir, farServer(t)))
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	boottest.WaitFor(t, "an address", func() bool { return boottest.FirstA(askOnward(t, addr, stubQuery("far", dns.TypeA))) == "192.0.2.99" })
	boottest.WaitFor(t, "a line of the log", func() bool { return strings.Contains(logged.String(), "far.example.com. A of ns/far") })
}

// farServer answers every A query with 192.0.2.99, recursion available, and a client subnet with
// scope 20. It truncates names that begin with big, and returns an error for names that begin with
// the error's name. It returns its address.
func farServer(t *testing.T) string {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &dns.Server{PacketConn: c, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, r *dns.Msg) {
		name := r.Question[0].Name
		first, _, _ := strings.Cut(name, ".")
		m := new(dns.Msg).SetReply(r)
		m.RecursionAvailable, m.Truncated = true, first == "big"
		if m.Rcode = dns.StringToRcode[strings.ToUpper(first)]; m.Rcode == dns.RcodeSuccess && !m.Truncated {
			rr, _ := dns.NewRR(name + " 20 IN A 192.0.2.99")
			m.Answer = []dns.RR{rr}
		}
		if s := subnetOf(r); s != nil {
			m.SetEdns0(1232, false)
			m.IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_SUBNET{Code: s.Code, Family: s.Family, SourceNetmask: s.SourceNetmask, SourceScope: 20, Address: s.Address}}
		}
		_ = w.WriteMsg(m)
	})}
	ended := make(chan error, 1)
	go func() { ended <- s.ActivateAndServe() }()
	t.Cleanup(func() {
		_ = c.Close()
		<-ended
	})
	return c.LocalAddr().String()
}

// stubQuery queries a name of example.com as stub resolvers do.
func stubQuery(name string, qtype uint16) *dns.Msg {
	m := boottest.Question(name+".example.com.", qtype)
	m.RecursionDesired = true
	return m
}

// askOnward sends a query and returns the reply.
func askOnward(t *testing.T, addr string, query *dns.Msg) *dns.Msg {
	t.Helper()
	m, _ := send(t, "udp", addr, query)
	return m
}

// subnetOf returns the client subnet of a message; nil for none.
func subnetOf(m *dns.Msg) *dns.EDNS0_SUBNET {
	if opt := m.IsEdns0(); opt != nil && len(opt.Option) > 0 {
		s, _ := opt.Option[0].(*dns.EDNS0_SUBNET)
		return s
	}
	return nil
}

// lockedBuffer is a buffer that several goroutines may write to.
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
