//go:build linux

// Command bench measures what docs/benchmarks.md says, and prints it.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	var whole wholeOptions
	part := flag.String("part", "", "")
	flag.StringVar(&whole.binary, "coredns", "bin/coredns", "the server to measure")
	flag.IntVar(&whole.rounds, "rounds", 7, "")
	flag.IntVar(&whole.queries, "queries", 60_000, "")
	flag.IntVar(&whole.warm, "warm", 5_000, "")
	flag.BoolVar(&whole.pin, "pin", true, "")
	flag.StringVar(&whole.mmdb, "mmdb", "", "")
	flag.StringVar(&whole.scene, "scene", "", "")
	flag.StringVar(&whole.block, "block", "", "")
	flag.Parse()
	if *part == "whole" {
		if err := measureWhole(whole, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
