package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/internal/corefile"
	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// defaultCluster is the cluster of files without one.
const defaultCluster = "local"

// defaultCorefile is read if no flag names anything, as CoreDNS does.
const defaultCorefile = "Corefile"

// manifestPath is one path to read.
type manifestPath struct {
	cluster, path string
	named         bool // by -f CLUSTER=PATH
}

// manifestSet is the paths of one cluster.
type manifestSet struct {
	cluster string
	paths   []string
}

// setsOf groups paths by cluster, in order.
func setsOf(paths []manifestPath) (sets []manifestSet) {
	for _, p := range paths {
		if i := slices.IndexFunc(sets, func(m manifestSet) bool { return m.cluster == p.cluster }); i >= 0 {
			sets[i].paths = append(sets[i].paths, p.path)
		} else {
			sets = append(sets, manifestSet{p.cluster, []string{p.path}})
		}
	}
	return sets
}

// world is the compiled manifests and settings.
type world struct {
	settings *corefile.Settings
	clusters []*api.Cluster
	snap     *records.Snapshot
	db       *geo.DB // nil if nothing locates clients
	// said has one line for each thing skipped in the manifests.
	said []string
	// mixed warns of paths that may be in another cluster than intended.
	mixed []string
	// unread has one error for each file that could not be read or understood.
	unread []error
}

// load reads and compiles what the flags name. The error is about the command line or a file; errors about single
// manifests are in world.unread.
func (o *options) load(in io.Reader, p *progress) (*world, error) {
	if o.tokenFile != "" {
		return nil, errors.New("--token-file needs --server URL")
	}
	w, sets, err := o.find()
	if err != nil {
		return nil, err
	}
	w.mixed = mixedClusters(o.filenames)
	for _, set := range sets {
		p.begin("reading " + strings.Join(set.paths, ", "))
		w.read(set, in)
	}
	if err := o.nothingIn(w); err != nil {
		return nil, err
	}
	p.begin("opening geo databases")
	if err := w.openGeo(); err != nil {
		return nil, failed(err)
	}
	p.begin("compiling")
	w.snap = w.compile(w.clusters)
	return w, nil
}

// nothingIn returns an error if what -f names contains no object.
func (o *options) nothingIn(read *world) error {
	sel := &read.settings.Selection
	selects := len(sel.Namespaces)+len(sel.Kinds) > 0 || sel.Policies != nil || sel.NoSecrets
	if o.mayBeEmpty || len(o.filenames) == 0 || selects || len(read.said)+len(read.unread) > 0 || !read.empty() {
		return nil
	}
	return o.noObject()
}

// empty reports whether there are no objects.
func (w *world) empty() bool {
	return !slices.ContainsFunc(w.clusters, func(c *api.Cluster) bool { return c.Holds("") })
}

// noObject returns the error for paths of -f without objects.
func (o *options) noObject() error {
	return failed(fmt.Errorf("no object in %s", strings.Join(o.filenames, ", ")))
}

// find returns a world with its settings, and the manifests to read for it.
func (o *options) find() (*world, []manifestSet, error) {
	s, err := o.settings()
	if err != nil {
		return nil, nil, err
	}
	paths, err := o.manifestPaths(s)
	return &world{settings: s}, setsOf(paths), err
}

