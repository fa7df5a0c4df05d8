package kuadrant

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/pkg/response"
	"github.com/coredns/coredns/plugin/pkg/upstream"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"
)

// mostOnward is how many times one query goes on to this server's other plugins: two that lead to each other
// come to an end.
const mostOnward = 8

// leadsOn tells whether an answer ends in a CNAME out of the zones served here, to a name that they delegate, or to one
// that they lack and that fallthrough or another server block may have, for somebody who does not look up the rest by
// themselves: a stub resolver, which says so by asking for recursion. Signed answers stay as they are signed
// (docs/decisions/0035).
func (k *Kuadrant) leadsOn(r *dns.Msg, l *lookup) (target string, ok bool) {
	a := &l.answer
	if !r.RecursionDesired || len(a.Answer) == 0 {
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
		// Where an SOA record says that there is no more, that is the end.
		return last.Target, len(a.Ns) == 0 || a.Ns[0].Header().Rrtype == dns.TypeNS
	case dns.RcodeNameError:
		// Another server block asks its own fallthrough.
		return last.Target, !k.covers(last.Target) || k.block.fall.Through(last.Target)
	}
	return "", false
}

// onward adds to l what the server's other plugins answer for the name that the answer leads to, as CoreDNS's file
// and kubernetes do. Where nobody has that name, the answer stays as it is.
func (k *Kuadrant) onward(ctx context.Context, w dns.ResponseWriter, r *dns.Msg, l *lookup, target string) {
	m, err := k.lookOnward(ctx, w, r, l, target)
	if err != nil || m == nil {
		return // nobody runs the server, or no plugin is there
	}
	if m.Rcode == dns.RcodeRefused && (k.Next == nil || plugin.Zones(k.block.keys).Matches(target) == "") {
		return // nobody here answers for that name
	}
	l.extend(m)
}

// extend adds m to the answer, which is what the end of the answer leads to. It keeps nothing of m that may be appended to.
func (l *lookup) extend(m *dns.Msg) {
	a := &l.answer
	if m.Rcode != dns.RcodeSuccess && m.Rcode != dns.RcodeNameError {
		a.Rcode, a.Answer, a.Ns, a.Extra = dns.RcodeServerFailure, nil, nil, nil
		return
	}
	if kind, _ := response.Typify(m, time.Now()); kind == response.Delegation {
		return // whoever was asked does not recurse
	}
	a.Rcode = m.Rcode // that of the last name (RFC 6604 §3)
	a.Answer, a.Ns, a.Extra = slices.Concat(a.Answer, m.Answer), nil, nil
	if slices.ContainsFunc(m.Ns, func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeSOA }) {
		a.Ns = slices.Clip(m.Ns) // what a positive answer has there only takes room
	}
	l.recursed, l.cut = m.RecursionAvailable, m.Truncated
	if s, _, _ := clientSubnet(m); s != nil && l.subnet != nil && s.Family == l.subnet.Family {
		scope := int(s.SourceScope)
		if mapped(s) {
			scope -= mappedBits
		}
		a.Scope = max(a.Scope, scope) // it holds for no more clients than the rest does
	}
}

// onwardKey is what lookups are one by that go on at the same time.
type onwardKey struct {
	client, network, target, subnet string
	qtype, size                     uint16
	checkingDisabled, authentic     bool
}

// lookOnward asks the server itself for target. Two of its blocks that lead to each other come to an end by counting.
// Of a loop through another server nothing is known here but that the same client asks the same again: that waits for
// the answer to the first, which the other server gives up on. Several may be given the same message: nobody changes it.
func (k *Kuadrant) lookOnward(ctx context.Context, w dns.ResponseWriter, r *dns.Msg, l *lookup, target string) (*dns.Msg, error) {
	times, _ := ctx.Value(dnsserver.LoopKey{}).(int)
	if times >= mostOnward {
		return &dns.Msg{MsgHdr: dns.MsgHdr{Rcode: dns.RcodeServerFailure}}, nil
	}
	ctx = context.WithValue(ctx, dnsserver.LoopKey{}, times+1)
	ctx = context.WithValue(ctx, sharedKey{}, (*sharedLookup)(nil)) // what log and dnstap tell is of the query, not of this
	state := request.Request{W: w, Req: r}
	ask := func() (any, error) { return upstream.New().Lookup(ctx, state, target, l.question.Qtype) }
	if times > 0 { // it may be a part of what would be waited for
		m, err := ask()
		return m.(*dns.Msg), err
	}
	key := onwardKey{client: state.IP(), network: state.Proto(), target: target, qtype: l.question.Qtype, checkingDisabled: r.CheckingDisabled, authentic: r.AuthenticatedData}
	if l.subnet != nil {
		key.subnet = l.subnet.String()
	}
	if opt := r.IsEdns0(); opt != nil {
		key.size = opt.UDPSize()
	}
	m, err, _ := k.ahead.Do(fmt.Sprintf("%#v", key), ask)
	return m.(*dns.Msg), err
}
