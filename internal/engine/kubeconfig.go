package engine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/coredns-kuadrant/kuadrant/geo"
)

// NamespaceFile is the file that has the namespace of the pod; tests change it.
var NamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// ownNamespace returns the namespace of the pod that this process runs in; "" elsewhere.
func ownNamespace() string {
	text, err := os.ReadFile(NamespaceFile)
	if name := strings.TrimSpace(string(text)); err == nil && len(validation.IsDNS1123Label(name)) == 0 {
		return name
	}
	return ""
}

// openGeo opens the databases that locate clients; nil if the Corefile names none.
func openGeo(cfg *Options, log Logger) (*geo.DB, error) {
	if len(cfg.GeoIP) == 0 && cfg.Nets == "" {
		return nil, nil
	}
	db, err := geo.Open(cfg.GeoIP, cfg.Nets, log)
	if err != nil {
		property := "geoip"
		if of := (*geo.OpenError)(nil); errors.As(err, &of) && of.Nets {
			property = "nets"
		}
		return nil, cfg.At(property).Errorf("%s: %w", property, err)
	}
	return db, nil
}

// restConfig returns how to reach the API server: by the Corefile's kubeconfig, else the pod's
// service account, else the environment's KUBECONFIG; and its default namespace, "" for none.
func restConfig(cfg *Options) (c *rest.Config, namespace string, err error) {
	if cfg.Kubeconfig.File != "" {
		c, namespace, err := loadKubeconfig([]string{cfg.Kubeconfig.File}, cfg.Kubeconfig.Context)
		if err != nil {
			return nil, "", cfg.At("kubeconfig").Errorf("kubeconfig: %w", err)
		}
		return c, namespace, nil
	}
	at := cfg.At(PluginName)
	if c, err = rest.InClusterConfig(); err == nil {
		return c, "", nil
	}
	if !errors.Is(err, rest.ErrNotInCluster) {
		return nil, "", at.Errorf("read the pod's service account: %w", err)
	}
	const variable = clientcmd.RecommendedConfigPathEnvVar
	env := os.Getenv(variable)
	if env == "" {
		return nil, "", at.Errorf("no objects to read: not in a cluster, and none of kubeconfig, manifests and the variable %s is set", variable)
	}
	if c, namespace, err = loadKubeconfig(filepath.SplitList(env), ""); err != nil {
		return nil, "", at.Errorf("variable %s is %q: %w", variable, env, err)
	}
	return c, namespace, nil
}

// loadKubeconfig merges files, some of which may be missing, into one kubeconfig; context "" is
// their current one. It also returns the context's namespace.
func loadKubeconfig(files []string, context string) (c *rest.Config, namespace string, err error) {
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: files}
	all, err := rules.Load()
	if err != nil {
		return nil, "", fmt.Errorf("not a kubeconfig: %w", err)
	}
	names, known := strings.Join(files, ", "), strings.Join(slices.Sorted(maps.Keys(all.Contexts)), ", ")
	used := cmp.Or(context, all.CurrentContext)
	switch {
	case len(all.Clusters) == 0:
		for _, file := range files {
			if _, err := os.Stat(file); err != nil {
				return nil, "", err
			}
		}
		return nil, "", fmt.Errorf("no cluster in %s; name a kubeconfig such as kubectl uses", names)
	case used == "":
		return nil, "", fmt.Errorf("no current context in %s; set one with `kubectl config use-context`, or name one after the file: %s", names, known)
	case all.Contexts[used] == nil:
		return nil, "", fmt.Errorf("no context %q in %s; want one of %s", used, names, known)
	}
	// The deferred loader would prefer the pod's service account to empty files.
	overrides := &clientcmd.ConfigOverrides{CurrentContext: context}
	c, err = clientcmd.NewNonInteractiveClientConfig(*all, context, overrides, rules).ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("use context %q of %s: %w", used, names, err)
	}
	return c, all.Contexts[used].Namespace, nil
}
