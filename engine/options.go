package engine

import (
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// PluginName is the name of the directive.
const PluginName = "kuadrant"

// LocalCluster is the name of the cluster whose API server is watched; no other cluster has it.
const LocalCluster = "local"

// Place is where something stands in a Corefile: file:line.
type Place string

// Errorf returns an error that reads as those of CoreDNS's own parser do.
func (p Place) Errorf(format string, args ...any) error {
	return fmt.Errorf("%s - Error during parsing: %w", p, fmt.Errorf(format, args...))
}

// Options is what all kuadrant directives of one Corefile say about the process. A setting stands in one block, or is equal
// wherever it stands. The zero Options is a Corefile that says nothing. Paths are those of the Corefile, relative ones joined
// to the directive root.
type Options struct {
	// Kubeconfig says how to reach the main cluster; zero for the pod's service account, else the environment's KUBECONFIG.
	Kubeconfig Kubeconfig
	// Clusters are those beside the main one, sorted by name.
	Clusters []Cluster
	// Manifests are directories in place of clusters, in the order of the Corefile; neither Kubeconfig nor Clusters are set
	// beside them.
	Manifests []Manifests
	// Pools says where the clusters of Manifests pool, by name; a missing one pools everywhere.
	Pools map[string]api.Pools
	// Namespaces are those to read, sorted; nil for those of the environment's WATCH_NAMESPACES, else all.
	Namespaces []string
	// Policies is a label selector for DNSPolicies in its canonical form; "" for all.
	Policies string
	// Kinds are the names of the kinds to read, sorted; nil for all.
	Kinds []string
	// SecretsOff is true where no Secret is read.
	SecretsOff bool
	// GeoIP are databases that find clients, the first one first, and Nets a file of networks that is asked before them; ""
	// for none.
	GeoIP []string
	Nets  string
	// Override is the operator's file of overrides, and State the directory of what is kept on disk; "" for none.
	Override, State string
	Console         Console
	// Guard is how long mass removals are held back, from 0, which is off, to MaxGuard; nil for the default, 5 minutes.
	Guard *time.Duration
	// ProbesOff is true where targets are not checked from here.
	ProbesOff bool
	// ProbeDeny and ProbeAllow are sorted prefixes in their canonical form, where checks may not and may go; nil for the defaults.
	ProbeDeny, ProbeAllow []string
	Writing               Writing
	// ZoneNamespaces may have Zones that no other one delegates, sorted; nil for the default.
	ZoneNamespaces []string
	// Publish has the namespaces of each line publish, by domain, in lower case with a final dot, and behind that the types; "*" is every namespace.
	Publish map[string][]string
	// Zones are those of all blocks, in the order of the Corefile.
	Zones []records.ZoneOptions
	// Sources, where there are any, are read in place of clusters, and Locator, unless it is nil, finds clients: a program that
	// embeds the engine hands them over. The files of Locator are not followed.
	Sources []source.Source
	Locator *geo.DB

	// places says where things stand first: properties by name, the directive by PluginName, and lines of which there may be
	// several by their name and what they are about, such as "zone example.com.".
	places map[string]Place
}

// Kubeconfig names a kubeconfig file and a context in it; "" is the file's own.
type Kubeconfig struct{ File, Context string }

// Manifests is a directory of manifests, and the cluster that it stands for.
type Manifests struct{ Dir, Cluster string }

// Cluster is one more cluster.
type Cluster struct {
	Name string
	Kubeconfig
	// Pools says in which namespaces its objects are the same as those of other clusters.
	Pools        api.Pools
	WriteBackOff bool // nothing is written to it
}

// Key is what Options.At finds the cluster's line by.
func (c *Cluster) Key() string { return "cluster " + c.Name }

// Console says where the console listens.
type Console struct {
	Address   string // with a port; "" for no console
	TokenFile string // "" for none
	Hosts     string // further names by which browsers may reach it, with spaces between them
}

// Writing is what is written back to clusters.
type Writing struct {
	Mode       string // all, status or off; "" is all
	QPS, Burst int    // requests a second and at once, up to 10000; 0 is the default
	Namespace  string // of the Lease; "" for that of the pod, else of the kubeconfig's context
	Lease      string // its name; "" is the default
}

// At returns where a property, or what else has a place, stands first; "" for nowhere.
func (o *Options) At(what string) Place { return o.places[what] }

// Note keeps where something stands, unless it stood somewhere before.
func (o *Options) Note(what string, at Place) {
	if o.places == nil {
		o.places = make(map[string]Place)
	}
	if _, ok := o.places[what]; !ok {
		o.places[what] = at
	}
}

// WatchNamespaces is the environment's form of the property namespaces: a list with commas.
const WatchNamespaces = "WATCH_NAMESPACES"

// Selection returns which objects are read.
func (o *Options) Selection() (source.Selection, error) {
	sel := source.Selection{Namespaces: o.Namespaces}
	if env := os.Getenv(WatchNamespaces); env != "" && sel.Namespaces == nil {
		for ns := range strings.SplitSeq(env, ",") {
			if ns = strings.TrimSpace(ns); ns != "" {
				sel.Namespaces = append(sel.Namespaces, ns)
			}
		}
		if err := CheckNamespaces(sel.Namespaces); err != nil {
			return sel, o.At(PluginName).Errorf("variable %s: %w", WatchNamespaces, err)
		}
	}
	if o.Policies != "" {
		s, err := labels.Parse(o.Policies)
		if err != nil {
			return sel, o.At("policies").Errorf("policies: %w", err)
		}
		sel.Policies = s
	}
	for _, name := range o.Kinds {
		if k, ok := api.ParseKind(name); ok {
			sel.Kinds = append(sel.Kinds, k)
		}
	}
	// Without probes, nothing sends a header.
	sel.NoSecrets, sel.NoHeaders = o.SecretsOff, o.ProbesOff
	return sel, nil
}

// Records returns what compiling has to know.
func (o *Options) Records() *records.Options {
	opt := &records.Options{Zones: o.Zones, ProbesOff: o.ProbesOff, ProbeAllow: prefixes(o.ProbeAllow), ZoneNamespaces: o.ZoneNamespaces}
	for _, domain := range slices.Sorted(maps.Keys(o.Publish)) {
		p := records.Publish{Domain: domain, Namespaces: o.Publish[domain]}
		if name, types, ok := strings.Cut(domain, " types "); ok {
			p.Domain, p.Types = name, strings.Fields(types)
		}
		opt.Publish = append(opt.Publish, p)
	}
	return opt
}

// Probing returns where checks may go, as far as the Corefile says it.
func (o *Options) Probing() health.Guard {
	return health.Guard{Allow: prefixes(o.ProbeAllow), Deny: prefixes(o.ProbeDeny)}
}

// prefixes reads prefixes that have been checked.
func prefixes(texts []string) (list []netip.Prefix) {
	for _, text := range texts {
		if p, err := ParsePrefix(text); err == nil {
			list = append(list, p)
		}
	}
	return list
}

// MaxOverrides is the largest file of overrides that is read, in octets.
const MaxOverrides = 1 << 20

// CheckManifests fails where objects come from files, and properties say what to write back.
func (o *Options) CheckManifests() error {
	for _, property := range []string{"write-back", "write-rate", "lease"} {
		if at := o.At(property); at != "" {
			return at.Errorf("%s: objects come from files here (manifests): nothing is written back", property)
		}
	}
	return nil
}

// CheckNamespaces fails where a word cannot be a namespace's name.
func CheckNamespaces(names []string) error {
	for _, name := range names {
		if len(validation.IsDNS1123Label(name)) > 0 {
			return fmt.Errorf("wanted the name of a namespace (up to 63 of a-z, 0-9 and -), found %q", name)
		}
	}
	return nil
}

// UnknownKind says that a kind is none of those that are read.
func UnknownKind(name string) error {
	var known []string
	for k := range api.NumKinds {
		known = append(known, k.String())
	}
	return fmt.Errorf("unknown kind %q: known are %s", name, strings.Join(known, ", "))
}

// ParsePrefix reads a CIDR; an address is one of full length.
func ParsePrefix(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		addr = addr.Unmap().WithZone("")
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil || prefix.Addr().Is4In6() {
		return netip.Prefix{}, fmt.Errorf("%q is no CIDR", text)
	}
	return prefix.Masked(), nil
}
