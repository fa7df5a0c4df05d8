package kuadrant

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/coredns/coredns/plugin/pkg/fall"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
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
	place        place
	keys         []string // the zones of the server block, in the same form
	warnings     []string // to be logged at the start, with the place of each
}

// place is where something stands in the Corefile: file:line.
type place string

// errorf returns an error that reads as those of CoreDNS's own parser do.
func (p place) errorf(format string, args ...any) error {
	return fmt.Errorf("%s - Error during parsing: %w", p, fmt.Errorf(format, args...))
}

// config is the process-wide part of all kuadrant directives of one Corefile.
// A setting stands in one block, or is equal wherever it stands.
type config struct {
	kubeconfig kubeconfig
	clusters   []clusterConfig // beside the main one, in the order of their names
	manifests  []manifests
	// pools says where clusters that are directories pool, by their names; a missing one
	// pools everywhere.
	pools      map[string]api.Pools
	namespaces []string
	policies   string // a label selector in its canonical form
	kinds      []string
	secretsOff bool
	geoip      []string
	nets       string
	override   string // a file
	state      string // a directory
	console    consoleConfig
	guard      *time.Duration // nil where nothing is said
	probesOff  bool
	writing    writing
	probeDeny  []string // prefixes, as are those of probeAllow
	probeAllow []string
	// zoneNamespaces may have Zones that no other one delegates; publish has the
	// namespaces of each domain.
	zoneNamespaces []string
	publish        map[string][]string
	publishPlaces  map[string]place // the line that named each domain first
	zones          []records.ZoneOptions
	zonePlaces     map[string]place // origin → the directive that set it first
	serverPlaces   map[string]place // name server with addresses → the line that named it first
	// places are the properties of all blocks by name, each where it stood
	// first, and the first directive by the plugin's name.
	places map[string]place
}

func newConfig() *config {
	return &config{zonePlaces: make(map[string]place), places: make(map[string]place), publish: make(map[string][]string), publishPlaces: make(map[string]place), serverPlaces: make(map[string]place)}
}

// note keeps where a property stands, unless another block had it before.
func (cfg *config) note(property string, at place) {
	if _, ok := cfg.places[property]; !ok {
		cfg.places[property] = at
	}
}

// kubeconfig names a kubeconfig file and a context in it; "" is the file's own.
type kubeconfig struct{ file, context string }

// manifests is a directory that stands for a cluster.
type manifests struct{ dir, cluster string }

// clusterConfig is one more cluster of the Corefile.
type clusterConfig struct {
	name string
	kubeconfig
	pools        api.Pools
	writeBackOff bool // nothing is written to it
}

// localCluster is the name of the cluster whose API server is watched.
const localCluster = "local"

var (
	errEmptySelector = errors.New("the selector is empty: leave the property out to read all policies")
	errDiffers       = errors.New("another server block says something else: the setting is for the whole process")
	errExclude       = errors.New("manifests excludes kubeconfig and cluster: objects come from files or from API servers")
)

func unknownProperty(name string) error {
	return fmt.Errorf("unknown property %q: known are %s", name, strings.Join(slices.Sorted(maps.Keys(properties)), ", "))
}

func unknownKind(name string) error {
	var known []string
	for k := range api.NumKinds {
		known = append(known, k.String())
	}
	return fmt.Errorf("unknown kind %q: known are %s", name, strings.Join(known, ", "))
}