// settings returns the settings from the Corefile or the flags.
func (o *options) settings() (*corefile.Settings, error) {
	s := &corefile.Settings{Options: new(records.Options)}
	nothing := o.corefile == "" && len(o.filenames)+len(o.zones) == 0
	if info, err := os.Stat(defaultCorefile); nothing && err == nil && !info.IsDir() {
		o.corefile, o.byDefault = defaultCorefile, true
	}
	if o.corefile != "" {
		if len(o.zones) > 0 {
			return nil, errors.New("--zone and --corefile are mutually exclusive")
		}
		var err error
		if s, err = corefile.Read(o.corefile); err != nil {
			return nil, failed(err)
		}
	}
	for _, zone := range o.zones {
		name, err := inspect.ParseName(zone)
		if err != nil {
			return nil, fmt.Errorf("--zone: %w", err)
		}
		if slices.ContainsFunc(s.Options.Zones, func(z records.ZoneOptions) bool { return z.Origin == name }) {
			continue
		}
		s.Options.Zones = append(s.Options.Zones, records.ZoneOptions{
			Origin: name, TTL: records.DefaultTTL, LoadBalancedTTL: records.DefaultLoadBalancedTTL,
		})
	}
	switch {
	case len(s.Options.Zones) > 0:
	case nothing:
		path := "-f"
		if o.mayBeEmpty {
			path = "--against"
		}
		return nil, fmt.Errorf("nothing to read, and no file ./%s; set --corefile FILE, --server URL, or %s PATH and "+
			"--zone NAME", defaultCorefile, path)
	default:
		return nil, errors.New("no zones to serve; set --corefile FILE or --zone NAME")
	}
	if len(o.geoip) > 0 {
		s.GeoIP = o.geoip
	}
	s.Nets = cmp.Or(o.nets, s.Nets)
	return s, nil
}

// manifestPaths returns the paths to read: those of -f, else those of the Corefile. It returns an error if one does
// not exist.
func (o *options) manifestPaths(s *corefile.Settings) ([]manifestPath, error) {
	var paths []manifestPath
	for _, f := range o.filenames {
		cluster, path, named := cutCluster(f)
		if !named {
			cluster = clusterOf(f)
		}
		if cluster == "" || path == "" {
			return nil, fmt.Errorf("-f %q: write PATH or CLUSTER=PATH", f)
		}
		paths = append(paths, manifestPath{cluster, path, named})
	}
	if len(paths) == 0 {
		for _, m := range s.Manifests {
			paths = append(paths, manifestPath{m.Cluster, m.Dir, false})
		}
	}
	for _, p := range paths {
		if files, err := source.ManifestFiles(p.path); p.path == source.Stdin {
			continue
		} else if err != nil {
			return nil, failed(fmt.Errorf("read manifests: %w", err))
		} else if len(files) == 0 && len(o.filenames) > 0 && !o.mayBeEmpty { // a directory of the Corefile may fill later
			return nil, noFile(p.path)
		}
	}
	switch {
	case len(paths) > 0:
		return paths, nil
	case o.mayBeEmpty:
		return nil, errors.New("nothing to apply them to; set --against PATH or URL, --corefile FILE with a line " +
			"manifests, or --server URL")
	}
	return nil, errors.New("no objects to read; set -f DIR, --corefile FILE with a line manifests, " +
		"or --server URL")
}

// noFile returns the error for a directory without manifests: a mistyped path must not pass as clean.
func noFile(dir string) error {
	return failed(fmt.Errorf("%s: no files ending in .yaml, .yml or .json; subdirectories are not read", dir))
}

// readsStdin reports whether manifests are read from standard input.
func (o *options) readsStdin() bool {
	return slices.ContainsFunc(o.filenames, isStdin)
}

// isStdin reports whether [CLUSTER=]PATH is standard input.
func isStdin(f string) bool {
	_, path, _ := cutCluster(f)
	return path == source.Stdin
}

// cutCluster splits CLUSTER=PATH; named is false for a path alone.
func cutCluster(text string) (cluster, path string, named bool) {
	cluster, path, named = strings.Cut(text, "=")
	if !named || strings.ContainsAny(cluster, "/.") { // the = may be part of the path
		return "", text, false
	}
	return cluster, path, true
}

// mixedClusters returns a warning if paths without a cluster are both directories and files. Those are separate
// clusters, which do not see each other's objects.
func mixedClusters(paths []string) []string {
	file, dir := "", ""
	for _, path := range paths {
		switch _, _, named := cutCluster(path); {
		case named:
		case clusterOf(path) == defaultCluster:
			file = cmp.Or(file, path)
		default:
			dir = cmp.Or(dir, path)
		}
	}
	if file == "" || dir == "" {
		return nil
	}
	return []string{fmt.Sprintf("%s is read as cluster %q, and %s as %q; if they are one cluster, write -f %s=%s", dir,
		clusterOf(dir), file, defaultCluster, defaultCluster, dir)}
}

