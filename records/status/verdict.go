package status

import (
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/miekg/dns"
)

const (
	messageAccepted   = "DNSPolicy has been accepted"
	messageEnforced   = api.MessageEnforced
	messageNoRoutes   = messageEnforced + " : no routes attached to any gateway listeners"
	messageNoAddress  = messageEnforced + " : no valid status addresses to use on gateway"
	messageNoHosts    = messageEnforced + " : no listener with a hostname"
	messagePartially  = "DNSPolicy has been partially enforced. Not ready DNSRecords are: "
	messageIssues     = "DNSPolicy has encountered some issues: "
	messageElsewhere  = "DNSPolicy is left to the controller of its provider kind "
	messageConflicted = "DNSPolicy is conflicted by "
)

// enforcedVerdicts are the verdicts of policies with nothing to report, by number of records: most
// policies share one.
var enforcedVerdicts = func() (v [64]*api.Verdict) {
	for i := range v {
		v[i] = &api.Verdict{Conditions: okConditions(messageEnforced), TotalRecords: int32(i)}
	}
	return v
}()

// okConditions returns the conditions of an accepted policy, with the message of Enforced.
func okConditions(enforced string) []api.Condition {
	return []api.Condition{
		{Type: endpoint.ConditionAccepted, Status: api.ConditionTrue, Reason: endpoint.ReasonAccepted, Message: messageAccepted},
		{Type: endpoint.ConditionEnforced, Status: api.ConditionTrue, Reason: endpoint.ReasonEnforced, Message: api.Cut(enforced, endpoint.MaxMessage)},
	}
}

// refusedVerdict returns the verdict on a policy that is not accepted.
func refusedVerdict(reason, message string) *api.Verdict {
	return &api.Verdict{Conditions: []api.Condition{
		{Type: endpoint.ConditionAccepted, Status: api.ConditionFalse, Reason: reason, Message: api.Cut(message, endpoint.MaxMessage)},
	}}
}

// VerdictOf returns the verdict on p, one of t's policies. s has the groups and zones, zones
// returns the names of the served ones, children are those of the cluster's policies.
func VerdictOf(t *endpoint.Target, p *api.DNSPolicy, s *View, zones func() string, children offspring) *api.Verdict {
	if v := acceptance(t, p); v != nil {
		return v
	}
	if !p.Provider.ServedHere() {
		return verdictElsewhere(p, children)
	}
	r := report{policy: p, target: t, zones: zones}
	r.collect(s)
	return r.verdict()
}

// acceptance returns the verdict on a policy that is not accepted, else nil.
func acceptance(t *endpoint.Target, p *api.DNSPolicy) *api.Verdict {
	if why := endpoint.Refused(p); why != "" {
		return refusedVerdict(endpoint.ReasonInvalid, "DNSPolicy target is invalid: "+why)
	}
	if t.Leaving {
		return refusedVerdict(endpoint.ReasonUnknown, "DNSPolicy target "+p.Target.Name+" is being deleted, and its hosts are withdrawn")
	}
	if t.Gateway == nil {
		return refusedVerdict(endpoint.ReasonTargetNotFound, "DNSPolicy target "+p.Target.Name+" was not found")
	}
	if !t.HasSection(p.Target.Section) {
		return refusedVerdict(endpoint.ReasonTargetNotFound,
			"DNSPolicy target "+p.Target.Name+" was not found: the Gateway has no listener "+p.Target.Section)
	}
	if w := t.Winner(p.Target.Section); w != p {
		return refusedVerdict(endpoint.ReasonConflicted, messageConflicted+w.Name+": conflicting policy")
	}
	return nil
}

// report collects what there is to say about one accepted policy.
type report struct {
	policy *api.DNSPolicy
	target *endpoint.Target
	zones  func() string // the served zones, for a message
	// served counts the published hosts, empty those without a usable address.
	served, empty int
	// failed names the DNSRecords of hosts that are not served.
	failed []string
	// hosts are the notes on single hosts, whole those on the whole policy.
	hosts, whole []endpoint.Note
}

