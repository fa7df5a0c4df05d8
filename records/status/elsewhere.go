package status

import (
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// verdictElsewhere returns the verdict on a policy whose provider belongs to another controller:
// what that reports on its DNSRecords (docs/providers.md).
func verdictElsewhere(p *api.DNSPolicy, children offspring) *api.Verdict {
	v := &api.Verdict{Conditions: okConditions(messageEnforced)}
	enforced := &v.Conditions[1]
	var failed []string
	first, pending := "", false
	for _, r := range children.Records(p.Name) {
		if !Controls(api.KindDNSPolicy, &p.Meta, r.Controller) || r.Provider.Kind != p.Provider.Kind {
			continue
		}
		switch {
		case r.Ready == nil:
			pending = true
		case r.Ready.Status == api.ConditionTrue:
			v.TotalRecords++
		default:
			if failed = append(failed, r.BareName()); first == "" {
				first = r.BareName() + ": " + r.Ready.Message
			}
			refusal := endpoint.Refusal(reasonIn(r.Ready.Reason), r.Ready.Message)
			refusal.Type, refusal.Status = endpoint.ConditionReady, r.Ready.Status
			v.Records = append(v.Records, api.RecordVerdict{Host: endpoint.TrimDot(r.RootHost), Conditions: []api.Condition{refusal}})
		}
	}
	switch {
	case pending || v.TotalRecords == 0 && len(failed) == 0:
		enforced.Status, enforced.Reason, enforced.Message = api.ConditionUnknown, endpoint.ReasonUnknown, messageElsewhere+p.Provider.Kind
	case v.TotalRecords == 0:
		enforced.Status, enforced.Reason, enforced.Message = api.ConditionFalse, endpoint.ReasonUnknown, api.Cut(messageIssues+first, endpoint.MaxMessage)
	case len(failed) > 0:
		enforced.Message = api.Cut(messagePartially+strings.Join(failed, " ")+" ", endpoint.MaxMessage)
	}
	slices.SortStableFunc(v.Records, func(a, b api.RecordVerdict) int { return strings.Compare(a.Host, b.Host) })
	return v
}

// maxReason is the maximum length of a condition's reason.
const maxReason = 1024

// reasonIn returns another controller's reason if it is valid in a condition.
func reasonIn(reason string) string {
	letter := func(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
	if reason == "" || len(reason) > maxReason || !letter(reason[0]) {
		return endpoint.ReasonUnknown
	}
	for i := range len(reason) {
		c := reason[i]
		inner := c == ',' || c == ':'
		if !letter(c) && !('0' <= c && c <= '9') && c != '_' && !(inner && i < len(reason)-1) {
			return endpoint.ReasonUnknown
		}
	}
	return reason
}
