package kuadrant

import (
	"context"
	"errors"
	"net"

	"github.com/coredns/coredns/plugin/pkg/edns"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records"
)

// unlisted returns the extended error of a SERVFAIL.
func unlisted(code uint16) *dns.EDNS0_EDE {
	return &dns.EDNS0_EDE{InfoCode: code, ExtraText: "a source that could hold the name is not listed yet"}
}

// closed returns the extended error of a denial whose targets are all down (rule 9.3); nil for other answers.
func closed(a *records.Answer) *dns.EDNS0_EDE {
	if !a.Closed {
		return nil
	}
	return &dns.EDNS0_EDE{InfoCode: dns.ExtendedErrorCodeOther, ExtraText: "every target is down"}
}

// message is a reply with its question and OPT record in one allocation.
type message struct {
	dns.Msg
	question [1]dns.Question
	extra    [4]dns.RR
	opt      dns.OPT
	options  [2]dns.EDNS0
	subnet   dns.EDNS0_SUBNET
}

// reply writes the reply to r, with an extended error unless ede is nil.
func reply(ctx context.Context, w dns.ResponseWriter, r *dns.Msg, l *lookup, ede *dns.EDNS0_EDE) (int, error) {
	m := new(message)
	m.fill(w, r, l, ede)
	if l.signed {
		hide(ctx, &m.Msg)
	}
	if err := w.WriteMsg(&m.Msg); err != nil && isUnpackable(err) {
		return dns.RcodeServerFailure, err
	}
	return dns.RcodeSuccess, nil // any other error is the client's: it is gone, or reads no answers
}

// isUnpackable reports whether a message could not be written because it cannot be packed.
func isUnpackable(err error) bool {
	var unpackable *dns.Error
	return errors.As(err, &unpackable)
}

// fill makes m the reply to r, which goes to w.
func (m *message) fill(w dns.ResponseWriter, r *dns.Msg, l *lookup, ede *dns.EDNS0_EDE) {
	m.question[0] = r.Question[0]
	m.Question = m.question[:1:1]
	m.Id, m.Opcode, m.Response = r.Id, r.Opcode, true
	m.RecursionDesired = r.RecursionDesired // and not CD: RFC 4035 §3.1.6
	m.RecursionAvailable, m.Truncated = l.recursed, l.cut
	m.Rcode = l.answer.Rcode
	m.Answer, m.Ns, m.Extra = l.answer.Answer, l.answer.Ns, l.answer.Extra
	m.Authoritative = l.outcome == answered && m.Rcode != dns.RcodeServerFailure && !l.answer.Referral
	var opt *dns.OPT
	if asked := r.IsEdns0(); asked != nil {
		opt = m.setOPT(asked, l, ede)
	}
	fit(&m.Msg, opt, (&request.Request{W: w, Req: r}).Size())
	if opt != nil {
		m.Extra = append(append(m.extra[:0], m.Extra...), opt)
	}
}

// fit makes m and opt, which may be nil, fit into size octets. It drops RRsets from the end of the additional section: a client should not
// retry over TCP for what it can do without (RFC 2181 §9, rule 7.3). It keeps the addresses of a referral's servers that lie in the zone it
// refers to (RFC 9471 §3.1). If the rest is too long, or truncated already, a client with EDNS gets no records at all: resolvers do not use
// them, and who sends queries in another's name gains nothing (rule 7.2). For others the server keeps what fits.
func fit(m *dns.Msg, opt *dns.OPT, size int) {
	free := size
	if opt != nil {
		free -= 256 // octets of most OPT records, without computing them
	}
	if !m.Truncated && isShort(m, free) {
		return // almost always
	}
	if opt != nil {
		size -= dns.Len(opt)
	}
	if !m.Truncated && m.Len() <= size {
		return
	}
	m.Compress = true // the server compresses it if it must
	for len(m.Extra) > 0 && m.Len() > size {
		n := lastSet(m.Extra)
		if cut := referredTo(m); cut != "" && dns.IsSubDomain(cut, m.Extra[n].Header().Name) {
			break
		}
		m.Extra = m.Extra[:n:n]
	}
	if opt != nil && (m.Truncated || m.Len() > size) {
		m.Answer, m.Ns, m.Extra, m.Truncated = nil, nil, nil, true
	}
	m.Compress = false
}

// isShort reports whether a reply surely fits into size octets. It is for nearly all replies, and faster than dns.Msg.Len. A name has at most
// one octet more than its text.
func isShort(m *dns.Msg, size int) bool {
	const fixed = 12 + 5 // header and question
	n := fixed + len(m.Question[0].Name)
	for _, rrs := range [...][]dns.RR{m.Answer, m.Ns, m.Extra} {
		for _, rr := range rrs {
			switch n += len(rr.Header().Name) + 11; rr := rr.(type) {
			case *dns.A:
				n += net.IPv4len
			case *dns.AAAA:
				n += net.IPv6len
			case *dns.CNAME:
				n += len(rr.Target) + 1
			case *dns.SOA:
				n += len(rr.Ns) + len(rr.Mbox) + 22
			default:
				return false
			}
		}
	}
	return n <= size
}

// referredTo returns the zone that a reply, or the end of its chain, refers to other servers for;
// "" if none.
func referredTo(m *dns.Msg) string {
	if len(m.Ns) == 0 || m.Ns[0].Header().Rrtype != dns.TypeNS {
		return ""
	}
	return m.Ns[0].Header().Name
}

// lastSet returns where the last RRset of rrs begins, signatures included.
func lastSet(rrs []dns.RR) int {
	n := len(rrs) - 1
	for n > 0 && isSignature(rrs[n]) {
		n--
	}
	for n > 0 && sameSet(rrs[n-1], rrs[n]) {
		n--
	}
	return n
}

// setOPT returns the reply's own OPT record: CoreDNS would return flags that it does not know (RFC 6891 §6.1.4), and no client subnet.
func (m *message) setOPT(asked *dns.OPT, l *lookup, ede *dns.EDNS0_EDE) *dns.OPT {
	m.opt = dns.OPT{Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeOPT}, Option: m.options[:0]}
	m.opt.SetUDPSize(asked.UDPSize())
	if asked.Do() {
		m.opt.SetDo()
	}
	if l.subnet != nil {
		m.subnet = subnetReply(l.subnet, l.answer.Scope)
		m.opt.Option = append(m.opt.Option, &m.subnet)
	}
	switch {
	case ede != nil:
		m.opt.Option = append(m.opt.Option, ede)
	case l.stale:
		m.opt.Option = append(m.opt.Option, &dns.EDNS0_EDE{InfoCode: dns.ExtendedErrorCodeStaleAnswer, ExtraText: staleText})
	}
	for _, o := range asked.Option {
		if o.Option() != dns.EDNS0SUBNET && edns.SupportedOption(o.Option()) { // a plugin wants it in replies
			m.opt.Option = append(m.opt.Option, o)
		}
	}
	return &m.opt
}

func isSOA(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeSOA }
