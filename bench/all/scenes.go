//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/bench/load"
	"github.com/coredns-kuadrant/kuadrant/bench/objects"
	"github.com/coredns-kuadrant/kuadrant/bench/process"
	"github.com/coredns-kuadrant/kuadrant/internal/geotest"
)

// sceneSet is the scenes that one server is asked, with its zones.
type sceneSet struct {
	name   string
	large  bool
	simple int // hosts of Zone with one address
	geo    int // hosts of Zone after them, and of FlatZone, in two continents
	scenes []scene
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

// site is a set written to disk, ready to be served.
type site struct {
	corefile  string
	addresses map[string]string           // of the server blocks
	pprof     string                      // the address of the plugin of that name
	servers   map[string]*process.Process // of the blocks
}

// write writes the Corefile with all that it needs.
func (set *sceneSet) write(dir, mmdb string) (*site, error) {
	s := &site{corefile: filepath.Join(dir, "Corefile"), addresses: make(map[string]string)}
	free, err := freeAddresses(5)
	if err != nil {
		return nil, err
	}
	for i, block := range []string{blockWhoami, blockFile, blockKuadrant} {
		s.addresses[block] = free[i]
	}
	s.pprof = free[3]
	manifests, zone := filepath.Join(dir, "manifests"), filepath.Join(dir, "zone")
	if mmdb == "" {
		mmdb = filepath.Join(dir, "geo.mmdb")
		data, err := geotest.Encode(geotest.City, geotest.Places())
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(mmdb, data, 0o644); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(zone, objects.ZoneFile(set.simple, set.geo), 0o644); err != nil {
		return nil, err
	}
	if err := writeManifests(manifests, set.objects()); err != nil {
		return nil, err
	}
	text := fmt.Sprintf(`%[1]s:%[3]s %[2]s:%[3]s {
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
bench.invalid:%[9]s {
    bind 127.0.0.1
    pprof %[10]s
}
`, strings.TrimSuffix(objects.Zone, "."), strings.TrimSuffix(objects.FlatZone, "."),
		port(s.addresses[blockWhoami]), port(s.addresses[blockFile]), port(s.addresses[blockKuadrant]),
		zone, manifests, mmdb, port(free[4]), s.pprof)
	return s, os.WriteFile(s.corefile, []byte(text), 0o644)
}

func (set *sceneSet) objects() []objects.Object {
	list := make([]objects.Object, 0, set.simple+4*set.geo)
	for i := range set.simple {
		list = append(list, objects.Simple(i))
	}
	for i := set.simple; i < set.simple+set.geo; i++ {
		for _, zone := range []string{objects.Zone, objects.FlatZone} {
			pair := objects.Steered(i, zone)
			list = append(list, pair[:]...)
		}
	}
	return list
}

// writeManifests writes the objects as JSON files of 1,000 each.
func writeManifests(dir string, list []objects.Object) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	n := 0
	provided := make(map[string]bool) // namespaces
	for part := range slices.Chunk(list, 1000) {
		var b bytes.Buffer
		for _, o := range part {
			if !provided[o.Namespace()] {
				provided[o.Namespace()] = true
				b.Write(o.Provider())
				b.WriteByte('\n')
			}
			b.Write(o.Gateway())
			b.WriteByte('\n')
			b.Write(o.Policy())
			b.WriteByte('\n')
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d.json", n)), b.Bytes(), 0o644); err != nil {
			return err
		}
		n++
	}
	return nil
}

// freeAddresses returns n addresses on loopback whose ports are free for UDP and
// TCP.
func freeAddresses(n int) ([]string, error) {
	var list []string
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // until all are found, so that each is another
		c, err := net.ListenPacket("udp", l.Addr().String())
		if err != nil {
			continue
		}
		defer c.Close()
		if list = append(list, l.Addr().String()); len(list) == n {
			return list, nil
		}
	}
	return nil, errors.New("too few ports of 127.0.0.1 are free for UDP and TCP")
}

func port(address string) string {
	_, p, _ := net.SplitHostPort(address)
	return p
}

// exchange asks one query from a source address.
func exchange(server, source string, q *dns.Msg) (*dns.Msg, error) {
	c := dns.Client{Timeout: time.Second, Dialer: &net.Dialer{LocalAddr: &net.UDPAddr{IP: net.ParseIP(source)}}}
	m, _, err := c.Exchange(q, server)
	return m, err
}
