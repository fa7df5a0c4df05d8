package kuadrant

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin/pkg/response"
	"github.com/coredns/coredns/plugin/pkg/upstream"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"
	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/util/cache"
)

// mostOnward is how many times one query goes on to this server's other plugins: two that lead to each other
// come to an end.
const mostOnward = 8

// leadsOn tells whether an answer ends in a CNAME out of the zones served here, to a name that they delegate, or to one
// that they lack and that fallthrough or another server block may have, such as that of a zone below, for somebody who does not look up the rest by
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
		return last.Target, true
	}
	return "", false
}

// onward adds to l what the server's other plugins answer for the name that the answer leads to, as CoreDNS's file
// and kubernetes do. Where nobody has that name, the answer stays as it is.
func (k *Kuadrant) onward(ctx context.Context, w dns.ResponseWriter, r *dns.Msg, l *lookup, target string) {
	server, ok := ctx.Value(dnsserver.Key{}).(*dnsserver.Server)
	if !ok {
		return // nobody runs the server
	}
	times, _ := ctx.Value(dnsserver.LoopKey{}).(int)
	key := keyOf(r, request.Request{W: w, Req: r}, l, target)
	key.server, key.times = server.Addr, times
	if m := k.onwards.look(key, func() *dns.Msg { return askItself(ctx, w, r, key) }); m != nil {
		l.extend(m)
	}
}

// extend adds m to the answer, which is what the end of the answer leads to. It keeps nothing of m that may be appended to.
func (l *lookup) extend(m *dns.Msg) {
	a := &l.answer
	if isFailure(m) {
		a.Rcode, a.Answer, a.Ns, a.Extra = dns.RcodeServerFailure, nil, nil, nil
		return
	}
	if kind, _ := response.Typify(m, time.Now()); kind == response.Delegation && !m.Truncated {
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

// onwards are the lookups that go on, and those that have failed of late. Several goroutines may use one.
type onwards struct {
	underway singleflight.Group
	failed   *cache.LRUExpireCache
}

func newOnwards() *onwards { return &onwards{failed: cache.NewLRUExpireCache(mostFailed)} }

// A lookup that takes longer than slow and fails is not made again for a while, which RFC 9520 §3.2 wants to be a second at
// least: forward asks twice or three times before it gives up, and its last question comes when the first has failed.
const (
	slow       = time.Second
	failedStay = 5 * time.Second
	mostFailed = 1024
)

// onwardKey is what lookups share their failures by. An answer may depend on more, such as an option of the query, its signature
// or the port that it comes from: the block that has the name decides by what it likes.
type onwardKey struct {
	server, client, network, target, subnet string
	qtype, size                             uint16
	checkingDisabled, authentic             bool
	// times is how many times the query has gone on before. None waits for one that it is a part of: that has gone on less.
	times int
}

// keyOf returns the key of what a query leads to, but for the server and times.
func keyOf(r *dns.Msg, state request.Request, l *lookup, target string) onwardKey {
	key := onwardKey{client: state.IP(), network: state.Proto(), target: target, qtype: l.question.Qtype, checkingDisabled: r.CheckingDisabled, authentic: r.AuthenticatedData}
	if l.subnet != nil {
		key.subnet = l.subnet.String()
	}
	if opt := r.IsEdns0(); opt != nil {
		key.size = opt.UDPSize()
	}
	return key
}

// look asks for the key's target, and returns what ask does: nil where no plugin is there for that name. Two blocks of the
// server that lead to each other come to an end by counting. Of a loop through another server nothing is known here but
// that the same client asks the same again: that waits for the first, and fails where it does, as it is a part of it. What
// does not fail is nobody else's, who then asks for themselves. Several may be given the same failure: nobody changes it.
func (o *onwards) look(key onwardKey, ask func() *dns.Msg) *dns.Msg {
	if key.times >= mostOnward {
		return failure
	}
	first, begin := false, time.Now()
	m, _, _ := o.underway.Do(fmt.Sprintf("%+v", key), func() (any, error) {
		first = true
		return o.ask(key, ask), nil
	})
	of := m.(*dns.Msg)
	switch {
	case first || of != nil && isFailure(of):
		return of
	case time.Since(begin) >= longestWait: // most likely for whoever waits for this
		return failure
	}
	return o.ask(key, ask)
}

// longestWait is how long somebody waits for another lookup and then goes on: where it takes longer, the other server of a loop may
// have given up on it, which most do after two seconds or more, and answered all the same.
const longestWait = 1500 * time.Millisecond

// failure is the answer where nobody is asked.
var failure = &dns.Msg{MsgHdr: dns.MsgHdr{Rcode: dns.RcodeServerFailure}}

// ask returns what ask does, unless it has failed of late.
func (o *onwards) ask(key onwardKey, ask func() *dns.Msg) *dns.Msg {
	if _, ok := o.failed.Get(key); ok {
		return failure
	}
	begin := time.Now()
	m := ask()
	if m != nil && isFailure(m) && time.Since(begin) >= slow {
		o.failed.Add(key, struct{}{}, failedStay)
	}
	return m
}

// isFailure tells whether a message says neither what there is nor that there is none, nor that there can be none: a DNAME may
// make a name too long (RFC 6672 §2.2).
func isFailure(m *dns.Msg) bool {
	return m.Rcode != dns.RcodeSuccess && m.Rcode != dns.RcodeNameError && m.Rcode != dns.RcodeYXDomain
}

// passageKey is the key of the passage in the context of what the server asks itself.
type passageKey struct{}

// passage is what is learned of a query that the server asks itself where it passes a block of ours.
type passage struct {
	// passed is true where a plugin behind us has taken it.
	passed bool
}

// askItself has the server answer for the key's target, as whoever sent r. It returns nil where no plugin is there for that name.
// It is asked to the end, also where the client is gone: others wait for whether it fails.
func askItself(ctx context.Context, w dns.ResponseWriter, r *dns.Msg, key onwardKey) *dns.Msg {
	var p passage
	ctx = context.WithValue(context.WithoutCancel(ctx), passageKey{}, &p)
	ctx = context.WithValue(ctx, dnsserver.LoopKey{}, key.times+1)
	ctx = context.WithValue(ctx, sharedKey{}, (*sharedLookup)(nil)) // what log and dnstap tell is of the query, not of this
	m, err := upstream.New().Lookup(ctx, request.Request{W: w, Req: r}, key.target, key.qtype)
	switch {
	case err != nil || m == nil:
		return nil
	case m.Rcode == dns.RcodeRefused && !p.passed && !m.RecursionAvailable:
		return nil // no block has it, it is none that this client may ask, or whoever was asked does not recurse
	}
	return m
}

// through returns what a query is answered with that plugins behind us answered so. One that no plugin takes is SERVFAIL, with
// an error that has no type, or of file REFUSED. Where the server asks itself, that is no failure: nobody is there for the name.
func (p *passage) through(rcode int, err error) (int, error) {
	if rcode == dns.RcodeRefused && err == nil || err != nil && strings.Contains(err.Error(), "no next plugin found") {
		return dns.RcodeRefused, nil
	}
	p.passed = true
	return rcode, err
}
