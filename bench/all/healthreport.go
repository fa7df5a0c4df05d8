//go:build linux

package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/bench/checks"
	"github.com/coredns-kuadrant/kuadrant/bench/stats"
)

// over returns the Spread of what each tells of a window.
func over(windows []checks.Window, each func(w *checks.Window) float64) stats.Spread {
	var list []float64
	for i := range windows {
		list = append(list, each(&windows[i]))
	}
	return stats.Of(list)
}

// mebibytes returns the Spread of sizes in bytes.
func mebibytes(sizes []int64) stats.Spread {
	var list []float64
	for _, n := range sizes {
		list = append(list, float64(n)/(1<<20))
	}
	return stats.Of(list)
}

func cores(w *checks.Window) float64 { return w.CPU.Seconds() / w.Took.Seconds() }

// perCheck returns microseconds.
func perCheck(w *checks.Window) float64 {
	return float64(w.CPU.Microseconds()) / float64(max(w.Checks, 1))
}

// printHealth writes the figures of health checks.
func (r *report) printHealth(w io.Writer) {
	for i, t := range trials {
		f := r.health.probers[t.name]
		if f == nil {
			if !r.partial {
				r.missing = append(r.missing, t.name)
			}
			continue
		}
		what := fmt.Sprintf("%d targets checked every %.0f s, %s", f.Targets, f.Interval.Seconds(), t.what)
		if i == 0 {
			printProber(w, what, f)
		}
		row(w, "CPU for one check, "+what, "", "%.0f µs", over(f.Windows, perCheck), "")
		if i > 0 {
			row(w, "the same, memory of the process", "", "%.0f MiB", mebibytes(f.Memory), "")
		}
	}
	r.printChecked(w)
}

// printProber writes the figures of a prober that have a target.
func printProber(w io.Writer, what string, f *checks.Figures) {
	busy := over(f.Windows, cores)
	row(w, what+", by a prober alone", "≤ 0.5 of a CPU", "%.2f of a CPU", busy, busy.AtMost(0.5))
	memory := mebibytes(f.Memory)
	row(w, "the same, memory of the process", "≤ 200 MiB", "%.0f MiB", memory, memory.AtMost(200))
	most := exactly(float64(f.Most) / (1 << 20))
	row(w, "the same, the most it has held", "≤ 200 MiB", "%.0f MiB", most, most.AtMost(200))
	late := over(f.Windows, func(w *checks.Window) float64 { return w.Late.Seconds() })
	late.Median = late.Max
	row(w, "the same, by how much the latest check began after its time", "≤ 1 s", "%.2f s", late, late.AtMost(1))
	row(w, "the same in the first round, 2,500 checks a second", "", "%.2f s", exactly(f.First.Late.Seconds()), "")
	row(w, "the same, until the first round was over", "", "%.2f s", exactly(f.First.Took.Seconds()), "")
}

// printChecked writes the figures of bin/coredns.
func (r *report) printChecked(w io.Writer) {
	c := &r.health.checked
	if len(c.On.Windows) > 0 {
		row(w, "the same targets checked by `bin/coredns`", "", "%.2f of a CPU", over(c.On.Windows, cores), "")
		row(w, "the same with `probes off`", "", "%.3f of a CPU", over(c.Off.Windows, cores), "")
		row(w, "memory of `bin/coredns` with them", "", "%.0f MiB", mebibytes(c.On.Memory), "")
		row(w, "the same, the most it has held", "", "%.0f MiB", exactly(float64(c.On.Most)/(1<<20)), "")
		row(w, "the same with `probes off`", "", "%.0f MiB", mebibytes(c.Off.Memory), "")
		row(w, "the same with `probes off`, the most it has held", "", "%.0f MiB", exactly(float64(c.Off.Most)/(1<<20)), "")
	} else if !r.partial {
		r.missing = append(r.missing, trialServer)
	}
	for _, scene := range []struct{ name, what string }{
		{"simple", "simple A, CPU for a query"},
		{"flatten", "weightedGeo with mmdb lookup, flatten"},
	} {
		ratios := c.Queries.ratios(scene.name, blockUnchecked)
		if len(ratios) == 0 {
			if !r.partial {
				r.missing = append(r.missing, trialQueries+" "+scene.name)
			}
			continue
		}
		s := stats.Of(slices.Clone(ratios))
		row(w, scene.what+": names that are checked, beside those that are not", "≤ 1.00", "%.2f", s, s.AtMost(1))
	}
}
