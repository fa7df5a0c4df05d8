package records

import (
	"maps"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// The labels of a Gateway that steer its members (rule 2.5). For one cluster of
// a multi-cluster Gateway they are written clusters.kuadrant.io/<cluster>_<attribute>.
const (
	attributePrefix = "kuadrant.io/"
	clusterPrefix   = "clusters.kuadrant.io/"
	labelGeoCode    = attributePrefix + "lb-attribute-geo-code"
)

// memberLabels returns the labels that count for the member of the given
// cluster: the Gateway's, with those written for the cluster put over them.
func memberLabels(gateway map[string]string, cluster string) map[string]string {
	if cluster == "" || len(gateway) == 0 {
		return gateway
	}
	prefix := clusterPrefix + cluster + "_"
	var own map[string]string
	for key, value := range gateway {
		if attribute, ok := strings.CutPrefix(key, prefix); ok {
			if own == nil {
				own = maps.Clone(gateway)
			}
			own[attributePrefix+attribute] = value
		}
	}
	if own == nil {
		return gateway
	}
	return own
}

// memberWeight returns the weight of a member with the given labels: the first
// custom weight that matches, else the default (rule 2.5).
func memberWeight(p *api.DNSPolicy, member map[string]string) uint64 {
	for _, c := range p.CustomWeights {
		if c.Matches(member) {
			return uint64(max(c.Weight, 0))
		}
	}
	return uint64(max(p.DefaultWeight, 0))
}

// memberGeo returns the code of a member with the given labels, in upper case:
// the policy's own, else the label's, else the policy's default; "" where there
// is none at all.
func memberGeo(p *api.DNSPolicy, member map[string]string) string {
	if p.Geo != "" {
		return p.Geo
	}
	if code := strings.ToUpper(strings.TrimSpace(member[labelGeoCode])); code != "" {
		return code
	}
	return p.DefaultGeo
}

// weighing is what a member's weight and code depend on.
type weighing struct {
	policy  *api.DNSPolicy
	gateway *api.Gateway
	cluster string
}

// weighed is what has come of it.
type weighed struct {
	weight uint64
	code   string
}

// weigh returns the weight and the code of a claim's member in a cluster. A Gateway
// has as many claims as listeners: what is found for one is kept for the others.
func (b *builder) weigh(c *claim, cluster string) (weight uint64, code string) {
	of := weighing{c.policy, c.gateway, cluster}
	w, ok := b.weights[of]
	if !ok {
		own := memberLabels(c.gateway.Labels, cluster)
		w = weighed{memberWeight(c.policy, own), memberGeo(c.policy, own)}
		if len(c.gateway.Listeners) > 1 {
			b.weights[of] = w
		}
	}
	return w.weight, w.code
}
