//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/bench/load"
	"github.com/coredns-kuadrant/kuadrant/bench/process"
)

// wholeOptions are how the whole process is measured.
type wholeOptions struct {
	binary  string
	rounds  int
	queries int // for each window
	warm    int // before each window
	pin     bool
	mmdb    string // "" for a small one
	scene   string // only the scenes whose names begin so
	block   string // only the block of that name; "" for all
	beside  string // another build of the server, which takes the place of the other blocks; "" for none
	healthOptions
}

// The sources of the load, half of them in Europe and half in North America by
// the small database, and how many queries each has under way.
var sources = func() (list []string) {
	for i := range 4 {
		list = append(list, fmt.Sprintf("127.0.100.%d", i+1), fmt.Sprintf("127.0.200.%d", i+1))
	}
	return list
}()

const outstanding = 8

// scene is one kind of query, put to several server blocks.
type scene struct {
	name    string
	queries [][]byte
	blocks  []sceneBlock
}

// sceneBlock is one of the server blocks, and what it answers.
type sceneBlock struct {
	name string // the plugin's
	want load.Expect
	// queries are put to this block in place of the scene's; nil for those.
	queries [][]byte
	check   func(source string, m *dns.Msg) error
}

// of returns the queries that are put to a block.
func (s *scene) of(b *sceneBlock) [][]byte {
	if b.queries != nil {
		return b.queries
	}
	return s.queries
}

// window is what one server block used for its part of one round of a scene.
type window struct {
	Scene, Block string
	Round        int
	// CPU is in nanoseconds for each query, GC the part of it that is computed
	// (see memory.go), 0 where garbage collection is in the measurement.
	CPU, GC float64
	Rate    float64 // queries a second
}

// wholeReport is what measuring the whole process gives.
type wholeReport struct {
	Windows []window
	// Memory is the server's in bytes, with 100,000 hosts in both kuadrant and
	// file.
	Memory int64
	// Load is the CPU time of loading 100,000 hosts from files into both.
	Load time.Duration
	// Idle is the CPU time that the loaded server uses in a second without
	// queries.
	Idle time.Duration
	CPUs string
}

// pinned says that this process is pinned already.
const pinned = "KUADRANT_BENCH_PINNED"

// measureWhole measures bin/coredns under load and writes a wholeReport. This
// process is the one that the load comes from: it runs on the last CPU, the
// server on the first.
func measureWhole(o wholeOptions, out io.Writer) error {
	serverCPU, cpus, err := pinLoad(o)
	if err != nil {
		return err
	}
	report := wholeReport{CPUs: cpus}
	sets := []sceneSet{smallSet(), largeSet()}
	if o.beside != "" {
		sets = sets[:1] // collections are counted in one process alone
	}
	for _, set := range sets {
		set.scenes = slices.DeleteFunc(set.scenes, func(s scene) bool { return !strings.HasPrefix(s.name, o.scene) })
		for i := range set.scenes {
			set.scenes[i].blocks = slices.DeleteFunc(set.scenes[i].blocks, func(b sceneBlock) bool { return o.block != "" && b.name != o.block })
		}
		if len(set.scenes) == 0 {
			continue
		}
		if err := set.measure(o, serverCPU, &report); err != nil {
			return fmt.Errorf("measure %s: %w", set.name, err)
		}
	}
	return json.NewEncoder(out).Encode(report)
}

// pinLoad keeps this process on the last CPU, and returns the one for the server,
// -1 for any, and who runs where.
func pinLoad(o wholeOptions) (serverCPU int, how string, err error) {
	if !o.pin {
		return -1, "server and load share all CPUs", nil
	}
	if first := os.Getenv(pinned); first != "" {
		if _, err := fmt.Sscan(first, &serverCPU); err != nil {
			return 0, "", fmt.Errorf("%s=%q: %w", pinned, first, err)
		}
		return serverCPU, "server on one CPU, load on another", nil
	}
	cpus := process.CPUs()
	if len(cpus) < 2 {
		return 0, "", fmt.Errorf("pinning needs two CPUs, there are %d: use -pin=false", len(cpus))
	}
	return 0, "", process.PinSelf(cpus[len(cpus)-1], fmt.Sprintf("%s=%d", pinned, cpus[0]))
}

// measure runs one server for all scenes of the set.
func (set *sceneSet) measure(o wholeOptions, cpu int, report *wholeReport) error {
	var place *site
	started, err := startIn(func(s *benchServer) (err error) {
		place, err = s.startScenes(set, o, o.binary, cpu)
		return err
	})
	if err != nil {
		return err
	}
	defer started.stop()
	server := started.process
	if set.large {
		if report.Load, err = server.CPU(); err != nil {
			return err
		}
		if report.Memory, _, err = server.Memory(); err != nil {
			return err
		}
		if report.Idle, err = idle(server); err != nil {
			return err
		}
	}
	if o.beside != "" {
		other, err := set.putBeside(o, cpu, place)
		if err != nil {
			return err
		}
		defer other.stop()
	}
	windows, err := set.rounds(o, place)
	report.Windows = append(report.Windows, windows...)
	return err
}

