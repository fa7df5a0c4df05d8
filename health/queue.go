package health

import (
	"math/rand/v2"
	"time"
)

// pace takes one check off the credit, or returns how long there is none: checks that could not
// begin for a while, as in a process that was stopped, do not all begin at once. Checks on time are
// not delayed: the pace is that of first checks plus twice that of the terms, and more. The caller
// holds mu.
func (p *Prober) pace(now time.Time) time.Duration {
	a := firstRate*5/4 + 2*p.rate // per second
	if earned := now.Sub(p.at).Seconds() * a; p.at.IsZero() || p.credit+earned > a/paces {
		p.credit = a / paces
	} else {
		p.credit += earned
	}
	p.at = now
	if p.credit < 1 {
		return time.Second / paces / 2
	}
	p.credit--
	return 0
}

// soon returns when to check by a schedule that is new, or as good as new: within a second, unless
// there are very many.
func (p *Prober) soon(e *schedule, now time.Time) time.Time {
	if !e.fresh {
		e.fresh = true
		p.fresh++
	}
	queued := max(0, p.fresh-firstRate/2) // beyond the next second's share
	return now.Add(time.Duration(rand.Float64()*float64(spread)) + time.Duration(queued)*time.Second/firstRate)
}

// queue is a heap of schedules, ordered by due time.
type queue []*schedule

// Len implements heap.Interface.
func (q queue) Len() int { return len(q) }

// Less implements heap.Interface.
func (q queue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }

// Swap implements heap.Interface.
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

// Push implements heap.Interface.
func (q *queue) Push(x any) {
	e := x.(*schedule)
	e.place = len(*q)
	*q = append(*q, e)
}

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	e.place = -1
	return e
}
