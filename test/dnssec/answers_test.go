package dnssec

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// shopLeaf is the name that has the addresses of the steered host.
const shopLeaf = "7f9fqn-24kx2g.klb.shop.example.com."

// signedNames returns the names to ask for: those of signedRecords, those that their wildcards and DNAMEs make, hosts, and missing ones.
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

// sameKey reports whether data of a type at two names are signed with one key: a chain from one to the other goes on.
func sameKey(a, b string, qtype uint16) bool {
	key := func(name string) string { return strings.Replace(signerOf(name, qtype), "example.org.", "example.com.", 1) }
	return key(a) == key(b)
}

// checkSigned checks a reply: all of it is signed, and it has the data, or proves that the last name of its chain has none. proven is false
// where the proof behind a chain is left out; one of a name that is too long for \\000 before it is none.
func (w *signedWorld) checkSigned(name string, qtype uint16, reply *dns.Msg, proven bool) {
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
	case has, last != strings.ToLower(name) && (!proven || !sameKey(name, last, qtype) || len(last) > 245):
		if len(reply.Ns) > 0 {
			w.t.Errorf("authority section %v", reply.Ns)
		}
	default:
		w.denial(reply, last, qtype)
	}
}

// TestDNSSEC asks a server whose zones are signed for all names and many types, over UDP and TCP: every RRset validates, every denial is
// proven, and the second reply is the first, so signatures are made once (rules 7.2 and 7.6). zones_dnssec.txtar has the answers themselves.
func TestDNSSEC(t *testing.T) {
	for _, more := range []string{"", "cache 3600", "minimal", "multisocket 2"} {
		t.Run("with "+more, func(t *testing.T) {
			w := newSignedWorld(t, more)
			for _, name := range signedNames() {
				for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeMX, dns.TypeTXT, dns.TypeDS, dns.TypeDNSKEY, dns.TypeDNAME} {
					if zone := signerOf(name, dns.TypeDS); qtype != dns.TypeDS && (zone == "" || !sameKey(zone, name, qtype)) || qtype == dns.TypeDNAME && strings.Contains(name, "dn.") || qtype == dns.TypeDS && name == "toapex.example.com." {
						continue // referrals, DNAMEs that are passed, and what the parent of example.org has
					}
					t.Run(name+dns.TypeToString[qtype], func(t *testing.T) {
						w := *w
						w.t = t
						var first string
						for _, network := range []string{"udp", "tcp", "udp"} {
							reply := w.ask(network, boottest.Question(name, qtype))
							w.checkSigned(name, qtype, reply, more != "minimal")
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

// TestDNSSECUnsigned: a zone below a signed one that has no key of its own is not signed
// with the parent's, and a referral only as far as the parent vouches for it.
func TestDNSSECUnsigned(t *testing.T) {
	w := newSignedWorld(t, "")
	for _, c := range []struct {
		name  string
		qtype uint16
		rcode int
		count int // of the records in the answer
	}{
		{"www.plain.example.com.", dns.TypeA, dns.RcodeSuccess, 1},
		{"over.plain.example.com.", dns.TypeA, dns.RcodeSuccess, 2},
		{"plain.example.com.", dns.TypeSOA, dns.RcodeSuccess, 1},
		{"plain.example.com.", dns.TypeDNSKEY, dns.RcodeSuccess, 0},
		{"no.plain.example.com.", dns.TypeA, dns.RcodeNameError, 0},
		{"www.plain.example.com.", dns.TypeMX, dns.RcodeSuccess, 0},
		{"nope.plain.example.com.", dns.TypeA, dns.RcodeNameError, 1},
	} {
		reply := w.ask("udp", boottest.Question(c.name, c.qtype))
		if reply.Rcode != c.rcode || len(reply.Answer) != c.count || c.count == 0 && len(reply.Ns) != 1 {
			t.Errorf("%s %s: %v", c.name, dns.TypeToString[c.qtype], reply)
		}
		for _, rr := range slices.Concat(reply.Answer, reply.Ns, reply.Extra) {
			if isSignature(rr) || rr.Header().Rrtype == dns.TypeNSEC {
				t.Errorf("%s %s: %v in a zone without a key", c.name, dns.TypeToString[c.qtype], rr)
			}
		}
	}
	if reply := w.ask("udp", boottest.Question("loop.example.com.", dns.TypeA)); reply.Rcode != dns.RcodeServerFailure || len(reply.Answer)+len(reply.Ns) > 0 || reply.Authoritative {
		t.Errorf("loop: %v", reply)
	}
	for _, c := range []struct {
		name string
		has  string // types in the authority section
	}{
		{"www.secure.example.com.", "NS DS"},
		{"secure.example.com.", "NS DS"},
		{"cut.example.com.", "NS NSEC"},
		{"www.cut.example.com.", "NS NSEC"},
		{"x.www.cut.example.com.", "NS NSEC"},
	} {
		reply := w.ask("udp", boottest.Question(c.name, dns.TypeA))
		var types []string
		for _, rr := range reply.Ns {
			if !isSignature(rr) {
				types = append(types, dns.TypeToString[rr.Header().Rrtype])
			}
		}
		if got := strings.Join(types, " "); got != c.has || reply.Authoritative || len(reply.Answer) > 0 {
			t.Errorf("%s: referral with %s, want %s:\n%v", c.name, got, c.has, reply)
		}
		w.validate(reply)
		for _, rr := range reply.Ns {
			if n, ok := rr.(*dns.NSEC); ok && (n.Hdr.Name != "cut.example.com." || !slices.Equal(n.TypeBitMap, []uint16{dns.TypeNS, dns.TypeRRSIG, dns.TypeNSEC})) {
				t.Errorf("%s: %v does not prove that the cut has no DS record", c.name, n)
			}
		}
	}
}

// TestDNSSECNoDowngrade: no denial of DS records passes a name off as a zone that it is
// not.
func TestDNSSECNoDowngrade(t *testing.T) {
	w := newSignedWorld(t, "")
	for name, cut := range map[string]bool{
		"www.example.com.": false, "WWW.example.com.": false, "nope.example.com.": false, "ent.example.com.": false, "x.wild.example.com.": false,
		"host.example.com.": false, "www.signed.example.com.": false, "cut.example.com.": true, "plain.example.com.": true,
	} {
		var first string
		for range 2 {
			reply := w.ask("udp", boottest.Question(name, dns.TypeDS))
			w.validate(reply)
			if types := w.denial(reply, strings.ToLower(name), dns.TypeDS); slices.Contains(types, dns.TypeNS) != cut {
				t.Errorf("%s: NSEC with the types %v", name, types)
			}
			if got := fmt.Sprint(reply.Ns); first == "" {
				first = got
			} else if got != first {
				t.Errorf("%s: signed again:\n%s\n%s", name, first, got)
			}
		}
	}
}

// TestDNSSECWithoutDO: who does not want DNSSEC gets none of it, and whole chains, but the
// keys where it asks for them.
func TestDNSSECWithoutDO(t *testing.T) {
	w := newSignedWorld(t, "")
	for _, c := range []struct {
		name  string
		qtype uint16
		rcode int
		count int
	}{
		{"tonope.example.com.", dns.TypeA, dns.RcodeNameError, 1},
		{"nope.example.com.", dns.TypeA, dns.RcodeNameError, 0},
		{"tosigned.example.com.", dns.TypeA, dns.RcodeSuccess, 2},
		{"up.plain.example.com.", dns.TypeA, dns.RcodeSuccess, 3},
		{"example.com.", dns.TypeDNSKEY, dns.RcodeSuccess, 1},
	} {
		reply := boottest.Exchange(t, w.addr, c.name, c.qtype)
		if reply.Rcode != c.rcode || len(reply.Answer) != c.count {
			t.Errorf("%s %s: %v", c.name, dns.TypeToString[c.qtype], reply)
		}
		for _, rr := range slices.Concat(reply.Answer, reply.Ns, reply.Extra) {
			if isSignature(rr) || rr.Header().Rrtype == dns.TypeNSEC {
				t.Errorf("%s %s: %v", c.name, dns.TypeToString[c.qtype], rr)
			}
		}
	}
}

// TestDNSSECSteered: answers that change with the client and with health are signed as
// they are, and with the signature of before where they are as before; the client subnet
// comes back with its scope.
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
