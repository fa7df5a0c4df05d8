// Package rewatch decides whether a watch of an API server may resume from the version last read,
// or a reflector must list again.
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
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// ErrSetBack marks the error of a watch that must not resume because the API server has an older
// state.
var ErrSetBack = errors.New("the API server was restored to an older state")

// ListWatch returns what a reflector lists and watches with. list and begin make the requests.
// Before a watch, a list reads the server's current version; it is given up after within. noted
// receives the result of each list and each watch; options.Watch is true for a watch. After most
// errors a reflector lists again; after "too many requests" it retries the watch.
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

// check runs before every watch of one reflector.
type check struct {
	list   func(context.Context, metav1.ListOptions) (runtime.Object, error)
	within time.Duration
	listed atomic.Bool // the version to watch from was listed just now
}

// resume returns nil if a watch with options may begin, else why not.
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
