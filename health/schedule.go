package health

import (
	"container/heap"
	"time"
)

// schedule says when to check one target.
type schedule struct {
	key    string
	target *Target
	due    time.Time
	line   *line
	place  int       // in the line's queue; -1 outside of it
	busy   bool      // a check runs
	gone   bool      // gone while busy: the end of the check removes it from the map
	ended  bool      // a check has ended, of this prober or an earlier one
	last   time.Time // when the last check of this prober ended; zero for none
	since  uint32    // when a check of this prober changed the state, in Unix seconds; 0 for never
	fresh  bool      // no check of this prober, or with these headers, has begun
	again  bool      // due is for the time after the running check
}

// of reports whether the result of a check of t is about the schedule's target.
func (e *schedule) of(t *Target) bool { return !e.gone && e.target.Cell == t.Cell }

// put makes t the target of that key. The caller holds mu.
func (p *Prober) put(key string, t *Target, now time.Time) {
	e := p.schedules[key]
	switch {
	case e == nil:
		e = &schedule{key: key, place: -1}
		p.schedules[key] = e
		p.enter(e, t, now)
	case !e.gone && e.target == t:
		return
	case e.of(t): // with other headers, to be tried soon, or of another tenant
		same := t.SameHeaders(e.target)
		p.rate += t.rate() - e.target.rate()
		if p.take(e, t); same {
			break
		}
		if due := p.soon(e, now); e.busy || due.Before(e.due) {
			e.due = due
		}
	default: // the old one is gone, and this is another
		p.leave(e)
		p.enter(e, t, now)
	}
	switch {
	case e.busy: // only one check of a target at a time
		e.again = e.again || e.fresh
	case e.place < 0:
		heap.Push(&e.line.queue, e)
	default:
		heap.Fix(&e.line.queue, e.place)
	}
	p.arrange(e.line)
}

// take makes t the target of the schedule, in the line of its tenant.
func (p *Prober) take(e *schedule, t *Target) {
	from, to := e.line, p.lineOf(t)
	if e.target, e.line = t, to; from == to {
		return
	}
	if to.members++; from == nil {
		return
	}
	from.members--
	if e.fresh {
		from.fresh--
		to.fresh++
	}
	if e.place >= 0 {
		heap.Remove(&from.queue, e.place)
	}
	p.arrange(from)
}

// enter makes t the target of the schedule, and says when its first check is due.
func (p *Prober) enter(e *schedule, t *Target, now time.Time) {
	p.take(e, t)
	e.gone, e.ended, e.last, e.since = false, t.Cell.Load().Checked(), time.Time{}, 0
	// Knowledge from before may be outdated: nothing is delayed.
	e.due = p.soon(e, now)
	p.rate += t.rate()
	if !e.ended {
		p.firsts++
	}
}

// leave separates the schedule from its target.
func (p *Prober) leave(e *schedule) {
	if !e.gone {
		p.rate -= e.target.rate()
		if !e.ended {
			p.firsts--
		}
	}
	p.begun(e)
	e.gone = true
}

// begun notes that the first check of the schedule's target has begun, or never will.
func (p *Prober) begun(e *schedule) {
	if e.fresh {
		e.fresh = false
		e.line.fresh--
	}
}

// drop ends the checks of a target. The caller holds mu.
func (p *Prober) drop(key string) {
	e := p.schedules[key]
	if e == nil {
		return
	}
	if p.leave(e); !e.busy {
		heap.Remove(&e.line.queue, e.place)
		p.end(e)
	}
}

// end removes a schedule that is in no queue and has no running check.
func (p *Prober) end(e *schedule) {
	delete(p.schedules, e.key)
	e.line.members--
	p.arrange(e.line)
}
