package kuadrant

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// dnssecName is CoreDNS's plugin that signs answers on the fly. It signs everything at or below the
// zones that it lists, each name with the longest match, and does not know where zones begin. A
// signer in front of it keeps it from signing a sub-zone as part of its parent.
const dnssecName = "dnssec"

func newSigning(add plugin.Plugin) *signing {
	return &signing{add: add, bare: add(plugin.HandlerFunc(passOn))}
}

// passedOn is what passOn returns; no rcode has this value.
const passedOn = 1 << 16

// passOn stands behind the dnssec plugin, and shows that a query got that far.
func passOn(context.Context, dns.ResponseWriter, *dns.Msg) (int, error) { return passedOn, nil }

// nobody is the client of a query that only tests what a plugin does with it.
type nobody struct{ dns.ResponseWriter }

// WriteMsg implements dns.ResponseWriter.
func (nobody) WriteMsg(*dns.Msg) error { return nil }

// RemoteAddr implements dns.ResponseWriter.
func (nobody) RemoteAddr() net.Addr { return new(net.UDPAddr) }

// lists reports whether the plugin lists the zone. It tries a DNSKEY query: the plugin answers that
// itself only for its zones.
func (s *signing) lists(zone string) bool {
	if listed, ok := s.known[zone]; ok {
		return listed
	}
	m := &dns.Msg{Question: []dns.Question{{Name: zone, Qtype: dns.TypeDNSKEY, Qclass: dns.ClassINET}}}
	what, err := s.bare.ServeDNS(context.Background(), nobody{}, m)
	return err == nil && what != passedOn
}

// hasKeys reports whether the plugin has keys. The plugin must list the zone.
func (s *signing) hasKeys(zone string) bool {
	m := &dns.Msg{Question: []dns.Question{{Name: zone, Qtype: dns.TypeDNSKEY, Qclass: dns.ClassINET}}}
	var keys answerOf
	_, _ = s.bare.ServeDNS(context.Background(), &keys, m) // the result is in keys
	return len(keys.answer) > 0
}

// covers reports whether the plugin signs data at the name, whatever its zone.
func (s *signing) covers(name string) bool {
	for at, ok := name, true; ok; at, ok = rdata.Parent(at) {
		if s.lists(at) {
			return true
		}
	}
	return false
}

// signedBy returns the plugin that signs the zone's answers for queries to this server block; nil
// for none. It is this block's dnssec plugin if that lists the zone; else another block's that
// does, because CoreDNS sends DS queries to the block of the topmost zone. A zone that no plugin
// lists is signed as part of a zone above it only if no zone above it is served here: then no
// client can see the cut.
func (k *Kuadrant) signedBy(snap *records.Snapshot, zone string) *signing {
	if k.signing == nil {
		return nil
	}
	if k.signing.lists(zone) {
		return k.signing
	}
	for _, s := range k.blocks.signings {
		if s != k.signing && s.lists(zone) {
			return s
		}
	}
	if up, ok := rdata.Parent(zone); ok && snap.Zone(up) == nil && k.signing.covers(zone) {
		return k.signing
	}
	return nil
}

// guard wraps add, which puts a plugin into the chain, so that a signer comes before the dnssec
// plugin.
func (k *Kuadrant) guard(add plugin.Plugin) plugin.Plugin {
	return func(next plugin.Handler) plugin.Handler {
		h := add(next)
		if h == nil || h.Name() != dnssecName {
			return h
		}
		if k.signing == nil { // several servers may compile the chain
			k.signing = newSigning(add)
			k.blocks.signings = append(k.blocks.signings, k.signing)
		}
		return &signer{plugin: k, sign: h, next: next}
	}
}

