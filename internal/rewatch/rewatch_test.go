package rewatch

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// client-go's handlers of errors keep the time of the last one, which comes from another bubble.
func init() { utilruntime.ErrorHandlers = nil }

// server is an API server as one reflector sees it: list and begin answer its requests.
type server struct {
	list  func() error
	begin func(streams bool, w *watch.FakeWatcher) error
	lists []time.Time // when something was listed, by a list or a streaming one
	asked atomic.Int32
	works atomic.Bool // it answers as it should, whatever list and begin say
}

var refused = &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}

// object returns a ConfigMap; streamed marks the end of a streaming list.
func object(version int, streamed bool) *corev1.ConfigMap {
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m", ResourceVersion: fmt.Sprint(version)}}
	if streamed {
		m.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return m
}

// lists is what the reflector lists with; chunked turns off streaming lists.
type lists struct {
	*cache.ListWatch
	chunked bool
}

func (l lists) IsWatchListSemanticsUnSupported() bool { return l.chunked }

// follow runs a reflector until the context ends.
func (s *server) follow(ctx context.Context, chunked bool) {
	list := func(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
		s.asked.Add(1)
		if err := s.list(); err != nil && !s.works.Load() {
			return nil, err
		}
		if options.Limit != 1 {
			s.lists = append(s.lists, time.Now())
		}
		return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}}, nil
	}
	begin := func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
		s.asked.Add(1)
		w, streams := watch.NewFakeWithChanSize(10, false), options.SendInitialEvents != nil
		if s.works.Load() {
			if streams {
				w.Action(watch.Bookmark, object(7, true))
			}
		} else if err := s.begin(streams, w); err != nil {
			return nil, err
		}
		if streams {
			s.lists = append(s.lists, time.Now())
		}
		return w, nil
	}
	from := ListWatch(time.Second, Retry, list, begin, func(context.Context, metav1.ListOptions, error) {})
	quiet := klog.Logger{}
	r := cache.NewReflectorWithOptions(lists{from, chunked}, &corev1.ConfigMap{}, cache.NewStore(cache.MetaNamespaceKeyFunc),
		cache.ReflectorOptions{Logger: &quiet, Backoff: &Unpaced})
	r.RunWithContext(klog.NewContext(ctx, quiet))
}

// TestPauses: a server that ends each watch at once, in whatever way, gets some dozen requests a minute, not thousands a second. One
// that works again is followed within the last pause.
func TestPauses(t *testing.T) {
	expired := apierrors.NewResourceExpired("too old")
	expiry := func(w *watch.FakeWatcher) { w.Error(&expired.ErrStatus) }
	good := func() error { return nil }
	for _, c := range []struct {
		name  string
		list  func() error
		begin func(streams bool, w *watch.FakeWatcher) error
	}{
		{"watches expire", good, func(_ bool, w *watch.FakeWatcher) error { expiry(w); return nil }},
		{"watches are refused as expired", good, func(bool, *watch.FakeWatcher) error { return expired }},
		{"all is expired", func() error { return expired }, func(bool, *watch.FakeWatcher) error { return expired }},
		{"watches end", good, func(_ bool, w *watch.FakeWatcher) error { w.Stop(); return nil }},
		{"watches end after an event", good, func(_ bool, w *watch.FakeWatcher) error { w.Modify(object(6, false)); w.Stop(); return nil }},
		{"watches end after a list", good, func(streams bool, w *watch.FakeWatcher) error {
			if streams {
				w.Action(watch.Bookmark, object(5, true))
			}
			w.Modify(object(6, false))
			w.Stop()
			return nil
		}},
		{"too many requests", good, func(bool, *watch.FakeWatcher) error { return apierrors.NewTooManyRequests("later", 0) }},
		{"too many requests, later", good, func(_ bool, w *watch.FakeWatcher) error {
			w.Error(&apierrors.NewTooManyRequests("later", 0).ErrStatus)
			return nil
		}},
		{"refused connections", func() error { return refused }, func(bool, *watch.FakeWatcher) error { return refused }},
	} {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, chunked %v", c.name, chunked), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					s := &server{list: c.list, begin: c.begin}
					go s.follow(ctx, chunked)
					time.Sleep(time.Minute)
					synctest.Wait()
					asked := s.asked.Load()
					if asked < 8 || asked > 80 {
						t.Errorf("%d requests in a minute", asked)
					}
					s.works.Store(true)
					last := time.Duration(float64(Retry.Cap) * (1 + Retry.Jitter))
					time.Sleep(last)
					synctest.Wait()
					if s.asked.Load() == asked {
						t.Errorf("nothing was asked for %v", last)
					}
					cancel()
					synctest.Wait()
				})
			})
		}
	}
}

// TestManyReplicas: an API server restarts, and is away for a while. Each of a hundred replicas lists within the last pause after it is
// ready, and few of them in any one second.
func TestManyReplicas(t *testing.T) {
	for _, away := range []time.Duration{300 * time.Millisecond, 5 * time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			began := time.Now()
			ends := began.Add(time.Hour)
			ready := ends.Add(away)
			down := func() error {
				if now := time.Now(); now.After(ends) && now.Before(ready) {
					return refused
				}
				return nil
			}
			replicas := make([]*server, 100)
			for i := range replicas {
				replicas[i] = &server{list: down, begin: func(streams bool, w *watch.FakeWatcher) error {
					if streams {
						w.Action(watch.Bookmark, object(5, true))
					}
					if left := time.Until(ends); left > 0 {
						time.AfterFunc(left+1, w.Stop)
					}
					return down()
				}}
				go replicas[i].follow(ctx, i%2 == 0)
			}
			time.Sleep(2 * time.Hour)
			synctest.Wait()
			seconds := make(map[int]int)
			for i, s := range replicas {
				after := s.lists[1].Sub(ready)
				if len(s.lists) != 2 || after < 0 || after > 8*time.Second {
					t.Errorf("away for %v: replica %d listed %d times, %v after the server was ready", away, i, len(s.lists), after)
				}
				seconds[int(after/time.Second)]++
			}
			for _, n := range seconds {
				if n > 70 {
					t.Errorf("away for %v: lists in each second: %v", away, seconds)
				}
			}
			cancel()
			synctest.Wait()
		})
	}
}
