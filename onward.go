package kuadrant

import (
	"context"
	"slices"
	"time"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin/pkg/response"
	"github.com/coredns/coredns/plugin/pkg/upstream"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"
)

// maxOnward limits how often one query passes through this server, as plugin file does: two plugins whose CNAMEs lead to each
// other end in SERVFAIL.
const maxOnward = 8

// onward asks the server's own chain for the name that l's answer leads to, and adds what it answers (docs/decisions/0035).
func onward(ctx context.Context, w dns.ResponseWriter, r *dns.Msg, l *lookup) {
	target, ok := l.leadsTo(r)
	if !ok {
		return
	}
	loop, _ := ctx.Value(dnsserver.LoopKey{}).(int)
	if loop >= maxOnward {
		l.fail()
		return
	}
	ctx = context.WithValue(ctx, dnsserver.LoopKey{}, loop+1)
	ctx = context.WithValue(ctx, sharedKey{}, (*sharedLookup)(nil)) // metadata describes the client's query, not this one
	m, err := upstream.New().Lookup(ctx, request.Request{W: w, Req: r}, target, l.question.Qtype)
	if err == nil && m != nil {
		l.extend(m)
	}
}

// leadsTo returns the target of the CNAME that ends the answer, where the zones served here do not decide what is there. ok is
// false for clients that follow CNAMEs themselves: resolvers do not set RD, and validators set DO, for which foreign data must
// not be signed with our keys.
func (l *lookup) leadsTo(r *dns.Msg) (target string, ok bool) {
	a := &l.answer
	opt := r.IsEdns0()
	if !r.RecursionDesired || opt != nil && opt.Do() || len(a.Answer) == 0 {
		return "", false
	}
	last, ok := a.Answer[len(a.Answer)-1].(*dns.CNAME)
	if !ok || l.question.Qtype == dns.TypeCNAME || l.question.Qtype == dns.TypeANY {
		return "", false
	}
	noData := a.Rcode == dns.RcodeSuccess && slices.ContainsFunc(a.Ns, isSOA)
	// A missing name may be another block's: a zone below ours, or fallthrough.
	return last.Target, !noData && (a.Rcode == dns.RcodeSuccess || a.Rcode == dns.RcodeNameError)
}

// extend adds m, the answer for the target, to l's answer. It does not write to m's sections: plugins share them.
func (l *lookup) extend(m *dns.Msg) {
	a := &l.answer
	kind, _ := response.Typify(m, time.Now())
	switch {
	case m.Rcode == dns.RcodeRefused, kind == response.Delegation && !m.Truncated:
		return // nobody here answers for the target: the CNAME is the answer
	case m.Rcode != dns.RcodeSuccess && m.Rcode != dns.RcodeNameError && m.Rcode != dns.RcodeYXDomain:
		l.fail()
		return
	}
	a.Rcode = m.Rcode // that of the last name (RFC 6604 §3)
	a.Answer, a.Ns, a.Extra = slices.Concat(a.Answer, m.Answer), nil, nil
	if slices.ContainsFunc(m.Ns, isSOA) {
		a.Ns = m.Ns
	}
	l.recursed, l.cut = m.RecursionAvailable, m.Truncated
	if s, _, _ := clientSubnet(m); s != nil && l.subnet != nil && s.Family == l.subnet.Family {
		scope := int(s.SourceScope)
		if mapped(s) {
			scope -= mappedBits
		}
		a.Scope = max(a.Scope, scope)
	}
}

// fail makes the answer SERVFAIL.
func (l *lookup) fail() {
	l.answer.Rcode, l.answer.Answer, l.answer.Ns, l.answer.Extra = dns.RcodeServerFailure, nil, nil, nil
}

func isSOA(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeSOA }
