package kuadrant

import (
	"context"
	"slices"
	"strings"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin/pkg/upstream"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"
)

// mostOnward is how many times one query goes on to this server's other plugins: two that lead to each other
// come to an end.
const mostOnward = 8

// leadsOn tells whether an answer ends in a CNAME out of the zones served here, or to a name that they lack and that
// fallthrough leaves to others, for somebody who does not look up the rest by themselves: a stub resolver, which says so
// by asking for recursion. Signed answers stay as they are signed (docs/decisions/0035).
func (k *Kuadrant) leadsOn(r *dns.Msg, l *lookup) (target string, ok bool) {
	a := &l.answer
	if !r.RecursionDesired || a.Referral || len(a.Answer) == 0 {
		return "", false
	}
	last, ok := a.Answer[len(a.Answer)-1].(*dns.CNAME)
	if !ok || l.question.Qtype == dns.TypeCNAME || l.question.Qtype == dns.TypeANY {
		return "", false
	}
	if opt := r.IsEdns0(); opt != nil && opt.Do() {
		return "", false
	}
	switch a.Rcode {
	case dns.RcodeSuccess:
		return last.Target, len(a.Ns) == 0
	case dns.RcodeNameError:
		return last.Target, k.block.fall.Through(strings.ToLower(last.Target))
	}
	return "", false
}

// onward adds to l what the server's other plugins answer for the name that the answer leads to, as CoreDNS's file
// and kubernetes do. Where none of them does, the answer stays as it is.
func onward(ctx context.Context, w dns.ResponseWriter, r *dns.Msg, l *lookup, target string) {
	a := &l.answer
	times, _ := ctx.Value(dnsserver.LoopKey{}).(int)
	if times >= mostOnward {
		a.Rcode, a.Answer, a.Extra = dns.RcodeServerFailure, nil, nil
		return
	}
	ctx = context.WithValue(ctx, dnsserver.LoopKey{}, times+1)
	ctx = context.WithValue(ctx, sharedKey{}, (*sharedLookup)(nil)) // what log and dnstap tell is of the query, not of this
	m, err := upstream.New().Lookup(ctx, request.Request{W: w, Req: r}, target, l.question.Qtype)
	if err != nil || m == nil {
		return // nobody runs the server, or no plugin is there
	}
	switch m.Rcode {
	case dns.RcodeSuccess, dns.RcodeNameError:
		a.Rcode = m.Rcode // that of the last name (RFC 6604 §3)
		a.Answer, a.Ns = slices.Concat(a.Answer, m.Answer), slices.Clip(m.Ns)
		l.recursed, l.cut = m.RecursionAvailable, m.Truncated
		if s, _, _ := clientSubnet(m); s != nil && l.subnet != nil && s.Family == l.subnet.Family {
			scope := int(s.SourceScope)
			if mapped(s) {
				scope -= mappedBits
			}
			a.Scope = max(a.Scope, scope) // it holds for no more clients than the rest does
		}
	case dns.RcodeServerFailure:
		a.Rcode, a.Answer, a.Extra = dns.RcodeServerFailure, nil, nil
	default: // nobody here answers for that name
	}
}
