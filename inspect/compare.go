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
	// LastError is why the last of these got none. Ended is why the comparison ended before its end.
	LastError string `json:"lastError,omitempty"`
	Ended     string `json:"ended,omitempty"`
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

// Here answers what a comparison has to know of our side besides an explanation. Both return nil for what there is not.
type Here struct {
	// Tree is what a name is made of.
	Tree func(name string) *records.Tree
	// Explain explains another name, for the same type and client.
	Explain func(name string) *records.Explanation
}

// Compared is what came of comparing one answer.
type Compared struct {
	kind        DifferenceKind // "" for the same
	blind       bool           // a client was named, and the reply is for nobody's network
	subnet      bool
	ttl         bool // the TTLs differ, and count
	name, rtype string
	here, there Outcome
	why         []string
}

// CompareReply compares one answer. x is ours to the question, for the very client; named says whether one was named.
func CompareReply(x *records.Explanation, h *Here, r *Reply, named bool) *Compared {
	p := newPair(x, h, r)
	c := &Compared{kind: p.kind(), name: x.Name, rtype: x.Type, here: p.here, there: p.there, why: []string{}}
	c.blind, c.subnet = named && !r.Subnet, named && r.Subnet && r.Rcode == dns.RcodeToString[dns.RcodeSuccess]
	if c.kind != "" {
		c.why = p.why(c.kind, c.blind)
	}
	c.ttl = c.kind == "" && r.Authoritative && len(p.there.Answers) > 0 && p.here.TTL != p.there.TTL
	return c
}

// Add counts what came of one answer; of is nil where no client was named.
func (c *Comparison) Add(of *Place, d *Compared) {
	c.Asked++
	c.subnets = c.subnets || d.subnet
	found := Difference{Name: d.name, Type: d.rtype, Kind: d.kind, Here: d.here, There: d.there, Why: d.why}
	switch {
	case d.kind != "":
		c.keep(&c.Differences, of, found)
		return
	case d.ttl:
		found.Kind = DiffersTTL
		c.keep(&c.TTLs, of, found)
	}
	c.Same++
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

// Fail counts a question that got no answer, and why.
func (c *Comparison) Fail(why error) { c.Unanswered, c.LastError = c.Unanswered+1, why.Error() }

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
	sees        *Here
	here, there Outcome
}

func newPair(x *records.Explanation, h *Here, r *Reply) *pair {
	p := &pair{x: x, sees: h, there: outcome(x.Name, x.Type, r.Rcode, r.Answer), here: ours(x)}
	p.addDraws(x, 0)
	slices.SortFunc(p.here.Answers, slices.Compare[[]string])
	return p
}

// ours returns where our answer ends.
func ours(x *records.Explanation) Outcome { return outcome(x.Name, x.Type, x.Rcode, AnswerOf(x)) }

// AnswerOf returns the records of an explanation's answer.
func AnswerOf(x *records.Explanation) (rrs []dns.RR) {
	for _, text := range x.Answer {
		if rr, err := dns.NewRR(text); err == nil && rr != nil {
			rrs = append(rrs, rr)
		}
	}
	return rrs
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
	if alias != "" && (rcode == dns.RcodeToString[dns.RcodeSuccess] || rcode == dns.RcodeToString[dns.RcodeNameError]) {
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

// kind says what differs; "" for nothing.
func (p *pair) kind() DifferenceKind {
	const fine, absent, refused = "NOERROR", "NXDOMAIN", "REFUSED"
	here, there := p.here.Rcode, p.there.Rcode
	answers := (here == fine || here == absent) && (there == fine || there == absent) && len(p.there.Answers) > 0
	switch {
	// An alias may lead to a name that does not exist, by one draw and not by another.
	case answers && slices.ContainsFunc(p.here.Answers, func(a []string) bool { return slices.Equal(a, p.there.Answers[0]) }):
		return ""
	case there != fine && here == there && !answers, here == refused && there == absent: // it is in no zone that is served here
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
	case isAddress(p.here.Answers[0][0]) && isAddress(p.there.Answers[0][0]):
		return DiffersAddresses
	}
	return DiffersData
}

func isAddress(text string) bool { _, err := netip.ParseAddr(text); return err == nil }
