package status

import (
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// conditionAffected is the condition of a Gateway that policies are attached to.
const conditionAffected = "kuadrant.io/DNSPolicyAffected"

// maxAffecting is how many policies the condition names.
const maxAffecting = 20

// Affected returns what a Gateway's status should say about its policies (docs/write-back.md); nothing if there are none, or the Gateway is
// unknown.
func (s *View) Affected(cluster, gateway string) *api.Verdict {
	v := new(api.Verdict)
	for _, c := range s.Clusters {
		if c.Name != cluster {
			continue
		}
		t, _ := c.Targets.Get(gateway)
		if t == nil || t.Gateway == nil {
			continue
		}
		var names []string
		for _, p := range t.Policies {
			if t.Winner(p.Target.Section) == p {
				names = append(names, p.Name)
			}
		}
		if len(names) == 0 {
			continue
		}
		slices.Sort(names)
		more := ""
		if len(names) > maxAffecting {
			names, more = names[:maxAffecting], " ..."
		}
		v.Conditions = []api.Condition{{
			Type: conditionAffected, Status: api.ConditionTrue, Reason: endpoint.ReasonAccepted,
			Message: "Object affected by DNSPolicy [" + strings.Join(names, " ") + more + "]",
		}}
	}
	return v
}
