package pool

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/health"
)

// Class says how good the members are that an answer was chosen from. Lower is better; the classes from WeightedDown on mean failing open
// (rule 4.6).
type Class uint8

// The classes. Up and unknown are one class in rule 4.6: the nearer of two such members is taken, and at equal distance the one that is up.
const (
	WeightedUp Class = iota
	WeightedUnknown
	DrainedUp
	DrainedUnknown
	WeightedDown
	DrainedDown
	ForcedDown
)

// classNames are the names of the classes, in order.
var classNames = [...]string{"up", "unknown", "drained", "drained-unknown", "down", "drained-down", "forced-down"}

// String returns the class as it is shown in metrics and metadata.
func (c Class) String() string { return classNames[c] }

// Unchecked is how WeightedUp is shown if no check has a result: it counts as up.
const Unchecked = "unchecked"

// Shown returns the class as people see it. unchecked is true if no check has a result.
func (c Class) Shown(unchecked bool) string {
	if unchecked && c == WeightedUp {
		return Unchecked
	}
	return c.String()
}

// CompareClasses compares two class names: the better is less, and an unknown name is worst. Unchecked equals up.
func CompareClasses(a, b string) int {
	rank := func(name string) int {
		if name == Unchecked {
			return int(WeightedUp)
		}
		if i := slices.Index(classNames[:], name); i >= 0 {
			return i
		}
		return len(classNames)
	}
	return rank(a) - rank(b)
}

// Usable reports whether members of the class are taken before drained ones.
func (c Class) Usable() bool { return c <= WeightedUnknown }

// The classes of members by their state.
var (
	weightedClass = [...]Class{WeightedUp, WeightedUnknown, WeightedDown}
	drainedClass  = [...]Class{DrainedUp, DrainedUnknown, DrainedDown}
)

// classOf returns the class for a state.
func classOf(state health.State, forcedDown, drained bool) Class {
	switch {
	case forcedDown:
		return ForcedDown
	case drained:
		return drainedClass[state]
	}
	return weightedClass[state]
}
