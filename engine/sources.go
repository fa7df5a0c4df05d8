package engine

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// readClusters fills in which clusters the Corefile has read, and how.
func (e *Engine) readClusters(s *settings, cfg *Options) error {
	if len(cfg.Zones) == 0 {
		return errors.New("no zones")
	}
	for _, from := range cfg.Sources {
		s.feeds = append(s.feeds, &feed{name: from.Name(), source: from, stats: new(source.Stats), same: feedSettings{text: fmt.Sprintf("%p", from)}})
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
	if s.opt.ZoneNamespaces == nil {
		namespace, _ := leaseOf(cfg, namespace)
		s.opt.ZoneNamespaces = []string{namespace} // rule 5.2
	}
	if err := e.readCluster(s, cfg, LocalCluster, rc, s.reads, namespace); err != nil {
		return cfg.At(PluginName).Errorf("%w", err)
	}
	for _, c := range cfg.Clusters {
		config, _, err := loadKubeconfig([]string{c.File}, c.Context)
		if err != nil {
			return cfg.At(c.Key()).Errorf("cluster %s: %w", c.Name, err)
		}
		sel, own := s.reads, cfg
		if sel.Pools = c.Pools; c.WriteBackOff {
			off := *cfg
			off.Writing.Mode, own = "off", &off
		}
		if err := e.readCluster(s, own, c.Name, config, sel, namespace); err != nil {
			return cfg.At(c.Key()).Errorf("cluster %s: %w", c.Name, err)
		}
	}
	if ns, _ := leaseOf(cfg, namespace); s.reads.Watches(api.KindSecret) {
		s.secrets = e.readSecrets(ns, rc, s.reads, fmt.Sprint(s.reads)+writingAs(cfg, namespace), func(name string, config *rest.Config) (*Writer, error) {
			return e.newWriter(cfg, name, config, namespace, false)
		})
	}
	return nil
}

// readCluster adds a cluster that has an API server. namespace is the one that the Lease is in where nothing says which. The
// first cluster keeps the registry and serials in its ConfigMaps.
func (e *Engine) readCluster(s *settings, cfg *Options, name string, config *rest.Config, sel source.Selection, namespace string) error {
	first := len(s.feeds) == 0
	w, err := e.newWriter(cfg, name, config, namespace, first)
	if err != nil {
		return err
	}
	f := &feed{
		name: name, pools: sel.Pools, stats: new(source.Stats), writer: w, keeps: first && w != nil, extra: !first,
		same: settingsOf(config, fmt.Sprint(sel)+writingAs(cfg, namespace)),
	}
	f.source = e.clusterSource(name, config, sel, f.stats, w)
	s.feeds, s.apiServers = append(s.feeds, f), append(s.apiServers, config.Host)
	return nil
}

// writingAs returns how a cluster is written to, as text.
func writingAs(cfg *Options, namespace string) string {
	namespace, lease := leaseOf(cfg, namespace)
	return fmt.Sprintf(" %v %s/%s %v", cfg.Writing, namespace, lease, cfg.Selection.Policies != nil)
}

// clusterSource returns what reads a cluster at its API server, and tells w, which may be
// nil, how objects stand there.
func (e *Engine) clusterSource(name string, config *rest.Config, sel source.Selection, stats *source.Stats, w *Writer) source.Source {
	opts := source.KubernetesOptions{Cluster: name, Config: config, Selection: sel, Logf: e.log.Warningf, Infof: e.log.Infof, Stats: stats}
	if w != nil {
		opts.Observer = w.Cache()
	}
	return source.Kubernetes(opts)
}

// readSecrets returns where to look for Secrets: in a namespace of the main cluster, which config leads to. sel says what is
// read of the clusters that they name, write makes what writes to one.
func (e *Engine) readSecrets(namespace string, config *rest.Config, sel source.Selection, text string, write func(string, *rest.Config) (*Writer, error)) secretsConfig {
	return secretsConfig{
		place: fmt.Sprintf("%q path=%q namespace=%q", config.Host, config.APIPath, namespace),
		same:  settingsOf(config, text),
		follow: func(ctx context.Context, publish func([]*source.Remote)) error {
			return source.FollowRemotes(ctx, source.RemotesOptions{
				Cluster: LocalCluster, Config: config, Namespace: namespace, Logf: e.log.Warningf, Infof: e.log.Infof,
			}, publish)
		},
		open: func(of *source.Remote) *feed {
			w, err := write(of.Name, of.Config)
			if err != nil {
				e.log.Errorf("cluster %q: nothing is written back: %v", of.Name, err)
			}
			sel.Pools = of.Pools
			f := &feed{name: of.Name, pools: of.Pools, stats: new(source.Stats), writer: w}
			f.source = e.clusterSource(of.Name, of.Config, sel, f.stats, w)
			return f
		},
	}
}
