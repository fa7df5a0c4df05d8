package endpoint

import (
	"maps"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// A Gateway's labels that steer its members (rule 2.5). For one cluster of a multi-cluster Gateway
// they are written clusters.kuadrant.io/<cluster>_<attribute>.
const (
	attributePrefix = "kuadrant.io/"
	clusterPrefix   = "clusters.kuadrant.io/"
	labelGeoCode    = attributePrefix + "lb-attribute-geo-code"
)

// memberLabels returns the labels for a cluster's member: the Gateway's, overridden by those
// written for the cluster.
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
// the policy's own, else the label's, else the policy's default; "" if there
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
