package kuadrant

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/coredns/caddy"
	"github.com/coredns/caddy/caddyfile"
	"github.com/coredns/coredns/core/dnsserver"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/watchfile"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// Settings is what the kuadrant directives of a Corefile say about answers, for tools that
// compile objects without a server.
type Settings struct {
	Options   *records.Options
	Selection source.Selection
	// Manifests are the directories to read, in the order of the Corefile; none where it names API
	// servers.
	Manifests []Manifests
	// GeoIP are the databases that find clients, those of CoreDNS's geoip plugin where no line of ours names any
	// (rule 3.5), and Nets is the file of networks that is asked before them; "" for none.
	GeoIP []string
	Nets  string
	// Overrides are the operator's own words; nil for none.
	Overrides *api.Overrides
	// Pools says in which namespaces the objects of a cluster are the same as those of others, by its
	// name; one that is missing pools everywhere.
	Pools map[string]api.Pools
	// Guard says where checks may go, as far as the Corefile does.
	Guard health.Guard
}

// Manifests is a directory of manifests, and the cluster that it stands for.
type Manifests struct{ Dir, Cluster string }

// ReadCorefile reads a Corefile without starting anything. Relative paths in it begin at the
// working directory, or at the directive root of the server block, as CoreDNS has it. The error
// names the file, and where it is about a directive of ours the line and the token.
func ReadCorefile(path string) (*Settings, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read Corefile: %w", err)
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("read Corefile: %s is a directory: name the file", path)
	}
	blocks, err := caddyfile.Parse(path, f, nil) // other plugins' directives are theirs to check
	if err != nil {
		return nil, fmt.Errorf("read Corefile: %w", err)
	}
	cfg := newConfig()
	var lent []string                       // the databases of the geoip plugin
	c := caddy.NewTestController("dns", "") // the one constructor that is not about a running server
	for i, b := range blocks {
		c.ServerBlockIndex, c.ServerBlockKeys = i, b.Keys
		if root := b.Tokens["root"]; len(root) > 1 {
			dnsserver.GetConfig(c).Root = root[1].Text
		}
		if tokens := b.Tokens[pluginName]; tokens != nil {
			c.Dispenser = caddyfile.NewDispenserTokens(path, tokens)
			if _, err := parse(c, cfg); err != nil {
				return nil, err
			}
			if geoip := b.Tokens["geoip"]; len(geoip) > 1 && b.Tokens["metadata"] != nil && !slices.Contains(lent, geoip[1].Text) {
				lent = append(lent, geoip[1].Text)
			}
		}
	}
	if len(cfg.zones) == 0 {
		return nil, fmt.Errorf("read Corefile: %s has no directive %s: there are no zones to answer for", path, pluginName)
	}
	s, err := cfg.settings()
	if err == nil && len(s.GeoIP) == 0 && s.Nets == "" {
		s.GeoIP = lent
	}
	return s, err
}

// settings returns what tools need of a Corefile that has been read.
func (cfg *config) settings() (*Settings, error) {
	s := &Settings{Options: cfg.options(), GeoIP: cfg.geoip, Nets: cfg.nets, Pools: cfg.pools, Guard: cfg.guarding()}
	var err error
	if s.Selection, err = cfg.selection(); err != nil {
		return nil, err
	}
	if _, said := cfg.places["lease"]; said && s.Options.ZoneNamespaces == nil {
		namespace, _ := cfg.leaseOf("")
		s.Options.ZoneNamespaces = []string{namespace} // rule 5.2
	}
	for _, m := range cfg.manifests {
		s.Manifests = append(s.Manifests, Manifests{m.dir, m.cluster})
	}
	if cfg.override == "" {
		return s, nil
	}
	file := watchfile.File{Path: cfg.override, MaxSize: maxOverrides}
	data, err := file.Read()
	if err == nil {
		s.Overrides, err = api.ParseOverrides(cfg.override, data)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, cfg.places["override"].errorf("override: %w", err)
	}
	return s, nil
}
