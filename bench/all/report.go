//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/bench/checks"
	"github.com/coredns-kuadrant/kuadrant/bench/process"
	"github.com/coredns-kuadrant/kuadrant/bench/stats"
)

// report is everything that was measured.
type report struct {
	parts   []string
	whole   wholeReport
	zones   wholeReport
	probers map[string]*checks.Figures // by trial
	console consoleReport
	tests   map[string]measured
	order   []string // of tests
	// missing is the figures that the table needs and nothing has told.
	missing []string
}

// figures returns what a Go benchmark has told.
func (r *report) figures(name string) measured {
	m, ok := r.tests[name]
	if !ok {
		r.missing = append(r.missing, name)
	}
	return m
}

// print writes the report in Markdown. It fails where a part that was to be
// measured has not told all that the table needs.
func (r *report) print(w io.Writer) error {
	fmt.Fprintf(w, "Machine: %s.\n\n", machine())
	fmt.Fprintln(w, "| what | target | measured | range | verdict |\n|---|---|---|---|---|")
	if r.measuredPart(partWhole) {
		r.printRatios(w)
	}
	if r.measuredPart(partInProcess) {
		r.printAllocations(w)
	}
	if r.measuredPart(partCompile) {
		r.printCompile(w)
	}
	if r.measuredPart(partKube) {
		r.printKube(w)
	}
	if r.measuredPart(partHealth) {
		r.printHealth(w)
	}
	if r.measuredPart(partTransfer) {
		r.printTransfer(w)
	}
	if r.measuredPart(partZones) {
		r.printZones(w)
	}
	if r.measuredPart(partConsole) {
		r.printConsole(w)
	}
	if r.measuredPart(partWhole) {
		r.printWhole(w)
	}
	r.printTests(w)
	if len(r.missing) > 0 {
		return fmt.Errorf("nothing was measured for %s: the verdicts on them say nothing", strings.Join(r.missing, ", "))
	}
	return nil
}

func (r *report) measuredPart(part string) bool { return slices.Contains(r.parts, part) }

// row writes one line of the table; form is how its figures are written.
func row(w io.Writer, what, target, form string, s stats.Spread, v stats.Verdict) {
	spread := ""
	if s.Min != s.Max {
		spread = fmt.Sprintf(form+" to "+form, s.Min, s.Max)
	}
	fmt.Fprintf(w, "| %s | %s | "+form+" | %s | %s |\n", what, target, s.Median, spread, v)
}

// targets are those of the ratios between server blocks, in the order of the
// table: of the CPU for a query, or with least of the queries a second. Both are 0
// for those that are told for information.
var targets = []struct {
	scene, of, to string
	what          string
	most, least   float64
}{
	{"simple", blockKuadrant, blockWhoami, "simple A, CPU for a query", 0.55, 0},
	{"simple", blockKuadrant, blockWhoami, "simple A, queries a second on one CPU", 0, 2.00},
	{"simple", blockKuadrant, blockFile, "simple A, CPU for a query", 0.55, 0},
	{"simple", blockKuadrant, blockGdnsd, "simple A, CPU for a query", 1.45, 0},
	{"simple", blockKuadrant, blockKnot, "simple A, CPU for a query", 0, 0},
	{"simple", blockMetrics, blockKuadrant, "simple A with the plugin prometheus", 1.10, 0},
	{"passed", blockKuadrant, blockOff, "query for another block of the listener", 1.15, 0},
	{"flatten", blockKuadrant, blockWhoami, "weightedGeo with mmdb lookup, flatten", 0.60, 0},
	{"chain", blockKuadrant, blockWhoami, "weightedGeo with mmdb lookup, chain of 4 records", 0.70, 0},
	{"nxdomain", blockKuadrant, blockWhoami, "NXDOMAIN in a zone of 100,000 names", 0.60, 0},
	{"chain", blockKuadrant, blockFile, "chain of 4 records, beside the same CNAMEs", 0, 0},
	{"nxdomain", blockKuadrant, blockFile, "NXDOMAIN in a zone of 100,000 names", 0, 0},
	{"large", blockKuadrant, blockWhoami, "simple A in a zone of 100,000 names", 0, 0},
	{"large", blockKuadrant, blockFile, "simple A in a zone of 100,000 names", 0, 0},
}

func (r *report) printRatios(w io.Writer) {
	for _, t := range targets {
		cpu, rate := r.whole.ratios(t.scene, t.of, t.to)
		s, target, verdict := stats.Of(cpu), "", stats.Verdict("")
		switch {
		case slices.Contains(r.whole.Absent, t.to):
			fmt.Fprintf(w, "| %s | | `%s` is not installed | | |\n", t.what, t.to)
			continue
		case len(cpu) == 0:
			r.missing = append(r.missing, t.scene+" of "+t.to)
			continue
		case t.most > 0:
			target, verdict = fmt.Sprintf("≤ %.2f × `%s`", t.most, t.to), s.AtMost(t.most)
		case t.least > 0:
			s = stats.Of(rate)
			target, verdict = fmt.Sprintf("≥ %.2f × `%s`", t.least, t.to), s.AtLeast(t.least)
		}
		row(w, t.what, target, "%.2f × `"+t.to+"`", s, verdict)
	}
}