// idle returns the CPU time of a second without queries, after what loading has
// left to be done.
func idle(server *process.Process) (time.Duration, error) {
	time.Sleep(time.Second)
	before, err := server.CPU()
	if err != nil {
		return 0, err
	}
	time.Sleep(time.Second)
	after, err := server.CPU()
	return after - before, err
}

// bout is the servers with everything to put load on them.
type bout struct {
	wholeOptions
	servers    map[string]*process.Process // by block
	memory     *memory                     // nil where garbage collection is part of what is measured
	generators map[string]*load.Generator
}

// slices is how many parts a round of a scene is cut into. The blocks take turns
// after each, so that what else happens on the machine falls on all of them.
const slicesOfRound = 12

// rounds puts each scene to each of its blocks, once a round.
func (set *sceneSet) rounds(o wholeOptions, site *site) ([]window, error) {
	b := &bout{wholeOptions: o, servers: site.servers, generators: make(map[string]*load.Generator)}
	if set.large {
		var err error
		if b.memory, err = openMemory(site.servers[blockKuadrant], site.pprof); err != nil {
			return nil, err
		}
	}
	for block, address := range site.addresses {
		g, err := load.Open(address, sources, outstanding)
		if err != nil {
			return nil, err
		}
		defer g.Close()
		b.generators[block] = g
	}
	for _, s := range set.scenes {
		for i := range s.blocks {
			q := s.of(&s.blocks[i])
			rand.Shuffle(len(q), func(i, j int) { q[i], q[j] = q[j], q[i] })
		}
	}
	var windows []window
	for round := range o.rounds {
		for _, s := range set.scenes {
			more, err := b.round(&s)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			for _, w := range more {
				w.Round = round
				windows = append(windows, w)
			}
		}
	}
	return windows, nil
}

// round measures one round of a scene.
func (b *bout) round(s *scene) ([]window, error) {
	windows := make([]window, len(s.blocks))
	for i, block := range s.blocks {
		windows[i] = window{Scene: s.name, Block: block.name}
		warm := func() error { return b.generators[block.name].Run(b.warm, s.of(&block), block.want) }
		if b.memory == nil {
			if err := warm(); err != nil {
				return nil, fmt.Errorf("%s: %w", block.name, err)
			}
			continue
		}
		bytes, err := b.memory.allocated(warm)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", block.name, err)
		}
		windows[i].GC = bytes / float64(b.warm) * b.memory.perByte
	}
	sums := make([]sum, len(s.blocks))
	for part := range slicesOfRound {
		if err := b.part(s, part, sums); err != nil {
			return nil, err
		}
	}
	for i, sum := range sums {
		n := float64(sum.queries)
		windows[i].CPU, windows[i].Rate = float64(sum.cpu)/n+windows[i].GC, n/sum.took.Seconds()
	}
	return windows, nil
}

// sum is what a block used in one round.
type sum struct {
	queries   int
	cpu, took time.Duration
}

// part puts one slice of a scene to each of its blocks. Where no garbage is to
// be collected meanwhile, but was, it is done again.
func (b *bout) part(s *scene, part int, sums []sum) error {
	const attempts = 5
	for range attempts {
		if b.memory != nil {
			if err := b.memory.collect(); err != nil {
				return err
			}
		}
		next := slices.Clone(sums)
		for i := range s.blocks {
			at := (part + i) % len(s.blocks)
			if err := b.slice(s, &s.blocks[at], &next[at]); err != nil {
				return fmt.Errorf("%s: %w", s.blocks[at].name, err)
			}
		}
		if b.memory != nil {
			same, err := b.memory.undisturbed()
			if err != nil {
				return err
			}
			if !same {
				continue
			}
		}
		copy(sums, next)
		return nil
	}
	return fmt.Errorf("garbage was collected in each of %d attempts: ask fewer queries", attempts)
}

// slice puts a part of a round's queries to one block.
func (b *bout) slice(s *scene, block *sceneBlock, sum *sum) error {
	n := b.queries / slicesOfRound
	server := b.servers[block.name]
	before, err := server.CPU()
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := b.generators[block.name].Run(n, s.of(block), block.want); err != nil {
		return err
	}
	sum.took += time.Since(begin)
	after, err := server.CPU()
	sum.cpu += after - before
	sum.queries += n
	return err
}

// check asks every scene's first query of all its blocks, from both continents,
// and looks at the whole reply.
func (set *sceneSet) check(site *site) error {
	for _, s := range set.scenes {
		for _, b := range s.blocks {
			for _, source := range sources[:2] {
				if err := b.ask(site.addresses[b.name], source, s.of(&b)[0]); err != nil {
					return fmt.Errorf("%s, %s, from %s: %w", s.name, b.name, source, err)
				}
			}
		}
	}
	return nil
}

func (b *sceneBlock) ask(server, source string, query []byte) error {
	q := new(dns.Msg)
	if err := q.Unpack(query); err != nil {
		return err
	}
	m, err := exchange(server, source, q)
	if err != nil {
		return err
	}
	if m.Rcode != b.want.Rcode || len(m.Answer) != b.want.Answers {
		return fmt.Errorf("want rcode %d and %d answers, got\n%v", b.want.Rcode, b.want.Answers, m)
	}
	if b.check == nil {
		return nil
	}
	if err := b.check(source, m); err != nil {
		return fmt.Errorf("%w:\n%v", err, m)
	}
	return nil
}