// count checks the number of arguments, none of which may be empty; most < 0 is
// no limit.
func count(args []string, least, most int, form string) error {
	if len(args) < least || most >= 0 && len(args) > most || slices.Contains(args, "") {
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

// shareOrdered is share for lists in which the order matters.
func shareOrdered(setting *[]string, value []string) error {
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

// checkNamespaces fails where a word cannot be a namespace's name.
func checkNamespaces(names []string) error {
	for _, name := range names {
		if len(validation.IsDNS1123Label(name)) > 0 {
			return wanted([]string{name}, "the name of a namespace (up to 63 of a-z, 0-9 and -)")
		}
	}
	return nil
}

// addZone takes the options of one zone; at is the directive that they stand in.
// A zone may stand in several blocks, with equal options.
func (cfg *config) addZone(z records.ZoneOptions, at place) error {
	i := slices.IndexFunc(cfg.zones, func(o records.ZoneOptions) bool { return o.Origin == z.Origin })
	if i < 0 {
		cfg.zones = append(cfg.zones, z)
		cfg.zonePlaces[z.Origin] = at
		return nil
	}
	if !reflect.DeepEqual(cfg.zones[i], z) {
		return at.errorf("zone %s has other settings at %s: answer, ttl, nameserver and rname are equal wherever a zone stands", z.Origin, cfg.zonePlaces[z.Origin])
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
		if err := checkNamespaces(sel.Namespaces); err != nil {
			return sel, cfg.places[pluginName].errorf("variable %s: %w", watchNamespaces, err)
		}
	}
	if cfg.policies != "" {
		s, err := labels.Parse(cfg.policies)
		if err != nil {
			return sel, cfg.places["policies"].errorf("policies: %w", err)
		}
		sel.Policies = s
	}
	for _, name := range cfg.kinds {
		k, ok := api.ParseKind(name)
		if !ok {
			return sel, cfg.places["kinds"].errorf("kinds: %w", unknownKind(name))
		}
		sel.Kinds = append(sel.Kinds, k)
	}
	// Without probes, nothing sends a header.
	sel.NoSecrets, sel.NoHeaders = cfg.secretsOff, cfg.probesOff
	return sel, nil
}

// options returns what compiling has to know.
func (cfg *config) options() *records.Options {
	opt := &records.Options{
		Zones: cfg.zones, ProbesOff: cfg.probesOff, ProbeAllow: prefixes(cfg.probeAllow), ZoneNamespaces: cfg.zoneNamespaces,
	}
	for _, domain := range slices.Sorted(maps.Keys(cfg.publish)) {
		opt.Publish = append(opt.Publish, records.Publish{Domain: domain, Namespaces: cfg.publish[domain]})
	}
	return opt
}

// namespaceFile is where a pod finds the name of its namespace; tests have it elsewhere.
var namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// ownNamespace returns the namespace of the pod that this process runs in, as a list; an
// empty one elsewhere.
func ownNamespace() []string {
	text, err := os.ReadFile(namespaceFile)
	if name := strings.TrimSpace(string(text)); err == nil && checkNamespaces([]string{name}) == nil {
		return []string{name}
	}
	return []string{}
}

// openGeo opens what finds clients; nil where the Corefile names nothing.
func (cfg *config) openGeo() (*geo.DB, error) {
	if len(cfg.geoip) == 0 && cfg.nets == "" {
		return nil, nil
	}
	db, err := geo.Open(cfg.geoip, cfg.nets, log)
	if err != nil {
		property := "geoip"
		if of := (*geo.OpenError)(nil); errors.As(err, &of) && of.Nets {
			property = "nets"
		}
		return nil, cfg.places[property].errorf("%s: %w", property, err)
	}
	return db, nil
}

// restConfig returns how to reach the API server: the kubeconfig of the
// Corefile, else the one in the pod, else that of the environment's KUBECONFIG; and the
// namespace that it means where nothing says which, "" for none.
func (cfg *config) restConfig() (c *rest.Config, namespace string, err error) {
	if cfg.kubeconfig.file != "" {
		c, namespace, err := loadKubeconfig([]string{cfg.kubeconfig.file}, cfg.kubeconfig.context)
		if err != nil {
			return nil, "", cfg.places["kubeconfig"].errorf("kubeconfig: %w", err)
		}
		return c, namespace, nil
	}
	at := cfg.places[pluginName]
	if c, err = rest.InClusterConfig(); err == nil {
		return c, "", nil
	}
	if !errors.Is(err, rest.ErrNotInCluster) {
		return nil, "", at.errorf("read the pod's service account: %w", err)
	}
	const variable = clientcmd.RecommendedConfigPathEnvVar
	env := os.Getenv(variable)
	if env == "" {
		return nil, "", at.errorf("no objects to read: not in a cluster, and neither kubeconfig, manifests nor the variable %s is set", variable)
	}
	if c, namespace, err = loadKubeconfig(filepath.SplitList(env), ""); err != nil {
		return nil, "", at.errorf("variable %s is %q: %w", variable, env, err)
	}
	return c, namespace, nil
}

// loadKubeconfig reads files, of which some may be missing, as one kubeconfig;
// context "" is their own current one. It returns the context's namespace, too.
func loadKubeconfig(files []string, context string) (c *rest.Config, namespace string, err error) {
	if err := checkKubeconfigs(files); err != nil {
		return nil, "", err
	}
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: files}
	all, err := rules.Load()
	if err != nil {
		return nil, "", err
	}
	names, known := strings.Join(files, ", "), strings.Join(slices.Sorted(maps.Keys(all.Contexts)), ", ")
	used := cmp.Or(context, all.CurrentContext)
	switch {
	case len(all.Clusters) == 0:
		return nil, "", fmt.Errorf("no cluster in %s: name a kubeconfig, such as kubectl uses", names)
	case used == "":
		return nil, "", fmt.Errorf("no current context in %s: set one with kubectl config use-context, or name one after the file (known are %s)", names, known)
	case all.Contexts[used] == nil:
		return nil, "", fmt.Errorf("context %q does not exist in %s: known are %s", used, names, known)
	}
	// The deferred loader would take the pod's service account in place of files
	// that say nothing.
	overrides := &clientcmd.ConfigOverrides{CurrentContext: context}
	c, err = clientcmd.NewNonInteractiveClientConfig(*all, context, overrides, rules).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		// Its own message names a variable that is not read.
		return nil, "", fmt.Errorf("context %q in %s names no cluster of these: %s", used, names, strings.Join(slices.Sorted(maps.Keys(all.Clusters)), ", "))
	}
	if err != nil {
		return nil, "", fmt.Errorf("use context %q of %s: %w", used, names, err)
	}
	return c, all.Contexts[used].Namespace, nil
}

// checkKubeconfigs fails where one of files is no kubeconfig, or all are missing.
func checkKubeconfigs(files []string) error {
	missing := errors.New("no file is named")
	for _, file := range files {
		if file == "" {
			continue
		}
		var path *fs.PathError
		switch _, err := clientcmd.LoadFromFile(file); {
		case err == nil:
			missing = nil
		case errors.As(err, &path):
			err = fmt.Errorf("read %s: %w", file, path.Err)
			if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if missing != nil {
				missing = err
			}
		default:
			return fmt.Errorf("%s is not a kubeconfig: %w", file, err)
		}
	}
	return missing
}
