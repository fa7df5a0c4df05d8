package inspect

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// The reasons of findings about a delegation.
const (
	ReasonParentAway   = "ParentAway"   // a server of the parent does not answer
	ReasonNotDelegated = "NotDelegated" // the parent has no delegation
	ReasonNotSeen      = "NotSeen"      // the parent's servers also serve the zone, and so do not show the delegation
	ReasonParentNS     = "ParentNS"     // the parent names other servers than the zone does
	ReasonGlue         = "Glue"         // addresses at the parent are missing, or differ
	ReasonNoAddress    = "NoAddress"    // a server's name has no address
	ReasonServerAway   = "ServerAway"   // a name server does not answer
	ReasonLame         = "Lame"         // a name server does not answer for the zone
	ReasonServerNS     = "ServerNS"     // a name server names other servers
	ReasonSerials      = "Serials"      // name servers have different serials
	ReasonOneServer    = "OneServer"    // there is only one address
	ReasonDS           = "DS"           // DS records and keys do not match
	ReasonNoDS         = "NoDS"         // the zone is signed, but the parent has no DS
)

// Delegation is what was found about one zone: at its parent, and at its name servers. Names are in lower case with a
// final dot.
type Delegation struct {
	Zone string
	// NS are the zone's name servers here, and Addresses those of the ones in the zone.
	NS        []string
	Addresses map[string][]netip.Addr
	// Parents are the replies of the parent's servers.
	Parents []ParentReply
	// Servers are the name servers asked: all that the parent or the zone names, at each address.
	Servers []ServerReply
	// Homeless are names of servers without an address, Unknown those that could not be looked up.
	Homeless []string
	Unknown  []UnknownServer
	// Unasked is how many further name servers and addresses were not asked.
	Unasked int
}

// UnknownServer is a name server whose addresses could not be looked up, with the error.
type UnknownServer struct {
	Name string
	Err  error
}

// ParentReply is the reply of one server of the parent.
type ParentReply struct {
	Server string // as people know it: a name or an address
	Err    error
	// NoRoute is true if there is no route to it from here.
	NoRoute bool
	Rcode   string
	// Serves is true if it serves the zone itself, and so does not show the delegation.
	Serves bool
	// Resolves is true if it is a resolver, and so does not show the delegation.
	Resolves bool
	NS       []string
	// Glue are the addresses that came with NS.
	Glue map[string][]netip.Addr
	DS   []*dns.DS
	// DSErr is why the DS records are unknown; nil if they are known.
	DSErr error
}

// ServerReply is the reply of one name server.
type ServerReply struct {
	Name string
	Addr netip.Addr
	// Err is why there was no answer over UDP; TCPErr the same over TCP.
	Err, TCPErr error
	// NoRoute is true if there is no route to the address from here, as to IPv6 without IPv6.
	NoRoute       bool
	Rcode         string
	Authoritative bool
	Serial        uint32
	NS            []string
	Keys          []*dns.DNSKEY
	SOA           *dns.SOA
}

// at names the server of a reply.
func (s *ServerReply) at() string { return trim(s.Name) + " (" + s.Addr.String() + ")" }

