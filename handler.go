package kuadrant

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/pkg/response"
	"github.com/coredns/coredns/plugin/pkg/upstream"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// ServeDNS implements plugin.Handler. Queries outside the block's zones go to the next plugin, and
// with fallthrough those for missing names.
func (k *Kuadrant) ServeDNS(ctx context.Context, w dns.ResponseWriter, r *dns.Msg) (int, error) {
	if len(r.Question) != 1 || r.Question[0].Qclass != dns.ClassINET {
		return k.next(ctx, w, r)
	}
	if shared := k.shared(ctx); shared != nil {
		return k.serve(ctx, w, r, shared.lookup(ctx, w, r))
	}
	var l lookup
	k.lookup(ctx, remoteAddr(w.RemoteAddr()), r, &l)
	return k.serve(ctx, w, r, &l)
}

// serve replies as l decided, or calls the next plugin.
func (k *Kuadrant) serve(ctx context.Context, w dns.ResponseWriter, r *dns.Msg, l *lookup) (int, error) {
	if l.outcome == notOurs {
		return k.next(ctx, w, r)
	}
	takePart(ctx)
	switch l.outcome {
	case refuse:
		l.answer.Rcode = dns.RcodeRefused
		return reply(ctx, w, r, l, nil)
	case malformed:
		l.answer.Rcode = dns.RcodeFormatError
		return reply(ctx, w, r, l, nil)
	case notReady:
		l.answer.Rcode = dns.RcodeServerFailure
		return reply(ctx, w, r, l, unlisted(dns.ExtendedErrorCodeNotReady))
	case answered:
	}
	countAnswer(l)
	if l.answer.Unlisted {
		return reply(ctx, w, r, l, unlisted(dns.ExtendedErrorCodeNotReady))
	}
	onward(ctx, w, r, l)
	return reply(ctx, w, r, l, closed(&l.answer))
}

func (k *Kuadrant) next(ctx context.Context, w dns.ResponseWriter, r *dns.Msg) (int, error) {
	if k.Next == nil {
		return dns.RcodeRefused, nil
	}
	return plugin.NextOrFailure(k.Name(), k.Next, ctx, w, r)
}

// outcome says what to do with a query.
type outcome uint8

const (
	answered  outcome = iota
	notOurs           // outside the block's zones, or missing where fallthrough is set
	refuse            // a transfer, or an opcode that no earlier plugin took
	malformed         // malformed client-subnet option (rule 3.6), two OPT records, or a query for NXNAME
	notReady          // nothing is known yet (rule 7.4)
)

// lookup is one query and its result.
type lookup struct {
	request  *dns.Msg
	question dns.Question
	outcome  outcome
	qname    string // in lower case
	copies   *rdata.Copies
	zone     string
	subnet   *dns.EDNS0_SUBNET
	client   netip.Addr // the subnet's address, or the transport's
	// subnetLocated is true if client comes from the subnet; unlocated is true if nothing can
	// locate it.
	subnetLocated, unlocated bool
	// stale is true if the answer may come from the state on disk.
	stale bool
	// signed is true if the answer is prepared for the dnssec plugin.
	signed bool
	// recursed and cut are RA and TC of what onward added.
	recursed, cut bool
	answer        records.Answer
}

// staleText explains an answer from the state on disk (RFC 8914 §4.4).
const staleText = "from data saved before this server started"

// lookup finds the answer to a query and puts it into l, which is zero, or has the qname and memory for copies. It uses little stack:
// growing the small stack of a query's goroutine costs a good part of the query.
func (k *Kuadrant) lookup(ctx context.Context, remote netip.Addr, r *dns.Msg, l *lookup) {
	q := &r.Question[0]
	if l.request, l.question = r, *q; l.qname == "" {
		l.qname = strings.ToLower(q.Name)
	}
	now := k.engine.Current()
	snap := now.Snapshot
	var zone *records.Zone
	if snap != nil {
		zone = k.zone(snap, l.qname, q.Qtype)
	}
	if zone == nil && (snap != nil || !k.covers(l.qname)) {
		l.outcome = notOurs
		return
	}
	if r.Opcode != dns.OpcodeQuery || q.Qtype == dns.TypeAXFR || q.Qtype == dns.TypeIXFR {
		l.outcome = refuse
		return
	}
	subnet, client, ok := clientSubnet(r)
	if !ok || manyOPTs(r) || q.Qtype == dns.TypeNXNAME || !k.rewritten && otherOctets(r, subnet) { // RFC 9824 §3.5
		l.outcome = malformed
		return
	}
	l.subnet, l.client = subnet, client
	if snap == nil {
		l.outcome = notReady
		return
	}
	l.zone, l.stale = zone.Origin(), now.Stale()
	if l.subnetLocated = l.client.IsValid(); !l.subnetLocated {
		l.client = remote
	}
	query := records.Query{
		Name: l.qname, Owner: q.Name, Type: q.Qtype, Client: l.client, Bits: l.client.BitLen(), Random: k.engine.Random(),
		Locator: k.locator(ctx, l), Copies: l.copies,
	}
	if l.subnetLocated {
		query.Bits = sourceBits(l.subnet)
	}
	if opt := r.IsEdns0(); opt != nil && opt.Do() {
		query.Owner = l.qname // signatures are made once (rule 7.2)
		k.keepTogether(snap, &query, l.zone)
		l.signed = query.Signed
	}
	snap.Lookup(zone, &query, &l.answer)
	if l.answer.Rcode == dns.RcodeNameError && len(l.answer.Answer) == 0 && k.block.Fall.Through(l.qname) {
		l.outcome = notOurs
	}
}

// manyOPTs reports whether a query has more than one OPT record (RFC 6891 §6.1.1).
func manyOPTs(r *dns.Msg) bool {
	n := 0
	for _, rr := range r.Extra {
		if rr.Header().Rrtype == dns.TypeOPT {
			n++
		}
	}
	return n > 1
}

// covers reports whether name lies in one of the block's zones. There may be very many.
func (k *Kuadrant) covers(name string) bool {
	_, ok := rdata.Closest(k.block.ZoneSet, name)
	return ok
}

// zone returns the zone that answers for name, nil if the block has none: the longest match. For DS
// it is the zone above the cut, if that is served too (RFC 4035 §3.1.4.1).
func (k *Kuadrant) zone(snap *records.Snapshot, name string, qtype uint16) *records.Zone {
	zone := snap.Zone(name)
	if zone != nil && qtype == dns.TypeDS && zone.Origin() == name && name != "." {
		parent, _ := rdata.Parent(name)
		if up := snap.Zone(parent); up != nil && k.covers(up.Origin()) {
			return up
		}
	}
	if zone == nil || !k.covers(zone.Origin()) {
		return nil
	}
	return zone
}

// locator returns the client locator: our own databases, else the geoip plugin (rule 3.5), else
// none.
func (k *Kuadrant) locator(ctx context.Context, l *lookup) geo.Locator {
	if db := k.engine.Locator(); db != nil {
		return db
	}
	return k.geoipLocator(ctx, l)
}

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

// leadsTo returns the target of the CNAME that ends the answer, unless the zones served here decide what is there. ok is false for clients
// that follow CNAMEs themselves: resolvers do not set RD, and validators set DO, for which we must not sign foreign data.
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
		return // no plugin answers for the target: the CNAME is the answer
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
