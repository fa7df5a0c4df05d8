package engine

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// PluginName is the name of the directive.
const PluginName = "kuadrant"

// LocalCluster is the name of the watched API server's cluster; no other cluster has it.
const LocalCluster = "local"

// Place is a position in a Corefile: file:line.
type Place string

// Errorf returns an error in the form of CoreDNS's parser.
func (p Place) Errorf(format string, args ...any) error {
	return fmt.Errorf("%s - Error during parsing: %w", p, fmt.Errorf(format, args...))
}

// Options has the process-wide settings of a Corefile's kuadrant directives. Blocks that have a setting must agree on it.
// The zero Options is an empty Corefile's. Relative paths are joined to the directive root.
type Options struct {
	// Kubeconfig says how to reach the main cluster; zero for the pod's service account, else the environment's KUBECONFIG.
	Kubeconfig Kubeconfig
	// Clusters are those beside the main one, sorted by name.
	Clusters []Cluster
	// Manifests are directories in place of clusters, in the order of the Corefile; they exclude Kubeconfig and Clusters.
	Manifests []Manifests
	// Group is that of the main cluster (rule 9.5); "" for none. Groups are those of the clusters of Sources, by name.
	Group  string
	Groups map[string]string
	// Resolvers, with ports, resolve the CNAMEs that name active groups; none for the system's.
	Resolvers []string
	// Pools says where the clusters of Manifests and Sources pool, by name; without an entry, everywhere.
	Pools map[string]api.Pools
	// Selection says which objects are read; its Pools are each cluster's own.
	Selection source.Selection
	// GeoIP are databases that locate clients, in order; Nets is a file of networks that is asked before them; "" for none.
	GeoIP []string
	Nets  string
	// Lent is true if CoreDNS's geoip plugin finds clients (rule 3.5).
	Lent bool
	// Override is the operator's file of overrides, State the directory of the state on disk; "" for none.
	Override, State string
	Console         Console
	// Guard is how long mass removals are held back, up to 24 h; 0 is off, nil the default, 5 minutes.
	Guard *time.Duration
	// FastUDP is "off" if CoreDNS's sockets are to answer all queries over UDP.
	FastUDP string
	// ProbesOff is true if this server checks no targets.
	ProbesOff bool
	// ProbeDeny and ProbeAllow are sorted prefixes where checks may not and may go; nil for the defaults.
	ProbeDeny, ProbeAllow []netip.Prefix
	Writing               Writing
	// ZoneNamespaces may have Zones without a delegation from another Zone, sorted; nil for the default.
	ZoneNamespaces []string
	// Publish are the publish lines, sorted by domain and type.
	Publish []records.Publish
	// Zones are the zones of all blocks, in the order of the Corefile.
	Zones []records.ZoneOptions
	// Sources, if any, replace clusters, and Locator, unless nil, locates clients: a program that embeds the engine passes
	// them. The engine does not follow Locator's files.
	Sources []source.Source
	Locator *geo.DB

	// places says where settings first stand: properties by name, the directive by PluginName, and repeatable lines by name
	// and subject, such as "zone example.com.".
	places map[string]Place
}

// Kubeconfig names a kubeconfig file and a context in it; "" is the file's own.
type Kubeconfig struct{ File, Context string }

// Manifests is a directory of manifests, and the cluster that it represents.
type Manifests struct{ Dir, Cluster, Group string }

// Cluster is one more cluster.
type Cluster struct {
	Name string
	Kubeconfig
	// Pools says in which namespaces its objects are the same as those of other clusters.
	Pools        api.Pools
	Group        string // rule 9.5; "" for none
	WriteBackOff bool   // nothing is written to it
}

// GroupOf returns the group that the Corefile gives a cluster, by its name; "" for none.
func (o *Options) GroupOf(cluster string) string {
	for _, c := range o.Clusters {
		if c.Name == cluster {
			return c.Group
		}
	}
	for _, m := range o.Manifests {
		if m.Cluster == cluster {
			return m.Group
		}
	}
	if cluster == LocalCluster {
		return o.Group
	}
	return o.Groups[cluster]
}

// Key is the cluster line's key for Options.At.
func (c *Cluster) Key() string { return "cluster " + c.Name }

// Console says where the console listens.
type Console struct {
	Address   string // with a port; "" for no console
	TokenFile string // "" for none
	Hosts     string // further host names for browsers, separated by spaces
}

// Writing says what is written back to clusters.
type Writing struct {
	Mode       string // all, status or off; "" is all
	QPS, Burst int    // requests a second and in a burst, up to 10000; 0 is the default
	Namespace  string // of the Lease; "" for the pod's, else that of the kubeconfig's context
	Lease      string // its name; "" is the default
}

// At returns the first place of a property, or of another key; "" for none.
func (o *Options) At(what string) Place { return o.places[what] }

// Note keeps where something stands, unless a place is noted already.
func (o *Options) Note(what string, at Place) {
	if o.places == nil {
		o.places = make(map[string]Place)
	}
	if _, ok := o.places[what]; !ok {
		o.places[what] = at
	}
}

// Records returns the options of a compile.
func (o *Options) Records() *records.Options {
	return &records.Options{Zones: o.Zones, ProbesOff: o.ProbesOff, ProbeAllow: o.ProbeAllow, ZoneNamespaces: o.ZoneNamespaces, Publish: o.Publish}
}

// MaxOverrides bounds the file of overrides, in octets.
const MaxOverrides = 1 << 20

// Idle returns a warning for each option that selects or reads objects, if clusters have no such object. All clusters must be listed.
func (o *Options) Idle(clusters []*api.Cluster) (lines []string) {
	none := func(has func(*api.Cluster) bool) bool { return !slices.ContainsFunc(clusters, has) }
	for _, m := range o.Manifests {
		all := len(o.Selection.Namespaces) == 0
		if all && none(func(c *api.Cluster) bool { return c.Name == m.Cluster && c.Holds("") }) {
			lines = append(lines, fmt.Sprintf("%s: manifests %s: no object was read from this directory; check the path", o.At("manifests"), m.Dir))
		}
	}
	namespaces := func(property string, of []string) {
		for _, namespace := range of {
			if namespace != "*" && none(func(c *api.Cluster) bool { return c.Holds(namespace + "/") }) {
				lines = append(lines, fmt.Sprintf("%s: %s %s: this namespace has no object; check the name", o.At(property), property, namespace))
			}
		}
	}
	namespaces("namespaces", o.Selection.Namespaces)
	namespaces("zone-namespaces", o.ZoneNamespaces)
	if o.Selection.Policies != nil && none(func(c *api.Cluster) bool { return c.Count(api.KindDNSPolicy) > 0 }) {
		lines = append(lines, fmt.Sprintf("%s: policies %s: no DNSPolicy has these labels; check them", o.At("policies"), o.Selection.Policies))
	}
	return lines
}
