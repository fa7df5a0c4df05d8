//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/bench/load"
	"github.com/coredns-kuadrant/kuadrant/bench/objects"
	"github.com/coredns-kuadrant/kuadrant/bench/process"
)

// sceneSet is the scenes that one server is asked, with its zones.
type sceneSet struct {
	name   string
	large  bool
	simple int // hosts of Zone with one address
	geo    int // hosts of Zone after them, and of FlatZone, in two continents
	// steered are hosts of FlatZone alone, in two continents.
	steered int
	scenes  []scene
}

// The plugins that are compared; each is alone in its server block.
const (
	blockWhoami   = "whoami"
	blockFile     = "file"
	blockKuadrant = "kuadrant"
)

// smallSet has 1,000 hosts of each kind.
func smallSet() sceneSet {
	const simple, geo = 1000, 1000
	one := load.Expect{Answers: 1}
	chain := load.Expect{Answers: 4}
	whoami := sceneBlock{name: blockWhoami, check: checkWhoami}
	return sceneSet{name: "1,000 hosts", simple: simple, geo: geo, scenes: []scene{
		{"simple", queries(simple, func(i int) string { return objects.Host(i, objects.Zone) }), []sceneBlock{
			whoami, {name: blockFile, want: one}, {name: blockKuadrant, want: one},
		}},
		{"flatten", queries(geo, func(i int) string { return objects.Host(simple+i, objects.FlatZone) }), []sceneBlock{
			whoami, {name: blockKuadrant, want: one, check: checkSteered(objects.Steered(simple, objects.FlatZone))},
		}},
		{"chain", queries(geo, func(i int) string { return objects.Host(simple+i, objects.Zone) }), []sceneBlock{
			whoami, {name: blockFile, want: chain}, {name: blockKuadrant, want: chain, check: checkSteered(objects.Steered(simple, objects.Zone))},
		}},
	}}
}

// largeSet has 100,000 hosts in one zone.
func largeSet() sceneSet {
	const hosts = 100_000
	one := load.Expect{Answers: 1}
	missing := load.Expect{Rcode: dns.RcodeNameError}
	whoami := sceneBlock{name: blockWhoami, check: checkWhoami}
	return sceneSet{name: "100,000 hosts", large: true, simple: hosts, scenes: []scene{
		{"nxdomain", queries(hosts, func(i int) string { return objects.Absent(i, objects.Zone) }), []sceneBlock{
			whoami, {name: blockFile, want: missing}, {name: blockKuadrant, want: missing},
		}},
		{"large", queries(hosts, func(i int) string { return objects.Host(i, objects.Zone) }), []sceneBlock{
			whoami, {name: blockFile, want: one}, {name: blockKuadrant, want: one},
		}},
	}}
}

// queries returns n questions for addresses as they go over the wire, without
// EDNS.
func queries(n int, name func(i int) string) [][]byte {
	list := make([][]byte, n)
	for i := range list {
		q := new(dns.Msg)
		q.SetQuestion(name(i), dns.TypeA)
		q.RecursionDesired = false
		wire, err := q.Pack()
		if err != nil {
			panic(fmt.Sprintf("pack the question for %s: %v", name(i), err)) // a fault of this program
		}
		list[i] = wire
	}
	return list
}

func checkWhoami(source string, m *dns.Msg) error {
	if len(m.Extra) != 2 {
		return errors.New("want the client's address and port")
	}
	if a, ok := m.Extra[0].(*dns.A); !ok || a.A.String() != source {
		return errors.New("want the client's address " + source)
	}
	return nil
}

// checkSteered returns a check of the answer for a host: it is the member of the
// client's continent.
func checkSteered(host [2]objects.Object) func(source string, m *dns.Msg) error {
	return func(source string, m *dns.Msg) error {
		want := host[0].Address
		if strings.HasPrefix(source, "127.0.200.") {
			want = host[1].Address
		}
		if a, ok := m.Answer[len(m.Answer)-1].(*dns.A); !ok || a.A.String() != want {
			return fmt.Errorf("want the address %s for %s at the end", want, source)
		}
		return nil
	}
}

// site is where the blocks of a set are.
type site struct {
	addresses map[string]string           // of the server blocks
	servers   map[string]*process.Process // of the blocks
}

// start starts a server with what the set's scenes ask for.
func (set *sceneSet) start(o options, cpu int) (*benchServer, *site, error) {
	free, err := freeAddresses(3)
	if err != nil {
		return nil, nil, err
	}
	place := &site{addresses: make(map[string]string), servers: make(map[string]*process.Process)}
	for i, block := range []string{blockWhoami, blockFile, blockKuadrant} {
		place.addresses[block] = free[i]
	}
	server, err := start(o, cpu, func(dir string) (string, error) { return set.write(dir, place) }, func() error { return set.check(place) })
	if err != nil {
		return nil, nil, err
	}
	for block := range place.addresses {
		place.servers[block] = server.process
	}
	return server, place, nil
}

// write writes all that the Corefile needs, and returns that.
func (set *sceneSet) write(dir string, place *site) (string, error) {
	mmdb, err := writeGeo(dir)
	zone, all := filepath.Join(dir, "zone"), filepath.Join(dir, "manifests")
	err = errors.Join(err, os.WriteFile(zone, objects.ZoneFile(set.simple, set.geo), 0o644), writeManifests(all, manifests(set.objects)))
	return fmt.Sprintf(`%[1]s:%[3]s %[2]s:%[3]s {
    bind 127.0.0.1
    whoami
}
%[1]s:%[4]s {
    bind 127.0.0.1
    file %[6]s
}
%[1]s:%[5]s {
    bind 127.0.0.1
    kuadrant {
        manifests %[7]s bench
        geoip %[8]s
    }
}
%[2]s:%[5]s {
    bind 127.0.0.1
    kuadrant {
        answer flatten
    }
}
`, strings.TrimSuffix(objects.Zone, "."), strings.TrimSuffix(objects.FlatZone, "."),
		port(place.addresses[blockWhoami]), port(place.addresses[blockFile]), port(place.addresses[blockKuadrant]), zone, all, mmdb), err
}

// objects yields what the server has.
func (set *sceneSet) objects(yield func(objects.Object) bool) {
	for i := range set.simple {
		if !yield(objects.Simple(i)) {
			return
		}
	}
	pair := func(i int, zone string) bool {
		two := objects.Steered(i, zone)
		return yield(two[0]) && yield(two[1])
	}
	for i := set.simple; i < set.simple+set.geo; i++ {
		if !pair(i, objects.Zone) || !pair(i, objects.FlatZone) {
			return
		}
	}
	for i := range set.steered {
		if !pair(i, objects.FlatZone) {
			return
		}
	}
}
