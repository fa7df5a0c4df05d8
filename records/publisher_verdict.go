package records

import (
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// maxTold is how many problems of one object its condition tells of.
const maxTold = 8

// publisherVerdict says what became of a DNSRecord or DNSEndpoint; nil for none, and for the
// children of policies.
func (s *Snapshot) publisherVerdict(t *target, losses lossFunc) *api.Verdict {
	if t == nil || t.publisher.child {
		return nil
	}
	p := t.publisher
	v := &api.Verdict{FQDN: p.fqdn}
	if p.refused != nil {
		v.Conditions = s.ready(p.refused)
		return v
	}
	problems := slices.Clone(p.problems)
	for _, c := range t.claims {
		g, _ := s.groups.Get(groupKey(c.host))
		if l, lost := g.loss(c); lost {
			problems = append(problems, &problem{l.reason(), trimDot(c.host) + ": " + l.message()})
			continue
		}
		if p := s.hiderOf(c); p != nil {
			problems = append(problems, &problem{p.reason, trimDot(c.host) + ": " + p.message})
			continue
		}
		if g.dropped[c] < len(c.endpoints) {
			v.TotalRecords++
		}
		for _, note := range g.notes[c] {
			problems = append(problems, &problem{note.Reason, note.Message})
		}
	}
	for _, e := range p.entries {
		z := s.zones[s.zoneSet.index[e.zone()]]
		loss := s.lossOf(z, e, losses)
		if loss == nil {
			loss = s.lacksAddress(e)
		}
		switch {
		case loss == nil:
			v.TotalRecords++
		case loss.keepsOut():
			problems = append(problems, &problem{loss.reason, trimDot(e.name) + ": " + loss.message})
		default:
			v.TotalRecords++
			problems = append(problems, &problem{loss.reason, trimDot(e.name) + ": " + loss.message})
		}
	}
	if len(problems) == 0 {
		v.Conditions = served(v, nil)
		return v
	}
	problems = distinct(problems)
	texts := make([]string, 0, maxTold)
	for _, p := range problems[:min(len(problems), maxTold)] {
		texts = append(texts, p.message)
	}
	all := &problem{problems[0].reason, strings.Join(texts, "; ")}
	if len(problems) > maxTold {
		all = problemf(all.reason, "%s; and %d more", all.message, len(problems)-maxTold)
	}
	if v.TotalRecords == 0 {
		v.Conditions = s.ready(all)
	} else {
		v.Conditions = served(v, all)
	}
	return v
}

// distinct returns problems, which it may change, less those whose messages have been there
// before: each target of an endpoint may have the same.
func distinct(problems []*problem) []*problem {
	told := make(map[string]struct{}, len(problems))
	return slices.DeleteFunc(problems, func(p *problem) bool {
		_, again := told[p.message]
		told[p.message] = struct{}{}
		return again
	})
}
