package records

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/status"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// Explanation says how the answer to one query came about, for one client and one draw. Names have no final dot. It is made
// for the caller, and shares nothing with the snapshot.
type Explanation struct {
	// Name and Type are the question. Zone is the zone that answers.
	Name string `json:"name"`
	Type string `json:"type"`
	Zone string `json:"zone"`
	// Client is the address that was located, if one was given.
	Client netip.Addr `json:"client"`
	// Location is where the client is, if the answer depends on it.
	Location *Location `json:"location,omitempty"`
	// ByClient reports whether other clients may get another answer.
	ByClient bool `json:"byClient,omitempty"`
	// Steps are the names on the way, in order.
	Steps []Step `json:"steps"`
	// Rcode is the response code, such as NOERROR. Referral reports whether other servers are named instead. Scope is the
	// prefix length that the answer holds for, 0 for all clients. Answer, Authority and Additional are records in zone-file
	// form.
	Rcode      string   `json:"rcode"`
	Referral   bool     `json:"referral,omitempty"`
	Scope      int      `json:"scope"`
	Answer     []string `json:"answer"`
	Authority  []string `json:"authority,omitempty"`
	Additional []string `json:"additional,omitempty"`
}

// Location is where a client is (rules 3.2 and 3.6).
type Location struct {
	// Codes are the client's geo codes, most specific first.
	Codes []string `json:"codes"`
	// Network is the largest one around the client with the same codes.
	Network netip.Prefix `json:"network"`
}

