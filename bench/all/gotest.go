//go:build linux

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/bench/stats"
)

// benchmark is one call of go test.
type benchmark struct {
	pkg, pattern, time string
}

// measured is what one Go benchmark tells, by unit.
type measured map[string]float64

// spread returns the figures of a unit that has a range.
func (m measured) spread(unit string) stats.Spread {
	return stats.Spread{Median: m[unit], Min: m[unit+"-min"], Max: m[unit+"-max"]}
}

// gotest runs Go benchmarks and keeps what they tell.
func (r *report) gotest(b benchmark, env ...string) error {
	cmd := exec.Command("go", "test", "-run", "^$", "-bench", b.pattern, "-benchtime", b.time, "-benchmem", "-timeout", "20m", b.pkg)
	cmd.Env = append(os.Environ(), env...)
	out, err := output(cmd)
	if err != nil {
		return err
	}
	if r.tests == nil {
		r.tests = make(map[string]measured)
	}
	found := false
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		name, m, ok := parseBenchmark(lines.Text())
		if !ok {
			continue
		}
		found = true
		r.tests[name] = m
		r.order = append(r.order, name)
	}
	if !found {
		return fmt.Errorf("%s told nothing:\n%s", cmd, out)
	}
	return nil
}

// parseBenchmark reads a line such as
//
//	BenchmarkLookup/simple-2    1000    150.0 ns/op    0 B/op    0 allocs/op
func parseBenchmark(line string) (name string, m measured, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 4 || len(fields)%2 != 0 || !strings.HasPrefix(fields[0], "Benchmark") {
		return "", nil, false
	}
	name = strings.TrimPrefix(fields[0], "Benchmark")
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		if _, err := strconv.Atoi(name[i+1:]); err == nil {
			name = name[:i] // GOMAXPROCS
		}
	}
	m = make(measured)
	for i := 2; i < len(fields); i += 2 {
		value, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return "", nil, false
		}
		m[fields[i+1]] = value
	}
	return name, m, true
}
