package kuadrant

import (
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/controller"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// addSource adds a source of the Corefile.
func (e *engine) addSource(s source.Source, stats *source.Stats, pools api.Pools) {
	e.sources, e.stats = append(e.sources, s), append(e.stats, stats)
	e.pools[s.Name()] = pools
}

// addCluster adds a cluster of the Corefile that has an API server. namespace is the one that
// the Lease is in where nothing says which; kept takes what is kept in the cluster's
// ConfigMaps, nil where nothing is.
func (e *engine) addCluster(cfg *config, name string, config *rest.Config, sel source.Selection, namespace string, kept func(controller.Kept)) error {
	w, err := cfg.newWriter(name, config, namespace, kept)
	if err != nil {
		return err
	}
	if w != nil {
		e.writers = append(e.writers, w)
		if kept != nil {
			e.keeping.expect()
		}
	}
	e.apiServers = append(e.apiServers, config.Host)
	stats := new(source.Stats)
	e.addSource(clusterSource(name, config, sel, stats, w), stats, sel.Pools)
	return nil
}

// clusterSource returns what reads a cluster at its API server, and tells w, which may be
// nil, how objects stand there.
func clusterSource(name string, config *rest.Config, sel source.Selection, stats *source.Stats, w *writer) source.Source {
	opts := source.KubernetesOptions{Cluster: name, Config: config, Selection: sel, Logf: log.Warningf, Infof: log.Infof, Stats: stats}
	if w != nil {
		opts.Observer = w.Standing()
	}
	return source.Kubernetes(opts)
}
