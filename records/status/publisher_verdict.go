package status

import (
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// maxTold bounds the problems of one object that its condition names.
const maxTold = 8

// publisherVerdict returns the verdict on a DNSRecord or DNSEndpoint; nil for none, and for
// children of policies.
func (s *View) publisherVerdict(p *endpoint.Publication, losses zone.LossFunc) *api.Verdict {
	if p == nil || p.Child {
		return nil
	}
	v := &api.Verdict{FQDN: p.FQDN}
	if p.Refused != nil {
		v.Conditions = s.ready(v.FQDN, p.Refused)
		return v
	}
	problems := slices.Clone(p.Problems)
	for _, c := range p.Contenders {
		g, _ := s.NameGroups.Get(endpoint.GroupKey(c.Host))
		why := s.hiderOf(c)
		if l, lost := g.Loss(c); lost {
			why = l.Problem()
		}
		if why != nil {
			problems = append(problems, &endpoint.Problem{Reason: why.Reason, Message: endpoint.TrimDot(c.Host) + ": " + why.Message})
			continue
		}
		if g.Dropped[c] < len(c.Own) {
			v.TotalRecords++
		}
		if p := s.uncovered(c); p != nil {
			problems = append(problems, p)
		}
		for _, note := range g.Notes[c] {
			if note.Status == api.ConditionTrue {
				continue // no problem: its group is not active
			}
			problems = append(problems, &endpoint.Problem{Reason: note.Reason, Message: note.Message})
		}
	}
	for _, r := range p.Records {
		z := s.Served[s.Table.Index[r.Zone()]]
		loss := s.lossOf(z, r, losses)
		if loss != nil {
			problems = append(problems, &endpoint.Problem{Reason: loss.Reason, Message: endpoint.TrimDot(r.Name) + ": " + loss.Message})
		}
		if !loss.KeepsOut() {
			v.TotalRecords++
			if p := z.Uncovered(r.Name); p != nil {
				problems = append(problems, p)
			}
		}
	}
	if len(problems) == 0 {
		v.Conditions = served(v, nil)
		return v
	}
	problems = distinct(problems)
	texts := make([]string, 0, maxTold)
	for _, p := range problems[:min(len(problems), maxTold)] {
		texts = append(texts, p.Message)
	}
	all := &endpoint.Problem{Reason: problems[0].Reason, Message: strings.Join(texts, "; ")}
	if len(problems) > maxTold {
		all = endpoint.Problemf(all.Reason, "%s; and %d more", all.Message, len(problems)-maxTold)
	}
	if v.TotalRecords == 0 {
		v.Conditions = s.ready(v.FQDN, all)
	} else {
		v.Conditions = served(v, all)
	}
	return v
}

// distinct drops problems with the same message as an earlier one: each target of an endpoint may
// have it. It may change its argument.
func distinct(problems []*endpoint.Problem) []*endpoint.Problem {
	seen := make(map[string]struct{}, len(problems))
	return slices.DeleteFunc(problems, func(p *endpoint.Problem) bool {
		_, again := seen[p.Message]
		seen[p.Message] = struct{}{}
		return again
	})
}
