// Package rewatch decides whether a watch of an API server may resume from the version last read,
// or a reflector must list again, and how soon.
//
// A reflector of client-go resumes from that version when a watch ends. An API server whose etcd
// was restored to an older state in the meantime accepts that: it reports nothing until it reaches
// that version again, and never the changes that it made on the way.
package rewatch

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// ErrSetBack marks the error of a watch that must not resume because the API server has an older
// state.
var ErrSetBack = errors.New("the API server was restored to an older state")

// Retry paces attempts at an API server. The last pause, of up to 7.5 seconds, bounds how long a
// server that is back goes unnoticed. The wide jitter spreads the first attempts of many replicas
// after a break that they all see at once.
var Retry = wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 2, Steps: 10, Cap: 2500 * time.Millisecond}

// calm is how long after an attempt the next one needs no pause: longer than any pause of Retry.
const calm = 10 * time.Second

// Unpaced is the backoff of a reflector: ListWatch makes the pauses. client-go makes none between
// streaming lists that expire.
var Unpaced = wait.Backoff{}

// ListWatch returns what a reflector lists and watches with. list and begin make the requests.
// Attempts in quick succession are paced by retry: a list, a watch that resumes, or a streaming list
// and what stands in for it. Before a watch, a list reads the server's current version; it is given
// up after within. noted receives the result of each list and each watch; options.Watch is true for
// a watch. After most errors a reflector lists again; after "too many requests" it retries the watch.
func ListWatch(within time.Duration, retry wait.Backoff,
	list func(context.Context, metav1.ListOptions) (runtime.Object, error),
	begin func(context.Context, metav1.ListOptions) (watch.Interface, error),
	noted func(ctx context.Context, options metav1.ListOptions, err error),
) *cache.ListWatch {
	c := &check{list: list, within: within, retry: retry, next: retry}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			if err := c.pace(ctx); err != nil {
				return nil, err
			}
			all, err := list(ctx, options)
			c.goesOn.Store(err == nil)
			noted(ctx, options, err)
			return all, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (w watch.Interface, err error) {
			options.Watch = true
			streams, listed := options.SendInitialEvents != nil, c.goesOn.Load()
			if streams {
				c.goesOn.Store(false)
			}
			if err = c.pace(ctx); err != nil {
				return nil, err
			}
			if !streams && !listed {
				err = c.resume(ctx, &options)
			}
			if err == nil {
				w, err = begin(ctx, options)
			}
			c.goesOn.Store(streams && err != nil)
			err = anew(&options, err)
			noted(ctx, options, err)
			return w, err
		},
	}
}

// check runs before every request of one reflector, which makes one at a time.
type check struct {
	list   func(context.Context, metav1.ListOptions) (runtime.Object, error)
	within time.Duration
	// goesOn is true if the next request belongs to the same attempt: the next page of a list, a
	// watch from the version listed just now, or the list that stands in for a streaming one.
	goesOn atomic.Bool
	// last is when the last attempt began, next the pause before one that soon follows it.
	last        time.Time
	retry, next wait.Backoff
}

// pace waits until the next request may be sent. It returns an error if ctx ends first.
func (c *check) pace(ctx context.Context) error {
	if c.goesOn.Swap(false) {
		return nil
	}
	if c.last.IsZero() || time.Since(c.last) >= calm {
		c.next = c.retry
	} else {
		t := time.NewTimer(c.next.Step())
		defer t.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
	}
	c.last = time.Now()
	return nil
}

// resume returns nil if a watch with options may go on from its version, else why not.
func (c *check) resume(ctx context.Context, options *metav1.ListOptions) error {
	ctx, cancel := context.WithTimeout(ctx, c.within)
	defer cancel()
	list, err := c.list(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	m, err := meta.ListAccessor(list)
	if err != nil {
		return err
	}
	if now := m.GetResourceVersion(); Older(now, options.ResourceVersion) {
		return fmt.Errorf("%w: it is at version %s, but %s was read; listing everything again", ErrSetBack, now, options.ResourceVersion)
	}
	return nil
}

// anew wraps err, of a watch that could not begin, such that the reflector lists before it watches
// again. After a refused connection the reflector would otherwise resume from the last version it
// read, at a server that was away in the meantime.
func anew(options *metav1.ListOptions, err error) error {
	if options.SendInitialEvents != nil || !utilnet.IsConnectionRefused(err) {
		return err
	}
	return errors.New(err.Error())
}

// Older reports whether resource version a is older than b; false if either is not a number. A
// conforming server uses numbers.
func Older(a, b string) bool {
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	return errX == nil && errY == nil && x < y
}
