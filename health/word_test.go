package health

import (
	"slices"
	"testing"
)

// history is rule 4.3 and 4.4 in the plainest words: all evidence so far, from
// which the state is worked out anew.
type history struct {
	evidence []bool // whether each check that counts has succeeded
	last     Reason
}

// row returns how many checks in a row have ended so, up to and with the last.
func (h *history) row(success bool) (n int) {
	for _, s := range slices.Backward(h.evidence) {
		if s != success {
			break
		}
		n++
	}
	return n
}

// state plays all checks again.
func (h *history) state(t Terms) (s State) {
	for i := range h.evidence {
		now := history{evidence: h.evidence[:i+1]}
		switch {
		case now.row(false) >= t.FailureThreshold && now.row(false) > 0:
			s = Down
		case now.row(true) >= t.SuccessThreshold && now.row(true) > 0:
			s = Up
		case i == 0:
			s = Unknown
		}
	}
	return s
}

// note adds a check.
func (h *history) note(r Reason) {
	switch h.last = r; r {
	case Good:
		h.evidence = append(h.evidence, true)
	case NoRoute, NoRoots, LocalTrouble, ResolverFailed, HeadersNotFound, Interrupted:
	case Forbidden:
		h.evidence = nil
	default:
		h.evidence = append(h.evidence, false)
	}
}

// FuzzWord plays random outcomes, and operators, to a word and to a history.
func FuzzWord(f *testing.F) {
	f.Add(5, 1, []byte{0, 2, 2, 2, 2, 2, 0})
	f.Add(2, 2, []byte{2, 100, 0, 101, 0, 102, 13, 2, 2, 103, 0})
	f.Add(0, 0, []byte{2, 0, 16, 2, 11, 0})
	f.Add(-1, -7, []byte{2, 0})
	f.Add(1, 1, []byte{0, byte(NoRoots)})
	f.Fuzz(func(t *testing.T, fall, rise int, checks []byte) {
		if len(checks) > 200 { // the history is quadratic
			return
		}
		terms := Terms{FailureThreshold: fall, SuccessThreshold: rise}
		var w Word
		var h history
		override := NoOverride
		for i, b := range checks {
			if b >= 100 {
				override = Override(b) % (ForceDown + 1)
				w = w.with(override)
			} else {
				r := Reason(b) % numReasons
				h.note(r)
				w = w.After(Outcome{Reason: r, Status: i}, terms)
			}
			state, failures, successes := h.state(terms), h.row(false), h.row(true)
			if w.Found() != state || w.Failures() != failures || w.Successes() != successes || w.Reason() != h.last || w.Override() != override {
				t.Fatalf("after %v: %s, %d failures, %d successes, %q, override %s; want %s, %d, %d, %q, %s", checks[:i+1],
					w.Found(), w.Failures(), w.Successes(), w.Reason(), w.Override(), state, failures, successes, h.last, override)
			}
			if w.Checked() != (len(h.evidence) > 0) {
				t.Fatalf("after %v: checked %v", checks[:i+1], w.Checked())
			}
			if undecided := state == Unknown || state == Up && failures > 0 || state == Down && successes > 0; w.Undecided() != undecided {
				t.Fatalf("after %v: undecided %v", checks[:i+1], w.Undecided())
			}
		}
	})
}

// TestRestored: a state from before stands until checks have decided otherwise, and is not one
// that was checked (rules 4.3 and 4.7).
func TestRestored(t *testing.T) {
	terms := Terms{FailureThreshold: 2, SuccessThreshold: 2}
	good, bad := Outcome{Reason: Good}, Outcome{Reason: ConnectionRefused}
	for _, c := range []struct {
		was  State
		ends []Outcome
		want []State
	}{
		{Up, []Outcome{bad, good, bad, bad}, []State{Up, Up, Up, Down}},
		{Down, []Outcome{good, bad, good, good}, []State{Down, Down, Down, Up}},
		{Unknown, []Outcome{good, good}, []State{Unknown, Up}},
		{Down, []Outcome{{Reason: LocalTrouble}, bad}, []State{Down, Down}},
		{Down, []Outcome{{Reason: Forbidden}}, []State{Up}},
	} {
		cell := NewCell(Restored(c.was))
		if w := cell.Load(); w.State() != c.was || w.Checked() || !w.Known() || w.Fresh() != w {
			t.Errorf("%v restored is %v, checked %v, known %v", c.was, w.State(), w.Checked(), w.Known())
		}
		for i, o := range c.ends {
			if _, after := cell.Observe(o, terms); after.State() != c.want[i] {
				t.Errorf("%v, after %v: %v, want %v", c.was, c.ends[:i+1], after.State(), c.want[i])
			}
		}
	}
	for s := Up; s <= Down; s++ {
		if again, ok := ParseState(s.String()); !ok || again != s {
			t.Errorf("%v is read as %v", s, again)
		}
	}
	if _, ok := ParseState("drained"); ok {
		t.Error("there is a state drained")
	}
}
