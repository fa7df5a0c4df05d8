package kuadrant

import (
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// addSource adds a source of the Corefile.
func (e *engine) addSource(s source.Source, stats *source.Stats, pools api.Pools) {
	e.sources, e.stats = append(e.sources, s), append(e.stats, stats)
	e.pools[s.Name()] = pools
}

// addCluster adds a cluster of the Corefile that has an API server.
func (e *engine) addCluster(name string, config *rest.Config, sel source.Selection) {
	e.apiServers = append(e.apiServers, config.Host)
	stats := new(source.Stats)
	e.addSource(clusterSource(name, config, sel, stats), stats, sel.Pools)
}

// clusterSource returns what reads a cluster at its API server.
func clusterSource(name string, config *rest.Config, sel source.Selection, stats *source.Stats) source.Source {
	return source.Kubernetes(source.KubernetesOptions{
		Cluster: name, Config: config, Selection: sel, Logf: log.Warningf, Infof: log.Infof, Stats: stats,
	})
}
