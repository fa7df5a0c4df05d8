package dnssec

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// shopLeaf is the name that holds the addresses of the host with geo routing.
const shopLeaf = "7f9fqn-24kx2g.klb.shop.example.com."

// signedNames returns the names to query: those of signedRecords, names that their wildcards and
// DNAMEs synthesize, hosts, and missing names.
func signedNames() (names []string) {
	for line := range strings.Lines(strings.TrimSpace(signedRecords)) {
		name := strings.TrimPrefix(strings.Fields(line)[0], "@.") + "."
		if signer := signerOf(name, dns.TypeA); signer != "" && !strings.Contains(name, "loop") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return append(names, "nope.example.com.", "ent.example.com.", "host.example.com.", "a.b.gw.example.com.", "shop.example.com.", "x.pool.example.com.",
		"x.wild.example.com.", "x.wc.example.com.", "x.wn.example.com.", "h.dn.example.com.", "nope.dn.example.com.", "nope.signed.example.com.",
		strings.Repeat("b", 60)+".long.example.com.", strings.Repeat("b", 63)+".long.example.com.")
}

// sameKey reports whether data of a type at two names are signed with the same key: the server
// follows a chain from one to the other.
func sameKey(a, b string, qtype uint16) bool {
	key := func(name string) string {
		return strings.Replace(signerOf(name, qtype), "example.org.", "example.com.", 1)
	}
	return key(a) == key(b)
}

// checkSigned checks a reply: all of it is signed, and it has the data, or proves that the last
// name of its chain has none.
func (w *signedWorld) checkSigned(name string, qtype uint16, reply *dns.Msg) {
	w.t.Helper()
	if reply.Rcode != dns.RcodeSuccess && reply.Rcode != dns.RcodeYXDomain || !reply.Authoritative || reply.Truncated || reply.Question[0].Name != name {
		w.t.Fatalf("rcode %s, AA %v, TC %v, question %v", dns.RcodeToString[reply.Rcode], reply.Authoritative, reply.Truncated, reply.Question)
	}
	w.validate(reply)
	last, has := strings.ToLower(name), reply.Rcode == dns.RcodeYXDomain
	for _, rr := range reply.Answer {
		switch rr := rr.(type) {
		case *dns.RRSIG:
		case *dns.CNAME:
			last = rr.Target
		default:
			has = has || rr.Header().Name == last && (rr.Header().Rrtype == qtype || qtype == dns.TypeANY)
		}
	}
	switch {
	case has, last != strings.ToLower(name) && !sameKey(name, last, qtype):
		if len(reply.Ns) > 0 {
			w.t.Errorf("authority section %v", reply.Ns)
		}
	default: // no denial of DS records presents a name as a zone that it is not
		types, cut := w.denial(reply, last, qtype), slices.Contains([]string{"cut.example.com.", "plain.example.com.", "example.com."}, last)
		if qtype == dns.TypeDS && slices.Contains(types, dns.TypeNS) != cut {
			w.t.Errorf("%s: NSEC with the types %v", last, types)
		}
	}
}

// TestDNSSEC queries a server with signed zones for all names and many types, over UDP and TCP:
// every RRset validates, every denial is proven, and a repeated query gets the same reply, so
// signatures are cached (rules 7.2 and 7.6). zones_dnssec.txtar has the answers.
func TestDNSSEC(t *testing.T) {
	for _, more := range []string{"", "cache 3600", "minimal", "multisocket 2"} {
		t.Run("with "+more, func(t *testing.T) {
			w := newSignedWorld(t, more)
			for _, name := range signedNames() {
				for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeMX, dns.TypeTXT, dns.TypeDS, dns.TypeDNSKEY, dns.TypeDNAME} {
					if zone := signerOf(name, dns.TypeDS); qtype != dns.TypeDS && (zone == "" || !sameKey(zone, name, qtype)) || qtype == dns.TypeDNAME && strings.Contains(name, "dn.") || qtype == dns.TypeDS && name == "toapex.example.com." {
						continue // referrals, skipped DNAMEs, and data from the parent of example.org
					}
					t.Run(name+dns.TypeToString[qtype], func(t *testing.T) {
						w := *w
						w.t = t
						var first string
						for _, network := range []string{"udp", "tcp", "udp"} {
							reply := w.ask(network, boottest.Question(name, qtype))
							w.checkSigned(name, qtype, reply)
							reply.Id = 0
							reply.IsEdns0().SetUDPSize(0)
							if first == "" {
								first = reply.String()
							} else if got := reply.String(); got != first {
								t.Errorf("another reply over %s:\n%s\nthe first was\n%s", network, got, first)
							}
						}
					})
				}
			}
		})
	}
}

// TestDNSSECSteered: answers that change with the client and with health are signed as they are,
// and reuse the signature if they are unchanged; the client subnet returns with its scope.
func TestDNSSECSteered(t *testing.T) {
	w := newSignedWorld(t, "")
	ask := func(name, subnet string, scope uint8) (*dns.Msg, []dns.RR) {
		t.Helper()
		m := boottest.Question(name, dns.TypeA)
		if subnet != "" {
			m = boottest.WithSubnet(m, 1, subnet, 24, 0)
		}
		reply := w.ask("udp", m)
		w.validate(reply)
		if subnet != "" {
			opt := reply.IsEdns0()
			if opt == nil || !opt.Do() || len(opt.Option) != 1 {
				t.Fatalf("OPT %v", opt)
			}
			if sub := opt.Option[0].(*dns.EDNS0_SUBNET); sub.SourceScope != scope || sub.Address.String() != subnet {
				t.Errorf("%s: subnet %v, want %s with scope %d", name, sub, subnet, scope)
			}
		}
		return reply, reply.Answer
	}
	last := func(rrs []dns.RR) string {
		for _, rr := range slices.Backward(rrs) {
			if a, ok := rr.(*dns.A); ok {
				return a.A.String()
			}
		}
		return ""
	}
	_, irish := ask("shop.example.com.", "192.168.1.0", 1)
	_, american := ask("shop.example.com.", "10.1.1.0", 8)
	if last(irish) != "192.0.2.11" || last(american) != "192.0.2.20" {
		t.Errorf("answers %s and %s", last(irish), last(american))
	}
	missing, _ := ask("nope.example.com.", "10.1.1.0", 0)
	w.denial(missing, "nope.example.com.", dns.TypeA)
	compact := boottest.Question("nope.example.com.", dns.TypeA)
	compact.SetEdns0(1232, true)
	compact.IsEdns0().SetCo()
	if reply := w.ask("udp", compact); reply.Rcode != dns.RcodeNameError || !reply.IsEdns0().Co() || len(reply.Ns) != 4 {
		t.Errorf("with the bit CO: %v", reply)
	}
	ask("tonope.example.com.", "10.1.1.0", 0)

	for name, target := range map[string]string{"host.example.com.": "192.0.2.1", "shop.example.com.": "192.0.2.10", "x.gw.example.com.": "192.0.2.1"} {
		all := func() []dns.RR { _, rrs := ask(name, "", 0); return rrs }
		before := all()
		boottest.WriteFile(t, w.overrides, "target "+target+" down\n")
		boottest.WaitFor(t, "answer without "+target, func() bool { return !strings.Contains(fmt.Sprint(all()), target+" ") && len(all()) < len(before) })
		boottest.WriteFile(t, w.overrides, "\n")
		boottest.WaitFor(t, "answer with "+target, func() bool { return len(all()) == len(before) })
		if after := all(); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("%s: signed again:\n%v\n%v", name, before, after)
		}
	}
}
