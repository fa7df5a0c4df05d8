package dnssec

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// signedQuestion is a question to a signedWorld, and what the reply is to hold.
type signedQuestion struct {
	name  string
	qtype uint16
	// answer is the owner names and types of the RRsets in the answer section.
	answer string
	// denied is the name that the reply says lacks the type; "" for none. types are those
	// that it says the name has; nil where the dnssec plugin makes them up.
	denied string
	types  []uint16
	rcode  int
}

// Types of NSEC records, less those that all have.
var (
	nothing  = []uint16{}
	justA    = []uint16{dns.TypeA}
	apexHas  = []uint16{dns.TypeA, dns.TypeNS, dns.TypeSOA, dns.TypeAAAA, dns.TypeDNSKEY}
	cutsHave = []uint16{dns.TypeNS}
)

// What every type is answered with at the steered host, and the name that has its addresses.
const (
	shopChain = "shop.example.com. CNAME, klb.shop.example.com. CNAME, ie.klb.shop.example.com. CNAME"
	shopLeaf  = "7f9fqn-24kx2g.klb.shop.example.com."
)

var signedQuestions = []signedQuestion{
	// Positive.
	{name: "www.example.com.", qtype: dns.TypeA, answer: "www.example.com. A"},
	{name: "WWW.Example.com.", qtype: dns.TypeA, answer: "www.example.com. A"},
	{name: "www.example.com.", qtype: dns.TypeTXT, answer: "www.example.com. TXT"},
	{name: "www.example.com.", qtype: dns.TypeANY, answer: "www.example.com. A"},
	{name: "example.com.", qtype: dns.TypeSOA, answer: "example.com. SOA"},
	{name: "example.com.", qtype: dns.TypeNS, answer: "example.com. NS"},
	{name: "example.com.", qtype: dns.TypeDNSKEY, answer: "example.com. DNSKEY"},
	{name: "signed.example.com.", qtype: dns.TypeDNSKEY, answer: "signed.example.com. DNSKEY"},
	{name: "mx.example.com.", qtype: dns.TypeMX, answer: "mx.example.com. MX"},
	{name: "host.example.com.", qtype: dns.TypeA, answer: "host.example.com. A"},
	{name: "shop.example.com.", qtype: dns.TypeA, answer: "shop.example.com. CNAME, klb.shop.example.com. CNAME, ie.klb.shop.example.com. CNAME, LEAF A"},
	{name: "toshop.example.com.", qtype: dns.TypeA, answer: "toshop.example.com. CNAME, shop.example.com. CNAME, klb.shop.example.com. CNAME, ie.klb.shop.example.com. CNAME, LEAF A"},
	{name: "example.org.", qtype: dns.TypeA, answer: "example.org. A"},
	{name: "toapex.example.com.", qtype: dns.TypeAAAA, answer: "toapex.example.com. CNAME, example.org. AAAA"},
	{name: "toorg.example.com.", qtype: dns.TypeA, answer: "toorg.example.com. CNAME, alias.example.org. CNAME, www.example.org. A"},
	// Wildcards: names that are made on the way need no proof that there are no others.
	{name: "x.wild.example.com.", qtype: dns.TypeA, answer: "x.wild.example.com. A"},
	{name: "*.wild.example.com.", qtype: dns.TypeA, answer: "*.wild.example.com. A"},
	{name: "a.b.gw.example.com.", qtype: dns.TypeA, answer: "a.b.gw.example.com. A"},
	{name: "x.pool.example.com.", qtype: dns.TypeA, answer: "x.pool.example.com. CNAME, klb.pool.example.com. CNAME, ie.klb.pool.example.com. CNAME, LEAF A"},
	{name: "x.wc.example.com.", qtype: dns.TypeA, answer: "x.wc.example.com. CNAME, www.example.com. A"},
	{name: "towild.example.com.", qtype: dns.TypeA, answer: "towild.example.com. CNAME, x.wild.example.com. A"},
	// DNAMEs, with the CNAMEs that they make.
	{name: "dn.example.com.", qtype: dns.TypeDNAME, answer: "dn.example.com. DNAME"},
	{name: "h.dn.example.com.", qtype: dns.TypeA, answer: "dn.example.com. DNAME, h.dn.example.com. CNAME, h.tree.example.com. A"},
	{name: "todn.example.com.", qtype: dns.TypeA, answer: "todn.example.com. CNAME, dn.example.com. DNAME, h.dn.example.com. CNAME, h.tree.example.com. A"},
	{name: strings.Repeat("b", 60) + ".long.example.com.", qtype: dns.TypeA, answer: "long.example.com. DNAME, " + strings.Repeat("b", 60) + ".long.example.com. CNAME"},
	{name: strings.Repeat("b", 63) + ".long.example.com.", qtype: dns.TypeA, answer: "long.example.com. DNAME", rcode: dns.RcodeYXDomain},
	// Denials that the dnssec plugin makes.
	{name: "nope.example.com.", qtype: dns.TypeA, denied: "nope.example.com."},
	{name: "www.example.com.", qtype: dns.TypeMX, denied: "www.example.com."},
	{name: "ent.example.com.", qtype: dns.TypeA, denied: "ent.example.com."},
	{name: "ent.example.com.", qtype: dns.TypeANY, denied: "ent.example.com."},
	{name: "example.com.", qtype: dns.TypeTXT, denied: "example.com."},
	{name: "x.wild.example.com.", qtype: dns.TypeAAAA, denied: "x.wild.example.com."},
	{name: "host.example.com.", qtype: dns.TypeAAAA, denied: "host.example.com."},
	{name: "shop.example.com.", qtype: dns.TypeAAAA, answer: shopChain, denied: shopLeaf, types: justA},
	{name: "shop.example.com.", qtype: dns.TypeMX, answer: shopChain, denied: shopLeaf, types: justA},
	{name: "www.signed.example.com.", qtype: dns.TypeAAAA, denied: "www.signed.example.com."},
	{name: "www.signed.example.com.", qtype: dns.TypeDS, denied: "www.signed.example.com."},
	// Chains that end negative.
	{name: "tonope.example.com.", qtype: dns.TypeA, answer: "tonope.example.com. CNAME", denied: "nope.example.com.", types: nothing},
	{name: "x.wn.example.com.", qtype: dns.TypeA, answer: "x.wn.example.com. CNAME", denied: "nope.example.com.", types: nothing},
	{name: "toent.example.com.", qtype: dns.TypeA, answer: "toent.example.com. CNAME", denied: "ent.example.com.", types: nothing},
	{name: "alias.example.com.", qtype: dns.TypeMX, answer: "alias.example.com. CNAME", denied: "www.example.com.", types: []uint16{dns.TypeA, dns.TypeTXT}},
	{name: "alias.example.com.", qtype: dns.TypeDS, answer: "alias.example.com. CNAME", denied: "www.example.com.", types: []uint16{dns.TypeA, dns.TypeTXT}},
	{name: "towild.example.com.", qtype: dns.TypeAAAA, answer: "towild.example.com. CNAME", denied: "x.wild.example.com.", types: justA},
	{name: "tohost.example.com.", qtype: dns.TypeAAAA, answer: "tohost.example.com. CNAME", denied: "host.example.com.", types: justA},
	{name: "toshop.example.com.", qtype: dns.TypeAAAA, answer: "toshop.example.com. CNAME, " + shopChain, denied: shopLeaf, types: justA},
	{name: "toshop.example.com.", qtype: dns.TypeMX, answer: "toshop.example.com. CNAME, " + shopChain, denied: shopLeaf, types: justA},
	{name: "toapex.example.com.", qtype: dns.TypeMX, answer: "toapex.example.com. CNAME", denied: "example.org.", types: apexHas},
	{name: "back.example.org.", qtype: dns.TypeA, answer: "back.example.org. CNAME", denied: "nope.example.com.", types: nothing},
	{name: "nope.dn.example.com.", qtype: dns.TypeA, answer: "dn.example.com. DNAME, nope.dn.example.com. CNAME", denied: "nope.tree.example.com.", types: nothing},
	{name: "h.dn.example.com.", qtype: dns.TypeMX, answer: "dn.example.com. DNAME, h.dn.example.com. CNAME", denied: "h.tree.example.com.", types: justA},
	{name: "toplainzone.example.com.", qtype: dns.TypeDS, answer: "toplainzone.example.com. CNAME", denied: "plain.example.com.", types: cutsHave},
	{name: "tocutzone.example.com.", qtype: dns.TypeDS, answer: "tocutzone.example.com. CNAME", denied: "cut.example.com.", types: cutsHave},
	{name: "tosignedzone.example.com.", qtype: dns.TypeDS, answer: "tosignedzone.example.com. CNAME, signed.example.com. DS"},
	{name: "tonope.example.com.", qtype: dns.TypeNSEC, answer: "tonope.example.com. CNAME, nope.example.com. NSEC", denied: "nope.example.com.", types: nothing},
	// Chains that leave what is signed with the same key end there.
	{name: "tosigned.example.com.", qtype: dns.TypeA, answer: "tosigned.example.com. CNAME"},
	{name: "up.signed.example.com.", qtype: dns.TypeA, answer: "up.signed.example.com. CNAME"},
	{name: "toplain.example.com.", qtype: dns.TypeA, answer: "toplain.example.com. CNAME"},
	{name: "tocut.example.com.", qtype: dns.TypeA, answer: "tocut.example.com. CNAME"},
	{name: "up.plain.example.com.", qtype: dns.TypeA, answer: "up.plain.example.com. CNAME"},
	// Cuts.
	{name: "signed.example.com.", qtype: dns.TypeDS, answer: "signed.example.com. DS"},
	{name: "secure.example.com.", qtype: dns.TypeDS, answer: "secure.example.com. DS"},
	{name: "plain.example.com.", qtype: dns.TypeDS, denied: "plain.example.com."},
	{name: "cut.example.com.", qtype: dns.TypeDS, denied: "cut.example.com."},
}

// checkSigned checks a reply to a signedQuestion.
func (w *signedWorld) checkSigned(c *signedQuestion, reply *dns.Msg) {
	w.t.Helper()
	if reply.Rcode != c.rcode || !reply.Authoritative || reply.Truncated {
		w.t.Fatalf("rcode %s, AA %v, TC %v", dns.RcodeToString[reply.Rcode], reply.Authoritative, reply.Truncated)
	}
	if q := reply.Question[0].Name; q != c.name {
		w.t.Errorf("question %s, want %s", q, c.name)
	}
	w.validate(reply)
	var answer []string
	for _, rr := range reply.Answer {
		if isSignature(rr) {
			continue
		}
		name := rr.Header().Name
		if strings.Contains(name, "-") {
			name = "LEAF"
		}
		if set := name + " " + dns.TypeToString[rr.Header().Rrtype]; !slices.Contains(answer, set) {
			answer = append(answer, set)
		}
	}
	if got := strings.Join(answer, ", "); got != c.answer {
		w.t.Errorf("answer %s, want %s", got, c.answer)
	}
	if c.denied == "" {
		if len(reply.Ns) > 0 {
			w.t.Errorf("authority section %v", reply.Ns)
		}
		return
	}
	types := w.denial(reply, c.denied, c.qtype)
	if want := append(slices.Clone(c.types), dns.TypeRRSIG, dns.TypeNSEC); c.types != nil {
		slices.Sort(want)
		if !slices.Equal(types, want) {
			w.t.Errorf("NSEC with the types %v, want %v", types, want)
		}
	}
}

// TestDNSSEC asks a server whose zones are signed everything twice, over UDP and TCP:
// every RRset validates, every denial is proven, and the second reply is the first, so
// signatures are made once (rules 7.2 and 7.6).
func TestDNSSEC(t *testing.T) {
	for _, more := range []string{"", "cache 3600", "minimal", "multisocket 2"} {
		t.Run("with "+more, func(t *testing.T) {
			w := newSignedWorld(t, more)
			for i := range signedQuestions {
				c := signedQuestions[i]
				if more == "minimal" && c.answer != "" && c.types != nil && c.qtype != dns.TypeNSEC {
					c.denied = "" // it leaves out the proof: the client's resolver asks for it
				}
				t.Run(c.name+dns.TypeToString[c.qtype], func(t *testing.T) {
					w := *w
					w.t = t
					var first string
					for _, network := range []string{"udp", "tcp", "udp"} {
						reply := w.ask(network, boottest.Question(c.name, c.qtype))
						w.checkSigned(&c, reply)
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
