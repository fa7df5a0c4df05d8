package corefile

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
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
	"github.com/coredns-kuadrant/kuadrant/internal/watchfile"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// Settings is the part of a Corefile's kuadrant directives that determines answers, for tools that compile objects
// without a server.
type Settings struct {
	Options   *records.Options
	Selection source.Selection
	// Manifests are the directories to read, in the order of the Corefile; empty if it names API servers.
	Manifests []engine.Manifests
	// GeoIP are the databases that locate clients: those of our geoip lines, else those of CoreDNS's geoip plugin
	// (rule 3.5). Nets is the networks file, which is asked first; "" for none.
	GeoIP []string
	Nets  string
	// Overrides are the manual overrides; nil for none.
	Overrides *api.Overrides
	// Guard restricts the addresses that probes may reach, as far as the Corefile does.
	Guard health.Guard
	// Corefile holds the parsed directives. Warnings are the probable mistakes in them, each with its place.
	Corefile *engine.Options
	Warnings []string
}

// Read reads a Corefile without starting anything. Relative paths are relative to the working directory, or to the
// root directive of the server block, as in CoreDNS. Errors name the file; errors in a kuadrant directive also name
// the line and token.
func Read(path string) (*Settings, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read Corefile: %w", err)
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("read Corefile: %s is a directory; name the file", path)
	}
	blocks, err := caddyfile.Parse(path, f, nil) // nil: do not check other plugins' directives
	if err != nil {
		return nil, fmt.Errorf("read Corefile: %w", err)
	}
	cfg := new(engine.Options)
	var lent, warnings []string             // lent are the geoip plugin's databases
	c := caddy.NewTestController("dns", "") // the only constructor that needs no server
	for i, b := range blocks {
		c.ServerBlockIndex, c.ServerBlockKeys = i, b.Keys
		if root := b.Tokens["root"]; len(root) > 1 {
			dnsserver.GetConfig(c).Root = root[1].Text
		}
		if tokens := b.Tokens[engine.PluginName]; tokens != nil {
			c.Dispenser = caddyfile.NewDispenserTokens(path, tokens)
			block, err := Parse(c, cfg)
			if err != nil {
				return nil, err
			}
			if warnings = append(warnings, block.Warnings...); b.Tokens["rewrite"] == nil {
				warnings = append(warnings, block.Outside()...)
			}
			if geoip := b.Tokens["geoip"]; len(geoip) > 1 && b.Tokens["metadata"] != nil && !slices.Contains(lent, geoip[1].Text) {
				lent = append(lent, geoip[1].Text)
			}
		}
	}
	if len(cfg.Zones) == 0 {
		return nil, fmt.Errorf("read Corefile: %s has no directive %s, so there are no zones to serve", path, engine.PluginName)
	}
	s, err := settingsOf(cfg)
	if err != nil {
		return nil, err
	}
	if s.Warnings = slices.Concat(warnings, Warnings(cfg)); len(s.GeoIP) == 0 && s.Nets == "" {
		s.GeoIP = lent
	}
	return s, nil
}

// settingsOf extracts the settings from a parsed Corefile.
func settingsOf(cfg *engine.Options) (*Settings, error) {
	s := &Settings{Options: cfg.Records(), GeoIP: cfg.GeoIP, Nets: cfg.Nets, Manifests: cfg.Manifests, Guard: health.Guard{Allow: cfg.ProbeAllow, Deny: cfg.ProbeDeny}, Corefile: cfg}
	err := Check(cfg)
	if err != nil {
		return nil, err
	}
	s.Selection = cfg.Selection
	if cfg.Writing.Namespace != "" && s.Options.ZoneNamespaces == nil {
		s.Options.ZoneNamespaces = []string{cfg.Writing.Namespace} // rule 5.2
	}
	if cfg.Override == "" {
		return s, nil
	}
	file := watchfile.File{Path: cfg.Override, MaxSize: engine.MaxOverrides}
	data, err := file.Read()
	if err == nil {
		s.Overrides, err = api.ParseOverrides(cfg.Override, data)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, cfg.At("override").Errorf("override: %w", err)
	}
	return s, nil
}
