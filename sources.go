package kuadrant

import (
	"errors"

	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/corefile"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// configure fills in what the Corefile says. It opens databases, and fails
// where the Corefile cannot work.
func (e *engine) configure(cfg *corefile.Options) error {
	if err := cfg.Check(); err != nil {
		return err
	}
	e.opt = cfg.Records()
	sel, err := cfg.Selection()
	if err != nil {
		return err
	}
	e.reads = sel
	e.noSecrets, e.watches, e.selection = !sel.Watches(api.KindSecret), sel.Watches, selectionText(cfg, sel.Namespaces)
	e.guard.configure(cfg, sel)
	if err := e.addSources(cfg, sel); err != nil {
		return err
	}
	if e.locator, err = openGeo(cfg); err != nil {
		return err
	}
	if cfg.Override != "" {
		if e.overrideFile, err = openOverrides(cfg.Override, e.override); err != nil {
			return cfg.At("override").Errorf("override: %w", err)
		}
	}
	if err := e.openState(cfg); err != nil {
		return err
	}
	if !cfg.ProbesOff {
		e.prober = health.NewProber(probing(cfg, e.apiServers, e.targetChanged))
	}
	return e.openConsole(cfg)
}

func (e *engine) addSources(cfg *corefile.Options, sel source.Selection) error {
	if len(cfg.Zones) == 0 {
		return errors.New("no zones")
	}
	for _, m := range cfg.Manifests {
		own := sel
		own.Pools = cfg.Pools[m.Cluster]
		stats := new(source.Stats)
		e.addSource(source.Directory(source.DirectoryOptions{
			Cluster: m.Cluster, Dir: m.Dir, Selection: own, Logf: log.Warningf, Infof: log.Infof, Stats: stats,
		}), stats, own.Pools)
	}
	if len(e.sources) > 0 {
		return cfg.CheckManifests()
	}
	rc, namespace, err := restConfig(cfg)
	if err != nil {
		return err
	}
	if e.opt.ZoneNamespaces == nil {
		namespace, _ := leaseOf(cfg, namespace)
		e.opt.ZoneNamespaces = []string{namespace} // rule 5.2
	}
	if err := e.addCluster(cfg, corefile.LocalCluster, rc, sel, namespace, true); err != nil {
		return cfg.At(pluginName).Errorf("%w", err)
	}
	for _, c := range cfg.Clusters {
		config, _, err := loadKubeconfig([]string{c.File}, c.Context)
		if err != nil {
			return cfg.At(c.Key()).Errorf("cluster %s: %w", c.Name, err)
		}
		own := sel
		own.Pools = c.Pools
		if err := e.addCluster(writingTo(cfg, c), c.Name, config, own, namespace, false); err != nil {
			return cfg.At(c.Key()).Errorf("cluster %s: %w", c.Name, err)
		}
		e.further[c.Name] = true
	}
	if ns, _ := leaseOf(cfg, namespace); !e.noSecrets {
		e.remotes.configure(ns, rc, sel, func(name string, config *rest.Config) (*writer, error) {
			return newWriter(cfg, name, config, namespace, nil)
		})
	}
	return nil
}

// addSource adds a source of the Corefile.
func (e *engine) addSource(s source.Source, stats *source.Stats, pools api.Pools) {
	e.sources, e.stats = append(e.sources, s), append(e.stats, stats)
	e.pools[s.Name()] = pools
}

// addCluster adds a cluster of the Corefile that has an API server. namespace is the one that
// the Lease is in where nothing says which; keeps tells whether owners and serials are kept in
// the cluster's ConfigMaps.
func (e *engine) addCluster(cfg *corefile.Options, name string, config *rest.Config, sel source.Selection, namespace string, keeps bool) error {
	var to *engine
	if keeps {
		to = e
	}
	w, err := newWriter(cfg, name, config, namespace, to)
	if err != nil {
		return err
	}
	if w != nil {
		e.writers = append(e.writers, w)
		if keeps {
			e.keeping.expect(name)
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
