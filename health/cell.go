// Package health decides which targets work. So far it holds what is known of a
// target, which answers read (Cell).
package health

import "sync/atomic"

// State is what is known of a target. Lower states are better.
type State uint8

// The states (rule 4.5). A target that nobody checks, and one whose first check
// has not ended, is Up.
const (
	Up State = iota
	Unknown
	Down
)

// String returns the state in lower case.
func (s State) String() string {
	return [...]string{"up", "unknown", "down"}[s]
}

// Word is the content of a Cell at one moment.
type Word uint32

// The bits of a Word: the two lowest hold the State.
const (
	stateMask Word = 3
	drained   Word = 1 << 2
	forced    Word = 1 << 3
)

// State returns the target's state.
func (w Word) State() State { return State(w & stateMask) }

// Drained tells whether the operator has drained the target.
func (w Word) Drained() bool { return w&drained != 0 }

// ForcedDown tells whether the state is down by the operator's word.
func (w Word) ForcedDown() bool { return w&forced != 0 && w.State() == Down }

// Cell is one target's health, one atomic word: a prober writes it, queries
// read it. Any number of goroutines may use a Cell at a time. A nil Cell is
// that of a target that nobody checks: up.
type Cell struct {
	word atomic.Uint32
}

// Load returns the cell's content. It is what a query reads, once.
func (c *Cell) Load() Word {
	if c == nil {
		return Word(Up)
	}
	return Word(c.word.Load())
}

// Set makes s the target's state, as probes have found it.
func (c *Cell) Set(s State) { c.word.Store(uint32(s)) }

// Force makes s the target's state by the operator's word.
func (c *Cell) Force(s State) { c.word.Store(uint32(Word(s) | forced)) }

// Drain marks the target as drained by the operator.
func (c *Cell) Drain() { c.word.Store(uint32(Word(Up) | drained | forced)) }