// ratios returns the CPU of a block's queries over that of another's, and the same of
// their queries a second, for each round of a scene.
func (wr *wholeReport) ratios(scene, of, to string) (cpu, rate []float64) {
	for _, ours := range wr.Windows {
		if ours.Scene != scene || ours.Block != of {
			continue
		}
		for _, theirs := range wr.Windows {
			if theirs.Scene == scene && theirs.Block == to && theirs.Round == ours.Round {
				cpu, rate = append(cpu, ours.CPU/theirs.CPU), append(rate, ours.Rate/theirs.Rate)
			}
		}
	}
	return cpu, rate
}

func exactly(n float64) stats.Spread { return stats.Spread{Median: n, Min: n, Max: n} }

func (r *report) printAllocations(w io.Writer) {
	most := func(prefix, suffix string, without ...string) float64 {
		n, found := 0.0, false
		for name, m := range r.tests {
			if !strings.HasPrefix(name, prefix) || !strings.HasSuffix(name, suffix) ||
				slices.ContainsFunc(without, func(s string) bool { return strings.Contains(name, s) }) {
				continue
			}
			n, found = max(n, m["allocs/op"]), true
		}
		if !found {
			r.missing = append(r.missing, prefix+suffix)
		}
		return n
	}
	s := exactly(most("Lookup/", "", "/wildcard", "/mixedcase"))
	row(w, "allocations of `Lookup`, lower case, no wildcard", "0", "%.0f", s, s.AtMost(0))
	s = exactly(most("ServeDNS/", "/kuadrant", "/wildcard", "/mixedcase", "/subnet"))
	row(w, "allocations of ours in `ServeDNS`, lower case", "≤ 2", "%.0f", s, s.AtMost(2))
}

func (r *report) printCompile(w io.Writer) {
	for _, kind := range []struct {
		name string
		most float64
	}{{"simple", 2}, {"weightedGeo", 2.5}} {
		s := r.figures("FirstCompile/" + kind.name + "/gateways=100000").spread("cpu-s")
		most := fmt.Sprintf("≤ %v s CPU", kind.most)
		row(w, "first compile of 100,000 Gateways with "+kind.name+" policies", most, "%.2f s", s, s.AtMost(kind.most))
	}
	for _, of := range []struct {
		name, what string
		most       float64
	}{{"gateways=100000", "100,000 hosts", 2.5}, {"rrs=1000000", "1,000,000 Records", 10}} {
		m := r.figures("Structure/" + of.name)
		s := m.spread("cpu-s")
		row(w, "a Zone more or less beside "+of.what, fmt.Sprintf("≤ %v s CPU", of.most), "%.2f s", s, s.AtMost(of.most))
		s = m.spread("leaf-s")
		row(w, "the same, until something else that changes is compiled", "≤ 1 s", "%.2f s", s, s.AtMost(1))
		s = m.spread("peak-x")
		row(w, "the same, memory at the most, beside that before", "≤ 2 times", "%.2f times", s, s.AtMost(2))
	}
	for _, kind := range []struct{ name, what string }{
		{"address", "another address of a simple host"},
		{"steered", "another address of a weightedGeo host"},
		{"host", "a Gateway with its policy, new or gone"},
	} {
		var first, last stats.Spread
		for _, hosts := range []string{"1000", "10000", "100000"} {
			last = r.figures("Change/" + kind.name + "/hosts=" + hosts).spread("cpu-µs")
			if hosts == "1000" {
				first = last
			}
			row(w, "one change among "+hosts+" hosts: "+kind.what, "≤ 200 µs CPU", "%.0f µs", last, last.AtMost(200))
		}
		row(w, "from 1,000 to 100,000 hosts", "flat: ≤ 1.5 times", "%.2f times", growth(first, last), growth(first, last).AtMost(1.5))
		change := "Change/" + kind.name + "/hosts="
		grown := growth(r.figures(change+"1000").spread("no-gc-µs"), r.figures(change+"100000").spread("no-gc-µs"))
		row(w, "the same while no garbage is collected", "flat: ≤ 1.5 times", "%.2f times", grown, grown.AtMost(1.5))
	}
	heap := r.figures("Heap/simple")
	s := exactly(heap["B/gateway"] / 1024)
	row(w, "live heap for a Gateway with a simple policy, at 100,000", "≤ 3 KiB", "%.2f KiB", s, s.AtMost(3))
	row(w, "the same, memory of the whole process", "", "%.0f MiB", exactly(heap["rss-MiB"]), "")
	row(w, "live heap for a Gateway with a weightedGeo policy", "", "%.2f KiB", exactly(r.figures("Heap/weightedGeo")["B/gateway"]/1024), "")
}

