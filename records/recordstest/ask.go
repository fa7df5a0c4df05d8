package recordstest

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// Question is one line of an ask section: NAME TYPE [from=ADDRESS] [ecs=CIDR] [do] [times=N].
type Question struct {
	Msg   *dns.Msg
	From  string
	Times int
}

// ParseQuestion parses the text after the > of a line.
func ParseQuestion(text string) (q Question, err error) {
	words := strings.Fields(text)
	if len(words) < 2 {
		return q, fmt.Errorf("question %q: write NAME TYPE", text)
	}
	qtype, ok := api.ParseType(words[1])
	if !ok {
		return q, fmt.Errorf("question %q: write NAME TYPE", text)
	}
	q = Question{Msg: new(dns.Msg).SetQuestion(dns.Fqdn(words[0]), qtype), From: "192.0.2.200", Times: 1}
	for _, word := range words[2:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "from":
			q.From = value
		case "ecs":
			p, err := netip.ParsePrefix(value)
			if err != nil {
				return q, fmt.Errorf("question %q: %w", text, err)
			}
			sub := &dns.EDNS0_SUBNET{Code: dns.EDNS0SUBNET, Family: 1, SourceNetmask: uint8(p.Bits()), Address: net.IP(p.Addr().AsSlice())}
			if p.Addr().Is6() {
				sub.Family = 2
			}
			q.Msg.SetEdns0(1232, q.Msg.IsEdns0() != nil && q.Msg.IsEdns0().Do())
			q.Msg.IsEdns0().Option = append(q.Msg.IsEdns0().Option, sub)
		case "do":
			q.Msg.SetEdns0(1232, true)
		case "co":
			q.Msg.SetEdns0(1232, true)
			q.Msg.IsEdns0().SetCo()
		case "times":
			if q.Times, err = strconv.Atoi(value); err != nil {
				return q, fmt.Errorf("question %q: %w", text, err)
			}
		default:
			return q, fmt.Errorf("question %q: unknown word %q", text, word)
		}
	}
	return q, nil
}

// Serials shows a zone's serials by the order in which they were seen: they start with a date, and
// simultaneous changes may be published in several versions.
type Serials map[string][]uint32

// Format formats a reply as dig does, without classes.
func (s Serials) Format(m *dns.Msg) []string {
	head := dns.RcodeToString[m.Rcode]
	if m.Authoritative {
		head += " aa"
	}
	if opt := m.IsEdns0(); opt != nil && opt.Co() {
		head += " co"
	}
	lines := []string{head}
	for i, section := range [...][]dns.RR{m.Answer, m.Ns, m.Extra} {
		for _, rr := range section {
			if opt, ok := rr.(*dns.OPT); ok {
				lines = append(lines, options(opt)...)
				continue
			}
			lines = append(lines, [...]string{"", "auth ", "extra "}[i]+s.record(rr))
		}
	}
	return lines
}

func options(opt *dns.OPT) (lines []string) {
	for _, o := range opt.Option {
		switch o := o.(type) {
		case *dns.EDNS0_SUBNET:
			lines = append(lines, fmt.Sprintf("ecs %s/%d scope %d", o.Address, o.SourceNetmask, o.SourceScope))
		case *dns.EDNS0_EDE:
			lines = append(lines, fmt.Sprintf("ede %d", o.InfoCode))
		}
	}
	return lines
}

func (s Serials) record(rr dns.RR) string {
	switch r := rr.(type) {
	case *dns.RRSIG:
		return fmt.Sprintf("%s %d RRSIG %s %s", r.Hdr.Name, r.Hdr.Ttl, dns.TypeToString[r.TypeCovered], r.SignerName)
	case *dns.SOA:
		c := *r
		seen := s[c.Hdr.Name]
		switch i := slices.Index(seen, c.Serial); {
		case i >= 0:
			c.Serial = uint32(i)
		case len(seen) > 0 && int32(c.Serial-seen[len(seen)-1]) < 0:
			c.Serial -= seen[len(seen)-1] // it went back, which no expectation has
		default:
			s[c.Hdr.Name] = append(seen, c.Serial)
			c.Serial = uint32(len(seen))
		}
		rr = &c
	}
	return strings.Join(slices.Delete(strings.Fields(rr.String()), 2, 3), " ")
}

