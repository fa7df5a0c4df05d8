//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/coredns-kuadrant/kuadrant/bench/stats"
)

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

// measureBeside runs a server of each build for all scenes of the set. Both have the defaults of their builds: an old one
// refuses properties that it does not know.
func (set *sceneSet) measureBeside(o options, cpu int) ([]window, error) {
	for i := range set.scenes {
		ours := set.scenes[i].blocks[len(set.scenes[i].blocks)-1]
		theirs := ours
		theirs.name = blockBefore
		set.scenes[i].blocks = []sceneBlock{theirs, ours}
	}
	both, err := set.start([]program{coredns(blockBefore, o.before, "", ""), coredns(blockKuadrant, o.binary, "", "")}, cpu)
	if err != nil {
		return nil, err
	}
	defer both.stop()
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
	for _, scene := range []string{"simple", "passed", "flatten", "chain", "nxdomain", "large"} {
		cpu, _ := report.ratios(scene, blockKuadrant, blockBefore)
		s := stats.Of(cpu)
		row(os.Stdout, scene, "≤ 1.00", "%.2f", s, s.AtMost(1))
	}
	return nil
}
