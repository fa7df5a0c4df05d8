package corefile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
)

var errNoBrace = errors.New("the block is not closed; write } on a line of its own")

// cluster reads a cluster line, with its block if it has one.
func (p *parser) cluster(args []string) error {
	if err := count(args, 2, 3, "NAME FILE [CONTEXT]"); err != nil {
		return err
	}
	if len(p.dirs)+len(p.cfg.Manifests) > 0 {
		return errExclude
	}
	c := engine.Cluster{Name: args[0], Kubeconfig: engine.Kubeconfig{File: p.path(args[1])}}
	if len(args) == 3 {
		c.Context = args[2]
	}
	if err := checkClusterName(c.Name); err != nil {
		return err
	}
	if slices.ContainsFunc(p.clusters, func(o engine.Cluster) bool { return o.Name == c.Name }) {
		return fmt.Errorf("two clusters are named %q; rename one of them", c.Name)
	}
	p.clustersAt = p.at
	if p.c.NextArg() { // the opening brace of its block
		if err := p.lines("cluster", clusterProperties(&c)); err != nil {
			return err
		}
		p.at = p.clustersAt
	}
	i := slices.IndexFunc(p.cfg.Clusters, func(o engine.Cluster) bool { return o.Name == c.Name })
	if p.cfg.Clusters != nil && (i < 0 || !reflect.DeepEqual(p.cfg.Clusters[i], c)) {
		return errDiffers
	}
	p.clusters = append(p.clusters, c)
	p.cfg.Note(c.Key(), p.clustersAt)
	return nil
}

// checkClusterName returns an error if name cannot name a cluster. The name appears in metrics and override files,
// and is that of the Secret if the cluster comes from one.
func checkClusterName(name string) error {
	if name == engine.LocalCluster {
		return fmt.Errorf("%q is the name of the main cluster; choose another one", engine.LocalCluster)
	}
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return wanted([]string{name}, "a cluster name (up to 253 of a-z, 0-9, - and .)")
	}
	return nil
}

// lines reads the block of a property, whose opening brace has been read. of is its subject, such as "cluster".
func (p *parser) lines(of string, properties map[string]func([]string) error) error {
	if p.c.NextArg() {
		return fmt.Errorf("unexpected %q after {; write it on a line of its own", p.c.Val())
	}
	seen := make(map[string]bool)
	for p.c.Next() {
		name := p.c.Val()
		p.at = placeOf(p.c)
		if name == "}" {
			if p.c.NextArg() {
				return fmt.Errorf("unexpected %q after }", p.c.Val())
			}
			return nil
		}
		args := p.c.RemainingArgs()
		if p.c.NextArg() {
			return fmt.Errorf("%s: unexpected %q", name, p.c.Val())
		}
		if seen[name] {
			return fmt.Errorf("%s appears twice in one %s", name, of)
		}
		seen[name] = true
		read, ok := properties[name]
		if !ok {
			return fmt.Errorf("%s: unknown in a %s; want %s", name, of, strings.Join(slices.Sorted(maps.Keys(properties)), ", "))
		}
		if err := read(args); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return errNoBrace
}

// clusterProperties are the lines of a cluster's block.
func clusterProperties(c *engine.Cluster) map[string]func([]string) error {
	return map[string]func([]string) error{
		"group": groupOf(&c.Group),
		"namespaces": func(args []string) error {
			if err := cmp.Or(count(args, 1, -1, "NAMESPACE..."), checkNamespaces(args)); err != nil {
				return err
			}
			c.Pools = api.PoolsIn(args...)
			return nil
		},
		"write-back": func(args []string) error {
			if len(args) != 1 || args[0] != "off" {
				return wanted(args, "off")
			}
			c.WriteBackOff = true
			return nil
		},
	}
}

// finishClusters checks the clusters of one block and adds them to cfg.
func (p *parser) finishClusters() error {
	if len(p.clusters) == 0 {
		return nil
	}
	if len(p.clusters) < len(p.cfg.Clusters) {
		return p.clustersAt.Errorf("cluster: %w; see %s", errDiffers, p.cfg.At("cluster"))
	}
	slices.SortFunc(p.clusters, func(a, b engine.Cluster) int { return cmp.Compare(a.Name, b.Name) })
	p.cfg.Clusters = p.clusters
	return nil
}
