//go:build linux

// Command all measures speed and memory as docs/benchmarks.md describes, and
// prints the figures beside their targets. It takes about half an hour, and uses
// loopback alone.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// The parts of the measurement.
const (
	partWhole     = "whole"
	partCompile   = "compile"
	partInProcess = "inprocess"
	partKube      = "kube"
	partHealth    = "health"
	partTransfer  = "transfer"
	partZones     = "zones"
	partConsole   = "console"
	partSizing    = "sizing" // by itself
	partBeside    = "beside" // by itself
)

var allParts = []string{partWhole, partCompile, partInProcess, partKube, partHealth, partTransfer, partZones, partConsole}

// The roles of processes that this program starts from itself. All but the servers
// write what they have measured, in JSON.
const (
	roleLoad    = "load"    // the load of partWhole comes from it
	roleZones   = "zones"   // the same, of partZones
	roleBeside  = "beside"  // the same, of partBeside
	roleConsole = "console" // the same, of partConsole
	roleFlood   = "flood"   // asks the console
	roleServers = "servers" // has servers that are checked
	roleProber  = "prober"  // checks them
)

func main() {
	var o options
	parts := flag.String("parts", strings.Join(allParts, ","), "what to measure; or sizing, what a server takes over so many objects; or beside, queries to two builds")
	role := flag.String("role", "", "be another of the processes: used by this program itself")
	flag.StringVar(&o.binary, "coredns", "bin/coredns", "the server to measure")
	flag.StringVar(&o.before, "before", "", "of beside: the other build's server")
	flag.IntVar(&o.rounds, "rounds", 7, "how many times each server block gets each kind of query")
	flag.IntVar(&o.queries, "queries", 60_000, "how many queries a server block gets in one round")
	flag.IntVar(&o.warm, "warm", 5_000, "how many queries it gets before a round")
	flag.IntVar(&o.hosts, "hosts", 0, "of sizing: simple hosts, each a Gateway with a policy; below 100,000")
	flag.IntVar(&o.steered, "steered", 0, "of sizing: weightedGeo hosts, each two Gateways with a policy; below 100,000")
	flag.IntVar(&o.records, "records", 0, "of sizing: Records of one Zone, each a name with an address")
	flag.StringVar(&o.trial, "trial", "", "used by this program itself")
	flag.StringVar(&o.ports, "ports", "", "used by this program itself")
	flooded := flag.String("flood", "", "used by this program itself")
	flag.Parse()
	var err error
	switch *role {
	case roleLoad:
		err = measureWhole(o, os.Stdout)
	case roleZones:
		err = measureQueriesOfZones(o, os.Stdout)
	case roleBeside:
		err = measureBeside(o, os.Stdout)
	case roleConsole:
		err = measureConsole(o, os.Stdout)
	case roleFlood:
		err = floodConsole(*flooded, os.Stdin, os.Stdout)
	case roleServers:
		err = serveTargets(os.Stdin, os.Stdout)
	case roleProber:
		err = probe(o, os.Stdout)
	default:
		err = run(strings.Split(*parts, ","), o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures the parts and prints the report.
func run(parts []string, o options) error {
	if len(parts) == 1 && parts[0] == partSizing {
		return measureSizing(o)
	}
	if len(parts) == 1 && parts[0] == partBeside {
		return printBeside(o)
	}
	for _, p := range parts {
		if !slices.Contains(allParts, p) {
			return fmt.Errorf("no part %q: there are %s", p, strings.Join(allParts, ", "))
		}
	}
	var err error
	if o.binary, err = filepath.Abs(o.binary); err != nil {
		return err
	}
	if _, err := os.Stat(o.binary); err != nil {
		return fmt.Errorf("%w: `make build` builds it, and -coredns names another", err)
	}
	r := report{parts: parts}
	for _, part := range allParts {
		if !slices.Contains(parts, part) {
			continue
		}
		fmt.Fprintf(os.Stderr, "bench: measuring %s\n", part)
		if err := r.measure(part, o); err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
	}
	return r.print(os.Stdout)
}

func (r *report) measure(part string, o options) error {
	switch part {
	case partWhole:
		return measureByLoad(roleLoad, &r.whole)
	case partCompile:
		for _, b := range []benchmark{
			{"./records", "^BenchmarkFirstCompile$", "5x"},
			{"./records", "^BenchmarkHeap$/^simple$", "1x"}, // each in a process of its own
			{"./records", "^BenchmarkHeap$/^weightedGeo$", "1x"},
			{"./records", "^BenchmarkStructure$", "3x"},
			{"./internal/engine", "^BenchmarkChange$", "60000x"},
		} {
			if err := r.gotest(b); err != nil {
				return err
			}
		}
		return nil
	case partInProcess:
		for _, b := range []benchmark{{".", "^BenchmarkServeDNS$", "0.2s"}, {"./records", "^BenchmarkLookup$", "0.1s"}} {
			if err := r.gotest(b); err != nil {
				return err
			}
		}
		return nil
	case partHealth:
		return r.measureHealth()
	case partZones:
		return r.measureZones()
	case partConsole:
		return measureByLoad(roleConsole, &r.console)
	case partTransfer:
		for _, b := range []benchmark{
			{".", "^BenchmarkTransfer$", "7x"},
			{".", "^BenchmarkRecordChange$", "30000x"},
		} {
			if err := r.gotest(b); err != nil {
				return err
			}
		}
		return nil
	default:
		return r.gotest(benchmark{"./bench/kube", "^Benchmark(Kubernetes|Writing)$", "1x"}, "KUADRANT_COREDNS="+o.binary)
	}
}

// measureByLoad runs this program anew as the process that the load comes from, and
// reads what it reports: it has a CPU of its own, and the servers the other.
func measureByLoad(role string, into any) error {
	cmd, err := self(role)
	if err != nil {
		return err
	}
	out, err := output(cmd)
	if err != nil {
		return err
	}
	return json.Unmarshal(out, into)
}

// self returns the command that runs this program anew in a role, with its own
// arguments and more.
func self(role string, more ...string) (*exec.Cmd, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return exec.Command(path, slices.Concat([]string{"-role", role}, os.Args[1:], more)...), nil
}

// output runs a command, whose complaints go where ours go.
func output(cmd *exec.Cmd) ([]byte, error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("run %s: %w\n%s", cmd, err, out.Bytes())
	}
	return out.Bytes(), nil
}