// Check compares the parent's data with the zone here, and with the name servers' replies: errors first. Without findings, the
// list is empty, not nil.
func (d *Delegation) Check() []Finding {
	all := []Finding{}
	found := func(severity Severity, reason, format string, args ...any) {
		f := Finding{Severity: severity, Reason: reason, Text: fmt.Sprintf(format, args...), Name: trim(d.Zone)}
		if !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	for i := range d.Parents {
		d.checkParent(&d.Parents[i], found)
	}
	if len(d.Parents) > 0 && !slices.ContainsFunc(d.Parents, func(p ParentReply) bool {
		return p.Err == nil && !p.Serves &&
			!p.Resolves
	}) && slices.ContainsFunc(d.Parents, func(p ParentReply) bool { return p.Serves }) {
		found(SeverityWarning, ReasonNotSeen, "the parent's servers serve the zone themselves, so NS records and "+
			"glue of the parent cannot be queried")
	}
	for _, u := range d.Unknown {
		found(SeverityWarning, ReasonNoAddress, "the name server %s cannot be looked up: %v", trim(u.Name), u.Err)
	}
	for _, name := range d.Homeless {
		found(SeverityError, ReasonNoAddress, "the name server %s has no address", trim(name))
	}
	if d.Unasked > 0 {
		found(SeverityWarning, ReasonServerAway, "too many name servers or addresses; skipping %d", d.Unasked)
	}
	d.checkServers(found)
	d.checkKeys(found)
	slices.SortStableFunc(all, func(a, b Finding) int { return cmp.Compare(a.Severity, b.Severity) })
	return all
}

// report takes one finding.
type report func(severity Severity, reason, format string, args ...any)

// checkParent looks at one server of the parent.
func (d *Delegation) checkParent(p *ParentReply, found report) {
	switch {
	case p.Err != nil && p.NoRoute:
		found(SeverityWarning, ReasonParentAway, "the parent's server %s cannot be asked from here: %v", p.Server, p.Err)
		return
	case p.Err != nil:
		found(SeverityError, ReasonParentAway, "the parent's server %s: %v", p.Server, p.Err)
		return
	case p.Resolves:
		found(SeverityError, ReasonParentAway, "the parent's server %s answers without AA and gives no referral; it is a "+
			"resolver, and does not show what the parent has", p.Server)
		return
	case len(p.NS) == 0:
		found(SeverityError, ReasonNotDelegated,
			"the parent's server %s has no NS records for the zone, and answers %s; nobody finds the zone through it. Add to the parent: %s",
			p.Server, p.Rcode, namesText(d.NS))
		return
	case p.DSErr != nil:
		found(SeverityWarning, ReasonDS, "the parent's server %s: DS: %v", p.Server, p.DSErr)
	case len(p.DS) > mostKeys:
		found(SeverityWarning, ReasonDS, "the parent's server %s has %d DS records; only %d are checked", p.Server,
			len(p.DS), mostKeys)
	}
	if p.Serves {
		return
	}
	if extra := minus(p.NS, d.NS); len(extra) > 0 {
		found(SeverityError, ReasonParentNS, "the parent names %s, which the zone does not; remove it there, or add it here with "+
			"nameserver", namesText(extra))
	}
	if missing := minus(d.NS, p.NS); len(missing) > 0 {
		found(SeverityWarning, ReasonParentNS, "the parent does not name %s, which is a name server of the zone; add it there",
			namesText(missing))
	}
	for _, name := range p.NS {
		if !dns.IsSubDomain(d.Zone, name) {
			continue
		}
		ours, glue := d.Addresses[name], p.Glue[name]
		switch {
		case len(glue) == 0:
			found(SeverityError, ReasonGlue, "the parent has no address (glue) for %s, which is in the zone itself; nobody can "+
				"find it", trim(name))
		case len(ours) == 0 && slices.Contains(d.NS, name):
			found(SeverityError, ReasonGlue, "the parent has %s at %s, but the zone has no address for it, though it is in the zone; "+
				"resolvers that ask the zone cannot find the server. Add the address here", trim(name), addrsText(glue))
		case len(ours) == 0: // reported as ParentNS
		default:
			if extra := minus(glue, ours); len(extra) > 0 {
				found(SeverityError, ReasonGlue, "the parent has %s at %s, but it is at %s; correct the address there",
					trim(name), addrsText(extra), addrsText(ours))
			}
			if missing := minus(ours, glue); len(missing) > 0 && len(minus(glue, ours)) == 0 {
				found(SeverityWarning, ReasonGlue, "the parent lacks addresses (glue) of %s: %s", trim(name), addrsText(missing))
			}
		}
	}
}

// checkServers looks at the name servers' replies.
func (d *Delegation) checkServers(found report) {
	addrs := make(map[netip.Addr]bool)
	serials := make(map[uint32][]string)
	for i := range d.Servers {
		s := &d.Servers[i]
		addrs[s.Addr] = true
		switch {
		case s.NoRoute:
			found(SeverityWarning, ReasonServerAway, "the name server %s cannot be asked from here: %v", s.at(), s.Err)
			continue
		case s.Err != nil:
			found(SeverityError, ReasonServerAway, "the name server %s: %v", s.at(), s.Err)
			continue
		case s.Rcode != "NOERROR" || s.SOA == nil:
			found(SeverityError, ReasonLame, "the name server %s answers %s without an SOA record; it does not serve the zone", s.at(), s.Rcode)
			continue
		case !s.Authoritative:
			found(SeverityError, ReasonLame, "the name server %s answers without AA; it is a resolver, or has lost the zone", s.at())
			continue
		case s.TCPErr != nil:
			found(SeverityError, ReasonServerAway, "the name server %s answers over UDP only: %v. Answers too long for a packet are lost "+
				"(RFC 7766)", s.at(), s.TCPErr)
		}
		if len(minus(s.NS, d.NS))+len(minus(d.NS, s.NS)) > 0 {
			found(SeverityWarning, ReasonServerNS, "the name server %s has the name servers %s; here they are %s", s.at(),
				namesText(s.NS), namesText(d.NS))
		}
		serials[s.Serial] = append(serials[s.Serial], s.at())
	}
	if len(serials) > 1 {
		var parts []string
		for serial, of := range serials {
			parts = append(parts, fmt.Sprintf("%d at %s", serial, strings.Join(of, ", ")))
		}
		slices.Sort(parts)
		found(SeverityWarning, ReasonSerials, "the name servers have different serials: %s. Without a writer this is normal, and matters "+
			"only to secondaries; otherwise one of them lags", strings.Join(parts, "; "))
	}
	if len(addrs) == 1 {
		found(SeverityWarning, ReasonOneServer, "all name servers have one address; if it fails, so does the zone")
	}
}

func namesText(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	all := make([]string, len(names))
	for i, n := range names {
		all[i] = trim(n)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func addrsText(addrs []netip.Addr) string {
	all := make([]string, len(addrs))
	for i, a := range addrs {
		all[i] = a.String()
	}
	return strings.Join(all, ", ")
}
