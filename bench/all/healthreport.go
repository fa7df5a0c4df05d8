//go:build linux

package main

import (
	"fmt"
	"io"

	"github.com/coredns-kuadrant/kuadrant/bench/checks"
	"github.com/coredns-kuadrant/kuadrant/bench/stats"
)

// over returns the Spread of what each tells of a window.
func over(f *checks.Figures, each func(w *checks.Window) float64) stats.Spread {
	var list []float64
	for i := range f.Windows {
		list = append(list, each(&f.Windows[i]))
	}
	return stats.Of(list)
}

// printHealth writes the figures of health checks.
func (r *report) printHealth(w io.Writer) {
	for i, t := range trials {
		f := r.health.trials[t.name]
		if f == nil {
			if !r.partial {
				r.missing = append(r.missing, t.name)
			}
			continue
		}
		what := fmt.Sprintf("%d targets checked each %v, %s", f.Targets, f.Interval, t.name)
		if i == 0 {
			r.printProber(w, what, f)
		}
		row(w, "CPU for a check, "+what, "", "%.0f µs", over(f, func(w *checks.Window) float64 { return float64(w.Each().Nanoseconds()) / 1e3 }), "")
		if i > 0 {
			row(w, "the same, memory of the process", "", "%.0f MiB", mebibytes(f), "")
		}
	}
}

// printProber writes the figures that have a target.
func (r *report) printProber(w io.Writer, what string, f *checks.Figures) {
	cores := over(f, (*checks.Window).Cores)
	row(w, what+": CPU", "≤ 0.5 of one CPU", "%.2f", cores, cores.AtMost(0.5))
	memory := mebibytes(f)
	row(w, "the same, memory of the process", "≤ 200 MiB", "%.0f MiB", memory, memory.AtMost(200))
	most := exactly(float64(f.Most >> 20))
	row(w, "the same, the most it has held", "≤ 200 MiB", "%.0f MiB", most, most.AtMost(200))
	late := over(f, func(w *checks.Window) float64 { return w.Late.Seconds() })
	worst := exactly(late.Max)
	row(w, "the same, the latest check began after its time", "≤ 1 s", "%.3f s", worst, worst.AtMost(1))
	row(w, "the same, the latest of the first round, which is spread over a second", "", "%.3f s", exactly(f.First.Late.Seconds()), "")
	row(w, "the same, the first round: until all have been checked", "", "%.2f s", exactly(f.First.Took.Seconds()), "")
}

func mebibytes(f *checks.Figures) stats.Spread {
	var list []float64
	for _, n := range f.Memory {
		list = append(list, float64(n)/(1<<20))
	}
	return stats.Of(list)
}
