package main

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// command is one step of a script; one of its fields is set.
type command struct {
	// World begins a new world.
	World *setup `json:"world,omitempty"`
	// Apply is lines for recordstest.World.Apply. Each command with them is compiled.
	Apply []string `json:"apply,omitempty"`
	Query *query   `json:"query,omitempty"`
}

// setup is the options of a world.
type setup struct {
	Zones          []string `json:"zones"` // for recordstest.Zones
	OwnerTXT       bool     `json:"ownerTXT,omitempty"`
	Flatten        bool     `json:"flatten,omitempty"` // of the first zone
	ProbesOff      bool     `json:"probesOff,omitempty"`
	ZoneNamespaces []string `json:"zoneNamespaces,omitempty"`
	Publish        bool     `json:"publish,omitempty"`
	Aside          bool     `json:"aside,omitempty"`
}

// query is a question, with all that its answer may depend on.
type query struct {
	Name   string     `json:"name"`
	Type   uint16     `json:"type"`
	Client netip.Addr `json:"client"`
	Bits   int        `json:"bits"`
	Random uint64     `json:"random"`
	Signed bool       `json:"signed,omitempty"`
	Within bool       `json:"within,omitempty"` // chains end at the zone of the name
}

// String describes the command in a report.
func (c command) String() string {
	switch {
	case c.World != nil:
		return fmt.Sprintf("world %+v", *c.World)
	case c.Query != nil:
		return fmt.Sprintf("query %+v", *c.Query)
	}
	return strings.Join(c.Apply, "\n    ") + "\n    step"
}

// stepsPerWorld is how often a world changes.
const stepsPerWorld = 20

var askedTypes = []uint16{
	dns.TypeA, dns.TypeA, dns.TypeA, dns.TypeAAAA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeANY, dns.TypeNS, dns.TypeSOA, dns.TypeTXT, dns.TypeTXT,
	dns.TypeDS, dns.TypeMX, dns.TypeSRV, dns.TypeHTTPS, dns.TypeNSEC, 65280,
}

// script yields the commands of a random world that is asked n queries.
func script(seed uint64, n int) iter.Seq[command] {
	return func(yield func(command) bool) {
		r := rand.New(rand.NewPCG(seed, 12))
		set := randomSetup(r)
		if !yield(command{World: set}) {
			return
		}
		m := recordstest.NewMutator(seed)
		m.Targets, m.Groups = m.Health, m.Clusters > 1
		p := new(stage)
		p.do(&command{World: set})
		for range stepsPerWorld {
			was := len(p.world.Applied())
			for range 1 + r.IntN(5) {
				m.Mutate(strict{}, p.world)
			}
			p.world.Compile()
			if !yield(command{Apply: slices.Clone(p.world.Applied()[was:])}) {
				return
			}
			names := recordstest.Names(p.world.Snapshot)
			for range n / stepsPerWorld {
				if !yield(command{Query: randomQuery(r, names)}) {
					return
				}
			}
		}
	}
}

func randomSetup(r *rand.Rand) *setup {
	some := func() bool { return r.IntN(3) == 0 }
	set := &setup{
		Zones:    []string{"example.com.", "klb.deep.example.com.:flatten"},
		OwnerTXT: some(), Flatten: some(), ProbesOff: some(), Aside: some(),
	}
	if some() {
		set.Zones = []string{".", "a.example.com."}
	}
	if some() {
		set.ZoneNamespaces = []string{"n1"}
	}
	set.Publish = some()
	return set
}

func randomQuery(r *rand.Rand, names []string) *query {
	q := &query{Name: names[r.IntN(len(names))], Type: askedTypes[r.IntN(len(askedTypes))], Random: r.Uint64(), Signed: r.IntN(3) == 0}
	if r.IntN(10) == 0 {
		q.Name = strings.ToUpper(q.Name)
	}
	q.Within = q.Signed && r.IntN(4) == 0
	q.Client = netip.AddrFrom4([4]byte{10, byte(r.IntN(6)), byte(r.IntN(4)), byte(r.IntN(256))})
	switch r.IntN(6) {
	case 0:
		q.Client = netip.AddrFrom4([4]byte{192, 0, 2, byte(r.IntN(256))})
	case 1:
		q.Client = netip.AddrFrom16([16]byte{0: 0x20, 1: 0x01, 2: 0x0d, 3: 0xb8, 5: byte(r.IntN(4)), 15: byte(r.IntN(256))})
	}
	if q.Bits = q.Client.BitLen(); r.IntN(2) == 0 {
		q.Bits = []int{0, 8, 16, 24}[r.IntN(4)]
		p, _ := q.Client.Prefix(q.Bits)
		q.Client = p.Addr()
	}
	return q
}

// differences compares the replies to a command.
func differences(was, is reply) (all []string) {
	if was.Octets != is.Octets {
		all = append(all, fmt.Sprintf("answered with\n    %s\nbefore, and now with\n    %s", message(was.Octets), message(is.Octets)))
	}
	keys := maps.Clone(was.Facts)
	maps.Copy(keys, is.Facts)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if was.Facts[key] != is.Facts[key] {
			all = append(all, fmt.Sprintf("%s was\n    %s\nand is\n    %s", key, was.Facts[key], is.Facts[key]))
		}
	}
	return all
}