// learn finds out which of the Corefile's zones dnssec lists in this server block, and returns
// warnings about what cannot work.
func (k *Kuadrant) learn(zones []records.ZoneOptions) (misgivings []string) {
	if k.signing == nil {
		return nil
	}
	known := make(map[string]bool, len(zones))
	for _, o := range zones {
		known[o.Origin] = k.signing.lists(o.Origin)
	}
	k.signing.known = known
	if i := slices.IndexFunc(k.block.Zones, k.signing.lists); i >= 0 && !k.signing.hasKeys(k.block.Zones[i]) {
		misgivings = append(misgivings, "dnssec has no key; nothing is signed. Add `key file FILE...` to it, or remove dnssec")
	}
	for _, zone := range k.block.Zones {
		listed := k.signing.lists(zone)
		cut := slices.ContainsFunc(zones, func(o records.ZoneOptions) bool { return o.Origin != zone && rdata.IsSubdomain(o.Origin, zone) })
		if !listed && (cut || !k.signing.covers(zone)) {
			misgivings = append(misgivings, fmt.Sprintf("dnssec does not list zone %q; its answers are not signed", zone))
		}
		for _, o := range zones {
			if listed && o.Origin != zone && rdata.IsSubdomain(zone, o.Origin) && k.signing.lists(o.Origin) {
				misgivings = append(misgivings, fmt.Sprintf("dnssec lists %q and %q, which is below it; DS records of %q do not validate. Give it a server block of its own", zone, o.Origin, o.Origin))
			}
		}
	}
	return misgivings
}

// signer wraps the dnssec plugin of one server block.
type signer struct {
	plugin *Kuadrant
	sign   plugin.Handler // the dnssec plugin
	next   plugin.Handler // the plugin after it
}

// Name implements plugin.Handler. It returns the name of the plugin that it wraps.
func (s *signer) Name() string { return dnssecName }

// ServeDNS implements plugin.Handler. It passes a query to the signer of the zone that answers it, if the answer would be signed.
func (s *signer) ServeDNS(ctx context.Context, w dns.ResponseWriter, r *dns.Msg) (int, error) {
	opt := r.IsEdns0()
	if opt == nil || !opt.Do() || len(r.Question) != 1 || r.Question[0].Qclass != dns.ClassINET {
		return s.sign.ServeDNS(ctx, w, r)
	}
	k, q := s.plugin, &r.Question[0]
	if q.Qtype == dns.TypeAXFR || q.Qtype == dns.TypeIXFR {
		// The plugin would sign each message's records after the SOA record that ends the transfer.
		return plugin.NextOrFailure(dnssecName, s.next, ctx, w, r)
	}
	snap := k.engine.Snapshot()
	if snap == nil {
		return s.sign.ServeDNS(ctx, w, r)
	}
	zone := k.zone(snap, strings.ToLower(q.Name), q.Qtype)
	if zone == nil {
		return s.sign.ServeDNS(ctx, w, r)
	}
	by := k.signedBy(snap, zone.Origin())
	if by == nil {
		return plugin.NextOrFailure(dnssecName, s.next, ctx, w, r)
	}
	signed := &signedWriter{ResponseWriter: w, request: r, compact: opt.Co()}
	ctx = context.WithValue(ctx, signedKey{}, signed)
	if by == k.signing {
		return s.sign.ServeDNS(ctx, signed, r)
	}
	return by.add(s.next).ServeDNS(ctx, signed, r)
}

// keepTogether tells q which zones are signed like the zone that answers it.
func (k *Kuadrant) keepTogether(snap *records.Snapshot, q *records.Query, zone string) {
	if k.signing == nil {
		return
	}
	by := k.signedBy(snap, zone)
	q.Signed = by != nil
	q.Within = func(origin string) bool { return origin == zone || k.signedBy(snap, origin) == by }
}

// signedKey finds the signedWriter of a query in its context.
type signedKey struct{}

// signedWriter writes what the dnssec plugin has signed. The plugin signs each RRset of the answer section, and has its own ways with
// denials and referrals. So ours pass it in the answer section: hide puts them there, and reveal puts them back (docs/decisions/0043).
type signedWriter struct {
	dns.ResponseWriter
	request *dns.Msg
	// compact is true if the client takes NXDOMAIN with the proof of NOERROR (RFC 9824 §5.1).
	compact bool
	// hidden is true from hide to reveal; ns and extra are what is not signed meanwhile.
	hidden    bool
	ns, extra []dns.RR
}

// hide moves what proves a denial, or belongs to a referral, into the answer section of m, if our reply to the query will be signed. It
// removes the NSEC record if not: the zones have changed since the query came in.
func hide(ctx context.Context, m *dns.Msg) {
	n := slices.IndexFunc(m.Ns, func(rr dns.RR) bool { return rr.Header().Rrtype != dns.TypeNS })
	if n < 0 {
		return
	}
	w, _ := ctx.Value(signedKey{}).(*signedWriter)
	if w == nil {
		m.Ns = slices.DeleteFunc(slices.Clone(m.Ns), isNSEC)
		return
	}
	w.hidden, w.ns, w.extra = true, m.Ns[:n:n], m.Extra
	m.Answer, m.Ns, m.Extra = slices.Concat(m.Answer, m.Ns[n:]), nil, nil
}

