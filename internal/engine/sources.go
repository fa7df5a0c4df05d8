package engine

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
)

// readClusters fills in which clusters the Corefile reads, and how.
func (e *Engine) readClusters(s *settings, cfg *Options) error {
	for _, from := range cfg.Sources {
		s.feeds = append(s.feeds, &feed{
			name: from.Name(), pools: cfg.Pools[from.Name()], source: from, stats: new(source.Stats), same: feedSettings{text: fmt.Sprintf("%p", from)},
		})
	}
	for _, m := range cfg.Manifests {
		sel := s.reads
		sel.Pools = cfg.Pools[m.Cluster]
		f := &feed{name: m.Cluster, pools: sel.Pools, stats: new(source.Stats), same: feedSettings{text: m.Dir + fmt.Sprint(sel)}}
		f.source = source.Directory(source.DirectoryOptions{
			Cluster: m.Cluster, Dir: m.Dir, Selection: sel, Logf: e.log.Warningf, Infof: e.log.Infof, Stats: f.stats,
		})
		s.feeds = append(s.feeds, f)
	}
	if len(s.feeds) > 0 {
		return nil
	}
	rc, namespace, err := restConfig(cfg)
	if err != nil {
		return err
	}
	as := cfg.Writing.complete(namespace)
	if s.opt.ZoneNamespaces == nil {
		s.opt.ZoneNamespaces = []string{as.Namespace} // rule 5.2
	}
	f, err := e.newFeed(LocalCluster, rc, s.reads, as, as.Mode != "off")
	if err != nil {
		return cfg.At(PluginName).Errorf("%w", err)
	}
	s.feeds = append(s.feeds, f)
	for _, c := range cfg.Clusters {
		sel, as := s.reads, as
		if sel.Pools = c.Pools; c.WriteBackOff {
			as.Mode = "off"
		}
		config, _, err := loadKubeconfig([]string{c.File}, c.Context)
		if err == nil {
			f, err = e.newFeed(c.Name, config, sel, as, false)
		}
		if err != nil {
			return cfg.At(c.Key()).Errorf("cluster %s: %w", c.Name, err)
		}
		f.extra = true
		s.feeds = append(s.feeds, f)
	}
	if s.reads.Watches(api.KindSecret) {
		s.secrets = e.readSecrets(rc, s.reads, as)
	}
	return nil
}

// newFeed returns the feed of a cluster at its API server. writesRegistry is true if the cluster has the registry and serials in its
// ConfigMaps.
func (e *Engine) newFeed(name string, config *rest.Config, sel source.Selection, as Writing, writesRegistry bool) (*feed, error) {
	w, err := e.newWriter(as, name, config, sel.Policies != nil, writesRegistry)
	if err != nil {
		return nil, err
	}
	f := &feed{name: name, pools: sel.Pools, stats: new(source.Stats), writer: w, writesRegistry: writesRegistry}
	f.same = settingsOf(config, fmt.Sprint(sel, as))
	opts := source.KubernetesOptions{Cluster: name, Config: config, Selection: sel, Logf: e.log.Warningf, Infof: e.log.Infof, Stats: f.stats}
	if w != nil {
		opts.Observer = w.Cache()
	}
	f.source = source.Kubernetes(opts)
	return f, nil
}

// readSecrets returns where to look for Secrets: in the Lease's namespace of the main cluster, which config leads to. sel and as
// say how the clusters that they name are read and written.
func (e *Engine) readSecrets(config *rest.Config, sel source.Selection, as Writing) secretsConfig {
	return secretsConfig{
		place: fmt.Sprintf("%q path=%q namespace=%q", config.Host, config.APIPath, as.Namespace),
		same:  settingsOf(config, fmt.Sprint(sel, as)),
		follow: func(ctx context.Context, publish func([]*source.Remote)) error {
			return source.FollowRemotes(ctx, source.RemotesOptions{
				Cluster: LocalCluster, Config: config, Namespace: as.Namespace, Logf: e.log.Warningf, Infof: e.log.Infof,
			}, publish)
		},
		open: func(of *source.Remote) *feed {
			sel.Pools = of.Pools
			f, err := e.newFeed(of.Name, of.Config, sel, as, false)
			if err != nil {
				e.log.Errorf("cluster %q: cannot write back: %v", of.Name, err)
				f, _ = e.newFeed(of.Name, of.Config, sel, Writing{Mode: "off"}, false)
			}
			return f
		},
	}
}