// Shares asks many times, and shows each answer's share, to 5 %.
func Shares(times int, ask func() *dns.Msg) (lines []string) {
	counts := make(map[string]int)
	for range times {
		var data []string
		for _, rr := range ask().Answer {
			fields := strings.Fields(rr.String())
			data = append(data, fields[len(fields)-1])
		}
		counts[strings.Join(data, " ")]++
	}
	for answer, n := range counts {
		lines = append(lines, fmt.Sprintf("%3d%% %s", (n*20+times/2)/times*5, answer))
	}
	slices.Sort(lines)
	return lines
}

// Network locates clients by the second octet of 10.x: 1 is Ireland, 2 California, 3 Asia, 4 the
// network AS64500 in Ireland.
var Network = func() geo.Locator {
	nets, err := geo.ParseNets("nets", strings.NewReader("10.1.0.0/16 IE\n10.2.0.0/16 US-CA\n10.3.0.0/16 GEO-AS\n10.4.0.0/16 AS64500\n"))
	if err != nil {
		panic(err)
	}
	return nets
}()

// Reply answers a question from a snapshot as a server of some zones does; nil if they do not hold
// the name.
func Reply(s *records.Snapshot, zones []string, m *dns.Msg, from string, locator geo.Locator, random uint64) *dns.Msg {
	name := strings.ToLower(m.Question[0].Name)
	z := s.ZoneOf(name, m.Question[0].Qtype)
	if z == nil || zones != nil && !slices.ContainsFunc(zones, func(o string) bool { return dns.IsSubDomain(o, z.Origin()) }) {
		return nil
	}
	q := records.Query{Name: name, Owner: m.Question[0].Name, Type: m.Question[0].Qtype, Locator: locator, Random: random}
	q.Client, _ = netip.ParseAddr(from)
	q.Bits = q.Client.BitLen()
	var sub *dns.EDNS0_SUBNET
	opt := m.IsEdns0()
	if opt != nil {
		for _, o := range opt.Option {
			if sub, _ = o.(*dns.EDNS0_SUBNET); sub != nil && sub.SourceNetmask > 0 {
				addr, _ := netip.AddrFromSlice(sub.Address)
				q.Client, q.Bits = addr.Unmap(), int(sub.SourceNetmask)
			}
		}
		if opt.Do() {
			q.Owner = name
		}
	}
	var a records.Answer
	s.Lookup(z, &q, &a)
	r := new(dns.Msg).SetReply(m)
	r.Rcode, r.Answer, r.Ns, r.Extra = a.Rcode, a.Answer, a.Ns, slices.Clone(a.Extra)
	if a.Unlisted {
		r.Rcode = dns.RcodeServerFailure
	}
	r.Authoritative = r.Rcode != dns.RcodeServerFailure && !a.Referral
	if own := (&dns.OPT{Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeOPT}}); opt != nil && (sub != nil || a.Unlisted) {
		if sub != nil {
			told := *sub
			if told.SourceScope = uint8(a.Scope); sub.SourceNetmask == 0 {
				told.SourceScope = 0
			}
			own.Option = append(own.Option, &told)
		}
		if a.Unlisted {
			own.Option = append(own.Option, &dns.EDNS0_EDE{InfoCode: dns.ExtendedErrorCodeNotReady})
		}
		r.Extra = append(r.Extra, own)
	}
	return r
}

// Ask asks the newest snapshot one question, in the form of an ask section, and returns the answer,
// a record a line.
func (w *World) Ask(t testing.TB, question string) string {
	t.Helper()
	q, err := ParseQuestion(question)
	if err != nil {
		t.Fatal(err)
	}
	n := uint64(0)
	ask := func() *dns.Msg {
		n += 0x9e3779b97f4a7c15 // spread evenly over all draws
		return Reply(w.Snapshot, nil, q.Msg, q.From, Network, n)
	}
	if q.Times > 1 {
		return strings.Join(Shares(q.Times, ask), "\n")
	}
	r := ask()
	if r == nil {
		return "NEXT"
	}
	return strings.Join(make(Serials).Format(r), "\n")
}