// reveal undoes hide. It corrects the rcode of a denial, which says no more than the proof: the name has no such data (RFC 9824 §3.1).
func (w *signedWriter) reveal(m *dns.Msg) {
	if !w.hidden {
		return
	}
	n := slices.IndexFunc(m.Answer, func(rr dns.RR) bool {
		t := rr.Header().Rrtype
		return t == dns.TypeSOA || t == dns.TypeNSEC || t == dns.TypeDS
	})
	if n < 0 {
		return // another plugin has made the reply its own
	}
	proof := m.Answer[n:]
	m.Answer, m.Ns, m.Extra, w.hidden = m.Answer[:n:n], slices.Concat(w.ns, proof), w.extra, false
	switch nsec := slices.IndexFunc(proof, isNSEC); {
	case !slices.ContainsFunc(proof, isSignature):
		m.Ns = slices.DeleteFunc(m.Ns, isNSEC) // the plugin has no key
	case w.request.Question[0].Qtype == dns.TypeNSEC && len(w.ns) == 0: // that is there
		m.Rcode, m.Answer, m.Ns = dns.RcodeSuccess, slices.Concat(m.Answer, proof[nsec:]), nil
	case m.Rcode == dns.RcodeNameError && !w.compact:
		m.Rcode = dns.RcodeSuccess
	}
}

// WriteMsg implements dns.ResponseWriter. It puts signatures after what they sign, so that equal
// answers look equal, and drops additional records that do not fit with their signatures (rule
// 7.3).
func (w *signedWriter) WriteMsg(m *dns.Msg) error {
	m.Answer, m.Ns, m.Extra = arrange(m.Answer), arrange(m.Ns), arrange(m.Extra)
	w.reveal(m)
	n, opt := len(m.Extra), w.request.IsEdns0() // the server adds it
	own := m.IsEdns0()
	switch {
	case own != nil && m.Extra[n-1] == dns.RR(own):
		opt, m.Extra = own, m.Extra[:n-1:n-1]
	case own == nil && w.compact:
		own = &dns.OPT{Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeOPT}}
		opt = own
	}
	if w.compact {
		own.SetCo() // RFC 9824 §5.1
	}
	fit(m, opt, (&request.Request{W: w.ResponseWriter, Req: w.request}).Size())
	if opt == own {
		m.Extra = append(m.Extra, own)
	}
	return w.ResponseWriter.WriteMsg(m)
}

// answerOf is a writer that keeps the answer section of the message.
type answerOf struct {
	nobody
	answer []dns.RR
}

// WriteMsg implements dns.ResponseWriter.
func (k *answerOf) WriteMsg(m *dns.Msg) error {
	k.answer = m.Answer
	return nil
}

// arrange returns the records with each RRset's signatures right after it, and an OPT record at the
// end.
func arrange(rrs []dns.RR) []dns.RR {
	if !slices.ContainsFunc(rrs, isSignature) {
		return rrs
	}
	var signatures, opt []dns.RR
	out := make([]dns.RR, 0, len(rrs)+1) // the server adds an OPT record
	for _, rr := range rrs {
		switch rr.Header().Rrtype {
		case dns.TypeRRSIG:
			signatures = append(signatures, rr)
		case dns.TypeOPT:
			opt = append(opt, rr)
		default:
			out = append(out, rr)
		}
	}
	for i := 0; i < len(out); i++ {
		if i+1 < len(out) && sameSet(out[i], out[i+1]) {
			continue
		}
		of := out[i]
		signatures = slices.DeleteFunc(signatures, func(rr dns.RR) bool {
			s := rr.(*dns.RRSIG)
			if s.TypeCovered != of.Header().Rrtype || s.Hdr.Name != of.Header().Name {
				return false
			}
			i++
			out = slices.Insert(out, i, rr)
			return true
		})
	}
	return slices.Concat(out, signatures, opt)
}

func isSignature(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeRRSIG }

func isNSEC(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeNSEC }

func sameSet(a, b dns.RR) bool {
	return a.Header().Rrtype == b.Header().Rrtype && a.Header().Name == b.Header().Name
}