// clusterOf returns the default cluster of a path: a directory's base name, or defaultCluster.
func clusterOf(path string) string {
	if info, err := os.Stat(path); path == source.Stdin || err != nil || !info.IsDir() {
		return defaultCluster
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return filepath.Base(path)
}

// read reads one cluster. stated reports whether an object has a status.
func (w *world) read(set manifestSet, in io.Reader) (stated func(api.Ref) bool) {
	sel := w.settings.Selection
	c, stated, err := source.ReadManifests(source.DirectoryOptions{
		Cluster: set.cluster, Selection: sel,
		Logf:  func(format string, args ...any) { w.said = append(w.said, fmt.Sprintf(format, args...)) },
		Infof: func(string, ...any) {},
	}, in, set.paths...)
	if cfg := w.settings.Corefile; cfg != nil {
		c.Group = cfg.GroupOf(set.cluster)
	}
	w.clusters = append(w.clusters, c)
	if err != nil {
		w.unread = append(w.unread, err.(interface{ Unwrap() []error }).Unwrap()...)
	}
	return stated
}

// openGeo opens the geo databases and the networks file.
func (w *world) openGeo() error {
	if len(w.settings.GeoIP) == 0 && w.settings.Nets == "" {
		return nil
	}
	db, err := geo.Open(w.settings.GeoIP, w.settings.Nets, nil)
	if err == nil {
		w.db = db
		return nil
	}
	cfg := w.settings.Corefile
	if of := (*geo.OpenError)(nil); cfg == nil || !errors.As(err, &of) {
		return err
	} else if of.Nets && w.settings.Nets == cfg.Nets {
		return cfg.At("nets").Errorf("nets: %w", err)
	} else if !of.Nets && len(cfg.GeoIP) > 0 && slices.Equal(w.settings.GeoIP, cfg.GeoIP) {
		return cfg.At("geoip").Errorf("geoip: %w", err)
	}
	return err
}

// view returns a view of the compiled world.
func (w *world) view() inspect.View {
	v := inspect.View{Snapshot: w.snap, Random: rand.Uint64}
	if w.db != nil {
		v.Locator = w.db
	}
	return v
}

// space adds up the geo databases; nil if there are none.
func (w *world) space(p *progress) *geo.Space {
	if w.db == nil {
		return nil
	}
	return w.db.Space(func(done float64) { p.begin(fmt.Sprintf("adding up the geo databases, %.0f %%", 100*done)) })
}

// compile compiles clusters as a server does at start.
func (w *world) compile(clusters []*api.Cluster) *records.Snapshot {
	slices.SortFunc(clusters, func(a, b *api.Cluster) int { return cmp.Compare(a.Name, b.Name) })
	return records.Compile(nil, api.Objects{Clusters: clusters, Overrides: w.settings.Overrides}, w.settings.Options, time.Now())
}

// reader answers the commands' questions. Its errors are *inspect.RequestError, or say why there is no answer.
type reader interface {
	Explain(context.Context, inspect.Question) (*records.Explanation, error)
	Zones(context.Context) ([]inspect.Zone, error)
	Names(context.Context, inspect.Filter) (*inspect.NamePage, error)
	Tree(ctx context.Context, name string) (*records.Tree, error)
	Targets(ctx context.Context, state, contains string, limit int) (*inspect.TargetPage, error)
	Troubles(context.Context, inspect.TroubleFilter) (*inspect.Troubles, error)
}

// local is a reader for manifests.
type local struct{ view inspect.View }

func (l *local) Explain(_ context.Context, q inspect.Question) (*records.Explanation, error) {
	return l.view.Explain(q)
}
func (l *local) Zones(context.Context) ([]inspect.Zone, error) { return l.view.Zones(), nil }
func (l *local) Names(_ context.Context, f inspect.Filter) (*inspect.NamePage, error) {
	return l.view.Names(f)
}

func (l *local) Tree(_ context.Context, name string) (*records.Tree, error) { return l.view.Tree(name) }

func (l *local) Targets(_ context.Context, state, contains string, limit int) (*inspect.TargetPage, error) {
	return l.view.Targets(state, contains, limit)
}

func (l *local) Troubles(_ context.Context, f inspect.TroubleFilter) (*inspect.Troubles, error) {
	return l.view.Troubles(f)
}
