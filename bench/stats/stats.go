// Package stats sums up what was measured several times.
package stats

import (
	"cmp"
	"slices"
)

// Spread is the median of some values and the range that they lie in.
type Spread struct {
	Median, Min, Max float64
}

// Of returns the Spread of values, which it sorts; the zero Spread for none.
func Of(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	slices.Sort(values)
	n := len(values)
	return Spread{Median: (values[(n-1)/2] + values[n/2]) / 2, Min: values[0], Max: values[n-1]}
}

// Verdict is how a Spread compares with the most that it should be.
type Verdict string

// The verdicts.
const (
	Met    Verdict = "met"
	Equal  Verdict = "equal within the spread" // above, but some of the values are not
	Missed Verdict = "missed"
)

// AtMost returns how s compares with target: a difference smaller than the
// spread counts as none.
func (s Spread) AtMost(target float64) Verdict {
	switch {
	case cmp.Compare(s.Median, target) <= 0:
		return Met
	case s.Min <= target:
		return Equal
	}
	return Missed
}

// AtLeast is AtMost the other way round.
func (s Spread) AtLeast(target float64) Verdict {
	return Spread{Median: -s.Median, Min: -s.Max, Max: -s.Min}.AtMost(-target)
}
