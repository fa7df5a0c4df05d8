package status

import (
	"cmp"
	"fmt"
	"iter"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// zoneVerdict returns the verdict on a Zone; nil for none.
func (s *View) zoneVerdict(a *endpoint.Admission) *api.Verdict {
	if a == nil {
		return nil
	}
	v := &api.Verdict{FQDN: a.FQDN}
	if a.Parent != nil {
		v.Parent = a.Parent.Name
	}
	if a.Problem != nil {
		v.Conditions = s.ready(v.FQDN, a.Problem)
		return v
	}
	z := s.Served[s.Table.Index[a.FQDN]]
	v.Kept = z.Keep()
	v.TotalRecords = int32(min(z.Names(), 1<<31-1))
	var problem *endpoint.Problem
	if a.Zone.Fault != "" {
		problem = problem.And(&endpoint.Problem{Reason: endpoint.ReasonServedInPart, Message: a.Zone.Fault})
	}
	if z.StandsIn() {
		none := endpoint.Problemf(endpoint.ReasonNoNameservers,
			"no NS Record, and no `nameserver` in the Corefile; using the placeholder %s: write one of them", endpoint.TrimDot(z.MName()))
		v.Conditions = s.ready(v.FQDN, none.And(problem))
		return v
	}
	if server := z.Unaddressed(); server != "" {
		problem = problem.And(endpoint.Problemf(endpoint.ReasonLeadsNowhere,
			"name server %s has no address in the zone, so resolvers cannot use it: add an A or AAAA Record", endpoint.TrimDot(server)))
	}
	v.Conditions = served(v, problem)
	return v
}

// recordVerdict returns the verdict on a Record; nil for none.
func (s *View) recordVerdict(r *endpoint.Record, losses zone.LossFunc) *api.Verdict {
	if r == nil {
		return nil
	}
	v := &api.Verdict{FQDN: r.Name}
	if r.Problem != nil {
		v.Conditions = s.ready(v.FQDN, r.Problem)
		return v
	}
	z := s.Served[s.Table.Index[r.Zone()]]
	if z.Object != nil {
		v.Parent = z.Object.Name
	}
	problem := s.lossOf(z, r, losses)
	if problem.KeepsOut() {
		v.Conditions = s.ready(v.FQDN, problem)
		return v
	}
	if problem == nil {
		problem = r.Doubt()
	}
	v.TotalRecords = 1
	v.Conditions = served(v, problem.And(z.Uncovered(r.Name)))
	return v
}

// lossOf returns what keeps a zone's Record from being served as written, or from being answered;
// nil for nothing.
func (s *View) lossOf(z *zone.Zone, r *endpoint.Record, losses zone.LossFunc) *endpoint.Problem {
	return z.LossOf(z.Node(r.Name), r, losses)
}

// ready returns the conditions of an object that is not served, given its name with a final dot.
func (s *View) ready(name string, p *endpoint.Problem) []api.Condition {
	message := p.Message
	if p.Reason == endpoint.ReasonNotServed && message == "" {
		message = cmp.Or(endpoint.TrimDot(name), ".") + " is outside the zones served here: " + s.Opt.ZoneNames()
	}
	return []api.Condition{{Type: endpoint.ConditionReady, Status: api.ConditionFalse, Reason: p.Reason, Message: api.Cut(message, endpoint.MaxMessage)}}
}

// served returns the conditions of a served object, with a problem to report, if any.
func served(v *api.Verdict, problem *endpoint.Problem) []api.Condition {
	c := api.Condition{Type: endpoint.ConditionReady, Status: api.ConditionTrue, Reason: endpoint.ReasonServed, Message: api.MessageServed}
	if v.Parent != "" && v.ParentLabel() == "" {
		c.Message += fmt.Sprintf("; the label kubi.zone/parent-zone is missing, as %s is longer than %d characters", v.Parent, api.MaxLabelValue)
	}
	if problem != nil {
		c.Reason, c.Message = problem.Reason, api.Cut(c.Message+"; "+problem.Message, endpoint.MaxMessage)
	}
	return []api.Condition{c}
}

// Spoken yields the Records that have more to report than that they are served. losses looks up the problems of the Records at a name.
func (s *View) Spoken(losses zone.LossFunc) iter.Seq[*endpoint.Record] {
	return func(yield func(*endpoint.Record) bool) {
		for _, c := range s.Clusters {
			for _, r := range c.Records.All() {
				if c.Unplaced == 0 {
					break
				}
				if r.RR == nil && !yield(r) {
					return
				}
			}
		}
		for _, z := range s.Served {
			for _, n := range z.Nodes.All() {
				uncovered := len(n.Records) > 0 && z.Uncovered(n.Name) != nil
				quiet := len(n.Records) == 1 && n.Lost == 0 && !n.Cut && z.Turns == 0 && !uncovered // almost always
				for _, r := range n.Records {
					if r.Kind != 0 || quiet && r.Doubt() == nil {
						continue
					}
					if (uncovered || z.LossOf(n, r, losses) != nil || r.Doubt() != nil) && !yield(r) {
						return
					}
				}
			}
		}
	}
}

// ParentOf returns the namespace/name of the Zone that contains a Record; "" for none.
func (s *View) ParentOf(r *endpoint.Record) string {
	if r.RR == nil {
		return ""
	}
	if at := &s.Table.Served[s.Table.Index[r.Zone()]]; at.Object != nil {
		return at.Object.Name
	}
	return ""
}
