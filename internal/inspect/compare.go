package inspect

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records"
)

// Reply is what another server has answered to a question.
type Reply struct {
	Rcode  string
	Answer []dns.RR
	// Authority has the NS records of a referral, and the SOA record of an answer without data.
	Authority []dns.RR
	// Subnet is true if the reply says for which client's network it is (RFC 7871).
	Subnet bool
}

// Comparison is what differs between the answers of another server and ours.
type Comparison struct {
	Server string `json:"server"`
	// Asked is how many answers were compared, and Same how many of them were the same: an answer that
	// some draw gives here is.
	Asked int `json:"asked"`
	Same  int `json:"same"`
	// Differences are the answers that differ by more than their TTLs, each with the clients of whom it is true.
	Differences []Difference `json:"differences"`
	// Unanswered is how many questions got no answer.
	Unanswered int `json:"unanswered,omitempty"`
	// LastError is why the last of these got none. Ended is why the comparison ended before its end.
	LastError string `json:"lastError,omitempty"`
	Ended     string `json:"ended,omitempty"`
	// Blind is true if the other server has never said for which client's network an answer is.
	Blind bool `json:"blind,omitempty"`

	subnets bool
	index   map[[sha256.Size]byte]int
	kept    int // octets of the texts of all differences
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
	DiffersNotHere   DifferenceKind = "not-here"  // the name does not exist here, or its answer here is an error
	DiffersNotThere  DifferenceKind = "not-there" // the name does not exist there
	DiffersNoData    DifferenceKind = "no-data"   // one of them has nothing of the type
	DiffersAddresses DifferenceKind = "addresses" // other addresses
	DiffersData      DifferenceKind = "data"      // other data of another type, or another alias
)

// Outcome is where an answer ends.
type Outcome struct {
	Rcode string `json:"rcode"`
	// Answers are the sets of data that it may end with, each in order: addresses, or the text of records; one
	// that ends in an alias has "CNAME" and its name, and a referral "NS" and the names of the servers. Here there may be
	// several, one for each member that may be drawn.
	Answers [][]string `json:"answers,omitempty"`
	// TTL is the lowest of the answer's, in seconds.
	TTL uint32 `json:"ttl"`

	cut string // of a referral: where the zone of the other servers begins
}

// NewComparison returns one that holds nothing yet.
func NewComparison(server string) *Comparison {
	return &Comparison{Server: server, Differences: []Difference{}, index: make(map[[sha256.Size]byte]int)}
}

// Here answers what a comparison has to know of our side besides an explanation. Both return nil for what there is not.
type Here struct {
	// Tree is what a name is made of. It is called often for one name.
	Tree func(name string) *records.Tree
	// Explain explains another name, for the same type and client.
	Explain func(name string) *records.Explanation
}

// Compared is what came of comparing one answer.
type Compared struct {
	Difference      // the Kind is "" for the same
	blind      bool // a client was named, and the reply is for nobody's network
	subnet     bool
}

// CompareReply compares one answer. x is ours to the question, for the very client; named says whether one was named.
func CompareReply(x *records.Explanation, h *Here, r *Reply, named bool) *Compared {
	p := newPair(x, h, r)
	c := &Compared{Difference: Difference{Name: x.Name, Type: x.Type, Kind: p.kind(), Here: p.here, There: p.there, Why: []string{}}}
	c.blind, c.subnet = named && !r.Subnet, named && r.Subnet && r.Rcode == dns.RcodeToString[dns.RcodeSuccess]
	if c.Kind != "" {
		c.Why = p.why(c.Kind, c.blind)
	}
	return c
}

// Add counts what came of one answer; of is nil if no client was named.
func (c *Comparison) Add(of *Place, d *Compared) {
	c.Asked++
	c.subnets = c.subnets || d.subnet
	if d.Kind == "" {
		c.Same++
	} else {
		c.keep(of, d.Difference)
	}
}

// keep adds a difference, or its client to one that is the same but for the TTL there: the longest is told.
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

// mostKept is how many octets of differences are kept: of some hundred thousand usual ones, or of two thousand of the longest
// answers that there are.
const mostKept = 128 << 20

// Full returns an error if so much differs that the comparison should end.
func (c *Comparison) Full() error {
	if c.kept < mostKept {
		return nil
	}
	return fmt.Errorf("the differences have more than %d MiB; compare fewer names, or for fewer clients", mostKept>>20)
}

// Fail counts a question that got no answer, and why.
func (c *Comparison) Fail(why error) { c.Unanswered, c.LastError = c.Unanswered+1, why.Error() }

// Finish puts what was found in order. Nothing may be added after it.
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