// Step is one name on the way to the answer.
type Step struct {
	// Name, Type and Zone are what is looked up, and where.
	Name string `json:"name"`
	Type string `json:"type"`
	Zone string `json:"zone"`
	// Again reports whether the name was met before, so another member is tried.
	Again bool `json:"again,omitempty"`
	// Found is what answers for the name. At is the name where it stands.
	Found Found  `json:"found"`
	At    string `json:"at,omitempty"`
	// Owner has the name's addresses or CNAME. Losers want them too.
	Owner  *status.Object `json:"owner,omitempty"`
	Losers []Loser        `json:"losers,omitempty"`
	// Inactive are the objects whose clusters' group is not active (rule 9.5).
	Inactive []Loser `json:"inactive,omitempty"`
	// Sources are the objects of data that are not the owner's.
	Sources []status.Object `json:"sources,omitempty"`
	// Answer is simple, chain or flatten. Attributes are those of the host, such as sticky, by their words (rule 9).
	Answer     string            `json:"answer,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
	// Choices are the draws among members; the last one counts.
	Choices []Choice `json:"choices,omitempty"`
	// Addresses are those of the member that was taken, or of an owner without members.
	Addresses []AddressState `json:"addresses,omitempty"`
	// Ends says why the search ends here without data.
	Ends string `json:"ends,omitempty"`
	// Uncovers says for which name a wildcard does not answer because this one exists.
	Uncovers string `json:"uncovers,omitempty"`
}

// Found says what answers for a name.
type Found string

// What can be found (RFC 1034 §4.3.2).
const (
	FoundName       Found = "name"       // the name itself
	FoundWildcard   Found = "wildcard"   // the wildcard of its closest encloser
	FoundDelegation Found = "delegation" // NS records at the name, or above it
	FoundDNAME      Found = "dname"      // a DNAME above the name
	FoundNothing    Found = "nothing"    // the name does not exist
)

// Loser is an object that wants another one's name.
type Loser struct {
	status.Object
	// Why is the reason, in a sentence.
	Why string `json:"why"`
}

// Explain does what Lookup does, and returns how it came to the answer. a must be zero, and gets what Lookup would have found at that
// moment. z is the zone that q.Name lies in, as for Lookup. Explain is pure except that it reads health cells; any number of goroutines may
// call it.
func (s *Snapshot) Explain(z *zone.Zone, q *Query, a *Answer) *Explanation {
	traced := *q
	traced.trail = new(trail)
	s.Lookup(z, &traced, a)
	x := &Explanation{
		Name: endpoint.TrimDot(q.Name), Type: dns.Type(q.Type).String(), Zone: endpoint.TrimDot(z.Origin()), Client: q.Client,
		Rcode: dns.RcodeToString[a.Rcode], Referral: a.Referral, Scope: a.Scope,
		Answer: texts(a.Answer), Authority: texts(a.Ns), Additional: texts(a.Extra),
	}
	for _, h := range traced.trail.hops {
		x.Steps = append(x.Steps, s.step(h))
		for _, t := range h.traces {
			x.ByClient = x.ByClient || t.View != nil && t.View.Pool.Need(t.Ask.Family) != 0
			if t.Ask.At != nil {
				x.Location = x.Location.with(q.Client, &t.Ask)
			}
		}
	}
	return x
}

// texts returns records as text, in the form of zone files.
func texts(rrs []dns.RR) []string {
	all := make([]string, len(rrs))
	for i, rr := range rrs {
		all[i] = rr.String()
	}
	return all
}

// with returns l, which may be nil, extended by what one choice located: names may need different data about the client.
func (l *Location) with(client netip.Addr, a *pool.Ask) *Location {
	if l == nil {
		l = new(Location)
	}
	client = client.Unmap()
	if network, err := client.Prefix(min(a.Bits, client.BitLen())); err == nil && network.Bits() > l.Network.Bits() {
		l.Network = network
	}
	var codes []string
	for _, code := range a.At {
		if code != "" {
			codes = append(codes, code)
		}
	}
	if len(codes) > len(l.Codes) {
		l.Codes = codes
	}
	return l
}

// step describes one name on the way.
func (s *Snapshot) step(h *hop) Step {
	at := Step{Name: endpoint.TrimDot(h.name), Type: dns.Type(h.rtype).String(), Zone: endpoint.TrimDot(h.zone.Origin()), Again: h.again, Ends: s.whyEnds(h)}
	switch {
	case h.turn != nil && h.turn.Name != h.zone.Origin() && zone.OfType(h.turn.Static, dns.TypeNS) != nil:
		at.Found, at.At, at.Sources = FoundDelegation, endpoint.TrimDot(h.turn.Name), sources(h.zone, h.turn, dns.TypeNS)
	case h.turn != nil:
		at.Found, at.At, at.Sources = FoundDNAME, endpoint.TrimDot(h.turn.Name), sources(h.zone, h.turn, dns.TypeDNAME)
	case h.node == nil:
		at.Found = FoundNothing
	default:
		at.Found, at.At = FoundName, endpoint.TrimDot(h.node.Name)
		if h.node.Name != h.name {
			at.Found = FoundWildcard
		} else if p := h.zone.Uncovered(h.name); p != nil && at.Ends == "" {
			at.Uncovers = p.Message
		}
		s.explainNode(&at, h)
	}
	return at
}

// explainNode adds the node's data.
func (s *Snapshot) explainNode(at *Step, h *hop) {
	n := h.node
	if by := n.Steered.Owner; by != nil {
		owner := status.OwnerOf(by)
		at.Owner = &owner
		at.Losers, at.Inactive = s.losers(n.Name), s.inactive(by.Host)
	}
	if n.Steered.Owner == nil || zone.OfType(n.Static, h.rtype) != nil {
		rtype := h.rtype
		if zone.OfType(n.Static, rtype) == nil {
			rtype = dns.TypeCNAME
		}
		at.Sources = sources(h.zone, n, rtype)
		return
	}
	x := s.explainer(n.Steered.Owner)
	switch data := n.Steered.Data.(type) {
	case *pool.Set:
		at.Answer, at.Attributes = "simple", data.Attributes.Texts()
	case *pool.View:
		at.Answer, at.Attributes = data.Layout(), data.Pool.Attributes.Texts()
	}
	for _, t := range h.traces {
		for _, d := range t.Draws {
			at.Choices = append(at.Choices, choiceOf(t.View.Pool, d))
		}
		at.Addresses = x.judged(t.Judged)
	}
}

// losers returns the objects that want a name's steered data in vain, in the order of Contender.Older.
func (s *Snapshot) losers(name string) (all []Loser) {
	g, ok := s.NameGroups.Get(endpoint.GroupKey(name))
	if !ok {
		return nil
	}
	for _, l := range g.Lost {
		if l.Contender.Host == name {
			all = append(all, Loser{status.OwnerOf(l.Contender), l.Problem().Message})
		}
	}
	return all
}

// inactive returns the objects of a host whose clusters' group is not active, in the order of Contender.Older.
func (s *Snapshot) inactive(host string) (all []Loser) {
	if s.Activity == nil {
		return nil
	}
	g, ok := s.NameGroups.Get(endpoint.GroupKey(host))
	if !ok {
		return nil
	}
	for _, c := range g.Contenders {
		for _, note := range g.Notes[c] {
			if note.Reason == pool.ReasonInactive && c.Host == host {
				all = append(all, Loser{status.OwnerOf(c), strings.TrimPrefix(note.Message, endpoint.TrimDot(host)+": ")})
			}
		}
	}
	return all
}

// kindCorefile is the kind of data that comes from no object.
const kindCorefile = "Corefile"

// sources returns the objects behind the RRset of a type at a node of z, each once; none for data copied from another zone.
func sources(z *zone.Zone, n *zone.Node, rtype uint16) (all []status.Object) {
	if zone.OfType(n.Static, rtype) == nil {
		return nil
	}
	seen := make(map[status.Object]bool)
	for _, r := range n.Records {
		if r.RR != nil && r.RR.Header().Rrtype == rtype {
			of := status.Object{Cluster: r.Record.Cluster, Kind: r.ObjectKind().String(), Name: r.Record.Name}
			if !seen[of] {
				seen[of] = true
				all = append(all, of)
			}
		}
	}
	if all == nil && zone.OfType(z.Fixed[n.Name], rtype) != nil {
		all = []status.Object{{Kind: kindCorefile}}
	}
	slices.SortFunc(all, func(a, b status.Object) int { // Records are in the order of arrival
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Cluster, b.Cluster))
	})
	return all
}

// whyEnds explains why the way ends at a name; "" if it does not.
func (s *Snapshot) whyEnds(h *hop) string {
	switch h.end {
	case endWithheld:
		return s.whyUnread(h)
	case endUnlisted:
		return "a source that could hold the name is not listed yet, so it is not denied"
	case endElsewhere:
		return "the CNAME leads out of the zones served here; the client's resolver follows it, or another plugin if the query has RD set"
	case endSignedApart:
		return "the CNAME leads into a zone signed with another key; the client's resolver follows it"
	case endClosed:
		return "every target for the client is down, and the host fails closed; the answer is empty"
	case endLoop:
		return "the CNAMEs form a loop, or are more than 16"
	case endNone:
		if h.turn == nil && (h.rtype == dns.TypeA || h.rtype == dns.TypeAAAA) {
			if p := h.zone.WhyUncovered(h.name); p != nil {
				return p.Message
			}
		}
	}
	return ""
}

// whyUnread names the owner, of the name or of the zone, that cannot be read.
func (s *Snapshot) whyUnread(h *hop) string {
	if h.zone.Unread != nil {
		return h.zone.UnreadZone().Message
	}
	by := h.node.Steered.Owner
	return endpoint.UnreadProblem(by.Host, by.Kind, by.By).Message
}
