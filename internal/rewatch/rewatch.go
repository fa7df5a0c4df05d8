// Package rewatch tells whether a watch of an API server may go on from the version that was
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

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
)

// ErrSetBack marks the error of a watch that may not go on, as the API server has an older state.
var ErrSetBack = errors.New("the API server has been put back to an older state")

// Check is asked before every watch of one reflector. Its zero value with a Newest is ready to
// use; it belongs to one reflector.
type Check struct {
	// Newest lists with options, for a list whose version is that of the server. It is asked for
	// one object at most.
	Newest func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error)

	listed atomic.Bool // what the next watch goes on from was listed just now
}

// Listed says that a list has been read: the next watch begins where it ended.
func (c *Check) Listed() { c.listed.Store(true) }

// Begin begins a watch with options, where it may begin. After most errors a reflector lists anew;
// where there are too many requests, it tries again.
func (c *Check) Begin(ctx context.Context, options *metav1.ListOptions, begin func() (watch.Interface, error)) (watch.Interface, error) {
	if err := c.resume(ctx, options); err != nil {
		return nil, anew(options, err)
	}
	w, err := begin()
	return w, anew(options, err)
}

// resume returns nil where a watch with options may begin, and otherwise why not.
func (c *Check) resume(ctx context.Context, options *metav1.ListOptions) error {
	if options.SendInitialEvents != nil || c.listed.Swap(false) {
		return nil
	}
	list, err := c.Newest(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	m, err := meta.ListAccessor(list)
	if err != nil {
		return err
	}
	if now := m.GetResourceVersion(); Older(now, options.ResourceVersion) {
		return fmt.Errorf("%w: it is at version %s, and %s has been read; everything is listed anew", ErrSetBack, now, options.ResourceVersion)
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

// Older tells whether the resource version a is of an older state than b. Of versions that are
// no numbers nothing is known; a server that conforms has numbers.
func Older(a, b string) bool {
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	return errX == nil && errY == nil && x < y
}
