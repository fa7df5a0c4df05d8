package inspect

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records"
)

// Reply is what another server has answered to a question.
type Reply struct {
	Rcode  string
	Answer []dns.RR
	// Authoritative is true where the TTLs are those of the zone, and not what a cache has left of them.
	Authoritative bool
	// Subnet is true where the reply says for which client's network it is (RFC 7871).
	Subnet bool
}

// Comparison is what differs between the answers of another server and ours.
type Comparison struct {
	Server string `json:"server"`
	// Asked is how many answers were compared, and Same how many of them were the same: an answer that
	// some draw gives here is.
	Asked int `json:"asked"`
	Same  int `json:"same"`
	// Differences are the answers that differ, and TTLs those that are the same but for how long they may be
	// kept; each with the clients of whom it is true.
	Differences []Difference `json:"differences"`
	TTLs        []Difference `json:"ttls"`
	// Unanswered is how many questions got no answer.
	Unanswered int `json:"unanswered,omitempty"`
	// Blind is true where the other server has never said for which client's network an answer is.
	Blind bool `json:"blind,omitempty"`

	subnets bool
	index   map[string]int
}

// Difference is one way in which answers differ, for one name and type.
type Difference struct {
	Name string         `json:"name"`
	Type string         `json:"type"`
	Kind DifferenceKind `json:"kind"`
	// Clients are those of whom it is true; empty where nobody was named.
	Clients []Place `json:"clients,omitempty"`
	Here    Outcome `json:"here"`
	There   Outcome `json:"there"`
	// Why says where it comes from, a sentence each.
	Why []string `json:"why"`
}

// DifferenceKind says what differs.
type DifferenceKind string

// The kinds of differences.
const (
	DiffersUnserved  DifferenceKind = "unserved"  // the other server refuses, or fails
	DiffersNotHere   DifferenceKind = "not-here"  // the name does not exist here
	DiffersNotThere  DifferenceKind = "not-there" // the name does not exist there
	DiffersNoData    DifferenceKind = "no-data"   // one of them has nothing of the type
	DiffersAddresses DifferenceKind = "addresses" // other addresses
	DiffersData      DifferenceKind = "data"      // other data of another type, or another alias
	DiffersTTL       DifferenceKind = "ttl"       // the same data, to be kept longer or shorter
)

// Outcome is where an answer ends.
type Outcome struct {
	Rcode string `json:"rcode"`
	// Answers are the sets of data that it may end with, each in order: addresses, or the text of records; one
	// that ends in an alias has "CNAME" and its name. Here there may be several, one for each member that
	// may be drawn.
	Answers [][]string `json:"answers,omitempty"`
	// TTL is the lowest of the answer's, in seconds.
	TTL uint32 `json:"ttl"`
}

// NewComparison returns one that holds nothing yet.
func NewComparison(server string) *Comparison {
	return &Comparison{Server: server, Differences: []Difference{}, TTLs: []Difference{}, index: make(map[string]int)}
}

// Add compares one answer. x is ours to the question, for the very client; of is nil where no client was
// named. trees are those of the names at which x has a choice: what Tree says of them.
func (c *Comparison) Add(of *Place, x *records.Explanation, trees map[string]*records.Tree, r *Reply) {
	c.Asked++
	if of != nil && r.Rcode == dns.RcodeToString[dns.RcodeSuccess] {
		c.subnets = c.subnets || r.Subnet
	}
	p := newPair(x, trees, r)
	kind := p.kind()
	if kind == "" {
		c.Same++
		if r.Authoritative && len(p.there.Answers) > 0 && p.here.TTL != p.there.TTL {
			c.keep(&c.TTLs, of, Difference{Name: x.Name, Type: x.Type, Kind: DiffersTTL, Here: p.here, There: p.there, Why: []string{}})
		}
		return
	}
	c.keep(&c.Differences, of, Difference{Name: x.Name, Type: x.Type, Kind: kind, Here: p.here, There: p.there, Why: p.why(kind, of != nil && !r.Subnet)})
}

// keep adds a difference, or its client to one that is the same.
func (c *Comparison) keep(all *[]Difference, of *Place, d Difference) {
	key := fmt.Sprint(d.Name, "\x00", d.Type, d.Kind, d.Here, d.There, d.Why)
	i, ok := c.index[key]
	if !ok {
		i = len(*all)
		c.index[key] = i
		*all = append(*all, d)
	}
	if of != nil {
		(*all)[i].Clients = append((*all)[i].Clients, *of)
	}
}

// Fail counts a question that got no answer.
func (c *Comparison) Fail() { c.Unanswered++ }

// Finish puts what was found in order. Nothing may be added after it.
func (c *Comparison) Finish() {
	c.Blind = !c.subnets && slices.ContainsFunc(c.Differences, func(d Difference) bool { return len(d.Clients) > 0 })
	for _, all := range [][]Difference{c.Differences, c.TTLs} {
		for i := range all {
			slices.SortFunc(all[i].Clients, func(a, b Place) int { return a.Network.Addr().Compare(b.Network.Addr()) })
		}
		slices.SortStableFunc(all, func(a, b Difference) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type), cmp.Compare(len(b.Clients), len(a.Clients)), cmp.Compare(fmt.Sprint(a.There), fmt.Sprint(b.There)))
		})
	}
}

// pair is both answers to one question.
type pair struct {
	x           *records.Explanation
	trees       map[string]*records.Tree
	here, there Outcome
}