// collect collects what there is to say.
func (r *report) collect(s *View) {
	for _, n := range r.target.Notes {
		if n.Policy == r.policy {
			r.add(n)
		}
	}
	for _, c := range r.target.Contenders {
		if c.Policy != r.policy {
			continue
		}
		g, _ := s.NameGroups.Get(endpoint.GroupKey(c.Host))
		if l, lost := g.Loss(c); lost {
			r.add(endpoint.Note{Host: endpoint.TrimDot(c.Host), Record: r.target.Record(c.Listener), Condition: l.Problem().Refusal()})
			continue
		}
		if c.Unread {
			continue // the note on its providers says why
		}
		if p := s.hiderOf(c); p != nil {
			r.add(endpoint.Note{Host: endpoint.TrimDot(c.Host), Record: r.target.Record(c.Listener), Condition: endpoint.Refusal(p.Reason, p.Message)})
			continue
		}
		if c.Targets.Usable() {
			r.served++
		} else {
			r.empty++
		}
		if p := s.uncovered(c); p != nil {
			r.add(endpoint.Note{Host: endpoint.TrimDot(c.Host), Condition: endpoint.Refusal(p.Reason, p.Message)})
		}
		for _, condition := range g.Notes[c] {
			r.add(endpoint.Note{Host: endpoint.TrimDot(c.Host), Condition: condition})
		}
	}
}

// add adds a note.
func (r *report) add(n endpoint.Note) {
	if n.Condition.Reason == endpoint.ReasonNotServed {
		n.Condition.Message = n.Host + " is outside the zones served here: " + r.zones()
	}
	if n.Record != "" {
		r.failed = append(r.failed, n.Record)
	}
	if n.Host == "" {
		r.whole = append(r.whole, n)
	} else {
		r.hosts = append(r.hosts, n)
	}
}

// verdict returns the verdict from what was collected.
func (r *report) verdict() *api.Verdict {
	if len(r.hosts)+len(r.whole)+r.empty == 0 && 0 < r.served && r.served < len(enforcedVerdicts) {
		return enforcedVerdicts[r.served]
	}
	v := &api.Verdict{Conditions: okConditions(r.enforced()), TotalRecords: int32(r.served)}
	if r.served == 0 && len(r.failed) > 0 || r.mixed() {
		v.Conditions[1].Status, v.Conditions[1].Reason = api.ConditionFalse, endpoint.ReasonUnknown
	}
	slices.SortStableFunc(r.hosts, func(a, b endpoint.Note) int { return strings.Compare(a.Host, b.Host) })
	for _, n := range r.hosts {
		last := len(v.Records) - 1
		if last < 0 || v.Records[last].Host != n.Host {
			v.Records = append(v.Records, api.RecordVerdict{Host: n.Host})
			last++
		}
		v.Records[last].Conditions = append(v.Records[last].Conditions, n.Condition)
	}
	return v
}

// mixed reports whether the Gateway's mix of addresses cannot be enforced (rule 1.3).
func (r *report) mixed() bool {
	return slices.ContainsFunc(r.whole, func(n endpoint.Note) bool { return n.Condition.Reason == endpoint.ReasonInconsistent })
}

// enforced returns the message of the condition Enforced.
func (r *report) enforced() string {
	message := messageEnforced
	switch {
	case r.mixed() || r.served == 0 && len(r.failed) > 0:
		return messageIssues + r.cause()
	case len(r.failed) > 0:
		return messagePartially + strings.Join(r.failed, " ") + " "
	case r.served == 0 && r.empty > 0:
		message = messageNoAddress
	case r.served == 0 && slices.ContainsFunc(r.hosts, func(n endpoint.Note) bool { return n.Condition.Reason == endpoint.ReasonNoRoutes }):
		message = messageNoRoutes
	case r.served == 0:
		message = messageNoHosts
	}
	for _, n := range r.whole {
		message += "; " + n.Condition.Message
	}
	return message
}

// cause says why nothing is enforced: a mix of addresses, else what keeps the first host from being
// served, by its name where another object has it.
func (r *report) cause() string {
	all := append(slices.Clone(r.whole), r.hosts...)
	i := slices.IndexFunc(all, func(n endpoint.Note) bool { return n.Condition.Reason == endpoint.ReasonInconsistent })
	if i < 0 {
		i = slices.IndexFunc(all, func(n endpoint.Note) bool { return n.Record != "" })
	}
	if n := all[i]; n.Condition.Reason == endpoint.ReasonConflicted {
		return n.Host + ": " + n.Condition.Message
	}
	return all[i].Condition.Message
}

// uncovered returns the problem that a contender's host takes names out of a wildcard; nil for none.
func (s *View) uncovered(c *endpoint.Contender) *endpoint.Problem {
	return s.Zone(rdata.Base(c.Host)).Uncovered(c.Host)
}

// hiderOf returns what hides a contender's host from queries; nil for nothing.
func (s *View) hiderOf(c *endpoint.Contender) *endpoint.Problem {
	return s.Zone(rdata.Base(c.Host)).HiderOf(c.Host, dns.TypeA)
}
