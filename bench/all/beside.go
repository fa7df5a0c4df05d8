//go:build linux

package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/coredns-kuadrant/kuadrant/bench/process"
)

// blockBeside is the block kuadrant of another build of the server.
const blockBeside = "kuadrant of the other build"

// startScenes starts a build of the server with what the set's scenes ask for, and
// returns where its blocks are.
func (s *benchServer) startScenes(set *sceneSet, o wholeOptions, binary string, cpu int) (*site, error) {
	place, err := set.write(s.dir, o.mmdb)
	if err != nil {
		return nil, err
	}
	if s.process, err = process.Start(cpu, filepath.Join(s.dir, "log"), binary, "-conf", place.corefile); err != nil {
		return nil, err
	}
	place.servers = map[string]*process.Process{blockWhoami: s.process, blockFile: s.process, blockKuadrant: s.process}
	return place, s.process.Await("answers", time.Minute, func() error { return set.check(place) })
}

// putBeside starts the other build with the same objects, and has every scene put to
// its block kuadrant in place of those of other plugins.
func (set *sceneSet) putBeside(o wholeOptions, cpu int, place *site) (*benchServer, error) {
	var other *site
	server, err := startIn(func(s *benchServer) (err error) {
		other, err = s.startScenes(set, o, o.beside, cpu)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the other build: %w", err)
	}
	place.addresses = map[string]string{blockKuadrant: place.addresses[blockKuadrant], blockBeside: other.addresses[blockKuadrant]}
	place.servers[blockBeside] = server.process
	for i := range set.scenes {
		s := &set.scenes[i]
		at := slices.IndexFunc(s.blocks, func(b sceneBlock) bool { return b.name == blockKuadrant })
		ours := s.blocks[at]
		theirs := ours
		theirs.name = blockBeside
		s.blocks = []sceneBlock{theirs, ours}
	}
	return server, nil
}
