package inspect

import (
	"cmp"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// deadEnd is why a name has no address; zero if it has one, or other servers must be asked. at is the end of the search,
// without a final dot.
type deadEnd struct {
	how way
	at  string
}

// way is how a search ends without an address.
type way uint8

const (
	wayOn       way = iota // it does not, or it is unknown
	wayNoName              // there is no such name
	wayNoData              // it has neither A nor AAAA
	wayInCircle            // CNAMEs lead back, or are too many
)

// String says what is wrong, in a sentence without a full stop.
func (d deadEnd) String() string {
	switch d.how {
	case wayNoName:
		return d.at + " does not exist"
	case wayNoData:
		return d.at + " has no address"
	case wayInCircle:
		return "the CNAMEs from " + d.at + " form a loop, or are more than 16"
	}
	return ""
}

// alias looks at a name that is nothing but an alias.
func (c *checker) alias(n *records.NameState) {
	d := c.end(n.Name + ".")
	if d.how == wayOn || d.how != wayInCircle && forOthers(n) && !c.missed(n, d) {
		return
	}
	c.add(SeverityError, ReasonLeadsNowhere, c.writer(n), n.Name, "it leads nowhere: %s", d)
}

// writer returns the object that contains an alias: the first of the Records of a name, which share it; nil for none.
func (c *checker) writer(n *records.NameState) *records.Object {
	if n.Answer == "" && len(n.Sources) > 0 {
		return &n.Sources[0]
	}
	return n.Owner
}

// forOthers reports whether an alias may serve other data than addresses: a policy's does not.
func forOthers(n *records.NameState) bool {
	return n.Owner == nil || n.Owner.Kind != kindPolicy
}

// missed reports whether an alias for any data ends without some: it has none, and its name is not one such as
// _acme-challenge, where data come and go.
func (c *checker) missed(n *records.NameState, d deadEnd) bool {
	if strings.HasPrefix(n.Name, "_") || strings.Contains(n.Name, "._") {
		return false
	}
	t, ok := c.snapshot.Tree(d.at + ".")
	return !ok || !slices.ContainsFunc(t.Types, func(rtype string) bool { return rtype != "SOA" && rtype != "NS" })
}

// members looks at a name's hostname members.
func (c *checker) members(t *records.Tree) {
	var dead []string
	for _, m := range membersOf(t) {
		if isHostname(m) {
			if d := c.end(m.Member + "."); d.how != wayOn {
				dead = withOnce(dead, d.String())
			}
		}
	}
	switch {
	case len(dead) == 0:
	case c.end(t.Name+".").how != wayOn:
		c.add(SeverityError, ReasonLeadsNowhere, t.Owner, t.Name, "all its members lead nowhere: %s", api.Some(dead, ", ", shown))
	default:
		c.add(SeverityWarning, ReasonLeadsNowhere, t.Owner, t.Name, "members of it lead nowhere: %s", api.Some(dead, ", ", shown))
	}
}

// end follows a name, with its final dot, to its end, each name once.
func (c *checker) end(name string) deadEnd {
	d, known := c.ends[name]
	if !known {
		c.ends[name] = deadEnd{wayInCircle, trim(name)} // for names that lead back to it
		d = c.follow(name)
		c.ends[name] = d
	}
	return d
}

func (c *checker) follow(name string) (first deadEnd) {
	if t, ok := c.snapshot.Tree(name); ok && len(t.Groups) > 0 && t.Hidden == "" {
		return c.poolEnd(name, t)
	}
	for _, rtype := range [...]uint16{dns.TypeA, dns.TypeAAAA} {
		d := c.ask(name, rtype)
		if d.how == wayOn {
			return d
		}
		first = cmp.Or(first, d)
	}
	return first
}

// poolEnd returns the end of a name's members: nowhere if none has an address.
func (c *checker) poolEnd(name string, t *records.Tree) (first deadEnd) {
	for _, m := range membersOf(t) {
		if !isHostname(m) {
			c.ends[name] = deadEnd{} // whatever the others have
			return deadEnd{}
		}
	}
	for _, m := range membersOf(t) {
		d := c.end(m.Member + ".")
		if d.how == wayOn {
			return d
		}
		first = cmp.Or(first, d)
	}
	return first
}

// ask asks for addresses of one family. A name that leads to a choice of members ends as they do together, whichever
// this answer drew.
func (c *checker) ask(name string, rtype uint16) deadEnd {
	z := c.snapshot.Zone(name)
	if z == nil {
		return deadEnd{} // others answer it
	}
	var a records.Answer
	x := c.snapshot.Explain(z, &records.Query{Name: name, Owner: name, Type: rtype}, &a)
	for i := range x.Steps {
		if at := x.Steps[i].At + "."; len(x.Steps[i].Choices) > 0 && at != name {
			return c.end(at)
		}
	}
	last := &x.Steps[len(x.Steps)-1]
	switch {
	case a.Unlisted || a.Referral:
		return deadEnd{} // unknown, or others answer
	case a.Rcode == dns.RcodeServerFailure:
		return deadEnd{wayInCircle, trim(name)}
	case last.Found == records.FoundNothing: // at an apex, the answer is NODATA for that too
		return deadEnd{wayNoName, last.Name}
	case slices.ContainsFunc(a.Ns, func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeSOA }):
		return deadEnd{wayNoData, last.Name}
	}
	return deadEnd{}
}
