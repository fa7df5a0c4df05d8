package inspect

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records"
)

// Reply is another server's answer to a question.
type Reply struct {
	Rcode  string
	Answer []dns.RR
	// Authority has the NS records of a referral, and the SOA record of a negative answer.
	Authority []dns.RR
	// Subnet is true if the reply names a client network (RFC 7871).
	Subnet bool
}

// Comparison is what differs between another server's answers and ours.
type Comparison struct {
	Server string `json:"server"`
	// Asked is how many answers were compared, and Same how many were equal to an answer of some draw
	// here.
	Asked int `json:"asked"`
	Same  int `json:"same"`
	// Differences are the answers that differ by more than their TTLs, each with its clients.
	Differences []Difference `json:"differences"`
	// Unanswered is how many questions got no answer.
	Unanswered int `json:"unanswered,omitempty"`
	// LastError is why the last of these got none. Ended is why the comparison ended early.
	LastError string `json:"lastError,omitempty"`
	Ended     string `json:"ended,omitempty"`
	// Blind is true if the other server never named a client network.
	Blind bool `json:"blind,omitempty"`

	subnets bool
	index   map[[sha256.Size]byte]int
	kept    int // octets of the texts of all differences
}

// Difference is one kind of difference, for one name and type.
type Difference struct {
	Name string         `json:"name"`
	Type string         `json:"type"`
	Kind DifferenceKind `json:"kind"`
	// Clients are those that it concerns; empty if none was named.
	Clients []Place `json:"clients,omitempty"`
	Here    Outcome `json:"here"`
	There   Outcome `json:"there"`
	// Why explains it, a sentence each.
	Why []string `json:"why"`
}

// DifferenceKind says what differs.
type DifferenceKind string

// The kinds of differences.
const (
	DiffersUnserved  DifferenceKind = "unserved"  // the other server refuses, or fails
	DiffersNotHere   DifferenceKind = "not-here"  // the name does not exist here, or its answer is an error
	DiffersNotThere  DifferenceKind = "not-there" // the name does not exist there
	DiffersNoData    DifferenceKind = "no-data"   // one side has no data of the type
	DiffersAddresses DifferenceKind = "addresses" // other addresses
	DiffersData      DifferenceKind = "data"      // other data of another type, or another alias
)

// Outcome is the end of an answer.
type Outcome struct {
	Rcode string `json:"rcode"`
	// Answers are the sets of data that it may end with, each sorted: addresses, or the text of records; one that ends in
	// an alias has "CNAME" and its name, a referral "NS" and the servers' names. Ours may have several, one for each
	// member that may be drawn.
	Answers [][]string `json:"answers,omitempty"`
	// TTL is the lowest of the answer's, in seconds.
	TTL uint32 `json:"ttl"`

	cut string // of a referral: the zone of the other servers
}

// NewComparison returns an empty one.
func NewComparison(server string) *Comparison {
	return &Comparison{Server: server, Differences: []Difference{}, index: make(map[[sha256.Size]byte]int)}
}

// Here answers a comparison's further questions about our side. Both return nil for none.
type Here struct {
	// Tree returns the tree of a name. It is called often for one name.
	Tree func(name string) *records.Tree
	// Explain explains another name, for the same type and client.
	Explain func(name string) *records.Explanation
}

// Compared is the result of comparing one answer.
type Compared struct {
	Difference      // the Kind is "" if equal
	blind      bool // a client was named, and the reply names no network
	subnet     bool
}

// CompareReply compares one answer. x is ours to the question, for the same client; named says whether one was named.
func CompareReply(x *records.Explanation, h *Here, r *Reply, named bool) *Compared {
	p := newPair(x, h, r)
	c := &Compared{Difference: Difference{Name: x.Name, Type: x.Type, Kind: p.kind(), Here: p.here, There: p.there, Why: []string{}}}
	c.blind, c.subnet = named && !r.Subnet, named && r.Subnet && r.Rcode == dns.RcodeToString[dns.RcodeSuccess]
	if c.Kind != "" {
		c.Why = p.why(c.Kind, c.blind)
	}
	return c
}

// Add counts the result of one answer; of is nil if no client was named.
func (c *Comparison) Add(of *Place, d *Compared) {
	c.Asked++
	c.subnets = c.subnets || d.subnet
	if d.Kind == "" {
		c.Same++
	} else {
		c.keep(of, d.Difference)
	}
}

// keep adds a difference, or its client to one that differs only in the TTL there: the longest is reported.
func (c *Comparison) keep(of *Place, d Difference) {
	there := d.There
	there.TTL = 0
	text := fmt.Append(nil, d.Name, "\x00", d.Type, d.Kind, d.Here, there, d.Why)
	key := sha256.Sum256(text)
	i, ok := c.index[key]
	if !ok {
		i = len(c.Differences)
		c.index[key] = i
		c.Differences = append(c.Differences, d)
		c.kept += len(text)
	}
	told := &c.Differences[i]
	told.There.TTL = max(told.There.TTL, d.There.TTL)
	if of != nil {
		told.Clients = append(told.Clients, *of)
	}
}

// mostKept bounds the differences kept, in octets: some hundred thousand usual ones, or two thousand of the longest answers.
const mostKept = 128 << 20

// Full returns an error if too much differs to continue.
func (c *Comparison) Full() error {
	if c.kept < mostKept {
		return nil
	}
	return fmt.Errorf("the differences have more than %d MiB; compare fewer names, or for fewer clients", mostKept>>20)
}

// Fail counts a question that got no answer, and why.
func (c *Comparison) Fail(why error) { c.Unanswered, c.LastError = c.Unanswered+1, why.Error() }

// Finish sorts the results. Nothing may be added after it.
func (c *Comparison) Finish() {
	c.Blind = !c.subnets && slices.ContainsFunc(c.Differences, func(d Difference) bool { return len(d.Clients) > 0 })
	for _, d := range c.Differences {
		slices.SortFunc(d.Clients, func(a, b Place) int { return a.Network.Addr().Compare(b.Network.Addr()) })
	}
	slices.SortStableFunc(c.Differences, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type), cmp.Compare(len(b.Clients), len(a.Clients)),
			cmp.Compare(fmt.Sprint(a.There), fmt.Sprint(b.There)))
	})
}
