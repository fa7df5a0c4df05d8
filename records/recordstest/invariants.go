package recordstest

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/boolean"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// invariants returns the violated invariants of a snapshot.
func invariants(s *records.Snapshot) (all []string) {
	wrong := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	for _, z := range s.Zones() {
		types, apex := make(map[string][]uint16), true
		for set := range z.Transfer() {
			name, rtype := set[0].Header().Name, set[0].Header().Rrtype
			if apex = apex && name == z.Origin(); !apex && name == z.Origin() || rtype == dns.TypeSOA || !dns.IsSubDomain(z.Origin(), name) {
				wrong("zone %s: its transfer has %s out of place", z.Origin(), set[0])
			}
			types[name] = append(types[name], rtype)
		}
		for text, n := range content(z) {
			if n > 1 {
				wrong("zone %s: its transfer has %s %d times", z.Origin(), text, n)
			}
		}
		for name, have := range types {
			if slices.Contains(have, dns.TypeCNAME) && len(have) > 1 {
				wrong("%s: a CNAME beside other data: %v", name, have)
			}
		}
		listed(s, z, wrong)
	}
	founded(s, wrong)
	for tr := range s.Troubles() {
		k, _ := api.ParseKind(tr.Kind)
		if reason, why := s.Verdict(tr.Cluster, api.Ref{Kind: k, Name: tr.Name}).Problem(); tr.Reason != reason || tr.Why != why {
			wrong("%s: its verdict says %s: %s", text(tr), reason, why)
		}
	}
	for i, name := range Names(s) {
		for j, qtype := range askedTypes {
			q := records.Query{
				Name: name, Owner: name, Type: qtype, Client: clients[(i+j)%len(clients)], Locator: Network,
				Random: uint64(i) * 0x9e3779b97f4a7c15,
			}
			var a records.Answer
			z := s.ZoneOf(name, qtype)
			s.Lookup(z, &q, &a)
			if bad := CheckAnswer(&q, &a); bad != "" {
				wrong("%s %s: %s: %s", name, dns.Type(qtype), bad, answer(&a))
			}
			if i%4 == j%4 {
				inNetwork(s, z, q, &a, wrong)
				explained(s, z, q, &a, wrong)
			}
		}
	}
	return all
}

// inNetwork checks that an answer holds for every client in the network of its scope; negative
// answers have none (rule 3.6).
func inNetwork(s *records.Snapshot, z *records.Zone, q records.Query, a *records.Answer, wrong func(string, ...any)) {
	if len(a.Answer) == 0 {
		return
	}
	network := netip.PrefixFrom(q.Client, a.Scope).Masked()
	at := q.Client.As4()
	for _, other := range append(clients[:len(clients):len(clients)], netip.AddrFrom4([4]byte{at[0], at[1], at[2], at[3] ^ 0x55}),
		netip.AddrFrom4([4]byte{at[0], at[1], at[2] ^ 0x55, at[3]})) {
		if q.Client = other; network.Contains(other) {
			var b records.Answer
			if s.Lookup(z, &q, &b); len(b.Answer) > 0 && (b.Scope != a.Scope || sections(a) != sections(&b)) {
				wrong("%s %s: the answer for %s is %s\nand for %s %s", q.Name, dns.Type(q.Type), network, answer(a), other, answer(&b))
			}
		}
	}
}

// explained checks that an explanation fits the answer, and that the members' shares add up.
func explained(s *records.Snapshot, z *records.Zone, q records.Query, a *records.Answer, wrong func(string, ...any)) {
	var b records.Answer
	x := s.Explain(z, &q, &b)
	if answer(a) != answer(&b) || len(x.Steps) == 0 || x.Steps[0].Name+"." != q.Name && q.Name != "." ||
		x.Rcode != dns.RcodeToString[a.Rcode] || x.Scope != a.Scope ||
		len(x.Answer) != len(a.Answer) || (x.Location != nil) != a.Located {
		wrong("%s %s is explained as %s\nand answered with %s", q.Name, dns.Type(q.Type), text(x), answer(a))
	}
	ends := false
	for _, step := range x.Steps {
		ends = ends || step.Ends != ""
		if step.Owner == nil && (step.Choices != nil || step.Addresses != nil) {
			wrong("%s has addresses of nobody: %s", step.Name, text(step))
		}
		for _, c := range step.Choices {
			sum, closed := 0.0, false
			for _, m := range c.Members {
				could := m.Verdict == pool.VerdictTaken || m.Verdict == pool.VerdictNotDrawn
				if could != (m.Share > 0) || could && (pool.CompareClasses(m.Class, c.Class) != 0 || m.Match != c.Match) {
					wrong("%s: member %s of %s", step.Name, m.Member, text(c))
				}
				sum += m.Share
				closed = closed || m.Verdict == pool.VerdictClosed
			}
			if whole := c.Class != "" && !closed; whole && (sum < 1-1e-9 || sum > 1+1e-9) || !whole && sum != 0 {
				wrong("%s: the shares come to %v: %s", step.Name, sum, text(c))
			}
		}
	}
	if a.Rcode == dns.RcodeServerFailure && !ends {
		wrong("%s %s: nothing says why this is SERVFAIL: %s", q.Name, dns.Type(q.Type), text(x))
	}
}

