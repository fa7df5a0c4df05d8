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

// defaultCluster is the name of the cluster that files stand for where nothing says which.
const defaultCluster = "local"

// defaultCorefile is what is looked at where nothing is named: what a server that starts here would read.
const defaultCorefile = "Corefile"

// manifestPath is one path that is read.
type manifestPath struct {
	cluster, path string
	named         bool // by -f CLUSTER=PATH
}

// manifestSet is what is read of one cluster.
type manifestSet struct {
	cluster string
	paths   []string
}

// setsOf returns the sets of paths, in order.
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

// world is what manifests and settings come to.
type world struct {
	settings *corefile.Settings
	clusters []*api.Cluster
	snap     *records.Snapshot
	db       *geo.DB // nil if nothing finds clients
	// said is what was left out of the manifests, one line each.
	said []string
	// mixed says where paths are read as other clusters than people may think.
	mixed []string
	// unread are the files that could not be read or understood.
	unread []error
}

// load reads and compiles what the flags name. The error is one of the command line or of files;
// manifests that cannot be understood are in world.unread.
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

// nothingIn returns an error if nothing was read of what -f names.
func (o *options) nothingIn(read *world) error {
	sel := &read.settings.Selection
	selects := len(sel.Namespaces)+len(sel.Kinds) > 0 || sel.Policies != nil || sel.NoSecrets
	if o.mayBeEmpty || len(o.filenames) == 0 || selects || len(read.said)+len(read.unread) > 0 || !read.empty() {
		return nil
	}
	return o.noObject()
}

// empty reports whether there is no object at all.
func (w *world) empty() bool {
	return !slices.ContainsFunc(w.clusters, func(c *api.Cluster) bool { return c.Holds("") })
}

// noObject says that there is nothing in what -f names.
func (o *options) noObject() error {
	return failed(fmt.Errorf("no object in %s", strings.Join(o.filenames, ", ")))
}

// find returns a world with its settings, and what is to be read for it.
func (o *options) find() (*world, []manifestSet, error) {
	s, err := o.settings()
	if err != nil {
		return nil, nil, err
	}
	paths, err := o.manifestPaths(s)
	return &world{settings: s}, setsOf(paths), err
}

// settings returns what the Corefile or the flags say of zones and the rest.
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

// manifestPaths returns what is read: what -f says, else what the Corefile does. All of it is there.
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
		} else if len(files) == 0 && len(o.filenames) > 0 && !o.mayBeEmpty { // what the Corefile names may fill later
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

// noFile says that a directory has no manifests: a path that is wrong would be without any fault.
func noFile(dir string) error {
	return failed(fmt.Errorf("%s: no files ending in .yaml, .yml or .json; subdirectories are not read", dir))
}

// readsStdin reports whether manifests are read from the standard input.
func (o *options) readsStdin() bool {
	return slices.ContainsFunc(o.filenames, isStdin)
}

// isStdin reports whether [CLUSTER=]PATH is the standard input.
func isStdin(f string) bool {
	_, path, _ := cutCluster(f)
	return path == source.Stdin
}

// cutCluster reads CLUSTER=PATH; named is false for a path alone.
func cutCluster(text string) (cluster, path string, named bool) {
	cluster, path, named = strings.Cut(text, "=")
	if !named || strings.ContainsAny(cluster, "/.") { // a path may have the sign too
		return "", text, false
	}
	return cluster, path, true
}

// mixedClusters says so where paths without a cluster are directories and files: these are of several clusters, which
// do not see each other's objects, and few think of that. It returns a line, or none.
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

// clusterOf returns the cluster that a path stands for: a directory for one of its own name.
func clusterOf(path string) string {
	if info, err := os.Stat(path); path == source.Stdin || err != nil || !info.IsDir() {
		return defaultCluster
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return filepath.Base(path)
}

// read reads one cluster. It returns what tells which of the objects have a status.
func (w *world) read(set manifestSet, in io.Reader) (stated func(api.Ref) bool) {
	sel := w.settings.Selection
	c, stated, err := source.ReadManifests(source.DirectoryOptions{
		Cluster: set.cluster, Selection: sel,
		Logf:  func(format string, args ...any) { w.said = append(w.said, fmt.Sprintf(format, args...)) },
		Infof: func(string, ...any) {},
	}, in, set.paths...)
	w.clusters = append(w.clusters, c)
	if err != nil {
		w.unread = append(w.unread, err.(interface{ Unwrap() []error }).Unwrap()...)
	}
	return stated
}

// openGeo opens what finds clients.
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

// view returns what answers questions about it.
func (w *world) view() inspect.View {
	v := inspect.View{Snapshot: w.snap, Random: rand.Uint64}
	if w.db != nil {
		v.Locator = w.db
	}
	return v
}

// space adds up the geo databases; nil for none.
func (w *world) space(p *progress) *geo.Space {
	if w.db == nil {
		return nil
	}
	return w.db.Space(func(done float64) { p.begin(fmt.Sprintf("adding up the geo databases, %.0f %%", 100*done)) })
}

// compile compiles clusters as a server would that has just started.
func (w *world) compile(clusters []*api.Cluster) *records.Snapshot {
	slices.SortFunc(clusters, func(a, b *api.Cluster) int { return cmp.Compare(a.Name, b.Name) })
	return records.Compile(nil, api.Objects{Clusters: clusters, Overrides: w.settings.Overrides}, w.settings.Options, time.Now())
}

// reader answers what commands ask. Its errors are *inspect.RequestErrors, or those of getting
// there.
type reader interface {
	Explain(context.Context, inspect.Question) (*records.Explanation, error)
	Zones(context.Context) ([]inspect.Zone, error)
	Names(context.Context, inspect.Filter) (*inspect.NamePage, error)
	Tree(ctx context.Context, name string) (*records.Tree, error)
	Targets(ctx context.Context, state, contains string, limit int) (*inspect.TargetPage, error)
	Troubles(context.Context, inspect.TroubleFilter) (*inspect.Troubles, error)
}

// local is a reader of manifests.
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
