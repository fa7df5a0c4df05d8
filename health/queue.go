package health

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"time"
)

// line is the schedules of one tenant's targets (Target.Tenant). Lines with checks due take turns, and
// none has all places: what one tenant has checked delays no other's checks (rule 4.3).
type line struct {
	tenant  string
	queue   heaped[*schedule] // those without a running check
	members int               // all schedules
	fresh   int               // those that are fresh
	running int               // connections
	place   int               // in Prober.waiting; -1 outside of it
	turns   bool              // it is in Prober.turns
}

// room reports whether a line may have one more connection: not more than are free, so that those that
// come later find some.
func (p *Prober) room(l *line) bool { return l.running < p.opts.Concurrent-p.running }

// lineOf returns the line of a target.
func (p *Prober) lineOf(t *Target) *line {
	l := p.lines[t.Tenant]
	if l == nil {
		l = &line{tenant: t.Tenant, place: -1}
		p.lines[t.Tenant] = l
	}
	return l
}

// arrange puts a line in its place after a change of its queue.
func (p *Prober) arrange(l *line) {
	switch {
	case l.turns: // begin looks at it
	case len(l.queue) > 0 && l.place < 0:
		heap.Push(&p.waiting, l)
	case len(l.queue) > 0:
		heap.Fix(&p.waiting, l.place)
	case l.place >= 0:
		heap.Remove(&p.waiting, l.place)
	}
	if l.members == 0 && l.running == 0 && !l.turns {
		delete(p.lines, l.tenant)
	}
}

// next returns the next check that may begin now: of the lines with checks due, by turns. If there is none, wait is the time until
// there may be one; the end of a check may make room before.
func (p *Prober) next(now time.Time) (e *schedule, wait time.Duration) {
	for len(p.waiting) > 0 && !p.waiting[0].queue[0].due.After(now) {
		l := heap.Pop(&p.waiting).(*line)
		l.turns = true
		p.turns = append(p.turns, l)
	}
	if wait = nothing; len(p.waiting) > 0 {
		wait = p.waiting[0].queue[0].due.Sub(now)
	}
	for i := 0; i < len(p.turns); {
		l := p.turns[i]
		switch {
		case len(l.queue) == 0 || l.queue[0].due.After(now):
			p.turns = slices.Delete(p.turns, i, i+1)
			l.turns = false
			if p.arrange(l); len(l.queue) > 0 {
				wait = min(wait, l.queue[0].due.Sub(now))
			}
		case !p.room(l):
			i++
		case !p.pace(now, l.queue[0].fresh):
			wait = min(wait, time.Second/paces/2)
			i++
		default:
			p.turns = append(slices.Delete(p.turns, i, i+1), l)
			return heap.Pop(&l.queue).(*schedule), 0
		}
	}
	return nil, wait
}

// credit is how many checks may begin at once, at a time.
type credit struct {
	left float64
	at   time.Time
}

// earn adds what has been earned at a rate a second, and reports whether a check may begin. Checks
// that could not begin for a while, as in a process that was stopped, do not all begin at once.
func (c *credit) earn(now time.Time, rate float64) bool {
	if earned := now.Sub(c.at).Seconds() * rate; c.at.IsZero() || c.left+earned > rate/paces {
		c.left = rate / paces
	} else {
		c.left += earned
	}
	c.at = now
	return c.left >= 1
}

// pace takes one check off the credits, and reports whether it may begin. Checks on time are not
// delayed: the pace is that of first checks plus twice that of the terms, and more. The caller holds
// mu.
func (p *Prober) pace(now time.Time, fresh bool) bool {
	if !p.all.earn(now, firstRate*5/4+2*p.rate) || fresh && !p.first.earn(now, firstRate) {
		return false
	}
	p.all.left--
	if fresh {
		p.first.left--
	}
	return true
}

// soon returns when to check by a schedule that is new, or as good as new: within a second, unless
// its tenant has very many.
func (p *Prober) soon(e *schedule, now time.Time) time.Time {
	if !e.fresh {
		e.fresh = true
		e.line.fresh++
	}
	queued := max(0, e.line.fresh-firstRate/2) // beyond the next second's share
	return now.Add(time.Duration(rand.Float64()*float64(spread)) + time.Duration(queued)*time.Second/firstRate)
}

// heaped is a heap of schedules or lines, ordered by due time.
type heaped[T interface {
	dueAt() time.Time
	move(to int)
}] []T

func (e *schedule) dueAt() time.Time { return e.due }
func (e *schedule) move(to int)      { e.place = to }
func (l *line) dueAt() time.Time     { return l.queue[0].due }
func (l *line) move(to int)          { l.place = to }

// Len implements heap.Interface.
func (q heaped[T]) Len() int { return len(q) }

// Less implements heap.Interface.
func (q heaped[T]) Less(i, j int) bool { return q[i].dueAt().Before(q[j].dueAt()) }

// Swap implements heap.Interface.
func (q heaped[T]) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].move(i)
	q[j].move(j)
}

// Push implements heap.Interface.
func (q *heaped[T]) Push(x any) {
	x.(T).move(len(*q))
	*q = append(*q, x.(T))
}

// Pop implements heap.Interface.
func (q *heaped[T]) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	clear((*q)[last:])
	*q = (*q)[:last]
	e.move(-1)
	return e
}
