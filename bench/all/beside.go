//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/coredns-kuadrant/kuadrant/bench/process"
	"github.com/coredns-kuadrant/kuadrant/bench/stats"
)

// blockBefore is the plugin in another build, beside blockKuadrant.
const blockBefore = "before"

// measureBeside measures queries to two builds in one run, and writes a wholeReport. Both servers share a CPU, and take turns.
func measureBeside(o options, out io.Writer) error {
	cpu, cpus, err := pinLoad()
	if err != nil {
		return err
	}
	report := wholeReport{CPUs: cpus}
	for _, set := range []sceneSet{smallSet(), largeSet()} {
		windows, err := set.measureBeside(o, cpu)
		if err != nil {
			return fmt.Errorf("measure %s: %w", set.name, err)
		}
		report.Windows = append(report.Windows, windows...)
	}
	return json.NewEncoder(out).Encode(report)
}

// measureBeside runs a server of each build for all scenes of the set.
func (set *sceneSet) measureBeside(o options, cpu int) ([]window, error) {
	both := &site{addresses: make(map[string]string), servers: make(map[string]*process.Process)}
	for block, binary := range map[string]string{blockBefore: o.before, blockKuadrant: o.binary} {
		of := o
		of.binary = binary
		server, place, err := set.start(of, cpu)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", binary, err)
		}
		defer server.stop()
		both.addresses[block], both.servers[block] = place.addresses[blockKuadrant], server.process
	}
	for i := range set.scenes {
		ours := set.scenes[i].blocks[len(set.scenes[i].blocks)-1]
		theirs := ours
		theirs.name = blockBefore
		set.scenes[i].blocks = []sceneBlock{theirs, ours}
	}
	return set.rounds(o, both)
}

// printBeside measures two builds beside each other, and prints the ratios.
func printBeside(o options) error {
	if o.before == "" {
		return errors.New("beside what? -before names the other build's coredns")
	}
	var report wholeReport
	if err := measureByLoad(roleBeside, &report); err != nil {
		return err
	}
	fmt.Print("| query | target | CPU beside the build before | range | verdict |\n|---|---|---|---|---|\n")
	for _, scene := range []string{"simple", "flatten", "chain", "nxdomain", "large"} {
		s := stats.Of(report.ratios(scene, blockBefore))
		row(os.Stdout, scene, "≤ 1.00", "%.2f", s, s.AtMost(1))
	}
	return nil
}
