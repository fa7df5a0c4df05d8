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
	// Also are the further types of a name that one of the two has not at all, where the other has data of them.
	Also []TypeOutcome `json:"also,omitempty"`
}

// TypeOutcome is where the answer for a type ends, of the one that has the name.
type TypeOutcome struct {
	Type string `json:"type"`
	Outcome
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
	DiffersTTL       DifferenceKind = "ttl"       // the same data, to be kept longer or shorter
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
	return &Comparison{Server: server, Differences: []Difference{}, TTLs: []Difference{}, index: make(map[[sha256.Size]byte]int)}
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
	ttl        bool // the TTLs differ, and count
	cached     bool // the TTL there is what a cache has left of it
}

// CompareReply compares one answer. x is ours to the question, for the very client; named says whether one was named.
func CompareReply(x *records.Explanation, h *Here, r *Reply, named bool) *Compared {
	p := newPair(x, h, r)
	c := &Compared{Difference: Difference{Name: x.Name, Type: x.Type, Kind: p.kind(), Here: p.here, There: p.there, Why: []string{}}}
	c.cached = !r.Authoritative
	c.blind, c.subnet = named && !r.Subnet, named && r.Subnet && r.Rcode == dns.RcodeToString[dns.RcodeSuccess]
	if c.Kind != "" {
		c.Why = p.why(c.Kind, c.blind)
	}
	c.ttl = c.Kind == "" && r.Authoritative && len(p.there.Answers) > 0 && p.same.timed && p.here.TTL != p.there.TTL
	return c
}

// Add counts what came of one answer; of is nil where no client was named.
func (c *Comparison) Add(of *Place, d *Compared) {
	c.Asked++
	c.subnets = c.subnets || d.subnet
	switch found := d.Difference; {
	case d.Kind != "":
		c.keep(&c.Differences, of, found, d.cached)
		return
	case d.ttl:
		found.Kind = DiffersTTL
		c.keep(&c.TTLs, of, found, false)
	}
	c.Same++
}

// keep adds a difference, or its client to one that is the same. What a cache has left of a TTL makes no other one: the
// longest is told.
func (c *Comparison) keep(all *[]Difference, of *Place, d Difference, cached bool) {
	there := d.There
	if cached {
		there.TTL = 0
	}
	text := fmt.Append(nil, d.Name, "\x00", d.Type, d.Kind, d.Here, there, cached, d.Why)
	key := sha256.Sum256(text)
	i, ok := c.index[key]
	if !ok {
		i = len(*all)
		c.index[key] = i
		*all = append(*all, d)
		c.kept += len(text)
	}
	told := &(*all)[i]
	told.There.TTL = max(told.There.TTL, d.There.TTL)
	if of != nil {
		told.Clients = append(told.Clients, *of)
	}
}

// mostKept is how many octets of differences are kept: of some hundred thousand usual ones, or of two thousand of the longest
// answers that there are.
const mostKept = 128 << 20

// Full returns an error where so much differs that the comparison should end.
func (c *Comparison) Full() error {
	if c.kept < mostKept {
		return nil
	}
	return fmt.Errorf("what differs has more than %d MiB: compare fewer names, or for fewer clients", mostKept>>20)
}

// Fail counts a question that got no answer, and why.
func (c *Comparison) Fail(why error) { c.Unanswered, c.LastError = c.Unanswered+1, why.Error() }

// Finish puts what was found in order. Nothing may be added after it.
func (c *Comparison) Finish() {
	c.Blind = !c.subnets && slices.ContainsFunc(c.Differences, func(d Difference) bool { return len(d.Clients) > 0 })
	defer func() { c.Differences = namesOnce(c.Differences) }()
	for _, all := range [][]Difference{c.Differences, c.TTLs} {
		for i := range all {
			slices.SortFunc(all[i].Clients, func(a, b Place) int { return a.Network.Addr().Compare(b.Network.Addr()) })
		}
		slices.SortStableFunc(all, func(a, b Difference) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type), cmp.Compare(len(b.Clients), len(a.Clients)),
				cmp.Compare(fmt.Sprint(a.There), fmt.Sprint(b.There)))
		})
	}
	tellParts(c.Differences)
}

// namesOnce returns differences, in order, with those of a name that is missing told once, and not for each type.
func namesOnce(all []Difference) []Difference {
	once := all[:0]
	first := 0 // of the name
	for _, d := range all {
		if len(once) == first || once[first].Name != d.Name {
			first = len(once)
		}
		i := slices.IndexFunc(once[first:], func(o Difference) bool {
			return o.Kind == d.Kind && o.missing() && d.missing() &&
				slices.EqualFunc(o.Clients, d.Clients, func(a, b Place) bool { return a.Network == b.Network })
		})
		if i < 0 {
			once = append(once, d)
			continue
		}
		told := &once[first+i]
		switch has, had := d.has(), told.has(); {
		case len(has.Answers) == 0:
		case len(had.Answers) == 0:
			*told = d
		case slices.ContainsFunc(told.Also, func(o TypeOutcome) bool { return o.Type == d.Type }) || told.Type == d.Type: // for other clients
			once = append(once, d)
		default:
			told.Also = append(told.Also, TypeOutcome{d.Type, *has})
		}
	}
	return once
}

// missing reports whether one of the two has not the name at all.
func (d *Difference) missing() bool {
	switch d.Kind {
	case DiffersNotHere:
		return (d.Here.Rcode == rcodeAbsent || d.Here.Rcode == rcodeRefused) && len(d.Here.Answers) == 0
	case DiffersNotThere:
		return len(d.There.Answers) == 0
	}
	return false
}

// has returns the outcome of the one that has the name.
func (d *Difference) has() *Outcome {
	if d.Kind == DiffersNotHere {
		return &d.There
	}
	return &d.Here
}