// listed checks that a zone's listing matches its answers.
func listed(s *records.Snapshot, z *records.Zone, wrong func(string, ...any)) {
	n, conflicts := 0, 0
	for c := range s.Conflicts() {
		if conflicts += boolean.Int(dns.Fqdn(c.Zone) == z.Origin()); c.Why == "" || c.Loser.Name == "" {
			wrong("a conflict says nothing: %s", text(c))
		}
	}
	for is := range s.Names(z, "", nil) {
		n++
		name := dns.Fqdn(is.Name)
		tree, ok := s.Tree(name)
		if !ok {
			wrong("%s is listed, and has no tree", name)
			continue
		}
		addresses, members := records.Counts{}, 0
		count := func(all []records.AddressState) {
			for _, a := range all {
				switch a.Class {
				case "up":
					addresses.Up++
				case pool.Unchecked:
					addresses.Unchecked++
				case "unknown":
					addresses.Unknown++
				case "drained", "drained-unknown":
					addresses.Drained++
				default:
					addresses.Down++
				}
			}
		}
		count(tree.Addrs)
		for _, g := range tree.Groups {
			for _, m := range g.Members {
				count(m.Addresses)
				members++
			}
		}
		if members != is.Members || addresses != is.Addresses {
			wrong("%s is listed as %s, and its tree is %s", name, text(is), text(tree))
		}
		for _, rtype := range [...]uint16{dns.TypeA, dns.TypeAAAA, dns.TypeTXT, dns.TypeMX, dns.TypeNS, dns.TypeSOA} {
			q := records.Query{Name: name, Owner: name, Type: rtype}
			var a records.Answer
			x := s.Explain(z, &q, &a)
			if (is.Hidden != "") != (x.Steps[0].At != is.Name) && !a.Referral {
				wrong("%s is listed as hidden by %q, and %s is answered from %s", name, is.Hidden, dns.Type(rtype), x.Steps[0].At)
			}
			has := slices.Contains(is.Types, dns.Type(rtype).String())
			if slices.Contains(is.Types, "CNAME") && !has || a.Referral || is.Hidden != "" || len(a.Answer) > 0 &&
				a.Answer[0].Header().Rrtype == dns.TypeCNAME || a.Rcode != dns.RcodeSuccess || len(x.Steps) > 1 {
				continue // or a hostname at a flattened name leads elsewhere
			}
			if got := len(a.Answer) > 0; got != has && (got || is.Answer == "") && !z.Delegates(name) {
				wrong("%s is listed with types %v, and for %s the answer is %v", name, is.Types, dns.Type(rtype), a.Answer)
			}
		}
	}
	if n != z.Listed || conflicts != z.Conflicts {
		wrong("zone %s: %d names and %d conflicts are listed, %d and %d counted", z.Origin(), n, conflicts, z.Listed, z.Conflicts)
	}
}

// CheckAnswer returns what is wrong with an answer in any world; "" for nothing.
func CheckAnswer(q *records.Query, a *records.Answer) string {
	proved := q.Signed && len(a.Ns) == 2 && a.Ns[1].Header().Rrtype == dns.TypeNSEC
	switch {
	case a.Referral && (len(a.Answer) > 0 || a.Rcode != dns.RcodeSuccess || len(a.Ns) == 0 || a.Ns[0].Header().Rrtype != dns.TypeNS):
		return "a referral without name servers"
	case !a.Referral && len(a.Answer) == 0 && a.Rcode != dns.RcodeServerFailure && (len(a.Ns) != 1 && !proved || a.Ns[0].Header().Rrtype != dns.TypeSOA):
		return "a negative answer without SOA"
	case a.Unlisted && a.Rcode != dns.RcodeServerFailure:
		return "not listed, and answered"
	}
	owner := q.Owner
	for i, rr := range a.Answer {
		if rr.Header().Rrtype == dns.TypeDNAME && q.Type != dns.TypeDNAME && rdata.IsSubdomain(rr.Header().Name, strings.ToLower(owner)) {
			continue // its synthesized CNAME comes next
		}
		if rr.Header().Name != owner {
			return fmt.Sprintf("record %d has another owner than %s", i, owner)
		}
		if c, ok := rr.(*dns.CNAME); ok {
			if owner = c.Target; i+1 < len(a.Answer) && q.Type == dns.TypeCNAME {
				return "two CNAMEs for one question"
			}
		}
	}
	for _, rrs := range [...][]dns.RR{a.Answer, a.Ns, a.Extra} {
		if len(rrs) != cap(rrs) {
			return "a slice that an append would write into"
		}
	}
	m := dns.Msg{Answer: a.Answer, Ns: a.Ns, Extra: a.Extra}
	wire, err := m.Pack()
	if err == nil {
		err = new(dns.Msg).Unpack(wire)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}
