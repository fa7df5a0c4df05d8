//go:build linux

package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/bench/load"
	"github.com/coredns-kuadrant/kuadrant/bench/objects"
)

// sceneSet is the scenes that servers are asked, with their zones.
type sceneSet struct {
	name   string
	large  bool
	simple int // hosts of Zone with one address
	geo    int // hosts of Zone after them, and of FlatZone, in two continents
	// steered are hosts of FlatZone alone, in two continents.
	steered int
	scenes  []scene
}

// otherZone has a block with whoami at the address of each block with kuadrant.
const otherZone = "six.example.com."

// smallSet has 1,000 hosts of each kind.
func smallSet() sceneSet {
	const simple, geo = 1000, 1000
	one := load.Expect{Answers: 1}
	chain := load.Expect{Answers: 4}
	whoami := sceneBlock{name: blockWhoami, check: checkWhoami}
	return sceneSet{name: "1,000 hosts", simple: simple, geo: geo, scenes: []scene{
		{"simple", queries(simple, func(i int) string { return objects.Host(i, objects.Zone) }), []sceneBlock{
			whoami,
			{name: blockFile, want: one},
			{name: blockGdnsd, want: one},
			{name: blockKnot, want: one},
			{name: blockMetrics, want: one},
			{name: blockKuadrant, want: one},
		}},
		{"passed", queries(simple, func(i int) string { return objects.Host(i, otherZone) }), []sceneBlock{
			{name: blockOff, check: checkWhoami}, {name: blockKuadrant, check: checkWhoami},
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
