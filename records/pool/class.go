package pool

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/health"
)

// Class says how good the members are that an answer was chosen from. Lower is better; the classes from WeightedDown on are
// the fail-open (rule 4.6).
type Class uint8

// The classes. Up and unknown are one class of rule 4.6: of two such members the nearer one is taken, and an unknown one
// after those as near that are up.
const (
	WeightedUp Class = iota
	WeightedUnknown
	DrainedUp
	DrainedUnknown
	WeightedDown
	DrainedDown
	ForcedDown
)

// classNames are the names of all, in their order.
var classNames = [...]string{"up", "unknown", "drained", "drained-unknown", "down", "drained-down", "forced-down"}

// String returns the class as it is shown in metrics and metadata.
func (c Class) String() string { return classNames[c] }

// Unchecked is what people see of WeightedUp where no check has found anything: it counts as up, and nobody knows.
const Unchecked = "unchecked"

// Shown returns the class as people see it. unchecked is true if no check has found anything.
func (c Class) Shown(unchecked bool) string {
	if unchecked && c == WeightedUp {
		return Unchecked
	}
	return c.String()
}

// CompareClasses compares two classes by their names: what is better is less, and what is no class is worse than all.
// Unchecked is as good as up.
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

// classOf returns the class of what is in a state.
func classOf(state health.State, forcedDown, drained bool) Class {
	switch {
	case forcedDown:
		return ForcedDown
	case drained:
		return drainedClass[state]
	}
	return weightedClass[state]
}
