package health

import "sync/atomic"

// State is what is known of a target. Lower states are better.
type State uint8

// The states (rule 4.5). A target without checks, or before its first check has ended, is Up.
const (
	Up State = iota
	Unknown
	Down
)

// String returns the state in lower case.
func (s State) String() string {
	return [...]string{"up", "unknown", "down"}[s]
}

// Value is a Cell's content at one moment: the state, what it follows from, and the override. The
// zero Value is that of a target before its first check has ended.
type Value uint64

// The parts of a Value, from the lowest bit. Counts stop at their highest value.
const (
	stateBits     = 2
	failureBits   = 12
	successBits   = 12
	reasonBits    = 6
	statusBits    = 10
	failureShift  = stateBits
	successShift  = failureShift + failureBits
	reasonShift   = successShift + successBits
	statusShift   = reasonShift + reasonBits
	checkedShift  = statusShift + statusBits
	overrideShift = checkedShift + 1
	restoredShift = overrideShift + 2

	maxCount  = 1<<failureBits - 1
	maxStatus = 1<<statusBits - 1

	checked      = Value(1) << checkedShift
	overrideMask = Value(3) << overrideShift
	restored     = Value(1) << restoredShift
)

// Override is the operator's override of a target or a member (rule 4.5).
type Override uint8

// The overrides: the higher one of two is stricter. Drain leaves the state unchanged.
const (
	NoOverride Override = iota
	ForceUp
	Drain
	ForceDown
)

// String returns the override as it is written.
func (o Override) String() string { return [...]string{"none", "up", "drain", "down"}[o] }

// ParseOverride parses a text; ok is false for an unknown one.
func ParseOverride(text string) (o Override, ok bool) {
	for o := ForceUp; o <= ForceDown; o++ {
		if o.String() == text {
			return o, true
		}
	}
	return NoOverride, false
}

// State returns the target's state: the override's, else that found by checks.
func (w Value) State() State {
	switch w.Override() {
	case ForceUp:
		return Up
	case ForceDown:
		return Down
	case NoOverride, Drain:
	}
	return w.Found()
}

// Found returns the state found by checks.
func (w Value) Found() State { return State(w & (1<<stateBits - 1)) }

// Override returns the override.
func (w Value) Override() Override { return Override(w & overrideMask >> overrideShift) }

// Drained reports whether an override drains the target.
func (w Value) Drained() bool { return w.Override() == Drain }

// ForcedDown reports whether an override makes the target down.
func (w Value) ForcedDown() bool { return w.Override() == ForceDown }

// Restored returns the value of a target that was in state s when this server last ran, and has not
// been checked since. The state holds until checks decide otherwise, as if they had never stopped
// (rule 4.7).
func Restored(s State) Value { return Value(s) | restored }

// ParseState parses a text; ok is false for an unknown one.
func ParseState(text string) (s State, ok bool) {
	for s := Up; s <= Down; s++ {
		if s.String() == text {
			return s, true
		}
	}
	return Up, false
}

// Known reports whether checks, including those of an earlier run, have found the state.
func (w Value) Known() bool { return w&(checked|restored) != 0 }

// Checked reports whether a check has ended, with any result.
func (w Value) Checked() bool { return w&checked != 0 }

// Failures and Successes count the checks in a row with that result, up to 4095.
func (w Value) Failures() int  { return int(w >> failureShift & maxCount) }
func (w Value) Successes() int { return int(w >> successShift & maxCount) }

// Reason says why the last check did not succeed.
func (w Value) Reason() Reason { return Reason(w >> reasonShift & (1<<reasonBits - 1)) }

// Status is the HTTP status of the last check that got one, up to 1023; 0 for none.
func (w Value) Status() int { return int(w >> statusShift & maxStatus) }

// Fresh returns a value with only the state that w has found.
func (w Value) Fresh() Value { return Value(w.Found()) | w&(checked|restored) }

// with returns w with the override o.
func (w Value) with(o Override) Value { return w&^overrideMask | Value(o)<<overrideShift }

// Undecided reports whether the latest checks contradict the state, or no state has been found
// (rule 4.3).
func (w Value) Undecided() bool {
	switch w.Found() {
	case Up:
		return w.Failures() > 0
	case Down:
		return w.Successes() > 0
	case Unknown:
	}
	return true
}

// After returns the value after a check that ended with o (rule 4.3): t's number of failures in a
// row makes a target down, t's number of successes makes it up, and no evidence changes nothing
// (rule 4.4).
func (w Value) After(o Outcome, t Terms) Value {
	state, failures, successes := w.Found(), w.Failures(), w.Successes()
	first := !w.Known() || state == Unknown
	switch o.Reason.verdict() {
	case success:
		failures, successes = 0, min(successes+1, maxCount)
		switch {
		case successes >= t.SuccessThreshold:
			state = Up
		case first:
			state = Unknown
		}
	case failure:
		failures, successes = min(failures+1, maxCount), 0
		switch {
		case failures >= t.FailureThreshold:
			state = Down
		case first:
			state = Unknown
		}
	case noEvidence: // not even that the first check has ended
		return w.found(state, failures, successes, o)
	case unchecked:
		return w.found(Up, 0, 0, o) &^ (checked | restored)
	}
	return w.found(state, failures, successes, o) | checked
}

// found returns w with a check's result.
func (w Value) found(state State, failures, successes int, o Outcome) Value {
	return w&(overrideMask|checked|restored) | Value(state) | Value(failures)<<failureShift | Value(successes)<<successShift |
		Value(o.Reason)<<reasonShift | Value(min(max(o.Status, 0), maxStatus))<<statusShift
}

// Cell is one target's health, one atomic value: a prober writes it, queries read it. Any number of
// goroutines may use a Cell at a time. A nil Cell is up, like a target without checks.
type Cell struct {
	value atomic.Uint64
}

// NewCell returns a cell that holds w.
func NewCell(w Value) *Cell {
	c := new(Cell)
	c.value.Store(uint64(w))
	return c
}

// Load returns the cell's content. It is what a query reads, once.
func (c *Cell) Load() Value {
	if c == nil {
		return 0
	}
	return Value(c.value.Load())
}

// Observe records a check's result, and returns the values before and after.
func (c *Cell) Observe(o Outcome, t Terms) (before, after Value) {
	return c.update(func(w Value) Value { return w.After(o, t) })
}

// Set sets the state found by checks.
func (c *Cell) Set(s State) {
	c.update(func(w Value) Value { return w.found(s, 0, 0, Outcome{}) | checked })
}

// Override sets the override. Checks continue beneath it.
func (c *Cell) Override(o Override) {
	c.update(func(w Value) Value { return w.with(o) })
}

func (c *Cell) update(next func(Value) Value) (before, after Value) {
	for {
		before = Value(c.value.Load())
		if after = next(before); c.value.CompareAndSwap(uint64(before), uint64(after)) {
			return before, after
		}
	}
}