// growth returns how many times first last is.
func growth(first, last stats.Spread) stats.Spread {
	return stats.Spread{Median: last.Median / first.Median, Min: last.Min / first.Max, Max: last.Max / first.Min}
}

func (r *report) printKube(w io.Writer) {
	m := r.figures("Kubernetes")
	s := exactly(m["load-cpu-s"])
	row(w, "10,000 Gateways from a real API server, from the start of the process until the last one answers", "≤ 3 s CPU", "%.2f s", s, s.AtMost(3))
	row(w, "the same, without what CoreDNS itself takes to start", "", "%.2f s", exactly(m["load-cpu-s"]-m["start-cpu-s"]), "")
	row(w, "status patch on the API server to changed answer, at 10,000 Gateways", "", "%.1f ms", m.spread("delay-ms"), "")
	row(w, "memory of the process at 10,000 Gateways", "", "%.0f MiB", exactly(m["rss-MiB"]), "")
	m = r.figures("Writing")
	s = exactly(m["rest-s"])
	row(w, "the writer brings 10,000 policies to rest, `write-rate 150 300`", "≤ 480 s", "%.0f s", s, s.AtMost(480))
	row(w, "writes until then", "", "%.0f", exactly(m["writes"]), "")
	row(w, "CPU of the process until then", "", "%.0f s", exactly(m["cpu-s"]), "")
	s = exactly(m["writes-after"])
	row(w, "writes in the minute after", "0", "%.0f", s, s.AtMost(0))
	row(w, "lists and gets of what is watched in that minute", "", "%.0f", exactly(m["reads-after"]), "")
	s = exactly(m["reads-beyond"])
	row(w, "of them beyond one for each watch that ended", "0", "%.0f", s, s.AtMost(0))
	row(w, "memory of the process then", "", "%.0f MiB", exactly(m["rss-MiB"]), "")
}

func (r *report) printTransfer(w io.Writer) {
	s := r.figures("Transfer").spread("records/s")
	row(w, "AXFR of 1,000,000 records over TCP", "≥ 300,000 a second", "%.0f a second", s, s.AtLeast(300_000))
	row(w, "the same, CPU of the server and of a client that only counts", "", "%.0f ns a record", exactly(r.figures("Transfer")["cpu-ns/record"]), "")
	for _, records := range []string{"1000", "1000000"} {
		s := r.figures("RecordChange/records=" + records).spread("cpu-µs")
		row(w, "one change among "+records+" Records: another address", "≤ 200 µs CPU", "%.0f µs", s, s.AtMost(200))
	}
}

// printWhole writes what is behind the ratios.
func (r *report) printWhole(w io.Writer) {
	fmt.Fprintf(w, "\nWhole process (%s), CPU of the server for one query:\n\n", r.whole.CPUs)
	fmt.Fprintln(w, "| query | plugin | CPU | range | queries a second |\n|---|---|---|---|---|")
	var seen []string
	for _, first := range r.whole.Windows {
		key := first.Scene + " " + first.Block
		if slices.Contains(seen, key) {
			continue
		}
		seen = append(seen, key)
		var cpu, rate []float64
		for _, win := range r.whole.Windows {
			if win.Scene == first.Scene && win.Block == first.Block {
				cpu, rate = append(cpu, win.CPU/1e3), append(rate, win.Rate)
			}
		}
		s := stats.Of(cpu)
		fmt.Fprintf(w, "| %s | `%s` | %.2f µs | %.2f to %.2f µs | %.0f |\n", first.Scene, first.Block, s.Median, s.Min, s.Max, stats.Of(rate).Median)
	}
	if r.whole.Memory > 0 {
		fmt.Fprintf(w, "\nThe server with 100,000 hosts in both `file` and `kuadrant`: %d MiB of memory, %.1f s of CPU to load them from files, %.1f ms of CPU in a second without queries.\n",
			r.whole.Memory>>20, r.whole.Load.Seconds(), r.whole.Idle.Seconds()*1e3)
	}
}

// printTests writes the Go benchmarks that are told for information.
func (r *report) printTests(w io.Writer) {
	if !r.measuredPart(partInProcess) {
		return
	}
	fmt.Fprintln(w, "\nIn process, for information:\n\n| what | time | memory | allocations |\n|---|---|---|---|")
	for _, name := range r.order {
		if m := r.tests[name]; strings.HasPrefix(name, "ServeDNS/") || strings.HasPrefix(name, "Lookup/") {
			fmt.Fprintf(w, "| %s | %.0f ns | %.0f B | %.0f |\n", name, m["ns/op"], m["B/op"], m["allocs/op"])
		}
	}
}

// machine says what this runs on, without naming it.
func machine() string {
	model := "unknown processor"
	text, _ := os.ReadFile("/proc/cpuinfo") // where there is none, there is no model
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("%d CPUs, %s, %s/%s, %s", len(process.CPUs()), model, runtime.GOOS, runtime.GOARCH, runtime.Version())
}
