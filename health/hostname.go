package health

import (
	"context"
	"net/netip"
	"sync"
	"time"
)

// maxAddresses is how many addresses of one hostname are tried in one check.
const maxAddresses = 16

// stagger is how long an address may delay the next one: most working servers have answered by
// then.
const stagger = 300 * time.Millisecond

// anyOf checks the target at its hostname's addresses. One good address is enough (rule 4.3), even
// after one that drops all packets: the next one is tried once one fails or takes a while.
// Otherwise the address with the most significant result counts.
func (c *connector) anyOf(ctx context.Context, t *Target, addrs []netip.Addr) Outcome {
	if len(addrs) == 1 {
		return c.at(ctx, t, addrs[0])
	}
	addrs = addrs[:min(len(addrs), maxAddresses)]
	ctx, cancel := context.WithCancel(ctx)
	var attempts sync.WaitGroup
	outcomes := make(chan Outcome, len(addrs))
	held := 1 // connections reserved for this check
	defer func() {
		attempts.Wait() // they must end before others begin
		c.less(t, held-1)
	}()
	defer cancel()
	worst := Outcome{Reason: Forbidden}
	short := false // an address had to wait for another's connection
	over := ctx.Done()
	next := time.NewTimer(0)
	defer next.Stop()
	for begun, ended := 0, 0; ended < len(addrs); {
		select {
		case o := <-outcomes:
			ended++
			if o.Reason == Good {
				return o
			}
			if o.Reason.rank() < worst.Reason.rank() {
				worst = o
			}
			next.Reset(0)
		case <-over:
			over = nil
			if short && begun < len(addrs) {
				worst = Outcome{Reason: LocalTrouble} // the others may be good
			}
			addrs = addrs[:begun]
		case <-next.C:
			if begun == len(addrs) {
				continue
			}
			if begun-ended == held {
				if !c.more(t) {
					short = true
					next.Reset(c.stagger) // or when one ends
					continue
				}
				held++
			}
			next.Reset(c.pause(ctx, len(addrs)))
			addr := addrs[begun]
			begun++
			attempts.Go(func() { outcomes <- c.at(ctx, t, addr) })
		}
	}
	return worst
}

// rank returns how much a reason counts beside those of a hostname's other addresses: local trouble
// comes before failures, because the address not tried may be good. An address that has no route
// from here, or must not be probed, says nothing about the others.
func (r Reason) rank() int {
	switch {
	case r == NoRoute:
		return 2
	case r == Forbidden:
		return 3
	case r.verdict() == noEvidence:
		return 0
	}
	return 1
}

// pause returns how long one of n addresses may delay the next. All have begun after half of the
// check's time.
func (c *connector) pause(ctx context.Context, n int) time.Duration {
	end, ok := ctx.Deadline()
	if !ok {
		return c.stagger
	}
	return min(c.stagger, time.Until(end)/time.Duration(2*n))
}