func newPair(x *records.Explanation, trees map[string]*records.Tree, r *Reply) *pair {
	p := &pair{x: x, trees: trees}
	p.there = outcome(x.Name, x.Type, r.Rcode, r.Answer)
	var rrs []dns.RR
	for _, text := range x.Answer {
		if rr, err := dns.NewRR(text); err == nil && rr != nil {
			rrs = append(rrs, rr)
		}
	}
	p.here = outcome(x.Name, x.Type, x.Rcode, rrs)
	for _, other := range p.otherDraws() {
		if !slices.ContainsFunc(p.here.Answers, func(a []string) bool { return slices.Equal(a, other) }) {
			p.here.Answers = append(p.here.Answers, other)
		}
	}
	slices.SortFunc(p.here.Answers, slices.Compare[[]string])
	return p
}

// mostAliases is how many CNAMEs of an answer are followed: more than any resolver does.
const mostAliases = 64

// outcome returns where an answer ends, which may hold its records in any order.
func outcome(name, rtype, rcode string, rrs []dns.RR) Outcome {
	o := Outcome{Rcode: rcode}
	first := true
	lower := func(ttl uint32) {
		if first || ttl < o.TTL {
			o.TTL, first = ttl, false
		}
	}
	at, alias := dns.Fqdn(name), ""
	for range mostAliases {
		var data []string
		next := ""
		for _, rr := range rrs {
			h := rr.Header()
			if !strings.EqualFold(h.Name, at) {
				continue
			}
			switch {
			case dns.Type(h.Rrtype).String() == rtype:
				lower(h.Ttl)
				data = append(data, dataText(rr))
			case h.Rrtype == dns.TypeCNAME:
				lower(h.Ttl)
				next = strings.ToLower(rr.(*dns.CNAME).Target)
			}
		}
		if data != nil {
			slices.Sort(data)
			o.Answers = [][]string{slices.Compact(data)}
			return o
		}
		if next == "" {
			break
		}
		at, alias = next, next
	}
	if alias != "" && rcode == dns.RcodeToString[dns.RcodeSuccess] {
		o.Answers = [][]string{{"CNAME " + trim(alias)}}
	}
	return o
}

// dataText returns the data of a record: an address as it is usually written, all else as in a zone file, with names
// in lower case.
func dataText(rr dns.RR) string {
	text := strings.TrimPrefix(rr.String(), rr.Header().String())
	if a, err := netip.ParseAddr(text); err == nil {
		return a.String()
	}
	switch rr.(type) {
	case *dns.CNAME, *dns.NS, *dns.PTR, *dns.MX, *dns.SRV, *dns.DNAME, *dns.SOA:
		return strings.ToLower(text)
	}
	return text
}

// choice returns the last step in which members were drawn from, and what was; nil for none.
func (p *pair) choice() (*records.Step, *records.Choice) {
	for i := len(p.x.Steps) - 1; i >= 0; i-- {
		if s := &p.x.Steps[i]; len(s.Choices) > 0 {
			return s, &s.Choices[len(s.Choices)-1]
		}
	}
	return nil, nil
}

// otherDraws returns what the answer would end with if the draw had fallen on each of the other members that share
// the clients.
func (p *pair) otherDraws() (all [][]string) {
	s, c := p.choice()
	if s == nil || s != &p.x.Steps[len(p.x.Steps)-1] {
		return nil // the name that was drawn leads on to another one
	}
	for i := range c.Members {
		m := &c.Members[i]
		if m.Verdict != records.VerdictNotDrawn || m.Share == 0 {
			continue
		}
		if set := p.best(p.member(s, m.Member)); len(set) > 0 {
			all = append(all, set)
		}
	}
	return all
}

// member returns what a tree says of a member; nil for nothing.
func (p *pair) member(s *records.Step, name string) *records.TreeMember {
	t := p.trees[s.At]
	if t == nil {
		return nil
	}
	for i := range t.Groups {
		for j := range t.Groups[i].Members {
			if m := &t.Groups[i].Members[j]; m.Member == name {
				return m
			}
		}
	}
	return nil
}

// best returns the addresses that a member answers with: those of its best class (rule 4.6).
func (p *pair) best(m *records.TreeMember) (set []string) {
	if m == nil {
		return nil
	}
	class := ""
	for _, a := range m.Addresses {
		text := a.Address
		if addr, err := netip.ParseAddr(text); err != nil {
			text = "CNAME " + text
		} else if addr.Is4() != (p.x.Type == "A") {
			continue
		}
		switch order := records.CompareClasses(a.Class, class); {
		case class == "" || order < 0:
			class, set = a.Class, []string{text}
		case order == 0:
			set = append(set, text)
		}
	}
	slices.Sort(set)
	return set
}

// kind says what differs; "" for nothing.
func (p *pair) kind() DifferenceKind {
	const fine, absent, refused = "NOERROR", "NXDOMAIN", "REFUSED"
	here, there := p.here.Rcode, p.there.Rcode
	switch {
	case there != fine && here == there, here == refused && there == absent: // it is in no zone that is served here
		return ""
	case there != fine && there != absent:
		return DiffersUnserved
	case here == absent && there == fine:
		return DiffersNotHere
	case here == fine && there == absent:
		return DiffersNotThere
	case here != there: // such as SERVFAIL here
		return DiffersNotHere
	case len(p.here.Answers) == 0 && len(p.there.Answers) == 0:
		return ""
	case len(p.here.Answers) == 0 || len(p.there.Answers) == 0:
		return DiffersNoData
	case slices.ContainsFunc(p.here.Answers, func(a []string) bool { return slices.Equal(a, p.there.Answers[0]) }):
		return ""
	case isAddress(p.here.Answers[0][0]) && isAddress(p.there.Answers[0][0]):
		return DiffersAddresses
	}
	return DiffersData
}

func isAddress(text string) bool { _, err := netip.ParseAddr(text); return err == nil }
