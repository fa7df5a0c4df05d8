package health

import (
	"strings"
	"sync"
	"testing"
)

// TestThresholds plays checks that succeed (+), fail (-), or are no evidence (.)
// or forbidden (x), and compares the state after each: up (u), unknown (?), down
// (d), or pending (p), which is up.
func TestThresholds(t *testing.T) {
	for _, c := range []struct {
		name         string
		fall, rise   int
		checks, want string
	}{
		{"up at once", 5, 1, "+", "u"},
		{"exactly five failures", 5, 1, "+-----", "uuuuud"},
		{"case G6", 5, 1, "+----+----", "uuuuuuuuuu"},
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
	} {
		t.Run(c.name, func(t *testing.T) {
			terms := Terms{FailureThreshold: c.fall, SuccessThreshold: c.rise}
			cell := new(Cell)
			var got strings.Builder
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

// TestWord: the parts of a word do not run into each other, and counts stay at
// their highest value.
func TestWord(t *testing.T) {
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
