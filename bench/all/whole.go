//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/bench/load"
	"github.com/coredns-kuadrant/kuadrant/bench/process"
)

// options are how everything is measured.
type options struct {
	binary  string
	before  string // another build
	rounds  int
	queries int // for each window
	warm    int // before each window
	healthOptions
	sizingOptions
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
	CPU          float64 // in nanoseconds for each query
	Rate         float64 // queries a second
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
	// Absent are the blocks whose programs are not installed.
	Absent []string
}

// pinned says that this process is pinned already.
const pinned = "KUADRANT_BENCH_PINNED"

// measureWhole measures bin/coredns under load and writes a wholeReport. This
// process is the one that the load comes from: it runs on the last CPU, the
// server on the first.
func measureWhole(o options, out io.Writer) error {
	serverCPU, cpus, err := pinLoad()
	if err != nil {
		return err
	}
	report := wholeReport{CPUs: cpus}
	for _, set := range []sceneSet{smallSet(), largeSet()} {
		if err := set.measure(o, serverCPU, &report); err != nil {
			return fmt.Errorf("measure %s: %w", set.name, err)
		}
	}
	return json.NewEncoder(out).Encode(report)
}

// pinLoad keeps this process on the last CPU, and returns the one for the server, and who runs where.
func pinLoad() (serverCPU int, how string, err error) {
	if first := os.Getenv(pinned); first != "" {
		if _, err := fmt.Sscan(first, &serverCPU); err != nil {
			return 0, "", fmt.Errorf("%s=%q: %w", pinned, first, err)
		}
		return serverCPU, "server on one CPU, load on another", nil
	}
	cpus := process.CPUs()
	if len(cpus) < 2 {
		return 0, "", fmt.Errorf("two CPUs are needed, there are %d", len(cpus))
	}
	return 0, "", process.PinSelf(cpus[len(cpus)-1], fmt.Sprintf("%s=%d", pinned, cpus[0]))
}

// measure runs servers for all scenes of the set: for a large one, that with kuadrant alone.
func (set *sceneSet) measure(o options, cpu int, report *wholeReport) error {
	list := programs(o)
	if set.large {
		list = list[len(list)-1:]
	}
	list = slices.DeleteFunc(list, func(p program) bool {
		_, err := exec.LookPath(p.binary)
		if err != nil {
			report.Absent = append(report.Absent, p.block)
		}
		return err != nil
	})
	place, err := set.start(list, cpu)
	if err != nil {
		return err
	}
	defer place.stop()
	if server := place.servers[blockKuadrant].process; set.large {
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
	options
	*site
	generators map[string]*load.Generator // by block
}

// slicesOfRound is how many parts a round of a scene is cut into. The blocks take turns
// after each, so that what else happens on the machine falls on all of them.
const slicesOfRound = 12

// rounds puts each scene to each of its blocks that the site has, once a round.
func (set *sceneSet) rounds(o options, site *site) ([]window, error) {
	b := &bout{o, site, make(map[string]*load.Generator)}
	for block, address := range site.addresses {
		g, err := load.Open(address, sources, outstanding)
		if err != nil {
			return nil, err
		}
		defer g.Close()
		b.generators[block] = g
	}
	for i := range set.scenes {
		s := &set.scenes[i]
		s.blocks = slices.DeleteFunc(s.blocks, func(b sceneBlock) bool { return site.servers[b.name] == nil })
		for i := range s.blocks {
			q := s.of(&s.blocks[i])
			rand.Shuffle(len(q), func(i, j int) { q[i], q[j] = q[j], q[i] })
		}
	}
	var windows []window
	for round := range o.rounds {
		for _, s := range set.scenes {
			more, err := b.round(&s, round)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			windows = append(windows, more...)
		}
	}
	return windows, nil
}

// round measures one round of a scene.
func (b *bout) round(s *scene, round int) ([]window, error) {
	for _, block := range s.blocks {
		if err := b.generators[block.name].Run(b.warm, s.of(&block), block.want); err != nil {
			return nil, fmt.Errorf("%s: %w", block.name, err)
		}
	}
	windows, took := make([]window, len(s.blocks)), make([]time.Duration, len(s.blocks))
	n := b.queries / slicesOfRound
	for part := range slicesOfRound {
		for i := range s.blocks {
			at := (part + i) % len(s.blocks)
			cpu, time, err := b.slice(n, s, &s.blocks[at])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.blocks[at].name, err)
			}
			windows[at].CPU += float64(cpu) / float64(n*slicesOfRound)
			took[at] += time
		}
	}
	for i := range windows {
		w := &windows[i]
		w.Scene, w.Block, w.Round, w.Rate = s.name, s.blocks[i].name, round, float64(n*slicesOfRound)/took[i].Seconds()
	}
	return windows, nil
}

// slice puts n queries to one block.
func (b *bout) slice(n int, s *scene, block *sceneBlock) (cpu, took time.Duration, err error) {
	server := b.servers[block.name].process
	before, err := server.CPU()
	if err != nil {
		return 0, 0, err
	}
	begin := time.Now()
	if err := b.generators[block.name].Run(n, s.of(block), block.want); err != nil {
		return 0, 0, err
	}
	took = time.Since(begin)
	after, err := server.CPU()
	return after - before, took, err
}

// check asks every scene's first query of those of its blocks that have an address,
// from both continents, and looks at the whole reply.
func (set *sceneSet) check(addresses map[string]string) error {
	for _, s := range set.scenes {
		for _, b := range s.blocks {
			address, ours := addresses[b.name]
			if !ours {
				continue
			}
			for _, source := range sources[:2] {
				if err := b.ask(address, source, s.of(&b)[0]); err != nil {
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
