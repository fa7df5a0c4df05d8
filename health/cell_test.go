package health

import (
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestThresholds plays checks that succeed (+), fail (-), or are no evidence (.)
// or forbidden (x), and compares the state after each: up (u), unknown (?), down
// (d), or pending (p), which is up. A cell that begins with U, ? or D has that state from
// before, which stands until checks have decided otherwise (rules 4.3 and 4.7).
func TestThresholds(t *testing.T) {
	for _, c := range []struct {
		name         string
		fall, rise   int
		checks, want string
	}{
		{"up at once", 5, 1, "+", "u"},
		{"exactly five failures", 5, 1, "+-----", "uuuuud"},
		{"four failures twice", 5, 1, "+----+----", "uuuuuuuuuu"},
		{"one failure", 1, 1, "+-+-", "udud"},
		{"undecided at first", 3, 1, "---", "??d"},
		{"undecided, then up", 3, 1, "-+", "?u"},
		{"down from the start", 1, 1, "-", "d"},
		{"up again after two", 2, 2, "++--++", "?uudd" + "u"},
		{"up again only in a row", 1, 2, "++-+-++", "?udddd" + "u"},
		{"no evidence counts for nothing", 2, 1, "+-..-+", "uuuudu"},
		{"no evidence at first", 2, 1, "..-", "pp?"},
		{"no evidence between the successes", 1, 2, "-+.+", "dddu"},
		{"forbidden", 1, 1, "-x-", "dpd"},
		{"up from before", 2, 2, "U-+--", "uuud"},
		{"down from before", 2, 2, "D+-++", "dddu"},
		{"unknown from before", 2, 2, "?++", "?u"},
		{"no evidence leaves what was before", 2, 2, "D.-", "dd"},
		{"forbidden undoes what was before", 2, 2, "Dx", "p"},
	} {
		t.Run(c.name, func(t *testing.T) {
			terms := Terms{FailureThreshold: c.fall, SuccessThreshold: c.rise}
			cell := new(Cell)
			var got strings.Builder
			if was := State(strings.IndexByte("U?D", c.checks[0])); was >= Up && was <= Down && strings.ContainsAny(c.checks[:1], "U?D") {
				cell = NewCell(Restored(was))
				if w := cell.Load(); w.State() != was || w.Checked() || !w.Known() || w.Fresh() != w {
					t.Errorf("%v restored is %v, checked %v, known %v", was, w.State(), w.Checked(), w.Known())
				}
				c.checks = c.checks[1:]
			}
			for _, check := range c.checks {
				o := Outcome{Reason: map[rune]Reason{'+': Good, '-': Timeout, '.': NoRoute, 'x': Forbidden}[check]}
				_, w := cell.Observe(o, terms)
				switch {
				case !w.Checked() && w.State() == Up:
					got.WriteByte('p')
				default:
					got.WriteByte("u?d"[w.State()])
				}
				if w.Reason() != o.Reason {
					t.Errorf("reason %q after %q", w.Reason(), o.Reason)
				}
			}
			if got.String() != c.want {
				t.Errorf("%s gives %s, want %s", c.checks, &got, c.want)
			}
		})
	}
}

// TestValue: the parts of a word do not run into each other, and counts stay at
// their highest value.
func TestValue(t *testing.T) {
	terms := Terms{FailureThreshold: 5000, SuccessThreshold: 5000}
	cell := NewCell(0)
	for range 5000 {
		cell.Observe(Outcome{Reason: StatusCode, Status: 503}, terms)
	}
	cell.Override(Drain)
	w := cell.Load()
	if w.Failures() != maxCount || w.Successes() != 0 || w.Status() != 503 || w.Reason() != StatusCode || w.Found() != Unknown ||
		!w.Checked() || !w.Drained() {
		t.Errorf("failures %d, successes %d, status %d, reason %q, %s, checked %v, override %s",
			w.Failures(), w.Successes(), w.Status(), w.Reason(), w.Found(), w.Checked(), w.Override())
	}
	for range 5000 {
		cell.Observe(Outcome{Status: 99999}, terms)
	}
	w = cell.Load()
	if w.Failures() != 0 || w.Successes() != maxCount || w.Status() != maxStatus || w.Reason() != Good || !w.Drained() {
		t.Errorf("failures %d, successes %d, status %d, reason %q, override %s", w.Failures(), w.Successes(), w.Status(), w.Reason(),
			w.Override())
	}
	if numReasons > 1<<reasonBits || ForceDown > 1<<2-1 || overrideShift+2 > 64 {
		t.Error("the parts do not fit")
	}
}

// TestOverride: the operator's word goes first, and what checks find goes on
// beneath it (rule 4.5).
func TestOverride(t *testing.T) {
	terms := Terms{FailureThreshold: 1, SuccessThreshold: 1}
	cell := new(Cell)
	for _, step := range []struct {
		do   func()
		want State
	}{
		{func() { cell.Observe(Outcome{Reason: Timeout}, terms) }, Down},
		{func() { cell.Override(ForceUp) }, Up},
		{func() { cell.Observe(Outcome{}, terms); cell.Observe(Outcome{Reason: Timeout}, terms) }, Up},
		{func() { cell.Override(NoOverride) }, Down},
		{func() { cell.Override(ForceDown) }, Down},
		{func() { cell.Observe(Outcome{}, terms) }, Down},
		{func() { cell.Override(Drain) }, Up},
		{func() { cell.Override(NoOverride) }, Up},
	} {
		step.do()
		if got := cell.Load().State(); got != step.want {
			t.Errorf("%s, want %s", got, step.want)
		}
	}
	for _, word := range []string{"up", "down", "drain"} {
		if o, ok := ParseOverride(word); !ok || o.String() != word {
			t.Errorf("%s is read as %s, %v", word, o, ok)
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
	for _, word := range []string{"", "none", "Up", "drained"} {
		if _, ok := ParseOverride(word); ok {
			t.Errorf("%q is an override", word)
		}
	}
}

// TestCellShared: no check that several goroutines note is lost.
func TestCellShared(t *testing.T) {
	cell := new(Cell)
	terms := Terms{FailureThreshold: 4000, SuccessThreshold: 1}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				cell.Observe(Outcome{Reason: Timeout}, terms)
				cell.Override(Drain)
			}
		})
	}
	all.Wait()
	if n := cell.Load().Failures(); n != 800 {
		t.Errorf("%d failures, want 800", n)
	}
	if n := (*Cell)(nil).Load(); n != 0 {
		t.Errorf("nobody's cell holds %x", n)
	}
}

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

// FuzzValue plays random outcomes, and operators, to a word and to a history.
func FuzzValue(f *testing.F) {
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
		var w Value
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
