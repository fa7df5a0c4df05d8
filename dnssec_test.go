package kuadrant

import (
	"context"
	"slices"
	"testing"

	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/dnssec"
	"github.com/coredns/coredns/plugin/pkg/cache"
	"github.com/coredns/coredns/plugin/pkg/dnstest"
	"github.com/coredns/coredns/plugin/test"
	"github.com/miekg/dns"
)

// dnssecFor returns what puts the dnssec plugin in front, with one key for the zones.
func dnssecFor(t testing.TB, zones ...string) plugin.Plugin {
	t.Helper()
	for i := range zones {
		zones[i] = dns.Fqdn(zones[i])
	}
	_, base := newKey(t, t.TempDir(), zones[0], 257)
	key, err := dnssec.ParseKeyFile(base+".key", base+".private")
	if err != nil {
		t.Fatal(err)
	}
	signatures := cache.New[[]dns.RR](1000)
	return func(next plugin.Handler) plugin.Handler {
		return dnssec.New(zones, []*dnssec.DNSKEY{key}, false, next, signatures)
	}
}

// TestDNSSECOthers: a transfer passes the dnssec plugin by, whatever the client wants; and
// what another plugin says of names that are not here is signed as it is.
func TestDNSSECOthers(t *testing.T) {
	k := newPlugin(t, "kuadrant example.com {\nfallthrough\n}", "", oneHost(t))
	record := func(text string) dns.RR {
		rr, err := dns.NewRR(text)
		if err != nil {
			t.Fatal(err)
		}
		return rr
	}
	soa, a := record("example.com. 60 SOA a. b. 1 2 3 4 5"), record("www.example.com. 60 A 192.0.2.1")
	behind := plugin.HandlerFunc(func(_ context.Context, w dns.ResponseWriter, r *dns.Msg) (int, error) {
		m := new(dns.Msg).SetReply(r)
		if r.Question[0].Qtype == dns.TypeDS {
			m.Ns = []dns.RR{soa}
		} else {
			m.Answer = []dns.RR{soa, a, soa}
		}
		return dns.RcodeSuccess, w.WriteMsg(m)
	})
	chain := k.guard(dnssecFor(t, "example.com"))(behind)
	ask := func(name string, qtype uint16) *dns.Msg {
		m := question(name, qtype)
		m.SetEdns0(1232, true)
		rec := dnstest.NewRecorder(&test.ResponseWriter{TCP: true})
		if _, err := chain.ServeDNS(context.Background(), rec, m); err != nil {
			t.Fatal(err)
		}
		return rec.Msg
	}
	for qtype, signatures := range map[uint16]int{dns.TypeAXFR: 0, dns.TypeIXFR: 0, dns.TypeA: 2} {
		if reply := ask("example.com.", qtype); len(reply.Answer)-3 != signatures {
			t.Errorf("%s: want %d signatures: %v", dns.TypeToString[qtype], signatures, reply)
		}
	}
	reply := ask("cut.example.com.", dns.TypeDS) // it may be a cut: nobody here knows
	nsec := slices.IndexFunc(reply.Ns, func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeNSEC })
	if nsec < 0 || !slices.Contains(reply.Ns[nsec].(*dns.NSEC).TypeBitMap, dns.TypeNS) {
		t.Errorf("the denial is not the plugin's: %v", reply)
	}
}
