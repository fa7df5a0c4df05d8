//go:build linux

package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/bench/objects"
)

// What is compared: the plugins, each alone in its server block, and other servers.
const (
	blockWhoami   = "whoami"
	blockFile     = "file"
	blockKuadrant = "kuadrant"
	blockMetrics  = "prometheus"   // kuadrant with that plugin before it
	blockOff      = "fast-udp off" // kuadrant with that property
	blockBefore   = "before"       // kuadrant in another build
	blockGdnsd    = "gdnsd"
	blockKnot     = "knotd"
)

// program is a server that answers a block.
type program struct{ block, binary, args, config string }

// coredns is a build of CoreDNS whose block of kuadrant has a property, and lines before the plugin; "" for none.
func coredns(block, binary, property, before string) program {
	return program{block, binary, "-conf $dir/config", strings.NewReplacer("$property", property, "$before", before).Replace(corefile)}
}

// programs are what queries are put to, kuadrant the last. The UDP thread of knotd moves to CPU 0 itself, which is
// the servers' CPU unless this program may not use it.
func programs(o options) []program {
	return []program{
		{blockGdnsd, "/usr/sbin/gdnsd", "-c $dir start", gdnsdConfig},
		{blockKnot, "/usr/sbin/knotd", "-c $dir/config", knotConfig},
		coredns(blockMetrics, o.binary, "fast-udp on", "prometheus 127.0.0.1:0"),
		coredns(blockOff, o.binary, "fast-udp off", ""),
		coredns(blockKuadrant, o.binary, "fast-udp on", ""),
	}
}

// The configurations: $port is that of the block. gdnsd and Knot have one UDP thread.
const (
	corefile = `$zone:$whoami $flat:$whoami $other:$port {
    bind 127.0.0.1
    whoami
}
$zone:$file {
    bind 127.0.0.1
    file $dir/zones/$zone
}
$zone:$port {
    bind 127.0.0.1
    $before
    kuadrant {
        manifests $dir/manifests bench
        geoip $dir/geo.mmdb
        $property
    }
}
$flat:$port {
    bind 127.0.0.1
    $before
    kuadrant {
        answer flatten
        $property
    }
}
`
	gdnsdConfig = `options => {
    listen => 127.0.0.1:$port, udp_threads => 1, tcp_threads => 1, run_dir => $dir/run, state_dir => $dir/state
}
`
	knotConfig = `server:
    listen: 127.0.0.1@$port
    rundir: $dir
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
database:
    storage: $dir
log:
  - target: stderr
    any: info
zone:
  - domain: $zone
    file: $dir/zones/$zone
    journal-content: none
`
)

// site is where the blocks of a set are.
type site struct {
	addresses map[string]string       // by block
	servers   map[string]*benchServer // by block
}

func newSite() *site { return &site{make(map[string]string), make(map[string]*benchServer)} }

func (p *site) stop() {
	for _, s := range p.servers {
		s.stop()
	}
}

// start starts programs with what the set's scenes ask for.
func (set *sceneSet) start(list []program, cpu int) (*site, error) {
	place := newSite()
	for _, p := range list {
		if err := set.add(p, cpu, place); err != nil {
			place.stop()
			return nil, fmt.Errorf("%s: %w", p.block, err)
		}
	}
	return place, nil
}

// add starts one program. The one with kuadrant answers the blocks of other plugins, too.
func (set *sceneSet) add(p program, cpu int, place *site) error {
	free, err := freeAddresses(3)
	if err != nil {
		return err
	}
	own := map[string]string{p.block: free[0]}
	if p.block == blockKuadrant {
		own[blockWhoami], own[blockFile] = free[1], free[2]
	}
	values := map[string]string{
		"port": port(free[0]), "whoami": port(free[1]), "file": port(free[2]),
		"zone": objects.Zone, "flat": objects.FlatZone, "other": otherZone,
	}
	s, err := launch(cpu, p.binary, p.args, func(dir string) (string, error) {
		values["dir"] = dir
		return os.Expand(p.config, func(key string) string { return values[key] }), set.write(dir)
	}, func() error { return set.check(own) })
	if err != nil {
		return err
	}
	maps.Copy(place.addresses, own)
	for block := range own {
		place.servers[block] = s
	}
	return nil
}

// write writes all that configurations name.
func (set *sceneSet) write(dir string) error {
	_, err := writeGeo(dir)
	return errors.Join(err, os.Mkdir(filepath.Join(dir, "zones"), 0o755),
		os.WriteFile(filepath.Join(dir, "zones", objects.Zone), objects.ZoneFile(set.simple, set.geo), 0o644),
		writeManifests(filepath.Join(dir, "manifests"), manifests(set.objects)))
}
