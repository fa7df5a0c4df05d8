package status

import (
	"fmt"
	"iter"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
	"github.com/miekg/dns"
)

// zoneVerdict says what became of a Zone; nil for none.
func (s *View) zoneVerdict(f *endpoint.Admission) *api.Verdict {
	if f == nil {
		return nil
	}
	v := &api.Verdict{FQDN: f.FQDN}
	if f.Parent != nil {
		v.Parent = f.Parent.Name
	}
	if f.Problem != nil {
		v.Conditions = s.ready(f.Problem)
		return v
	}
	z := s.Served[s.Table.Index[f.FQDN]]
	v.Kept = z.Keep()
	v.TotalRecords = int32(min(z.Names(), 1<<31-1))
	var said *endpoint.Problem
	if f.Zone.Fault != "" {
		said = said.And(&endpoint.Problem{Reason: endpoint.ReasonServedInPart, Message: f.Zone.Fault})
	}
	said = said.And(z.Wraps(f.Zone.Kept))
	if z.StandsIn() {
		none := endpoint.Problemf(endpoint.ReasonNoNameservers, "no Record and no nameserver of the Corefile says who serves the zone: %s stands in", endpoint.TrimDot(z.MName()))
		v.Conditions = s.ready(none.And(said)) // what cannot be read may be what keeps its NS Records out
		return v
	}
	v.Conditions = served(v, said)
	return v
}

// recordVerdict says what became of a Record; nil for none.
func (s *View) recordVerdict(e *endpoint.Record, losses zone.LossFunc) *api.Verdict {
	if e == nil {
		return nil
	}
	v := &api.Verdict{FQDN: e.Name}
	if e.Problem != nil {
		v.Conditions = s.ready(e.Problem)
		return v
	}
	z := s.Served[s.Table.Index[e.Zone()]]
	if z.Object != nil {
		v.Parent = z.Object.Name
	}
	said := s.lossOf(z, e, losses)
	if said.KeepsOut() {
		v.Conditions = s.ready(said)
		return v
	}
	if said == nil {
		said = e.Unquoted()
	}
	if said == nil {
		said = s.lacksAddress(e)
	}
	v.TotalRecords = 1
	v.Conditions = served(v, said)
	return v
}

// lossOf says what keeps an entry of a zone from being served as it is written, or from being
// answered with; nil for nothing.
func (s *View) lossOf(z *zone.Zone, e *endpoint.Record, losses zone.LossFunc) *endpoint.Problem {
	return z.LossOf(z.Node(e.Name), e, losses)
}

// ready returns the conditions of an object that is not served.
func (s *View) ready(p *endpoint.Problem) []api.Condition {
	message := p.Message
	if p.Reason == endpoint.ReasonNotServed && message == "" {
		message = "the name lies outside the zones served here: " + s.Opt.ZoneNames()
	}
	return []api.Condition{{Type: endpoint.ConditionReady, Status: api.ConditionFalse, Reason: p.Reason, Message: api.Cut(message, endpoint.MaxMessage)}}
}

// served returns the conditions of an object that is served, of which there may be
// something to say.
func served(v *api.Verdict, said *endpoint.Problem) []api.Condition {
	c := api.Condition{Type: endpoint.ConditionReady, Status: api.ConditionTrue, Reason: endpoint.ReasonServed, Message: api.MessageServed}
	if v.Parent != "" && v.ParentLabel() == "" {
		c.Message += fmt.Sprintf("; the label kubi.zone/parent-zone cannot hold %s, as it has %d characters at the most: nothing else is wrong, and it is served all the same", v.Parent, api.MaxLabelValue)
	}
	if said != nil {
		c.Reason, c.Message = said.Reason, api.Cut(c.Message+"; "+said.Message, endpoint.MaxMessage)
	}
	return []api.Condition{c}
}

// Spoken yields the Records of which something is to be said but that they are served.
func (s *View) Spoken(losses zone.LossFunc) iter.Seq[*endpoint.Record] {
	return func(yield func(*endpoint.Record) bool) {
		for _, c := range s.Clusters {
			for _, e := range c.Records.All() {
				if c.Unplaced == 0 {
					break
				}
				if e.RR == nil && !yield(e) {
					return
				}
			}
		}
		for _, z := range s.Served {
			for _, n := range z.Nodes.All() {
				quiet := len(n.Records) == 1 && n.Lost == 0 && !n.Cut && z.Turns == 0 // by far the most
				for _, e := range n.Records {
					if e.Kind != 0 || quiet && !e.Speaks() {
						continue
					}
					if (z.LossOf(n, e, losses) != nil || e.Unquoted() != nil || s.lacksAddress(e) != nil) && !yield(e) {
						return
					}
				}
			}
		}
	}
}

// ParentOf returns the namespace/name of the Zone that an entry lies in; "" for none.
func (s *View) ParentOf(e *endpoint.Record) string {
	if e.RR == nil {
		return ""
	}
	if at := &s.Table.Served[s.Table.Index[e.Zone()]]; at.Object != nil {
		return at.Object.Name
	}
	return ""
}

// lacksAddress says that nobody can find the server of an NS Record: its name lies in a zone
// served here that has no address of it. nil for nothing.
func (s *View) lacksAddress(e *endpoint.Record) *endpoint.Problem {
	ns, ok := e.RR.(*dns.NS)
	if !ok {
		return nil
	}
	z := s.Zone(ns.Ns)
	if z == nil || z.KnowsAddress(e.Name, ns.Ns) {
		return nil
	}
	return endpoint.Problemf(endpoint.ReasonNoAddress, "the name server %s lies in the zone %s, which is served here and has no address of it: give it an A or AAAA record; a CNAME is none (RFC 2181 §10.3)", endpoint.TrimDot(ns.Ns), endpoint.TrimDot(z.Origin()))
}
