package records

import (
	"strconv"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// Who names a server is kept by the server's name, so that its verdict can follow what becomes
// of the server's addresses, wherever they lie.

// lacksAddress says that nobody can find the server of an NS Record: its name lies in a zone
// served here that has no address of it. nil for nothing.
func (s *Snapshot) lacksAddress(e *endpoint.Record) *endpoint.Problem {
	ns, ok := e.RR.(*dns.NS)
	if !ok {
		return nil
	}
	z := s.Zone(ns.Ns)
	if z == nil || z.knowsAddress(e.Name, ns.Ns) {
		return nil
	}
	return endpoint.Problemf(endpoint.ReasonNoAddress, "the name server %s lies in the zone %s, which is served here and has no address of it: give it an A or AAAA record; a CNAME is none (RFC 2181 §10.3)", endpoint.TrimDot(ns.Ns), endpoint.TrimDot(z.Origin()))
}

// knowsAddress tells whether a server of owner, whose name lies in the zone, has addresses
// there, or may have some where the zone is not asked.
func (z *Zone) knowsAddress(owner, server string) bool {
	if n, ok := z.names.Get(server); ok && n.addressed() {
		return true
	}
	switch n, turn := z.search(server, dns.TypeA); {
	case turn != nil: // below another cut, whoever serves that knows
		return ofType(turn.static, dns.TypeDNAME) == nil && turn.name != owner
	default:
		return n != nil && n.addressed()
	}
}

// addressed tells whether n itself has addresses, and is no CNAME that leads to some.
func (n *node) addressed() bool {
	return ofType(n.static, dns.TypeA) != nil || ofType(n.static, dns.TypeAAAA) != nil || n.steered.data != nil && n.steered.data.Addressed()
}

// fieldMark stands between the parts of a key of compiler.servers, of which the first is the
// server's name from the root: no name has it.
const fieldMark = "\x01"

// noteServer keeps that an NS Record names its server: n is 1 where it comes, -1 where it goes.
func (c *compiler) noteServer(e *endpoint.Record, n int) {
	ns, ok := e.RR.(*dns.NS)
	if !ok {
		return
	}
	at := strings.Join([]string{fromRoot(ns.Ns), e.Record.Cluster, strconv.Itoa(int(e.ObjectKind())), e.Record.Name}, fieldMark)
	before, _ := c.servers.Get(at)
	if before+n == 0 {
		c.servers.Delete(at)
		return
	}
	c.servers.Set(at, before+n)
}

// restateServers marks the objects that name a server at or below a name.
func (c *compiler) restateServers(name string) {
	for at := range c.next.servers.Beginning(fromRoot(name)) {
		fields := strings.Split(at, fieldMark)
		kind, _ := strconv.Atoi(fields[2])
		c.restateObject(fields[1], api.Kind(kind), fields[3])
	}
}

// followServers marks the objects whose servers may have addresses now and had none, or the
// other way, for what has changed in a zone.
func (c *compiler) followServers(e *zoneEdit, z *Zone) {
	for _, name := range e.settled {
		was, now := existing(e.zone, name), existing(z, name)
		switch {
		case was == nil && now == nil:
			continue
		case was != nil && now != nil && was.addressed() == now.addressed() && !was.turn && !now.turn:
			continue
		}
		top := name
		if wild, ok := strings.CutPrefix(name, rdata.Wildcard); ok {
			top = wild
		}
		for top != z.Origin() { // a name that comes or goes blocks a wildcard, or does not any more
			up, ok := rdata.Parent(top)
			if !ok || up == z.Origin() || (existing(e.zone, up) == nil) == (existing(z, up) == nil) {
				break
			}
			top = up
		}
		c.restateServers(top)
	}
}

// existing returns the node of a name that exists; nil for none.
func existing(z *Zone, name string) *node {
	if n, ok := z.names.Get(name); ok && !n.void {
		return n
	}
	return nil
}
