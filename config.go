package kuadrant

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/coredns/coredns/plugin/pkg/fall"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// block is what one kuadrant directive says about its own server block.
type block struct {
	// zones are the zones that the block answers for, in lower case with a final
	// dot; zonesWritten is false where they come from the server block's key.
	zones        []string
	zonesWritten bool
	zoneSet      map[string]bool // of zones
	fall         fall.F
	manifests    []manifests
	line         string // file:line, for messages
}

// config is the process-wide part of all kuadrant directives of one Corefile.
// A setting stands in one block, or is equal wherever it stands.
type config struct {
	kubeconfig kubeconfig
	manifests  []manifests
	namespaces []string
	policies   string // a label selector in its canonical form
	kinds      []string
	geoip      []string
	nets       string
	zones      []records.ZoneOptions
	zoneLines  map[string]string // origin → file:line that set it first
}

// kubeconfig names a kubeconfig file and a context in it; "" is the file's own.
type kubeconfig struct{ file, context string }

// manifests is a directory that stands for a cluster.
type manifests struct{ dir, cluster string }

// localCluster is the name of the cluster whose API server is watched.
const localCluster = "local"

var (
	errEmptySelector = errors.New("the selector is empty: leave the property out to read all policies")
	errDiffers       = errors.New("another server block says something else: the setting is for the whole process")
)

func unknownKind(name string) error {
	var known []string
	for k := range api.NumKinds {
		known = append(known, k.String())
	}
	return fmt.Errorf("unknown kind %q: known are %s", name, strings.Join(known, ", "))
}

// count checks the number of arguments; most < 0 is no limit.
func count(args []string, least, most int, form string) error {
	if len(args) < least || most >= 0 && len(args) > most {
		return wanted(args, form)
	}
	return nil
}

func wanted(args []string, form string) error {
	if len(args) == 0 {
		return fmt.Errorf("wanted %s, found nothing", form)
	}
	return fmt.Errorf("wanted %s, found %q", form, strings.Join(args, " "))
}

// share sets a process-wide setting, unless another block has set it otherwise.
func share[T comparable](setting *T, value T) error {
	var unset T
	if *setting != unset && *setting != value {
		return errDiffers
	}
	*setting = value
	return nil
}

// shareList is share for lists, whose order does not matter.
func shareList(setting *[]string, value []string) error {
	value = slices.Compact(slices.Sorted(slices.Values(value)))
	if *setting != nil && !slices.Equal(*setting, value) {
		return errDiffers
	}
	*setting = value
	return nil
}

// newManifests checks a directory and the name of its cluster, which defaults
// to the directory's base name.
func newManifests(dir string, cluster []string) (manifests, error) {
	m := manifests{dir: filepath.Clean(dir), cluster: filepath.Base(filepath.Clean(dir))}
	if len(cluster) > 0 {
		m.cluster = cluster[0]
	}
	if m.cluster == "" || strings.ContainsAny(m.cluster, "/ ") || m.cluster == "." || m.cluster == ".." {
		return m, fmt.Errorf("%q cannot name a cluster: write a name after the directory", m.cluster)
	}
	info, err := os.Stat(m.dir)
	if err != nil {
		return m, fmt.Errorf("open directory: %w", err)
	}
	if !info.IsDir() {
		return m, fmt.Errorf("%s is not a directory", m.dir)
	}
	return m, nil
}

// addManifests takes the directories of one block.
func (cfg *config) addManifests(block []manifests) error {
	if len(cfg.manifests)+len(block) > 0 && cfg.kubeconfig != (kubeconfig{}) {
		return errors.New("manifests and kubeconfig exclude each other: objects come from files or from an API server")
	}
	if len(block) == 0 {
		return nil
	}
	for i, m := range block {
		if slices.ContainsFunc(block[:i], func(o manifests) bool { return o.cluster == m.cluster }) {
			return fmt.Errorf("manifests: two directories for cluster %q: write a name of its own after one of them", m.cluster)
		}
	}
	if cfg.manifests != nil && !slices.Equal(cfg.manifests, block) {
		return fmt.Errorf("manifests: %w", errDiffers)
	}
	cfg.manifests = block
	return nil
}

// addZone takes the options of one zone; line is where they stand. A zone may
// stand in several blocks, with equal options.
func (cfg *config) addZone(z records.ZoneOptions, line string) error {
	i := slices.IndexFunc(cfg.zones, func(o records.ZoneOptions) bool { return o.Origin == z.Origin })
	if i < 0 {
		cfg.zones = append(cfg.zones, z)
		cfg.zoneLines[z.Origin] = line
		return nil
	}
	if !reflect.DeepEqual(cfg.zones[i], z) {
		return fmt.Errorf("zone %s has other settings at %s: answer, ttl, nameserver and rname are equal wherever a zone stands", z.Origin, cfg.zoneLines[z.Origin])
	}
	return nil
}

// rootedPath makes a relative file relative to root.
func rootedPath(root, file string) string {
	if filepath.IsAbs(file) || root == "" {
		return file
	}
	return filepath.Join(root, file)
}

// watchNamespaces is the environment's form of the property namespaces: a list
// with commas.
const watchNamespaces = "WATCH_NAMESPACES"

// selection returns which objects are read.
func (cfg *config) selection() (source.Selection, error) {
	sel := source.Selection{Namespaces: cfg.namespaces}
	if env := os.Getenv(watchNamespaces); env != "" && sel.Namespaces == nil {
		for ns := range strings.SplitSeq(env, ",") {
			if ns = strings.TrimSpace(ns); ns != "" {
				sel.Namespaces = append(sel.Namespaces, ns)
			}
		}
	}
	if cfg.policies != "" {
		s, err := labels.Parse(cfg.policies)
		if err != nil {
			return sel, fmt.Errorf("policies: %w", err)
		}
		sel.Policies = s
	}
	for _, name := range cfg.kinds {
		k, ok := api.ParseKind(name)
		if !ok {
			return sel, unknownKind(name)
		}
		sel.Kinds = append(sel.Kinds, k)
	}
	return sel, nil
}

// restConfig returns how to reach the API server: the kubeconfig of the
// Corefile, else the one in the pod, else that of the environment's KUBECONFIG.
func (cfg *config) restConfig() (*rest.Config, error) {
	if cfg.kubeconfig.file == "" {
		if c, err := rest.InClusterConfig(); err == nil {
			return c, nil
		} else if !errors.Is(err, rest.ErrNotInCluster) {
			return nil, fmt.Errorf("read the pod's service account: %w", err)
		}
	}
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: cfg.kubeconfig.file}
	if cfg.kubeconfig.file == "" {
		env := os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
		if env == "" {
			return nil, errors.New("no objects to read: not in a cluster, and neither kubeconfig, manifests nor the variable KUBECONFIG is set")
		}
		rules = &clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(env)}
	}
	overrides := &clientcmd.ConfigOverrides{CurrentContext: cfg.kubeconfig.context}
	c, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", cfg.kubeconfig.file, err)
	}
	return c, nil
}
