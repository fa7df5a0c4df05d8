// Package rewatch reports whether a watch of an API server may go on from the version that was
// read last, or everything is to be listed anew.
//
// A reflector of client-go goes on from that version when a watch ends. An API server whose etcd
// was put back to an older state in the meantime does not refuse it: it tells of nothing until
// it has got that far by itself, and of what it has by then, never.
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
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// ErrSetBack marks the error of a watch that may not go on, as the API server has an older state.
var ErrSetBack = errors.New("the API server was restored to an older state")

// ListWatch returns what one reflector lists and watches with. list and begin are the requests; a list that is made before a
// watch, for the version that the server is at, is given up after within. noted is told how each list and each watch went;
// options.Watch is true for a watch. After most errors a reflector lists anew; where there are too many requests, it tries again.
func ListWatch(within time.Duration,
	list func(context.Context, metav1.ListOptions) (runtime.Object, error),
	begin func(context.Context, metav1.ListOptions) (watch.Interface, error),
	noted func(ctx context.Context, options metav1.ListOptions, err error),
) *cache.ListWatch {
	c := &check{list: list, within: within}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			all, err := list(ctx, options)
			if err == nil {
				c.listed.Store(true)
			}
			noted(ctx, options, err)
			return all, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (w watch.Interface, err error) {
			options.Watch = true
			if err = c.resume(ctx, &options); err == nil {
				w, err = begin(ctx, options)
			}
			err = anew(&options, err)
			noted(ctx, options, err)
			return w, err
		},
	}
}

// check is asked before every watch of one reflector.
type check struct {
	list   func(context.Context, metav1.ListOptions) (runtime.Object, error)
	within time.Duration
	listed atomic.Bool // what the next watch goes on from was listed just now
}

// resume returns nil if a watch with options may begin, and otherwise why not.
func (c *check) resume(ctx context.Context, options *metav1.ListOptions) error {
	if options.SendInitialEvents != nil || c.listed.Swap(false) {
		return nil
	}
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

// anew returns err, of a watch with options that could not begin, such that a reflector lists
// before it watches again. After a refused connection it would go on from the version that it
// has read last, with a server that was away in the meantime.
func anew(options *metav1.ListOptions, err error) error {
	if options.SendInitialEvents != nil || !utilnet.IsConnectionRefused(err) {
		return err
	}
	return errors.New(err.Error())
}

// Older reports whether the resource version a is of an older state than b. Of versions that are
// no numbers nothing is known; a server that conforms has numbers.
func Older(a, b string) bool {
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	return errX == nil && errY == nil && x < y
}
